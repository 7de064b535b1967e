//! A loss that ends far above its lowest stretch.
//!
//! Not reported: early stopping and harder data (a quarter higher), a single spike, a loss that fell to nearly 0, and losses of
//! networks that train against each other. A loss that ends above twice its start has a code of its own.

use super::climb;
use super::curve::Curve;
use crate::compare::run::course::curve_end;
use crate::judge::loss::code;
use crate::judge::loss::rule_results::RuleResults;
use crate::verdict::Severity;

/// Least number of points of a curve whose end is judged.
const LEAST: usize = 20;
/// Ratio of the end to the lowest stretch that warns, and that fails.
const WARNS: f64 = 1.5;
const FAILS: f64 = 2.0;
/// Share of the curve in which the lowest stretch lies.
const WITHIN: f64 = 0.75;
/// Least rise of the end above the lowest stretch: `STEPS` times the typical step between neighbouring values, and `OF_START` of
/// the start.
const STEPS: f64 = 3.0;
const OF_START: f64 = 0.05;

pub(super) fn judge(curve: &Curve<'_>, results: &mut RuleResults) {
    if !curve.is_loss() || results.has_finding(&code::EXPLODING) || curve.len() < LEAST {
        return;
    }
    let values = curve.finite();
    if values.len() < LEAST || values.iter().any(|value| *value <= 0.0) {
        return;
    }
    let Some(end) = curve_end(&values) else { return };
    let is_at_start = end.least_of_half >= WARNS * end.first && end.first < end.least;
    let (least, at) = if is_at_start { (end.first, 0.0) } else { (end.least, end.least_at) };
    let growth = end.end / least;
    let rise = end.end - least;
    if at >= WITHIN || growth < WARNS || rise <= STEPS * end.step || rise <= OF_START * end.first {
        return;
    }
    let severity = if growth >= FAILS { Severity::Fail } else { Severity::Warn };
    results.add_finding(&code::ENDS_HIGH, |finding| {
        let finding = finding.with_severity(severity).with("least", least).with("late", end.end).with("growth", growth);
        match climb::start(curve, [least, end.end], end.step) {
            Some(step) => finding.with("from_step", step),
            None => finding,
        }
    });
}
