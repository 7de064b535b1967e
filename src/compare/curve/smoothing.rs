//! Search for a running mean on one side: a smooth curve that follows the other one with a delay.

/// Least number of steps that show how rough a curve is.
const FROM: usize = 20;
/// Most steps that are used; a running mean shows in these, so the rest of a longer curve is not needed.
const MOST: usize = 1 << 16;
/// Lengths of moving windows that are tried.
const WINDOWS: [usize; 12] = [2, 4, 5, 8, 10, 16, 20, 25, 32, 50, 64, 100];
/// Least ratio of the roughness of the rough curve to that of the smooth one.
const SMOOTHER: f64 = 3.0;
/// Most of the difference that a running mean may leave unexplained.
const LEFT: f64 = 0.25;

/// Kind of a running mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RunningMean {
    /// Over everything so far.
    Cumulative,
    /// Over this many steps.
    Window(usize),
    /// Exponential: this share of the last value is kept.
    Exponential(f64),
}

/// The mean that turns one curve into the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Smoothing {
    /// Whether the baseline is the smoothed side.
    pub of_baseline: bool,
    /// The mean.
    pub mean: RunningMean,
    /// Share of the difference that it leaves unexplained.
    pub left: f64,
}

/// The running mean that turns one curve into the other; `None` where none explains most of their difference.
pub fn smoothing(baseline: &[f64], candidate: &[f64]) -> Option<Smoothing> {
    if baseline.len() < FROM {
        return None;
    }
    let (baseline, candidate) = (baseline.get(..MOST).unwrap_or(baseline), candidate.get(..MOST).unwrap_or(candidate));
    let (rough_b, rough_c) = (roughness(baseline), roughness(candidate));
    let of_baseline = rough_c > SMOOTHER * rough_b;
    if !of_baseline && rough_b <= SMOOTHER * rough_c {
        return None;
    }
    let (smooth, rough) = if of_baseline { (baseline, candidate) } else { (candidate, baseline) };
    let before = apart(rough.iter().copied(), smooth);
    let windows = WINDOWS.into_iter().filter(|width| width * 2 <= rough.len()).map(RunningMean::Window);
    let means = windows.chain([RunningMean::Cumulative]).chain(kept(rough, smooth).map(RunningMean::Exponential));
    let left = |mean: RunningMean| (mean, apart(applied(mean, rough), smooth) / before);
    let (mean, left) = means.map(left).min_by(|a, b| a.1.total_cmp(&b.1))?;
    (left < LEFT).then_some(Smoothing { of_baseline, mean, left })
}

/// Mean magnitude of the second differences, which a linear trend does not affect.
fn roughness(values: &[f64]) -> f64 {
    let bend = |triple: &[f64]| match triple {
        [before, value, after] => (value - (before + after) / 2.0).abs(),
        _ => 0.0,
    };
    values.windows(3).map(bend).sum()
}

fn apart(values: impl Iterator<Item = f64>, others: &[f64]) -> f64 {
    values.zip(others).map(|(value, other)| (value - other).abs()).sum()
}

/// The share of the last value that an exponential mean keeps, by least squares; `None` where there is none.
fn kept(rough: &[f64], smooth: &[f64]) -> Option<f64> {
    let steps = rough.iter().skip(1).zip(smooth.iter().skip(1).zip(smooth));
    let (xy, xx) = steps.fold((0.0, 0.0), |(xy, xx), (value, (now, before))| {
        let gap = value - before;
        (xy + gap * (now - before), xx + gap * gap)
    });
    let kept = 1.0 - xy / xx;
    (0.0..1.0).contains(&kept).then_some(kept)
}

#[allow(clippy::cast_precision_loss, reason = "counts of steps")]
fn applied(mean: RunningMean, values: &[f64]) -> Box<dyn Iterator<Item = f64> + '_> {
    match mean {
        RunningMean::Cumulative => {
            let mut sum = 0.0;
            Box::new(values.iter().enumerate().map(move |(index, value)| {
                sum += value;
                sum / (index + 1) as f64
            }))
        }
        RunningMean::Window(width) => {
            let mut sum = 0.0;
            Box::new(values.iter().enumerate().map(move |(index, value)| {
                sum += value;
                if let Some(gone) = index.checked_sub(width).and_then(|index| values.get(index)) {
                    sum -= gone;
                }
                sum / (index + 1).min(width) as f64
            }))
        }
        RunningMean::Exponential(kept) => {
            let mut state: Option<f64> = None;
            Box::new(values.iter().map(move |value| {
                let next = state.map_or(*value, |state| kept * state + (1.0 - kept) * value);
                state = Some(next);
                next
            }))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A falling curve with batches that are harder or easier by up to 10 %, each run with its own noise.
    fn run(noise: f64, seed: u64) -> Vec<f64> {
        let drawn = |t: u64, by: u64| (t * by % 65_537) as f64 / 65_537.0 - 0.5;
        let value = |t: u64| (2.0 + 3.0 * (-(t as f64) / 60.0).exp()) * (1.0 + 0.2 * drawn(t * t + 1, 48_271));
        (0..300).map(|t| value(t) * (1.0 + noise * drawn(t * t + 1, seed))).collect()
    }

    #[test]
    fn each_mean_is_found_on_either_side() {
        let run = run(0.0, 1);
        for mean in [RunningMean::Cumulative, RunningMean::Window(10), RunningMean::Exponential(0.9)] {
            let smooth: Vec<f64> = applied(mean, &run).collect();
            for (found, of_baseline) in [(smoothing(&smooth, &run), true), (smoothing(&run, &smooth), false)] {
                let found = found.expect("a mean");
                assert_eq!(found.of_baseline, of_baseline);
                let same = match (found.mean, mean) {
                    (RunningMean::Exponential(a), RunningMean::Exponential(b)) => (a - b).abs() < 1e-3,
                    (a, b) => a == b,
                };
                assert!(same && found.left < 0.01, "{found:?} for {mean:?}");
            }
        }
    }

    #[test]
    fn two_healthy_runs_are_not_smoothed() {
        assert_eq!(smoothing(&run(0.0, 1), &run(0.02, 7919)), None);
    }
}
