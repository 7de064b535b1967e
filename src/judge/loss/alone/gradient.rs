//! The gradient norm of one run: not finite, 0, or always the same.
//!
//! A step that was skipped is left out: its norm is infinite by design. A batch without labels has no gradient.

use super::curve::Curve;
use crate::judge::loss::code;
use crate::judge::loss::rule_results::RuleResults;
use crate::kind::Role;

/// Steps, and their share, from which on nothing is learned.
const LEAST: usize = 5;
const SHARE: f64 = 0.1;

pub(super) fn judge(curve: &Curve<'_>, results: &mut RuleResults) {
    if curve.role != Role::GradNorm {
        return;
    }
    let points = curve.points;
    let broken = || points.iter().filter(|(_, value)| !value.is_finite());
    let count = broken().count();
    if let Some((step, _)) = broken().next().filter(|_| count >= LEAST && is_share(count, points.len(), SHARE)) {
        results.say(&code::GRADIENT_NON_FINITE, |finding| {
            finding.with("step", step.to_string()).with("count", count).with("of", points.len())
        });
    }
    let zeros = points.iter().filter(|(_, value)| value.abs() <= 0.0).count();
    if zeros >= LEAST && 2 * zeros >= points.len() && !is_rounded(curve) {
        results.say(&code::GRADIENT_ZERO, |finding| finding.with("count", zeros).with("of", points.len()));
    } else if let Some(value) = constant(curve) {
        results.say(&code::GRADIENT_CONSTANT, |finding| finding.with("value", value).with("count", points.len()));
    }
}

#[allow(clippy::cast_precision_loss, reason = "counts of steps")]
fn is_share(count: usize, of: usize, share: f64) -> bool {
    count as f64 >= share * of as f64
}

/// Whether a 0 of it may be a small number.
pub(super) fn is_rounded(curve: &Curve<'_>) -> bool {
    use crate::read::curve::Note;
    curve.notes.iter().any(|note| matches!(note, Note::RoundedZeros(metric) if metric == curve.metric))
}

/// The value that it always has.
fn constant(curve: &Curve<'_>) -> Option<f64> {
    let (_, first) = curve.points.first().filter(|_| curve.points.len() >= LEAST)?;
    let is_same = |(_, value): &(u64, f64)| value.to_bits() == first.to_bits();
    (first.is_finite() && *first != 0.0 && curve.points.iter().all(is_same)).then_some(*first)
}
