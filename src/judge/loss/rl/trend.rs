//! Means of windows of two curves, and the scatter of their single steps.

use std::ops::Range;

use crate::median::upper_median;

/// Number of windows of a curve that is long enough.
const WINDOWS: usize = 8;
/// Least number of steps of a window.
const WINDOW: usize = 8;
/// Factor from a median absolute deviation to the standard deviation of a normal distribution.
const ROBUST: f64 = 1.4826;

/// Factor from a mean absolute deviation to the standard deviation of a normal distribution.
const OF_MEAN: f64 = 1.2533;

/// One window of both curves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// The last step.
    pub to_step: u64,
    /// Mean of the baseline.
    pub baseline: f64,
    /// Mean of the candidate.
    pub candidate: f64,
}

/// Two curves at the steps at which both are finite.
#[derive(Clone, Debug, Default)]
pub struct Trend {
    steps: Vec<u64>,
    pub(super) baseline: Vec<f64>,
    pub(super) candidate: Vec<f64>,
}

impl Trend {
    /// The trend of `points` (step, baseline, candidate), without those that are not finite on both sides.
    pub fn new(points: impl Iterator<Item = (u64, f64, f64)>) -> Self {
        let mut trend = Self::default();
        for (step, baseline, candidate) in points.filter(|(_, b, c)| b.is_finite() && c.is_finite()) {
            trend.steps.push(step);
            trend.baseline.push(baseline);
            trend.candidate.push(candidate);
        }
        trend
    }

    /// Number of steps.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// The steps.
    pub(super) fn steps(&self) -> &[u64] {
        &self.steps
    }

    /// Whether there is no step.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Windows of equal length.
    pub fn windows(&self) -> Vec<Window> {
        self.windows_of(|value| value)
    }

    /// Windows of equal length of the values that `of` makes of each value.
    pub(super) fn windows_of(&self, of: impl Fn(f64) -> f64) -> Vec<Window> {
        let mean_of = |values: &[f64], range: &Range<usize>| {
            mean(values.get(range.clone()).unwrap_or_default().iter().map(|value| of(*value)))
        };
        let window = |range: Range<usize>| Window {
            to_step: self.steps.get(range.end - 1).copied().unwrap_or_default(),
            baseline: mean_of(&self.baseline, &range),
            candidate: mean_of(&self.candidate, &range),
        };
        self.ranges().map(window).collect()
    }

    /// First steps of the windows.
    pub(super) fn first_steps(&self) -> impl Iterator<Item = u64> + '_ {
        self.ranges().filter_map(|range| self.steps.get(range.start).copied())
    }

    fn ranges(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let n = self.len();
        let count = (n / WINDOW).clamp(usize::from(n > 0), WINDOWS);
        (0..count).map(move |window| window * n / count..(window + 1) * n / count)
    }

    /// Range of the steps in the last quarter of the windows.
    fn tail(&self) -> Range<usize> {
        self.ranges().nth(self.first_of_tail()).map_or(0, |range| range.start)..self.len()
    }

    /// Index of the first window of the tail.
    pub(super) fn first_of_tail(&self) -> usize {
        let count = self.ranges().count();
        count - (count / 4).max(1).min(count)
    }

    /// Means of both sides over the tail, of the values that `of` makes of each value.
    pub(super) fn tail_means(&self, of: impl Fn(f64) -> f64) -> (f64, f64) {
        let of_tail = |values: &[f64]| mean(values.get(self.tail()).unwrap_or_default().iter().map(|value| of(*value)));
        (of_tail(&self.baseline), of_tail(&self.candidate))
    }

    /// Standard error of the difference of both tails.
    pub(crate) fn tail_error(&self) -> f64 {
        self.error(self.tail().len())
    }

    /// Standard error of the difference of both sides in a window.
    pub(super) fn window_error(&self) -> f64 {
        self.error(self.len() / self.ranges().count().max(1))
    }

    /// Standard error of a difference of means over `steps`: twice that of independent steps, because neighbouring steps are not
    /// independent.
    #[allow(clippy::cast_precision_loss, reason = "a count of steps")]
    fn error(&self, steps: usize) -> f64 {
        2.0 * step_noise(&self.baseline).hypot(step_noise(&self.candidate)) / (steps.max(1) as f64).sqrt()
    }
}

