//! The points of a curve, compared with what is said of them.

use super::refusal::{Checked, demand};
use crate::result::number::Number;
use crate::result::unit::{CurveSeries, CurveUnit};

/// Lists of equal length, rising steps, and steps that are named among them.
pub(super) fn check(unit: &CurveUnit, at: &str) -> Checked {
    let CurveSeries { step, baseline, candidate, band } = &unit.series;
    let equal = baseline.len() == step.len() && candidate.len() == step.len();
    demand(equal && (band.is_empty() || band.len() == step.len()), at, || "its series differ in length".into())?;
    demand(step.is_sorted_by(|a, b| a < b), at, || "the steps of its series do not rise".into())?;
    let both = baseline.iter().zip(candidate).filter(|(b, c)| b.is_some() && c.is_some()).count() as u64;
    demand(both <= unit.paired && (unit.paired == 0 || both > 0), at, || {
        format!("says {} paired steps, and its series has {both}", unit.paired)
    })?;
    counted(unit, both, at)?;
    explained(unit, at)?;
    let within = |named: u64| step.first().is_some_and(|first| *first <= named) && step.last() >= Some(&named);
    demand(unit.first_diverging_step.is_none_or(within), at, || "diverges at a step outside of its series".into())?;
    let rising = unit.non_finite_steps.is_sorted_by(|a, b| a < b);
    demand(rising && unit.non_finite_steps.iter().all(|named| within(*named)), at, || {
        "lists steps outside of its series".into()
    })?;
    let listed = |named: &u64| step.binary_search(named).map_or(true, |index| is_one_sided(&unit.series, index));
    demand(unit.non_finite_steps.iter().all(listed), at, || "lists a step as not finite whose values are".into())
}

/// A series of fewer points is whole: a longer one is thinned to no less.
const WHOLE: usize = 250;

/// No more steps are paired than the series has room for, and as many as it shows where it is whole.
fn counted(unit: &CurveUnit, both: u64, at: &str) -> Checked {
    let step = &unit.series.step;
    let span = step.first().zip(step.last()).map_or(0, |(first, last)| (last - first).saturating_add(1));
    let fits = if step.len() < WHOLE { unit.paired == both } else { unit.paired <= span };
    demand(fits, at, || format!("says {} paired steps, and its series has {both}", unit.paired))
}

/// No point of the series lies farther apart than the rules about it say: the largest difference, or all of the mean at one
/// step. Differences below a floor count as none, and a floor is at most as large as the curve is.
fn explained(unit: &CurveUnit, at: &str) -> Checked {
    let value = |rule: &str| unit.rules.iter().find(|outcome| outcome.rule == rule)?.value.map(|value| value.0);
    #[allow(clippy::cast_precision_loss, reason = "a bound, with room for rounding")]
    let steps = unit.paired as f64;
    let mean = value("mean_rel").or_else(|| value("grad_norm_mean_rel")).map(|mean| mean * steps);
    let Some(most) = value("max_rel").or(mean).filter(|most| most.is_finite()) else { return Ok(()) };
    let mut sizes: Vec<f64> = pairs(&unit.series).map(|(b, _)| b.abs()).filter(|b| b.is_finite()).collect();
    sizes.sort_by(f64::total_cmp);
    let floor = sizes.get(sizes.len() / 2).copied().unwrap_or(0.0).max(1.0);
    let is_beyond = |(b, c): &(f64, f64)| {
        let finite = b.is_finite() && c.is_finite();
        finite && (c - b).abs() > (most * (1.0 + 1e-6)).mul_add(b.abs().max(floor), floor)
    };
    demand(!pairs(&unit.series).any(|pair| is_beyond(&pair)), at, || {
        format!("has a step with a larger difference than the {most:e} of its rules")
    })
}

fn value(values: &[Option<Number>], index: usize) -> Option<f64> {
    values.get(index).copied().flatten().map(|number| number.0)
}

fn is_one_sided(series: &CurveSeries, index: usize) -> bool {
    let sides = value(&series.baseline, index).zip(value(&series.candidate, index));
    sides.is_some_and(|(b, c)| b.is_finite() != c.is_finite())
}

/// Whether any step is finite on both sides.
pub(super) fn has_finite(series: &CurveSeries) -> bool {
    pairs(series).any(|(b, c)| b.is_finite() && c.is_finite())
}

/// Whether the candidate is not finite anywhere the baseline is.
pub(super) fn has_broken(series: &CurveSeries) -> bool {
    pairs(series).any(|(b, c)| b.is_finite() && !c.is_finite())
}

fn pairs(series: &CurveSeries) -> impl Iterator<Item = (f64, f64)> + '_ {
    let both = series.baseline.iter().zip(&series.candidate);
    both.filter_map(|(b, c)| Some((b.as_ref()?.0, c.as_ref()?.0)))
}
