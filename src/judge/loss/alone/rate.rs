//! The learning rate of one run: 0 at every step, or constant although a decay is declared.
//!
//! A schedule may begin and end at 0, and a small number is printed as `0.0000` where a log has few decimals.

use super::curve::Curve;
use super::gradient::is_rounded;
use crate::judge::loss::code;
use crate::judge::loss::rule_results::RuleResults;
use crate::kind::Role;
use crate::read::curve::CurveNote;

/// Least number of values.
const LEAST: usize = 5;
/// Least share of the declared steps that a run must have covered, so that a decay would show.
const COVERED: f64 = 0.6;
/// Relative difference up to which a rate counts as constant.
const STANDS: f64 = 1e-6;
/// Least size of a rate, in units of its last printed digit, so that a decay would show.
const UNITS: f64 = 20.0;

pub(super) fn judge(curve: &Curve<'_>, results: &mut RuleResults) {
    if curve.role != Role::LearningRate {
        return;
    }
    let zeros = curve.values().iter().filter(|value| value.abs() <= 0.0).count();
    if zeros >= LEAST && zeros == curve.len() && !is_rounded(curve) {
        results.add_finding(&code::LEARNING_RATE_ZERO, |finding| finding.with("count", zeros).with("of", curve.len()));
        return;
    }
    if let Some((decay, value, last)) = undecayed_rate(curve) {
        results.add_finding(&code::LEARNING_RATE_SCHEDULE, |finding| {
            let total = curve.declared.total.unwrap_or_default();
            finding.with("schedule", decay).with("value", value).with("step", last.to_string()).with("of", total)
        });
    }
}

/// The declared decay, the rate that stays constant in spite of it, and the last step.
#[allow(clippy::cast_precision_loss, reason = "counts of steps")]
fn undecayed_rate<'c>(curve: &Curve<'c>) -> Option<(&'c str, f64, u64)> {
    let decay = curve.declared.decay.as_deref()?;
    let total = curve.declared.total?;
    let (last, value) = (curve.step(curve.len().checked_sub(1)?)?, *curve.values().last()?);
    let late = curve.values().get(curve.len() / 3..).filter(|late| late.len() >= LEAST)?;
    let is_same = |other: &f64| (other - value).abs() <= STANDS * value.abs();
    let is_fine = curve.notes.iter().all(|note| match note {
        CurveNote::Decimals(metric, decimals) if metric == curve.metric => {
            value.abs() * 10_f64.powi(i32::from(*decimals)) >= UNITS
        }
        _ => true,
    });
    (last as f64 >= COVERED * total as f64 && value > 0.0 && late.iter().all(is_same) && is_fine)
        .then_some((decay, value, last))
}
