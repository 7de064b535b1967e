//! Thinning of curves for results and pictures: at most 2000 points, extremes kept.

use std::ops::Range;

use rayon::prelude::*;

use super::noise::MetricNoise;
use crate::pair::curve::CurvePair;
use crate::pair::curve::align::PairedBy;
use crate::read::curve::series::Series;
use crate::result::number::Number;
use crate::result::unit::CurveSeries;

/// Points of a thinned curve.
const POINTS: usize = 2000;
/// Points kept per block: its first, both sides' smallest and largest, the largest difference, the first that is
/// not finite.
const KEPT: usize = 7;
/// Number of points of both sides from which on a series holds paired steps only; findings list the steps that one side lacks.
const WITH_UNPAIRED: usize = 2_000_000;

/// A step with the value of each side; `None` where a side lacks the step.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Point {
    step: u64,
    baseline: Option<f64>,
    candidate: Option<f64>,
}

/// The thinned curve for a result: paired steps, and steps that only one side has.
pub(crate) fn downsample(pair: &CurvePair<'_>, noise: Option<&MetricNoise>) -> CurveSeries {
    let coverage = &pair.points.coverage;
    let whole = coverage.candidate_only == 0 && coverage.missing.is_empty();
    let small = pair.baseline.series.steps.len() + pair.candidate.series.steps.len() < WITH_UNPAIRED;
    let kept = if pair.points.by == PairedBy::Step && !whole && small {
        let points = union(pair);
        thinned(points.len(), |index| points.get(index).copied())
    } else {
        let points = &pair.points;
        thinned(points.len(), |index| {
            Some(Point {
                step: points.steps.get(index)?,
                baseline: points.baseline.get(index).copied(),
                candidate: points.candidate.get(index).copied(),
            })
        })
    };
    let mut series = series_of(kept);
    if let Some(noise) = noise {
        series.band = series.step.iter().map(|step| noise.band_at(*step)).collect();
    }
    series
}

/// The thinned curve of the candidate alone.
pub(crate) fn one_sided_series(series: &Series) -> CurveSeries {
    let at = |index: usize| {
        let (step, value) = (series.steps.get(index)?, *series.values.get(index)?);
        Some(Point { step, baseline: None, candidate: Some(value) })
    };
    series_of(thinned(series.values.len(), at))
}

fn series_of(points: Vec<Point>) -> CurveSeries {
    let mut series = CurveSeries::default();
    for point in points {
        series.step.push(point.step);
        series.baseline.push(point.baseline.map(Number));
        series.candidate.push(point.candidate.map(Number));
    }
    series
}

/// All steps of both sides, in rising order.
fn union(pair: &CurvePair<'_>) -> Vec<Point> {
    let mut candidate = pair.candidate.series.points().peekable();
    let mut points = Vec::new();
    for (step, value) in pair.baseline.series.points() {
        while let Some((step, value)) = candidate.next_if(|(other, _)| *other < step) {
            points.push(Point { step, baseline: None, candidate: Some(value) });
        }
        let partner = candidate.next_if(|(other, _)| *other == step).map(|(_, value)| value);
        points.push(Point { step, baseline: Some(value), candidate: partner });
    }
    points.extend(candidate.map(|(step, value)| Point { step, baseline: None, candidate: Some(value) }));
    points
}

fn thinned(len: usize, at: impl Fn(usize) -> Option<Point> + Sync) -> Vec<Point> {
    if len <= POINTS {
        return (0..len).filter_map(at).collect();
    }
    let size = len.div_ceil(POINTS / KEPT - 1);
    let blocks: Vec<Range<usize>> = (0..len).step_by(size).map(|start| start..(start + size).min(len)).collect();
    let mut kept: Vec<usize> = blocks.into_par_iter().flat_map_iter(|block| extremes(block, &at)).collect();
    kept.push(len - 1);
    kept.dedup();
    kept.into_iter().filter_map(at).collect()
}

/// Indices of the points to keep of a block, in rising order.
fn extremes(block: Range<usize>, at: &impl Fn(usize) -> Option<Point>) -> Vec<usize> {
    let baseline = |index| at(index)?.baseline.filter(|value| value.is_finite());
    let candidate = |index| at(index)?.candidate.filter(|value| value.is_finite());
    let difference = |index| {
        let (b, c) = (baseline(index)?, candidate(index)?);
        Some((c - b).abs() / b.abs().max(1e-12))
    };
    let by = |of: &dyn Fn(usize) -> Option<f64>, sign: f64| {
        let signed = block.clone().filter_map(|index| Some((of(index)? * sign, index)));
        signed.reduce(|best, next| if next.0 > best.0 { next } else { best }).map(|(_, index)| index)
    };
    let broken = block.clone().find(|index| baseline(*index).is_none() || candidate(*index).is_none());
    let of_sides = [by(&baseline, 1.0), by(&baseline, -1.0), by(&candidate, 1.0), by(&candidate, -1.0)];
    let mut kept: Vec<usize> =
        [Some(block.start), by(&difference, 1.0), broken].into_iter().chain(of_sides).flatten().collect();
    kept.sort_unstable();
    kept.dedup();
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_curves_keep_their_extremes() {
        let n = 100_000_u64;
        let mut baseline: Vec<f64> = (0..n).map(|t| 3.0 - t as f64 * 1e-5).collect();
        let mut candidate = baseline.clone();
        baseline[5_555] = 9.0;
        candidate[77_777] = f64::NAN;
        candidate[33_333] = 0.5;
        let at = |index: usize| {
            Some(Point {
                step: index as u64 + 1,
                baseline: baseline.get(index).copied(),
                candidate: candidate.get(index).copied(),
            })
        };
        let kept: Vec<u64> = thinned(baseline.len(), at).iter().map(|point| point.step).collect();
        assert!(kept.len() <= POINTS, "{}", kept.len());
        assert!(kept.is_sorted_by(|a, b| a < b));
        for step in [1, 5_556, 33_334, 77_778, n] {
            assert!(kept.contains(&step), "{step}");
        }
    }
}