impl Trend {
    /// Scatter of the relative differences of single steps, limited to the scatter that follows from the baseline alone for two runs
    /// on different data. So a candidate that scatters more than the baseline gets no more room for that.
    pub(crate) fn relative_scatter(&self) -> f64 {
        let pairs = || self.baseline.iter().zip(&self.candidate).filter(|(b, _)| **b != 0.0);
        let apart: Vec<f64> = pairs().map(|(b, c)| (c - b) / b.abs()).collect();
        let neighbours = self.baseline.iter().zip(self.baseline.iter().skip(1));
        let changes: Vec<f64> = neighbours
            .filter(|(a, b)| a.abs() + b.abs() > 0.0)
            .map(|(a, b)| 2.0 * (b - a) / (a.abs() + b.abs()))
            .collect();
        // A change of the baseline contains the scatter of two of its steps, like a difference of two runs.
        step_noise(&apart).min(changes_noise(&changes))
    }
}

/// Scatter of single steps around the trend, from the changes between neighbouring steps.
fn step_noise(values: &[f64]) -> f64 {
    let changes: Vec<f64> = values.windows(2).filter_map(|pair| Some(pair.last()? - pair.first()?)).collect();
    changes_noise(&changes) / std::f64::consts::SQRT_2
}

/// Scatter of changes between neighbouring steps. The mean counts too, because most changes of a rarely earned reward are 0 and
/// their median would give no scatter at all.
fn changes_noise(changes: &[f64]) -> f64 {
    if changes.is_empty() { 0.0 } else { robust_deviation(changes).max(mean_deviation(changes)) }
}

/// Standard deviation from the mean absolute deviation; NaN for nothing.
pub(super) fn mean_deviation(values: &[f64]) -> f64 {
    let centre = mean(values.iter().copied());
    OF_MEAN * mean(values.iter().map(|value| (value - centre).abs()))
}

/// Robust standard deviation, from the median absolute deviation; 0 for nothing.
pub(super) fn robust_deviation(values: &[f64]) -> f64 {
    let Some(centre) = upper_median(values.to_vec()) else { return 0.0 };
    ROBUST * upper_median(values.iter().map(|value| (value - centre).abs()).collect()).unwrap_or_default()
}

/// The mean; NaN for nothing.
#[allow(clippy::cast_precision_loss, reason = "a count of steps")]
pub(super) fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (count, sum) = values.fold((0_usize, 0.0), |(count, sum), value| (count + 1, sum + value));
    sum / count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trend(n: u64) -> Trend {
        Trend::new((1..=n).map(|step| (step, step as f64, 2.0 * step as f64)))
    }

    #[test]
    fn windows_are_equal_and_hold_every_step() {
        for (n, windows) in [(0, 0), (3, 1), (15, 1), (20, 2), (64, 8), (1000, 8)] {
            let found = trend(n).windows();
            assert_eq!(found.len(), windows, "{n}");
            assert!(found.last().is_none_or(|last| last.to_step == n));
        }
        let halves = trend(20).windows();
        assert_eq!(halves[0], Window { to_step: 10, baseline: 5.5, candidate: 11.0 });
        assert_eq!(trend(80).tail(), 60..80);
    }

    #[test]
    fn noise_of_steps_does_not_see_a_trend() {
        let rising: Vec<f64> = (0..100).map(f64::from).collect();
        assert!(step_noise(&rising) < 1e-12);
        let noisy: Vec<f64> = (0..100).map(|step| if step % 2 == 0 { 1.0 } else { -1.0 }).collect();
        assert!(step_noise(&noisy) > 0.5);
    }
}
