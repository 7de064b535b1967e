//! Parallel layouts of both runs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use crate::layout::{Layout, LayoutConfidence, LayoutSource};

/// The layouts of both runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Layouts {
    /// That of the trusted run.
    pub baseline: Layout,
    /// That of the run being judged.
    pub candidate: Layout,
}
