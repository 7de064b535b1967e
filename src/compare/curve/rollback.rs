//! A curve that falls back to an earlier stretch of itself while its steps count on.

use std::borrow::Cow;

/// Least number of points of a curve that can fall back to an earlier stretch.
const FROM: usize = 40;
/// Most points of a curve; longer curves are averaged over blocks so that every possible fall can be tried.
const MOST: usize = 4000;
/// Number of points on either side of a fall that show it; also the least number of points compared after it.
const WINDOW: usize = 10;
/// Most points after the fall that are compared.
const COMPARED: usize = 200;
/// Half the width of the mean that is the level of a curve.
const AROUND: usize = 5;
/// Least ratio of a fall to the scatter before it.
const STANDS_OUT: f64 = 5.0;
const LEAST: f64 = 0.01;
/// Most of the difference that a fall may leave unexplained; it also has to leave less than half of what a constant
/// factor from there on would leave.
const LEFT: f64 = 0.25;

/// A fall back to an earlier stretch; places are counted in points of the curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rollback {
    /// The first place after the fall.
    pub at: usize,
    /// Points that the curve fell back.
    pub back: usize,
    /// Share of the difference that it leaves unexplained, 0 to 1.
    pub left: f64,
    /// Whether the same batches were repeated as well.
    pub replays: bool,
}

/// The fall that explains how `candidate` departs from `baseline`; `None` where none does.
pub fn rollback(baseline: &[f64], candidate: &[f64]) -> Option<Rollback> {
    let size = baseline.len().div_ceil(MOST).max(1);
    let (baseline, candidate) = (averaged(baseline, size), averaged(candidate, size));
    if baseline.len() < FROM || baseline.iter().chain(candidate.iter()).any(|value| *value <= 0.0) {
        return None;
    }
    let apart: Vec<f64> = baseline.iter().zip(candidate.iter()).map(|(b, c)| c / b - 1.0).collect();
    let at = onset(&apart)?;
    let end = baseline.len().min(at + COMPARED);
    let level = level(&baseline);
    let stretch = Stretch { baseline: &baseline, candidate: &candidate, level: &level, at, end };
    let fall = (WINDOW / 2..=at).filter_map(|back| stretch.fall(back)).min_by(|a, b| a.left.total_cmp(&b.left))?;
    let explains = fall.left < LEFT && fall.left * 2.0 < stretch.beside_factor(&apart);
    explains.then_some(Rollback { at: fall.at * size, back: fall.back * size, ..fall })
}

fn averaged(values: &[f64], size: usize) -> Cow<'_, [f64]> {
    if size == 1 {
        return Cow::Borrowed(values);
    }
    values.chunks(size).map(mean).collect::<Vec<f64>>().into()
}

#[allow(clippy::cast_precision_loss, reason = "counts of steps")]
fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

fn level(values: &[f64]) -> Vec<f64> {
    let around = |index: usize| values.get(index.saturating_sub(AROUND)..(index + AROUND + 1).min(values.len()));
    (0..values.len()).map(|index| mean(around(index).unwrap_or_default())).collect()
}

/// The place at which the difference rises most, where that rise stands out from the scatter before it.
fn onset(apart: &[f64]) -> Option<usize> {
    let last = apart.len().checked_sub(2 * WINDOW)?;
    let rise = |at: usize| Some(mean(apart.get(at..at + WINDOW)?) - mean(apart.get(at - WINDOW..at)?));
    let rises = (WINDOW..=last).filter_map(|at| Some((at, rise(at)?)));
    let (at, rise) = rises.max_by(|a, b| a.1.total_cmp(&b.1))?;
    let before = apart.get(..at)?;
    let level = mean(before);
    let scatter = mean(&before.iter().map(|value| (value - level).powi(2)).collect::<Vec<f64>>()).sqrt();
    (rise > LEAST && rise > STANDS_OUT * scatter).then_some(at)
}

