//! The test of the step time: its growth, the noise, and the p-value.

use crate::compare::performance::statistics::{
    median, rank_test, relative_error_of_median, robust_deviation, trend, without_trend,
};
use crate::verdict::Verdict;

/// Smallest noise that is assumed, whatever was measured.
const LEAST_NOISE: f64 = 0.01;
/// Noise that is assumed where there are too few steps to measure it.
const NOISE_OF_FEW: f64 = 0.05;
/// Standard errors of the difference that count as noise.
const ERRORS: f64 = 3.0;
/// Steps on each side from which noise is measured and the rank test decides.
pub(crate) const FEW: usize = 4;
/// P-value below which a difference counts; 4 against 4 fully separated steps have 1 in 70.
pub(crate) const CHANCE: f64 = 0.02;
/// Relative gain beyond noise that is reported as faster.
const FASTER: f64 = 0.05;
/// Relative distance from the median above which a single step stands out.
const OUTSTANDING: f64 = 0.10;
/// Robust deviations above which a single step stands out.
const DEVIATIONS: f64 = 6.0;
/// Largest accepted share of scattered steps.
const SCATTERED: f64 = 0.2;

/// Limits on the ratio of candidate to baseline, beyond noise.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RatioLimits {
    /// Warns above this.
    pub warn: Option<f64>,
    /// Fails above this.
    pub fail: Option<f64>,
}

/// Step times of both sides, tested.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepTimeTest {
    /// Median of the baseline, in microseconds.
    pub baseline: f64,
    /// Median of the candidate, in microseconds.
    pub candidate: f64,
    /// Candidate over baseline.
    pub ratio: f64,
    /// Difference that noise explains, relative to the baseline.
    pub noise: f64,
    /// P-value of the candidate's steps being longer.
    pub p: f64,
    /// Whether the difference is significant: by the rank test, or with few steps by full separation.
    pub is_sure: bool,
    /// Whether there were too few steps to measure noise.
    pub is_few: bool,
}

impl StepTimeTest {
    /// Tests the periods of at least one step per side; `repeats` is the noise between declared repeats of the baseline.
    pub fn new(baseline: &[f64], candidate: &[f64], repeats: Option<f64>) -> Self {
        let [of_baseline, of_candidate] = [median(baseline), median(candidate)];
        let is_few = baseline.len() < FEW || candidate.len() < FEW;
        let least = |values: &[f64]| values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = |values: &[f64]| values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let p = rank_test(baseline, candidate);
        // A trend is not noise, so it is removed before the scatter is measured.
        let error_of = |values: &[f64]| relative_error_of_median(&steady(values));
        let error = error_of(baseline).hypot(error_of(candidate));
        let measured = if is_few { NOISE_OF_FEW } else { LEAST_NOISE.max(ERRORS * error) };
        Self {
            baseline: of_baseline,
            candidate: of_candidate,
            ratio: of_candidate / of_baseline,
            noise: measured.max(repeats.unwrap_or(0.0)),
            p,
            is_sure: if is_few { least(candidate) > most(baseline) } else { p < CHANCE },
            is_few,
        }
    }

    /// Ratio less noise, which is compared with the limits.
    pub(crate) fn beyond_noise(&self) -> f64 {
        self.ratio - self.noise
    }

    /// Verdict under limits.
    pub fn verdict(&self, limits: RatioLimits) -> Verdict {
        let is_above = |limit: Option<f64>| limit.is_some_and(|limit| self.beyond_noise() > limit);
        match (self.is_sure, is_above(limits.fail), is_above(limits.warn)) {
            (true, true, _) => Verdict::Fail,
            (true, false, true) => Verdict::Warn,
            _ => Verdict::Pass,
        }
    }

    /// Whether the candidate is faster than noise explains.
    pub(crate) fn is_faster(&self) -> bool {
        1.0 - self.ratio - self.noise > FASTER
    }

    /// Growth of the median in microseconds.
    pub(crate) fn delta(&self) -> f64 {
        self.candidate - self.baseline
    }
}

/// Periods without their trend, where they have one.
fn steady(periods: &[f64]) -> Vec<f64> {
    trend(periods, CHANCE).map_or_else(|| periods.to_vec(), |slope| without_trend(periods, slope))
}

/// Growth of the candidate's steps from one to the next, relative to the median. `None` unless they grow by over 10 % in total, and by more
/// than twice the baseline's growth.
#[allow(clippy::cast_precision_loss, reason = "a number of steps")]
pub fn drift(baseline: &[f64], candidate: &[f64]) -> Option<f64> {
    let whole = |periods: &[f64]| {
        let slope = trend(periods, CHANCE).unwrap_or(0.0) / median(periods);
        (slope, slope * (periods.len() as f64 - 1.0))
    };
    let ((_, baseline_growth), (slope, candidate_growth)) = (whole(baseline), whole(candidate));
    (candidate_growth > OUTSTANDING && candidate_growth > 2.0 * baseline_growth).then_some(slope)
}

