//! Evidence of a run of reinforcement learning that causes can use.

use crate::judge::loss::rl;
use crate::judge::rule::Rule;
use crate::result::finding::Finding;
use crate::result::unit::{self, Check, CurveUnit};
use crate::verdict::{CheckId, Severity};

/// The curves of runs of reinforcement learning, with the findings of the loss check.
pub(super) struct Rollouts<'a> {
    /// Its curves, the likeliest to blame first.
    pub(super) units: Vec<&'a CurveUnit>,
    findings: Vec<&'a Finding>,
}

impl<'a> Rollouts<'a> {
    /// The curves; `None` where there are none of this kind.
    pub(super) fn from_checks(checks: &'a [Check], findings: &'a [Finding]) -> Option<Self> {
        let units: Vec<_> = unit::curves(checks).filter(|unit| unit.mode == rl::MODE).collect();
        let told = |finding: &&Finding| finding.check == CheckId::Loss && finding.severity >= Severity::Warn;
        (!units.is_empty()).then(|| Self { units, findings: findings.iter().filter(told).collect() })
    }

    /// The first finding of `rule`.
    pub(super) fn finding(&self, rule: &Rule) -> Option<&'a Finding> {
        self.findings_of(rule).next()
    }

    /// The findings of `rule`.
    pub(super) fn findings_of(&self, rule: &Rule) -> impl Iterator<Item = &'a Finding> {
        self.findings.iter().copied().filter(move |finding| finding.is(rule))
    }
}
