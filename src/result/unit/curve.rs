//! A training curve, as documents see it.

use super::any::{AnyUnit, Size};
use super::{CurveUnit, Evidence};
use crate::kind::curve_name;
use crate::result::outcome::RuleOutcome;
use crate::verdict::Verdict;

impl AnyUnit for CurveUnit {
    fn verdict(&self) -> Verdict {
        self.verdict
    }

    fn set_verdict(&mut self, verdict: Verdict) {
        self.verdict = verdict;
    }

    fn name(&self) -> String {
        let metric = curve_name(&self.metric, self.rank);
        if self.run.is_empty() { metric } else { format!("{metric} ({})", self.run) }
    }

    fn place(&self) -> String {
        let metric = curve_name(&self.metric, self.rank);
        if self.run.is_empty() { metric } else { format!("{}: {metric}", self.run) }
    }

    fn rules(&self) -> &[RuleOutcome] {
        &self.rules
    }

    fn settled(&self, verdict: Verdict) -> Verdict {
        if self.is_shown_only && verdict == Verdict::Pass { Verdict::Skipped } else { verdict }
    }

    fn evidence(&self) -> Option<&Evidence> {
        Some(&self.evidence)
    }

    fn evidence_mut(&mut self) -> Option<&mut Evidence> {
        Some(&mut self.evidence)
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
