//! A loss that stays at the logarithm of the number of classes, which is the loss of a guess.

use super::curve::Curve;
use crate::compare::run::course::median_change;
use crate::judge::loss::code;
use crate::judge::loss::rule_results::RuleResults;
use crate::median::upper_median;

/// Least number of points: a run that learns has left its start by then.
const LEAST: usize = 50;
/// Largest distance from the loss of a guess: `SHARE` of that loss, or `STEPS` times the typical step between neighbouring values
/// over the root of their number.
const SHARE: f64 = 0.01;
const STEPS: f64 = 3.0;

#[allow(clippy::cast_precision_loss, reason = "counts of classes and points")]
pub(super) fn judge(curve: &Curve<'_>, results: &mut RuleResults) {
    let Some(classes) = curve.declared.classes.filter(|classes| *classes > 1) else { return };
    if !curve.is_loss() || curve.metric != "loss" || curve.len() < LEAST {
        return;
    }
    let values = curve.finite();
    let late = values.get(values.len() / 2..).unwrap_or_default();
    let (Some(level), Some(step)) = (upper_median(late.to_vec()), median_change(late)) else { return };
    let chance = (classes as f64).ln();
    let limit = (SHARE * chance).max(STEPS * step / (late.len() as f64).sqrt());
    if (level - chance).abs() <= limit {
        results.add_finding(&code::AT_CHANCE, |finding| {
            finding.with("classes", classes).with("value", level).with("chance", chance)
        });
    }
}
