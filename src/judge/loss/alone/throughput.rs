//! A throughput that collapses: the last quarter takes more than three times as long per step. Short dips at evaluations do not
//! count.

use super::curve::Curve;
use crate::compare::run::course::last_quarter_ratio;
use crate::judge::loss::code;
use crate::judge::loss::rule_results::RuleResults;
use crate::kind::Role;

/// Least number of points, so that a quarter of them is meaningful.
pub(super) const LEAST: usize = 12;
/// Share of the first half's median below which a throughput has collapsed.
const COLLAPSED: f64 = 1.0 / 3.0;

pub(super) fn judge(curve: &Curve<'_>, results: &mut RuleResults) {
    let values = curve.finite();
    if !is_speed(curve) || values.len() < LEAST || values.iter().any(|value| *value <= 0.0) {
        return;
    }
    let share = last_quarter_ratio(&values).map(|share| if curve.role == Role::Time { 1.0 / share } else { share });
    if let Some(share) = share.filter(|share| *share < COLLAPSED) {
        results
            .add_finding(&code::THROUGHPUT_COLLAPSE, |finding| finding.with("value", share).with("limit", COLLAPSED));
    }
}

/// Whether a curve is a throughput or the time of a step; other times may be sums over the run.
pub(super) fn is_speed(curve: &Curve<'_>) -> bool {
    let of_step = ["per_iteration", "per_step", "step_time", "iter_time", "iteration_time", "time_per"];
    curve.role == Role::Throughput || curve.role == Role::Time && of_step.iter().any(|name| curve.metric.contains(name))
}
