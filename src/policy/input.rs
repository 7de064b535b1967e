//! Kinds of inputs that a run reads beside the artifacts of both sides.

/// Kind of input that could influence a verdict or the written files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputKind {
    /// The policy file: limits, waivers, severities, required checks, profile, labels.
    Policy,
    /// Templates of documents and messages.
    Templates,
    /// A recorded noise band in a file.
    NoiseBand,
    /// Repeats of the baseline.
    Repeats,
    /// The baseline lock and the manifests that it pins.
    Lock,
    /// Files of a baseline, or of a third run, that lie in the checkout.
    BaselineFiles,
    /// The history of earlier runs.
    History,
    /// The pull request and the commit that are reported on.
    Request,
    /// Token, webhook address, and the command that a comment is handed to.
    Secrets,
    /// The output folder, and the folder whose lines findings point at.
    Folders,
    /// The candidate's artifacts.
    Candidate,
}

impl InputKind {
    /// All of them, in the order of the page.
    pub const ALL: [Self; 11] = [
        Self::Policy,
        Self::Templates,
        Self::NoiseBand,
        Self::Repeats,
        Self::Lock,
        Self::BaselineFiles,
        Self::History,
        Self::Request,
        Self::Secrets,
        Self::Folders,
        Self::Candidate,
    ];

    /// The input in words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Policy => "policy (limits, waivers, severities, required checks, profile, labels)",
            Self::Templates => "templates",
            Self::NoiseBand => "noise band",
            Self::Repeats => "repeats of the baseline",
            Self::Lock => "baseline lock and manifests",
            Self::BaselineFiles => "baseline in the checkout",
            Self::History => "history",
            Self::Request => "pull request and commit",
            Self::Secrets => "token, webhook address, post command",
            Self::Folders => "output folder, source root",
            Self::Candidate => "candidate's artifacts",
        }
    }
}
