//! The reward function gives every answer the same: nothing is left to learn from.

use super::super::entry::Cause;
use super::super::evidence::finding_as_evidence;
use super::super::rl::Rollouts;
use crate::judge::loss::code as curve_rules;
use crate::kind::Role;
use crate::result::diagnosis::{Diagnosis, Statement, Sureness};
use crate::result::unit::CurveUnit;
use crate::verdict::Severity;

pub(super) const CAUSE: Cause = Cause { in_rl, ..Cause::new("reward-dead") };

/// Advantages of equal rewards are 0 but for rounding.
const ZERO: f64 = 1e-6;

fn in_rl(rollouts: &Rollouts<'_>) -> Option<Diagnosis> {
    let finding =
        rollouts.finding(&curve_rules::RL_REWARD_DEAD).filter(|finding| finding.severity == Severity::Fail)?;
    let learns_nothing = |unit: &&&CurveUnit| {
        let judged = matches!(unit.role, Some(Role::Centred | Role::GradNorm));
        judged && is_zero(&unit.series.candidate) && !is_zero(&unit.series.baseline)
    };
    let zero = rollouts.units.iter().find(learns_nothing);
    let sureness = if zero.is_some() { Sureness::Certain } else { Sureness::Likely };
    let evidence = zero.map(|unit| Statement::new("nothing-to-learn").with("metric", unit.metric.as_str()));
    let diagnosis = Diagnosis::new(&CAUSE, finding.place.as_str(), sureness);
    Some(diagnosis.because(finding_as_evidence(finding)).because_all(evidence))
}

/// Whether all values are 0 but for rounding, and there are some.
fn is_zero(values: &[Option<crate::result::number::Number>]) -> bool {
    let mut found = values.iter().flatten().peekable();
    found.peek().is_some() && found.all(|value| value.0.abs() <= ZERO)
}
