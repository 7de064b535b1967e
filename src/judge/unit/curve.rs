//! A training curve, as documents see it.

use super::CurveUnit;
use super::any::{AnyUnit, Size};
use crate::judge::outcome::RuleOutcome;
use crate::verdict::Verdict;

impl AnyUnit for CurveUnit {
    fn verdict(&self) -> Verdict {
        self.verdict
    }

    fn set_verdict(&mut self, verdict: Verdict) {
        self.verdict = verdict;
    }

    fn name(&self) -> String {
        if self.run.is_empty() { self.metric.clone() } else { format!("{} ({})", self.metric, self.run) }
    }

    fn place(&self) -> String {
        if self.run.is_empty() { self.metric.clone() } else { format!("{}: {}", self.run, self.metric) }
    }

    fn rules(&self) -> &[RuleOutcome] {
        &self.rules
    }

    fn is_unread(&self) -> bool {
        self.series.step.is_empty()
    }

    fn size(&self) -> Size {
        Size { steps: self.paired, ..Size::default() }
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![("paired", self.paired)]
    }
}
