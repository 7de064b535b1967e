//! Origin of a forge's artifact, which trust in a baseline rests on.

use super::digest::Digest;

/// Demands on where files come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// The trusted side: a forge's artifact must come from a successful run of the wanted workflow and branch, in the
    /// same repository. A fork can upload an artifact of the same name.
    Baseline,
    /// The side that is judged, wherever it comes from.
    Any,
}

/// Facts about an artifact of a forge.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The run, job, release or package, in words: `run 123 of ci.yml on main`.
    pub what: String,
    /// The commit it was made from.
    pub commit: Option<String>,
    /// The day it was made (`YYYY-MM-DD`).
    pub created: Option<String>,
    /// The day the forge deletes it.
    pub expires: Option<String>,
    /// Newer runs that were passed over because they lack the artifact.
    pub passed_over: usize,
    /// The digest its bytes were proved against; `None` where the forge tells none and none was demanded.
    pub proved: Option<Digest>,
}
