//! A loss that is constant or 0.0 while the baseline's is not: the trainer logs another value than the loss it trains.
//!
//! If the gradient norm shows the failure, `curve-hidden-failure` has reported it already.

use super::code;
use super::rule_results::RuleResults;
use crate::compare::curve::finite_points;
use crate::compare::curve::standstill::standstill;
use crate::median::upper_median;
use crate::pair::curve::CurvePair;
use crate::pair::curve::source::resolution;

/// Share of its median below which a value of the baseline may round to 0.0.
const SMALL: f64 = 0.1;
/// Number of printed units below which a value of the baseline may print as 0.0.
const UNITS: f64 = 100.0;

/// Judges the values of a loss.
pub fn judge(pair: &CurvePair<'_>, results: &mut RuleResults) {
    if results.has_finding(&code::HIDDEN_FAILURE) {
        return;
    }
    zero(pair, results);
    frozen(pair, results);
}

fn zero(pair: &CurvePair<'_>, results: &mut RuleResults) {
    if !pair.points.candidate.contains(&0.0) {
        return;
    }
    let (_, baseline, _) = finite_points(&pair.points);
    // A loss with both signs, as in reinforcement learning, goes through zero in good health.
    if baseline.iter().any(|value| *value < 0.0) {
        return;
    }
    let printed = UNITS * resolution(&pair.baseline.series).max(resolution(&pair.candidate.series));
    let least = (SMALL * upper_median(baseline.to_vec()).unwrap_or_default()).max(printed);
    let mut steps = pair.points.iter().filter(|(_, b, c)| *c == 0.0 && b.is_finite() && *b > least).peekable();
    if let Some((step, ..)) = steps.peek().copied() {
        results.add_finding(&code::ZERO, |finding| finding.with("count", steps.count()).with("step", step.to_string()));
    }
}

fn frozen(pair: &CurvePair<'_>, results: &mut RuleResults) {
    let (steps, baseline, candidate) = finite_points(&pair.points);
    let Some((first, count)) = standstill(&candidate, &baseline) else { return };
    let value = candidate.get(first).copied().unwrap_or_default();
    // A loss of 0.0 has a finding of its own, and a loss that rounds to it needs none.
    if value == 0.0 {
        return;
    }
    let of = |index: usize| steps.get(index).map(|step| step.to_string()).unwrap_or_default();
    results.add_finding(&code::FROZEN, |finding| {
        finding.with("count", count).with("step", of(first)).with("last", of(first + count - 1)).with("value", value)
    });
}