/// The points after a fall.
struct Stretch<'a> {
    baseline: &'a [f64],
    candidate: &'a [f64],
    level: &'a [f64],
    at: usize,
    end: usize,
}

impl Stretch<'_> {
    /// The fall by `back` points, with the share of the difference that it leaves: with new batches, or with those of
    /// the repeated steps where that fits better.
    fn fall(&self, back: usize) -> Option<Rollback> {
        let older = |t: usize| Some(self.baseline.get(t)? * self.level.get(t.checked_sub(back)?)? / self.level.get(t)?);
        let weights = self.left(self.end, older)?;
        let batches = self
            .left(self.end.min(self.at + back), |t| self.candidate.get(t.checked_sub(back)?).copied())
            .filter(|_| back >= 2 * WINDOW);
        let replays = batches.is_some_and(|batches| batches < weights);
        let left = batches.filter(|_| replays).unwrap_or(weights);
        Some(Rollback { at: self.at, back, left, replays })
    }

    /// Share of the difference that a constant factor from the fall on would leave.
    fn beside_factor(&self, apart: &[f64]) -> f64 {
        let factor = 1.0 + mean(apart.get(self.at..self.end).unwrap_or_default());
        self.left(self.end, |t| Some(self.baseline.get(t)? * factor)).unwrap_or_default()
    }

    /// Share of the difference up to `end` that remains when the candidate is held against `expected`; 1 where nothing
    /// is explained.
    fn left(&self, end: usize, expected: impl Fn(usize) -> Option<f64>) -> Option<f64> {
        let (mut left, mut whole) = (0.0, 0.0);
        for t in self.at..end {
            let (b, c) = (self.baseline.get(t)?, self.candidate.get(t)?);
            left += (c - expected(t)?).abs();
            whole += (c - b).abs();
        }
        (whole > 0.0).then_some(left / whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level_at(t: usize) -> f64 {
        2.0 + 4.0 * (-(t as f64) / 150.0).exp()
    }

    /// Difficulty of the batch at a step, a few percent.
    fn batch(t: usize) -> f64 {
        1.0 + 0.05 * ((t as u64 * 48_271 % 65_537) as f64 / 65_537.0 - 0.5)
    }

    fn run(level: impl Fn(usize) -> usize, data: impl Fn(usize) -> usize, noise: f64) -> Vec<f64> {
        (0..600).map(|t| level_at(level(t)) * batch(data(t)) * (1.0 + noise * (t as f64 * 1.7).sin())).collect()
    }

    #[test]
    fn a_fall_is_found_with_new_and_with_old_batches() {
        let baseline = run(|t| t, |t| t, 0.0);
        let fallen = |t: usize| if t < 250 { t } else { t - 100 };
        for (candidate, replays) in [(run(fallen, |t| t, 1e-4), false), (run(fallen, fallen, 1e-4), true)] {
            let found = rollback(&baseline, &candidate).expect("a fall");
            assert!(found.at.abs_diff(250) <= 3 && found.back.abs_diff(100) <= 3, "{found:?}");
            assert_eq!(found.replays, replays);
        }
    }

    #[test]
    fn noise_a_lasting_factor_and_a_spike_are_no_fall() {
        let baseline = run(|t| t, |t| t, 0.0);
        let with = |factor: fn(usize) -> f64| -> Vec<f64> {
            baseline.iter().enumerate().map(|(t, value)| value * factor(t)).collect()
        };
        assert_eq!(rollback(&baseline, &run(|t| t, |t| t, 1e-3)), None);
        assert_eq!(rollback(&baseline, &with(|t| if t < 250 { 1.0 } else { 1.1 })), None);
        assert_eq!(
            rollback(&baseline, &with(|t| 1.0 + if t < 400 { 0.0 } else { (-((t - 400) as f64) / 5.0).exp() })),
            None
        );
        assert_eq!(rollback(&baseline, &baseline), None);
    }
}
