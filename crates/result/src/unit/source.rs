//! Files of source, and how documents see them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::any::{AnyUnit, Size};
use crate::verdict::Verdict;

/// A file of source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SourceUnit {
    /// Path below the folder that was judged, `/`-separated.
    pub file: String,
    /// The worst of its findings that count.
    pub verdict: Verdict,
    /// Number of its findings, of those that do not count too.
    pub findings: u64,
    /// Whether it could be read; absent where it could.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub is_read: bool,
}

fn yes() -> bool {
    true
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_yes(value: &bool) -> bool {
    *value
}

impl AnyUnit for SourceUnit {
    fn verdict(&self) -> Verdict {
        self.verdict
    }

    fn set_verdict(&mut self, verdict: Verdict) {
        self.verdict = verdict;
    }

    fn name(&self) -> String {
        self.file.clone()
    }

    fn is_unread(&self) -> bool {
        !self.is_read
    }

    fn size(&self) -> Size {
        Size { values: u64::from(self.is_read), steps: 0, unmatched: u64::from(!self.is_read) }
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![("findings", self.findings)]
    }
}
