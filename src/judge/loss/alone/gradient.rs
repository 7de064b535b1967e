//! The gradient norm of one run: not finite, 0, or always the same.
//!
//! Skipped steps are left out, because their norm is infinite by design. A few zeros are allowed, because a batch without labels
//! has no gradient.

use super::curve::Curve;
use crate::judge::loss::code;
use crate::judge::loss::rule_results::RuleResults;
use crate::kind::Role;

/// Least number of steps without a usable gradient, and their least share of all steps.
const LEAST: usize = 5;
const SHARE: f64 = 0.1;

pub(super) fn judge(curve: &Curve<'_>, results: &mut RuleResults) {
    if curve.role != Role::GradNorm {
        return;
    }
    let values = curve.values();
    let count = values.iter().filter(|value| !value.is_finite()).count();
    let first = values.iter().position(|value| !value.is_finite()).and_then(|place| curve.step(place));
    if let Some(step) = first.filter(|_| count >= LEAST && is_share(count, values.len(), SHARE)) {
        results.add_finding(&code::GRADIENT_NON_FINITE, |finding| {
            finding.with("step", step.to_string()).with("count", count).with("of", values.len())
        });
    }
    let zeros = values.iter().filter(|value| value.abs() <= 0.0).count();
    if zeros >= LEAST && 2 * zeros >= values.len() && !is_rounded(curve) {
        results.add_finding(&code::GRADIENT_ZERO, |finding| finding.with("count", zeros).with("of", values.len()));
    } else if let Some(value) = constant(curve) {
        results
            .add_finding(&code::GRADIENT_CONSTANT, |finding| finding.with("value", value).with("count", values.len()));
    }
}

#[allow(clippy::cast_precision_loss, reason = "counts of steps")]
fn is_share(count: usize, of: usize, share: f64) -> bool {
    count as f64 >= share * of as f64
}

/// Whether a printed 0 of the curve may be a small number that was rounded.
pub(super) fn is_rounded(curve: &Curve<'_>) -> bool {
    use crate::read::curve::CurveNote;
    curve.notes.iter().any(|note| matches!(note, CurveNote::RoundedZeros(metric) if metric == curve.metric))
}

/// The value of a norm that never changes; `None` for any other.
fn constant(curve: &Curve<'_>) -> Option<f64> {
    let first = curve.values().first().filter(|_| curve.len() >= LEAST)?;
    let is_same = |value: &f64| value.to_bits() == first.to_bits();
    (first.is_finite() && *first != 0.0 && curve.values().iter().all(is_same)).then_some(*first)
}
