//! A checkpoint, as documents see it.

use super::any::{AnyUnit, Size};
use super::{CheckpointUnit, Evidence};
use crate::result::outcome::RuleOutcome;
use crate::verdict::Verdict;

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
