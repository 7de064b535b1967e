//! Origin of a forge's artifact, on which trust in a baseline is based.

use super::digest::Digest;

/// Requirements on the origin of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// The trusted side: a forge's artifact must come from a successful run of the wanted workflow and branch, in the
    /// same repository. A fork can upload an artifact of the same name.
    Baseline,
    /// The side that is judged, from any origin.
    Any,
}

/// Facts about an artifact of a forge.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArtifactOrigin {
    /// The run, job, release or package, in words: `run 123 of ci.yml on main`.
    pub description: String,
    /// The commit that the artifact was made from.
    pub commit: Option<String>,
    /// The day on which it was made (`YYYY-MM-DD`).
    pub created: Option<String>,
    /// The day on which the forge deletes it (`YYYY-MM-DD`).
    pub expires: Option<String>,
    /// Number of newer runs that were skipped because they lack the artifact.
    pub passed_over: usize,
    /// The digest that its bytes were verified against; `None` if neither the forge nor the location gives one.
    pub proved: Option<Digest>,
}
