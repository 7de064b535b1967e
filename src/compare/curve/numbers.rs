//! Numbers that stand for a whole run in rules about samples of runs: level, tail, best value, steps to a target,
//! scatter.
//!
//! Values are those of the steps that all runs have, in order, all finite.

use super::robust::{WINDOW, spike_places};
use crate::kind::Better;
use crate::median::midpoint_median;

/// Least height of a spike above the median: in robust deviations, and as a part of the median.
const DEVIATIONS: f64 = 8.0;
const PART: f64 = 0.1;
/// Ratio of the standard deviation of a normal distribution to the median distance from its middle.
const ROBUST: f64 = 1.4826;

/// The mean: the area under the curve over its length.
#[allow(clippy::cast_precision_loss, reason = "a count of steps")]
pub(crate) fn mean_level(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Mean of the last values: a tenth of a training curve, 5 to 50 of them; a third of one of evaluations.
pub(crate) fn tail_mean(values: &[f64], is_evaluation: bool) -> Option<f64> {
    let len = if is_evaluation { values.len().div_ceil(3) } else { (values.len() / 10).clamp(5, 50) };
    mean_level(values.get(values.len().saturating_sub(len)..)?)
}

pub(crate) fn best_value(values: &[f64], better: Better) -> Option<f64> {
    let values = values.iter().copied();
    match better {
        Better::Lower => values.min_by(f64::total_cmp),
        Better::Higher => values.max_by(f64::total_cmp),
    }
}

/// Spread from step to step, as the standard deviation that normal changes of their median size have.
pub(crate) fn step_spread(values: &[f64]) -> Option<f64> {
    let changes = values.windows(2).filter_map(|pair| Some((pair.last()? - pair.first()?).abs()));
    Some(ROBUST * midpoint_median(changes.collect())?)
}

/// Number of spikes: values far above the median of their neighbours; adjacent ones count once.
#[allow(clippy::cast_precision_loss, reason = "a count of spikes")]
pub(crate) fn spike_count(values: &[f64]) -> f64 {
    let (mut count, mut last) = (0_usize, None::<usize>);
    for place in spike_places(values, DEVIATIONS, PART) {
        if last.is_none_or(|last| place - last >= WINDOW) {
            (count, last) = (count + 1, Some(place));
        }
    }
    count as f64
}

/// The step at which the curve first reaches `target`, interpolated between two evaluations by the logarithm of the
/// values where they have one; `None` where it never does.
#[allow(clippy::cast_precision_loss, reason = "steps are far below 2^53")]
pub(crate) fn steps_to(points: impl Iterator<Item = (u64, f64)>, target: f64, better: Better) -> Option<f64> {
    let has_reached = |value: f64| match better {
        Better::Lower => value <= target,
        Better::Higher => value >= target,
    };
    let mut before: Option<(u64, f64)> = None;
    for (step, value) in points.filter(|(_, value)| value.is_finite()) {
        if has_reached(value) {
            let Some((earlier, from)) = before else { return Some(step as f64) };
            let logarithm = |value: f64| if from > 0.0 && target > 0.0 && value > 0.0 { value.ln() } else { value };
            let whole = logarithm(value) - logarithm(from);
            let part = if whole == 0.0 { 1.0 } else { (logarithm(target) - logarithm(from)) / whole };
            return Some(earlier as f64 + part.clamp(0.0, 1.0) * (step - earlier) as f64);
        }
        before = Some((step, value));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_told_by_its_numbers() {
        let values: Vec<f64> = (0..100).map(|step| 1.0 + 1.0 / f64::from(step + 1)).collect();
        assert!((mean_level(&values).expect("values") - 1.051_873_775).abs() < 1e-6);
        assert!((tail_mean(&values, false).expect("values") - 1.010_481).abs() < 1e-4);
        assert_eq!(tail_mean(&[3.0, 2.0, 1.0], true), Some(1.0));
        assert_eq!((best_value(&values, Better::Lower), best_value(&values, Better::Higher)), (Some(1.01), Some(2.0)));
        assert_eq!(mean_level(&[]), None);
    }

    #[test]
    fn spikes_are_counted_once_and_noise_is_none() {
        let noisy = |step: u32| 2.0 + 0.01 * f64::from(step * 7919 % 101) / 101.0;
        let mut values: Vec<f64> = (0..200).map(noisy).collect();
        assert!(spike_count(&values) < 0.5);
        for place in [40, 41, 120] {
            values[place] = 3.0;
        }
        assert!((spike_count(&values) - 2.0).abs() < 0.5);
        let wide = step_spread(&values).expect("values");
        assert!(wide > 0.001 && wide < 0.01, "{wide}");
    }

    #[test]
    fn a_target_is_reached_between_two_evaluations() {
        let points = [(10, 4.0), (20, 2.0), (30, 1.0)];
        let reached = |target, better| steps_to(points.into_iter(), target, better);
        assert!((reached(2.828_427_124_746_19, Better::Lower).expect("reached") - 15.0).abs() < 1e-9);
        assert_eq!((reached(4.0, Better::Lower), reached(0.5, Better::Lower)), (Some(10.0), None));
        assert_eq!(reached(3.0, Better::Higher), Some(10.0));
    }
}
