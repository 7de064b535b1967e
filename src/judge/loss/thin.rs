//! Thinning of curves for results and pictures: at most 2000 points, extremes kept.

use crate::judge::number::Number;
use crate::judge::unit::CurveSeries;
use crate::pair::curve::align::Aligned;

use super::noise::MetricNoise;

/// Points of a thinned curve.
const POINTS: usize = 2000;
/// Points kept per block: its first, both sides' smallest and largest, the largest difference, the first that is
/// not finite.
const KEPT: usize = 7;

/// The paired curve as a result carries it.
pub fn thin(points: &Aligned, noise: Option<&MetricNoise>) -> CurveSeries {
    let mut series = CurveSeries::default();
    let mut keep = |index: usize| {
        if let (Some(step), Some(b), Some(c)) =
            (points.step.get(index), points.baseline.get(index), points.candidate.get(index))
        {
            series.step.push(*step);
            series.baseline.push(Some(Number(*b)));
            series.candidate.push(Some(Number(*c)));
        }
    };
    if points.len() <= POINTS {
        (0..points.len()).for_each(&mut keep);
    } else {
        let size = points.len().div_ceil(POINTS / KEPT - 1);
        for start in (0..points.len()).step_by(size) {
            extremes(points, start..(start + size).min(points.len())).into_iter().for_each(&mut keep);
        }
        keep(points.len() - 1);
    }
    if let Some(noise) = noise {
        series.band = series.step.iter().map(|step| noise.band_at(*step)).collect();
    }
    series
}

/// Indices of a block worth keeping, rising; the block's last index is left to the next block's first.
fn extremes(points: &Aligned, range: std::ops::Range<usize>) -> Vec<usize> {
    let (b, c) = (&points.baseline, &points.candidate);
    let value = |values: &[f64], index: usize| values.get(index).copied().filter(|value| value.is_finite());
    let by = |of: &dyn Fn(usize) -> Option<f64>, sign: f64| {
        range
            .clone()
            .filter_map(|index| Some((of(index)? * sign, index)))
            .reduce(|best, next| if next.0 > best.0 { next } else { best })
            .map(|(_, index)| index)
    };
    let difference = |index| Some((value(c, index)? - value(b, index)?).abs() / value(b, index)?.abs().max(1e-12));
    let broken = range.clone().find(|index| value(b, *index).is_none() || value(c, *index).is_none());
    let mut kept: Vec<usize> = [
        Some(range.start),
        by(&|index| value(b, index), 1.0),
        by(&|index| value(b, index), -1.0),
        by(&|index| value(c, index), 1.0),
        by(&|index| value(c, index), -1.0),
        by(&difference, 1.0),
        broken,
    ]
    .into_iter()
    .flatten()
    .collect();
    kept.sort_unstable();
    kept.dedup();
    let last = points.len() - 1;
    kept.retain(|index| *index != last);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pair::curve::align::{Coverage, PairedBy};

    #[test]
    fn long_curves_keep_their_extremes() {
        let n = 100_000_u64;
        let mut baseline: Vec<f64> = (0..n).map(|t| 3.0 - t as f64 * 1e-5).collect();
        let mut candidate = baseline.clone();
        baseline[5_555] = 9.0;
        candidate[77_777] = f64::NAN;
        candidate[33_333] = 0.5;
        let points =
            Aligned { by: PairedBy::Step, step: (1..=n).collect(), baseline, candidate, coverage: Coverage::default() };
        let series = thin(&points, None);
        assert!(series.step.len() <= POINTS, "{}", series.step.len());
        assert!(series.step.is_sorted_by(|a, b| a < b));
        for step in [1, 5_556, 33_334, 77_778, n] {
            assert!(series.step.contains(&step), "{step}");
        }
    }
}