/// Indexes of single steps far above the median.
pub fn spikes(periods: &[f64]) -> Vec<usize> {
    let periods = &steady(periods);
    let (middle, deviation) = (median(periods), robust_deviation(periods));
    let limit = (middle * (1.0 + OUTSTANDING)).max(middle + DEVIATIONS * deviation);
    periods.iter().enumerate().filter(|(_, period)| **period > limit).map(|(place, _)| place).collect()
}

/// Shares of the steps of both sides that lie over 10 % from their median. `None` unless the candidate's share is above a fifth and more
/// than twice the baseline's.
#[allow(clippy::cast_precision_loss, reason = "a number of steps")]
pub fn jitter(baseline: &[f64], candidate: &[f64]) -> Option<[f64; 2]> {
    let share = |periods: &[f64]| {
        let periods = &steady(periods);
        let middle = median(periods);
        let apart = periods.iter().filter(|period| (*period / middle - 1.0).abs() > OUTSTANDING).count();
        apart as f64 / periods.len().max(1) as f64
    };
    let [baseline_share, candidate_share] = [share(baseline), share(candidate)];
    (candidate_share > SCATTERED && candidate_share > 2.0 * baseline_share).then_some([baseline_share, candidate_share])
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "numbers that are passed through")]
mod tests {
    use super::*;

    #[test]
    fn a_trend_is_no_noise_and_no_scatter() {
        let even: Vec<f64> = (0..12).map(|step| 100.0 + 0.2 * f64::from(step % 3)).collect();
        for slope in [1.5, 3.0] {
            let rising: Vec<f64> = even.iter().zip(0..).map(|(value, step)| value + slope * f64::from(step)).collect();
            let test = StepTimeTest::new(&even, &rising, None);
            assert!(test.noise < 0.02 && jitter(&even, &rising).is_none(), "{test:?}");
            assert!(drift(&even, &rising).is_some_and(|found| (found * test.candidate - slope).abs() < 0.1 * slope));
            assert!(spikes(&rising).is_empty() && drift(&rising, &rising).is_none() && drift(&rising, &even).is_none());
        }
        let sawtooth: Vec<f64> = (0..12).map(|step| 100.0 + 10.0 * f64::from(step % 4)).collect();
        assert_eq!((drift(&even, &sawtooth), drift(&even, &even)), (None, None));
    }

    const LIMITS: RatioLimits = RatioLimits { warn: Some(1.05), fail: Some(1.10) };

    fn verdict(baseline: &[f64], candidate: &[f64]) -> Verdict {
        StepTimeTest::new(baseline, candidate, None).verdict(LIMITS)
    }

    #[test]
    fn only_growth_beyond_noise_counts() {
        let quiet = [100.0, 100.1, 99.9, 100.0];
        let times = |factor: f64| quiet.map(|period| period * factor);
        assert_eq!(verdict(&quiet, &quiet), Verdict::Pass);
        assert_eq!(verdict(&quiet, &times(1.05)), Verdict::Pass);
        assert_eq!(verdict(&quiet, &times(1.08)), Verdict::Warn);
        assert_eq!(verdict(&quiet, &times(1.20)), Verdict::Fail);
        assert!(StepTimeTest::new(&quiet, &times(0.9), None).is_faster());
        assert!(!StepTimeTest::new(&quiet, &times(0.97), None).is_faster());
        let with_repeats = StepTimeTest::new(&quiet, &times(1.20), Some(0.15));
        assert_eq!((with_repeats.verdict(LIMITS), with_repeats.noise), (Verdict::Pass, 0.15));
        // One checkpoint does not move a median.
        assert_eq!(verdict(&quiet, &[100.0, 100.2, 100.0, 400.0]), Verdict::Pass);
    }

    #[test]
    fn few_steps_have_to_be_apart() {
        let test = StepTimeTest::new(&[100.0, 101.0], &[120.0, 121.0], None);
        assert!(test.is_few && test.is_sure && (test.noise - 0.05).abs() < 1e-12);
        assert_eq!(test.verdict(LIMITS), Verdict::Fail);
        assert_eq!(verdict(&[100.0, 130.0], &[125.0, 160.0]), Verdict::Pass);
        assert_eq!(verdict(&[100.0], &[99.0]), Verdict::Pass);
        assert!(!StepTimeTest::new(&[100.0], &[99.9], None).is_faster());
    }

    #[test]
    fn single_steps_and_scatter_are_told_apart() {
        let mut steps = vec![100.0, 100.5, 99.5, 100.2, 99.8, 100.1];
        assert_eq!((spikes(&steps), jitter(&steps, &steps)), (vec![], None));
        steps[3] = 150.0;
        assert_eq!(spikes(&steps), [3]);
        let scattered = [100.0, 150.0, 100.0, 150.0, 100.0];
        assert_eq!(jitter(&[100.0; 5], &scattered), Some([0.0, 0.4]));
    }
}
