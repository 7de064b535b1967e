//! The step from which a loss climbs, and what jumps in the same log at or just before it.

use super::curve::Curve;
use crate::error::Result;
use crate::kind::Role;
use crate::median::upper_median;
use crate::pair::curve::{CurvePairing, PairedSources};
use crate::result::finding::{Fact, Finding};

/// Part of the rise up to which a value is still at the lowest level, and the same in typical steps between neighbouring values.
const STILL_LOW: f64 = 0.1;
const STEPS: f64 = 3.0;
/// Steps before the climb in which a jump may explain it, as a share of the steps so far, and their least number.
const JUST_BEFORE: (f64, u64) = (0.05, 3);
/// Steps after the found start of the climb at which a jump still explains it, because single values scatter before it.
const JUST_AFTER: u64 = 3;
/// Values before a jump that it is compared with.
const BEFORE: usize = 10;
/// Factors that make a jump: of a setting over every value before, and of a gradient norm over the usual one.
const OF_SETTING: f64 = 2.0;
const OF_GRADIENT: f64 = 5.0;

/// The step from which a curve climbs from the level `low` to `end`: the one after it was last low at two values in a row. `step` is the
/// typical step between neighbouring values.
pub(super) fn start(curve: &Curve<'_>, [low, end]: [f64; 2], step: f64) -> Option<u64> {
    let most = low + (STILL_LOW * (end - low)).max(STEPS * step);
    let values = curve.values();
    let last = values.windows(2).rposition(|pair| pair.iter().all(|value| *value <= most));
    // The pair that starts at `last` is the last low one, so that the climb begins two values later.
    curve.step(last.map_or(0, |last| last + 2))
}

/// A value that jumps: its metric, the step, and the values before and there.
struct Jump<'a> {
    metric: &'a str,
    step: u64,
    values: [f64; 2],
}

/// Adds to a finding about a loss that climbs what jumps at or just before that step: a learning rate before a loss scale before a
/// gradient norm.
///
/// # Errors
/// Errors of the disk, where points lie there.
pub(super) fn note_jump(finding: &mut Finding, loss: &PairedSources<'_>, pairing: &CurvePairing<'_>) -> Result<()> {
    let Some(Fact::Count(from)) = finding.facts.get("from_step").cloned() else { return Ok(()) };
    let order = |metric: &str, role: Role| match role {
        Role::LearningRate => Some(0),
        _ if metric.contains("loss_scale") => Some(1),
        Role::GradNorm => Some(2),
        _ => None,
    };
    let own = pairing.pairs.iter().filter(|other| other.run == loss.run && other.rank == loss.rank);
    let mut others: Vec<_> = own.clone().filter_map(|other| Some((order(&other.metric, other.role)?, other))).collect();
    others.sort_by_key(|(place, _)| *place);
    for (_, other) in others {
        let pair = other.load_alone()?;
        let points: Vec<(u64, f64)> = pair.candidate.series.points().collect();
        let Some(jump) = jump(&points, from, other.role == Role::GradNorm) else { continue };
        let jump = Jump { metric: &other.metric, ..jump };
        let [before, there] = jump.values;
        finding.facts.extend([
            ("jumped".into(), jump.metric.into()),
            ("jump_step".into(), jump.step.into()),
            ("jump_from".into(), before.into()),
            ("jump_to".into(), there.into()),
            ("from_step".into(), from.max(jump.step).into()),
        ]);
        if other.role != Role::GradNorm {
            finding.facts.insert("is_setting".into(), 1_u64.into());
        }
        return Ok(());
    }
    note_rate(finding, from, own)
}

/// Adds the learning rate at which a loss begins to climb, where that does not jump.
fn note_rate<'a>(finding: &mut Finding, from: u64, mut own: impl Iterator<Item = &'a PairedSources<'a>>) -> Result<()> {
    let Some(rates) = own.find(|other| other.role == Role::LearningRate) else { return Ok(()) };
    let pair = rates.load_alone()?;
    let points: Vec<(u64, f64)> = pair.candidate.series.points().collect();
    let there = points.iter().rfind(|(step, _)| *step <= from).or(points.first());
    let most = points.iter().map(|(_, rate)| *rate).filter(|rate| rate.is_finite()).fold(0.0, f64::max);
    if let Some((_, rate)) = there.filter(|(_, rate)| rate.is_finite() && most > 0.0) {
        finding.facts.extend([("rate".into(), (*rate).into()), ("most_rate".into(), most.into())]);
    }
    Ok(())
}

/// The largest jump around the step `from`.
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few steps")]
fn jump(points: &[(u64, f64)], from: u64, is_gradient: bool) -> Option<Jump<'static>> {
    let (share, least) = JUST_BEFORE;
    let first = from.saturating_sub(least.max((from as f64 * share) as u64));
    let near = points.windows(2).enumerate().filter_map(|(place, pair)| match pair {
        [(_, before), (step, there)] if (first..=from.saturating_add(JUST_AFTER)).contains(step) => {
            Some((place, *step, [*before, *there]))
        }
        _ => None,
    });
    let is_jump = |place: usize, [before, there]: [f64; 2]| {
        let earlier = points.get((place + 1).saturating_sub(BEFORE)..=place).unwrap_or_default();
        let earlier: Vec<f64> = earlier.iter().map(|(_, value)| *value).filter(|value| value.is_finite()).collect();
        if is_gradient {
            return upper_median(earlier).is_some_and(|usual| usual > 0.0 && there > OF_GRADIENT * usual);
        }
        let highest = points.iter().take(place + 1).map(|(_, value)| *value).fold(0.0, f64::max);
        before > 0.0 && there > OF_SETTING * highest
    };
    let jumps = near.filter(|(place, _, values)| is_jump(*place, *values));
    let ratio = |[before, there]: [f64; 2]| there / before;
    let largest = jumps.max_by(|(.., one), (.., other)| ratio(*one).total_cmp(&ratio(*other)))?;
    Some(Jump { metric: "", step: largest.1, values: largest.2 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(of: impl Fn(u64) -> f64) -> Vec<(u64, f64)> {
        (1..=120).map(|step| (step, of(step))).collect()
    }

    #[test]
    fn a_rate_that_jumps_before_the_climb_is_found_and_a_warm_up_is_not() {
        let jumps = points(|step| if step < 100 { 0.01 } else { 0.6 });
        assert_eq!(jump(&jumps, 101, false).map(|jump| (jump.step, jump.values)), Some((100, [0.01, 0.6])));
        assert_eq!(jump(&jumps, 98, false).map(|jump| jump.step), Some(100), "values scatter before the climb");
        assert!(jump(&jumps, 80, false).is_none(), "after the climb");
        assert!(jump(&jumps, 115, false).is_none(), "long before the climb");
        let restarts = points(|step| (step % 50) as f64 * 1e-3 + 1e-4);
        assert!(jump(&restarts, 51, false).is_none(), "a schedule that begins again");
    }

    #[test]
    fn a_gradient_jumps_above_its_usual_size() {
        let wave = |step: u64| if step.is_multiple_of(2) { 1.0 } else { 2.0 };
        let jumps = points(|step| if step == 100 { 40.0 } else { wave(step) });
        assert_eq!(jump(&jumps, 100, true).map(|jump| jump.step), Some(100));
        assert!(jump(&points(wave), 100, true).is_none());
    }
}
