//! A step and rank of a dump, as documents see it.

use std::collections::BTreeMap;

use super::any::{AnyUnit, Measured, Size};
use super::{Culprit, DumpUnit, Evidence, unit_place};
use crate::result::number::Number;
use crate::result::outcome::RuleOutcome;
use crate::verdict::Verdict;

impl AnyUnit for DumpUnit {
    fn verdict(&self) -> Verdict {
        self.verdict
    }

    fn set_verdict(&mut self, verdict: Verdict) {
        self.verdict = verdict;
    }

    fn name(&self) -> String {
        unit_place(self.step, self.rank)
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
        self.data.is_empty()
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
            ("culprit_spread", self.culprit.as_ref().map_or(0, |culprit| culprit.spread)),
        ]
    }

    /// The largest error of its operations in parts of its noise limit (`error_of_limit`), which moves while the unit
    /// passes; and the numbers of its culprit.
    fn measured(&self) -> Vec<Measured> {
        let shares = self.profile.iter().map(|point| point.error.0 / point.limit.0);
        let worst = shares.filter(|share| !share.is_nan()).reduce(f64::max).map(|worst| Measured {
            name: "error_of_limit".into(),
            value: Number(worst),
            warn: Some(Number(1.0)),
            fail: None,
        });
        worst.into_iter().chain(self.culprit.iter().flat_map(|culprit| of_culprit(&culprit.metrics))).collect()
    }

    fn culprit(&self) -> Option<&Culprit> {
        self.culprit.as_ref()
    }

    fn forget_culprit(&mut self) {
        self.culprit = None;
    }
}

/// The numbers of a culprit: `culprit_error`, `culprit_received` ...; its noise limit is the limit of its error.
fn of_culprit(metrics: &BTreeMap<String, Number>) -> Vec<Measured> {
    let limit = metrics.get("limit").copied();
    let measured = |(metric, value): (&String, &Number)| Measured {
        name: format!("culprit_{metric}"),
        value: *value,
        warn: None,
        fail: limit.filter(|_| metric == "error"),
    };
    metrics.iter().filter(|(metric, _)| *metric != "limit").map(measured).collect()
}
