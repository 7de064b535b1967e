//! A checkpoint, and how documents see it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::any::{AnyUnit, Size};
use super::evidence::Evidence;
use crate::outcome::RuleOutcome;
use crate::verdict::Verdict;

/// A checkpoint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CheckpointUnit {
    /// Its name: the path below the folder.
    pub checkpoint: String,
    /// The unit's verdict.
    pub verdict: Verdict,
    /// Parameters compared.
    pub compared: u64,
    /// Parameters of the candidate without a partner.
    pub unmatched_candidate: u64,
    /// Parameters of the baseline without a partner.
    pub unmatched_baseline: u64,
    /// Paired, and not comparable.
    pub not_compared: u64,
    /// States that its parameters ended in.
    #[serde(default, skip_serializing_if = "Evidence::is_empty")]
    pub evidence: Evidence,
    /// Rules as applied, worst values first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<RuleOutcome>,
}

impl CheckpointUnit {
    /// A checkpoint of which nothing was compared yet.
    pub fn empty(name: &str) -> Self {
        Self {
            checkpoint: name.to_owned(),
            verdict: Verdict::Skipped,
            compared: 0,
            unmatched_candidate: 0,
            unmatched_baseline: 0,
            not_compared: 0,
            evidence: Evidence::default(),
            rules: Vec::new(),
        }
    }
}

impl AnyUnit for CheckpointUnit {
    fn verdict(&self) -> Verdict {
        self.verdict
    }

    fn set_verdict(&mut self, verdict: Verdict) {
        self.verdict = verdict;
    }

    fn name(&self) -> String {
        self.checkpoint.clone()
    }

    fn rules(&self) -> &[RuleOutcome] {
        &self.rules
    }

    fn evidence(&self) -> Option<&Evidence> {
        Some(&self.evidence)
    }

    fn evidence_mut(&mut self) -> Option<&mut Evidence> {
        Some(&mut self.evidence)
    }

    fn is_unread(&self) -> bool {
        self.compared + self.not_compared == 0
    }

    fn size(&self) -> Size {
        let unmatched = self.unmatched_baseline + self.unmatched_candidate + self.not_compared;
        Size { values: self.compared, unmatched, ..Size::default() }
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![
            ("compared", self.compared),
            ("unmatched_baseline", self.unmatched_baseline),
            ("unmatched_candidate", self.unmatched_candidate),
            ("not_compared", self.not_compared),
        ]
    }
}
