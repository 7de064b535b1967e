//! A held-out loss that rises again from the first half of the run on.

use super::curve::Curve;
use crate::judge::loss::code;
use crate::judge::loss::rule_results::RuleResults;
use crate::kind::Role;

/// Evaluations from which on a rise is one.
const LEAST: usize = 5;
/// The end over the minimum.
const RISE: f64 = 1.2;

pub(super) fn judge(curve: &Curve<'_>, results: &mut RuleResults) {
    if curve.role != Role::EvalLoss || curve.is_rl || curve.is_adversarial || curve.points.len() < LEAST {
        return;
    }
    let lowest = curve.points.iter().enumerate().min_by(|(_, a), (_, b)| a.1.total_cmp(&b.1));
    let (Some((place, (step, least))), Some((_, last))) = (lowest, curve.points.last()) else { return };
    let is_sound = curve.points.iter().all(|(_, value)| value.is_finite() && *value > 0.0);
    if is_sound && 2 * place < curve.points.len() && *last >= RISE * least {
        results.say(&code::OVERFITS, |finding| {
            let finding = finding.with("least", *least).with("late", *last).with("growth", last / least);
            finding.with("step", step.to_string()).with("limit", RISE)
        });
    }
}
