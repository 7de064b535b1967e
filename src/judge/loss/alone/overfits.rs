//! A held-out loss that rises again from the first half of the run on.

use super::curve::Curve;
use crate::judge::loss::code;
use crate::judge::loss::rule_results::RuleResults;
use crate::kind::Role;

/// Least number of evaluations.
const LEAST: usize = 5;
/// Ratio of the last value to the minimum that is reported.
const RISE: f64 = 1.2;

pub(super) fn judge(curve: &Curve<'_>, results: &mut RuleResults) {
    if curve.role != Role::EvalLoss || curve.is_rl || curve.is_adversarial || curve.len() < LEAST {
        return;
    }
    let values = curve.values();
    let lowest = values.iter().enumerate().min_by(|(_, a), (_, b)| a.total_cmp(b));
    let (Some((place, least)), Some(last)) = (lowest, values.last()) else { return };
    let Some(step) = curve.step(place) else { return };
    let is_sound = values.iter().all(|value| value.is_finite() && *value > 0.0);
    if is_sound && 2 * place < values.len() && *last >= RISE * least {
        results.add_finding(&code::OVERFITS, |finding| {
            let finding = finding.with("least", *least).with("late", *last).with("growth", last / least);
            finding.with("step", step.to_string()).with("limit", RISE)
        });
    }
}
