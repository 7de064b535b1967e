//! Tables of operator tests, and how documents see them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::any::{AnyUnit, Measured, Size};
use super::culprit::Culprit;
use super::evidence::Evidence;
use crate::number::Number;
use crate::verdict::Verdict;

/// The operators that one device tested.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OperatorsUnit {
    /// Name of the test: its rank, its folder, or `operators`; the same from run to run.
    pub table: String,
    /// The rank; null where no path names one.
    pub rank: Option<u64>,
    /// The baseline's file; empty where the candidate was judged alone.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub baseline_file: String,
    /// The candidate's file.
    #[serde(default)]
    pub candidate_file: String,
    /// The unit's verdict.
    pub verdict: Verdict,
    /// Outputs that were judged.
    pub compared: u64,
    /// Outputs by status.
    pub counts: StatusCounts,
    /// Outputs of the baseline without a partner.
    pub unmatched_baseline: u64,
    /// Outputs of the candidate without a partner.
    pub unmatched_candidate: u64,
    /// States that its outputs ended in.
    #[serde(default, skip_serializing_if = "Evidence::is_empty")]
    pub evidence: Evidence,
    /// The largest ratio of errors over its limit; absent where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worst: Option<Number>,
    /// The first output that is wrong.
    pub culprit: Option<Culprit>,
}

/// Outputs by the gate's status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StatusCounts {
    /// Right.
    pub pass: u64,
    /// Doubtful.
    pub warning: u64,
    /// Wrong.
    pub error: u64,
    /// Not checked.
    pub skip: u64,
}

impl StatusCounts {
    /// Outputs that were judged.
    pub fn judged(&self) -> u64 {
        self.pass.saturating_add(self.warning).saturating_add(self.error)
    }
}

impl AnyUnit for OperatorsUnit {
    fn verdict(&self) -> Verdict {
        self.verdict
    }

    fn set_verdict(&mut self, verdict: Verdict) {
        self.verdict = verdict;
    }

    fn name(&self) -> String {
        self.table.clone()
    }

    fn evidence(&self) -> Option<&Evidence> {
        Some(&self.evidence)
    }

    fn evidence_mut(&mut self) -> Option<&mut Evidence> {
        Some(&mut self.evidence)
    }

    fn is_unread(&self) -> bool {
        self.compared == 0
    }

    fn size(&self) -> Size {
        Size {
            values: self.compared,
            steps: 0,
            unmatched: self.unmatched_baseline.saturating_add(self.unmatched_candidate),
        }
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![
            ("pass", self.counts.pass),
            ("warning", self.counts.warning),
            ("error", self.counts.error),
            ("skip", self.counts.skip),
            ("unmatched_baseline", self.unmatched_baseline),
            ("unmatched_candidate", self.unmatched_candidate),
        ]
    }

    fn measured(&self) -> Vec<Measured> {
        let measured = |value| Measured { name: "error_of_limit".into(), value, warn: None, fail: Some(Number(1.0)) };
        self.worst.filter(|worst| !worst.0.is_nan()).map(measured).into_iter().collect()
    }

    fn culprit(&self) -> Option<&Culprit> {
        self.culprit.as_ref()
    }

    fn forget_culprit(&mut self) {
        self.culprit = None;
    }
}
