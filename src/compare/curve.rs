//! Error measures of a pair of curves.
//!
//! b_t and c_t are the baseline's and the candidate's value at step t, r_t = |c_t - b_t| / |b_t|, N the number of
//! steps at which both are finite; only these count here. Differences up to an absolute floor count as 0, because
//! a share of a value near zero turns noise into failures. All sums are in `f64`.

pub mod factor;
pub mod numbers;
pub mod rank;
pub mod robust;
pub mod rollback;
pub mod smoothing;
pub mod standstill;

use std::borrow::Cow;

use crate::pair::curve::align::AlignedPoints;
use crate::read::curve::series::Steps;

/// Number of first steps that make up the head of a curve.
pub const HEAD: usize = 5;
/// Least number of steps with which a rolling median tells single outliers from lasting differences.
pub(crate) const SMOOTHED_FROM: usize = 200;
/// Least number of steps that say something about how two runs move together.
const CORRELATED_FROM: usize = 20;
/// Most steps in a row that the rolling median removes: fewer than half of its window.
pub(crate) const TAKEN_OUT: usize = robust::WINDOW / 2;
/// Steps in a row that fill most of the rolling median's window.
pub(crate) const WINDOW_FILLED: usize = robust::WINDOW - 1;

/// Difference that two runs are assumed to have where they agree to the last bit: the rounding of `float32`.
const LEAST_NOISE: f64 = 1e-7;

/// One rounding of `bf16` to the other side: with kernels of mixed precision the first difference of a loss may be this
/// large although nothing differed before.
pub(crate) const FLIPPED: f64 = 1.0 / 256.0;

/// Room for the rounding in `f64` when a difference is compared with one printed unit.
const ROUNDED: f64 = 1.0 + 1e-6;

/// Scale on which differences are measured.
#[derive(Clone, Copy, Debug)]
pub struct CurveScale<'s> {
    /// Differences up to this, times max(1, median |b|), count as 0.
    pub floor: f64,
    /// One unit of the last printed digit, where values are printed; differences up to this count as 0 too.
    pub resolution: f64,
    /// Steps of a run, where each point counts in the mean for all steps since the previous one; `None` where every
    /// point has the same weight.
    pub steps: Option<&'s Steps>,
}

/// A value and where it was taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CurvePoint {
    /// The step.
    pub step: u64,
    /// The value.
    pub value: f64,
}

/// Correlation of the two sides' step-to-step changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChangeCorrelation {
    /// The lower correlation of the two halves, since a different data order may begin late.
    pub lowest: f64,
    /// The correlation of the later half: at the start, a model has learned nothing yet that would make some batches
    /// harder than others.
    pub later: f64,
    /// Number of changes on which each correlation rests.
    pub changes: usize,
}

/// A run of consecutive steps at which two curves differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    /// Its first step.
    pub first: u64,
    /// Number of steps.
    pub steps: usize,
}

/// The first step of a curve beyond a band.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Onset {
    /// The step.
    pub step: u64,
    /// r of that step.
    pub size: f64,
    /// The largest r before it, or the smallest difference that can be seen where that is larger.
    pub before: f64,
    /// Steps since the point before it.
    pub gap: u64,
}

/// Everything that is measured of a pair of curves.
#[derive(Clone, Debug)]
pub struct CurveMeasures {
    /// Steps at which both sides are finite.
    pub steps: Steps,
    /// r_t, after the floor.
    pub rel: Vec<f64>,
    /// The absolute floor that was applied.
    pub floor: f64,
    /// One unit of the last printed digit; 0 where values have full precision.
    pub resolution: f64,
    /// Values of both sides at the first [`HEAD`] steps.
    pub start: Vec<(f64, f64)>,
    /// The median of |b_t|.
    pub median: f64,
    /// r_t of the first step.
    pub first: Option<CurvePoint>,
    /// The largest r_t of the first [`HEAD`] steps.
    pub head: Option<CurvePoint>,
    /// The largest r_t.
    pub max: Option<CurvePoint>,
    /// Mean of r_t, by the steps that each point stands for where the scale says so.
    pub mean_rel: f64,
    /// Median of r_t.
    pub median_rel: f64,
    /// Mean of |c_t - b_t|, before the floor.
    pub mean_abs: f64,
    /// Mean of c minus mean of b over the last tenth (5 to 50 steps), over the magnitude of the latter.
    pub tail: f64,
    /// Standard error of the tail, from the scatter of its steps' signed differences.
    pub tail_error: f64,
    /// Mean of c minus mean of b over all steps, and the mean of b.
    pub mean_difference: (f64, f64),
    /// Share of the steps on the side (above, below) that has more of them; 0.5 to 1, and 1 where nothing differs.
    pub majority: f64,
    /// Rank correlation of the two sides' step-to-step changes; `None` where a curve is too short or does not move.
    pub together: Option<ChangeCorrelation>,
    /// Isolated spikes of the baseline and of the candidate.
    pub spikes: (usize, usize),
}

/// Measures a pair of curves; `None` where no step is finite on both sides.
pub fn measure(points: &AlignedPoints<'_>, scale: CurveScale<'_>) -> Option<CurveMeasures> {
    let (steps, baseline, candidate) = finite_points(points);
    let median = robust::median_magnitude(&baseline)?;
    let floor = (scale.floor * median.max(1.0)).max(scale.resolution * ROUNDED);
    let rel: Vec<f64> =
        baseline.iter().zip(candidate.iter()).map(|(b, c)| relative_difference(*b, *c, floor)).collect();
    let ((spikes_b, spikes_c), together) = rayon::join(
        || rayon::join(|| robust::count_spikes(&baseline), || robust::count_spikes(&candidate)),
        || together(&baseline, &candidate),
    );
    let at = |index: usize| Some(CurvePoint { step: steps.get(index)?, value: *rel.get(index)? });
    let largest =
        |len: usize| (0..len.min(rel.len())).filter_map(at).reduce(|a, b| if b.value > a.value { b } else { a });
    Some(CurveMeasures {
        floor,
        resolution: scale.resolution,
        start: baseline.iter().copied().zip(candidate.iter().copied()).take(HEAD).collect(),
        median,
        first: at(0),
        head: largest(HEAD),
        max: largest(rel.len()),
        mean_rel: scale.steps.map_or_else(|| mean(&rel), |own| mean_by_steps(&rel, &steps, own)),
        median_rel: robust::median_magnitude(&rel)?,
        mean_abs: mean_of(baseline.iter().zip(candidate.iter()).map(|(b, c)| (c - b).abs())),
        tail: tail(&baseline, &candidate, floor),
        tail_error: tail_error(&baseline, &candidate),
        mean_difference: (mean(&candidate) - mean(&baseline), mean(&baseline)),
        majority: majority(&baseline, &candidate, floor),
        together,
        spikes: (spikes_b, spikes_c),
        steps: steps.into_owned(),
        rel,
    })
}

/// Steps, baseline values, candidate values.
pub type Columns<'a> = (Cow<'a, Steps>, Cow<'a, [f64]>, Cow<'a, [f64]>);

/// The steps at which both sides are finite; borrowed where that is all of them, as in most curves.
pub(crate) fn finite_points<'a>(points: &'a AlignedPoints<'_>) -> Columns<'a> {
    let both = |(_, b, c): &(u64, f64, f64)| b.is_finite() && c.is_finite();
    if points.iter().all(|point| both(&point)) {
        let (baseline, candidate) = (Cow::Borrowed(&*points.baseline), Cow::Borrowed(&*points.candidate));
        return (Cow::Borrowed(&points.steps), baseline, candidate);
    }
    let kept = || points.iter().filter(both);
    let mut steps = Steps::numbered();
    kept().for_each(|(step, ..)| steps.push(step));
    let baseline: Vec<f64> = kept().map(|(_, b, _)| b).collect();
    (Cow::Owned(steps), baseline.into(), kept().map(|(.., c)| c).collect::<Vec<f64>>().into())
}

/// |c - b| / |b|, and 0 where the difference is within `floor`.
///
/// A baseline of 0 counts as `floor`, so that the result is finite for finite values (unless `floor` is 0).
pub(crate) fn relative_difference(b: f64, c: f64, floor: f64) -> f64 {
    let difference = (c - b).abs();
    if difference <= floor { 0.0 } else { difference / b.abs().max(floor) }
}

fn mean(values: &[f64]) -> f64 {
    mean_of(values.iter().copied())
}

/// The mean; 0 for nothing.
#[allow(clippy::cast_precision_loss, reason = "counts lie far below 2^53")]
fn mean_of(values: impl ExactSizeIterator<Item = f64> + Clone) -> f64 {
    let count = values.len();
    let sum: f64 = values.clone().sum();
    match count {
        0 => 0.0,
        // The sum of large numbers overflows where their mean does not.
        _ if !sum.is_finite() => values.map(|value| value / count as f64).sum(),
        _ => sum / count as f64,
    }
}

/// Mean in which each value is weighted by the steps since the previous one in `own`: a run may log its first steps one
/// by one and then only every five hundredth. The first value stands for the steps up to it, but for no more than the
/// second one does; values that one side lacks add no weight to those that follow.
#[allow(clippy::cast_precision_loss, reason = "counts lie far below 2^53")]
fn mean_by_steps(values: &[f64], steps: &Steps, own: &Steps) -> f64 {
    let Steps::Listed(own) = own else { return mean(values) };
    let behind = own.iter().zip(own.iter().skip(1)).map(|(before, step)| (*step, step.saturating_sub(*before).max(1)));
    let second = behind.clone().next().map_or(1, |(_, distance)| distance);
    let first = own.first().map(|first| (*first, (*first).clamp(1, second)));
    let mut distances = first.into_iter().chain(behind).peekable();
    let weight = |step: u64| {
        while distances.next_if(|(other, _)| *other < step).is_some() {}
        distances.next_if(|(other, _)| *other == step).map_or(1, |(_, distance)| distance) as f64
    };
    let weights: Vec<f64> = steps.iter().map(weight).collect();
    let all: f64 = weights.iter().sum();
    values.iter().zip(weights).map(|(value, weight)| value * (weight / all)).sum()
}

/// Number of steps in the tail of a curve of `n` steps: a tenth, at least 5 and at most 50, and never more than there
/// are.
pub(crate) fn tail_len(n: usize) -> usize {
    (n / 10).clamp(5, 50).min(n)
}

fn tail(baseline: &[f64], candidate: &[f64], floor: f64) -> f64 {
    let skip = baseline.len() - tail_len(baseline.len());
    let (b, c) = (mean(baseline.get(skip..).unwrap_or_default()), mean(candidate.get(skip..).unwrap_or_default()));
    let size = relative_difference(b, c, floor);
    if c < b && size > 0.0 { -size } else { size }
}

#[allow(clippy::cast_precision_loss, reason = "at most 50 steps")]
fn tail_error(baseline: &[f64], candidate: &[f64]) -> f64 {
    let skip = baseline.len() - tail_len(baseline.len());
    let level = mean(baseline.get(skip..).unwrap_or_default()).abs();
    let pairs = baseline.iter().zip(candidate).skip(skip);
    let differences: Vec<f64> = pairs.map(|(b, c)| c - b).collect();
    let (n, middle) = (differences.len() as f64, mean(&differences));
    let variance = differences.iter().map(|value| (value - middle).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
    if level > 0.0 { (variance / n).sqrt() / level } else { 0.0 }
}

fn majority(baseline: &[f64], candidate: &[f64], floor: f64) -> f64 {
    let (mut above, mut below) = (0_usize, 0_usize);
    for (b, c) in baseline.iter().zip(candidate) {
        above += usize::from(c - b > floor);
        below += usize::from(b - c > floor);
    }
    #[allow(clippy::cast_precision_loss, reason = "counts lie far below 2^53")]
    if above + below == 0 { 1.0 } else { above.max(below) as f64 / (above + below) as f64 }
}

fn together(baseline: &[f64], candidate: &[f64]) -> Option<ChangeCorrelation> {
    let n = baseline.len();
    if n < CORRELATED_FROM {
        return None;
    }
    let half = if n < 2 * CORRELATED_FROM { n } else { n / 2 };
    let of =
        |range: std::ops::Range<usize>| rank::change_correlation(baseline.get(range.clone())?, candidate.get(range)?);
    let (earlier, later) = (of(0..half)?, of(n - half..n)?);
    Some(ChangeCorrelation { lowest: earlier.min(later), later, changes: rank::change_count(half) })
}

impl CurveMeasures {
    /// Whether the curve is long enough to tell single outliers from lasting differences.
    pub(crate) fn is_smoothed(&self) -> bool {
        self.rel.len() >= SMOOTHED_FROM
    }

    /// Number of steps above `band`, after the rolling median removed outliers where the curve is long enough.
    pub(crate) fn steps_above(&self, band: f64) -> usize {
        if self.is_smoothed() {
            robust::medians_above(&self.rel, band).filter(|above| *above).count()
        } else {
            self.rel.iter().filter(|rel| **rel > band).count()
        }
    }

    /// The longest run of steps above `band` that remains after the rolling median.
    pub(crate) fn longest_above(&self, band: f64) -> Option<Stretch> {
        let (index, steps) = robust::longest_run(robust::medians_above(&self.rel, band))?;
        Some(Stretch { first: self.steps.get(index)?, steps })
    }

    /// Number of single steps above `band` that the rolling median removes.
    pub(crate) fn outliers_above(&self, band: f64) -> usize {
        let all = self.rel.iter().filter(|rel| **rel > band).count();
        all.saturating_sub(self.steps_above(band))
    }

    /// The first step above `band`, and how many times larger it is than anything before it.
    ///
    /// Noise grows from step to step, so a difference that begins all at once has a cause of its own. `None` where
    /// nothing lies above the band, or where fewer than [`HEAD`] steps come before.
    pub fn onset(&self, band: f64) -> Option<Onset> {
        let index = self.rel.iter().position(|rel| *rel > band).filter(|index| *index >= HEAD)?;
        // A difference of less than one printed unit cannot be seen.
        let unit = if self.median > 0.0 { self.resolution / self.median } else { 0.0 };
        let before = self.rel.get(..index)?.iter().copied().fold(LEAST_NOISE.max(unit), f64::max);
        let (step, size) = (self.steps.get(index)?, *self.rel.get(index)?);
        Some(Onset { step, size, before, gap: step - self.steps.get(index - 1)? })
    }

    /// The first step above `band` after which the difference, averaged over a few steps, never falls below it again.
    pub(crate) fn first_lasting_departure(&self, band: f64) -> Option<u64> {
        let n = self.rel.len();
        let window = (n / 50).clamp(5, 50).min(n);
        #[allow(clippy::cast_precision_loss, reason = "at most 50")]
        let limit = band * window as f64;
        let mut sum: f64 = self.rel.get(n.checked_sub(window)?..)?.iter().sum();
        let mut start = n - window;
        if window == 0 || sum <= limit {
            return None;
        }
        while start > 0 && sum > limit {
            start -= 1;
            sum += self.rel.get(start)? - self.rel.get(start + window)?;
        }
        let from = if sum <= limit { start + 1 } else { start };
        let index = (from..n).find(|index| self.rel.get(*index).is_some_and(|rel| *rel > band))?;
        self.steps.get(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pair::curve::align::{PairedBy, StepCoverage};

    fn points(baseline: Vec<f64>, candidate: Vec<f64>) -> AlignedPoints<'static> {
        let steps = Steps::Positions(baseline.len());
        let (baseline, candidate) = (baseline.into(), candidate.into());
        AlignedPoints {
            by: PairedBy::Step,
            steps,
            baseline,
            candidate,
            coverage: StepCoverage::default(),
            values: None,
        }
    }

    const SCALE: CurveScale<'static> = CurveScale { floor: 1e-5, resolution: 0.0, steps: None };

    #[test]
    fn a_point_weighs_the_steps_since_the_one_before_it() {
        let steps: Vec<u64> = (1..=10).chain((1..=20).map(|nth| nth * 500)).collect();
        let early: Vec<f64> = steps.iter().map(|step| if *step <= 10 { 0.1 } else { 0.0 }).collect();
        let listed = |steps: &[u64]| Steps::Listed(steps.to_vec());
        let mean = |values: &[f64], steps: &Steps| mean_by_steps(values, steps, steps);
        let of_early = mean(&early, &listed(&steps));
        assert!((of_early - 0.1 * 10.0 / 10_000.0).abs() < 1e-12, "{of_early}");
        assert!((mean(&[0.1, 0.2, 0.3], &listed(&[3, 6, 9])) - 0.2).abs() < 1e-12);
        let regular = Steps::Regular { first: 1, interval: 100, len: 3 };
        assert!((mean(&[0.1, 0.2, 0.3], &regular) - 0.2).abs() < 1e-12);
        assert!(mean(&[], &listed(&[])).abs() < 1e-12);
        // Steps 3 to 98 are there, and paired with nothing.
        let every = Steps::Regular { first: 1, interval: 1, len: 100 };
        assert!((mean_by_steps(&[0.1, 0.1, 0.4], &listed(&[1, 2, 99]), &every) - 0.2).abs() < 1e-12);
        let some: Vec<u64> = (1..=98).chain([99, 199]).collect();
        assert!((mean_by_steps(&[0.1, 0.1, 0.4], &listed(&[1, 2, 99]), &listed(&some)) - 0.2).abs() < 1e-12);
    }

    #[test]
    fn only_a_scale_with_steps_weighs_by_them() {
        let mut points = points(vec![2.0, 2.0, 2.0], vec![2.2, 2.0, 2.0]);
        points.steps = Steps::Listed(vec![1, 2, 100]);
        let plain = measure(&points, SCALE).expect("finite").mean_rel;
        let weighed = measure(&points, CurveScale { steps: Some(&points.steps), ..SCALE }).expect("finite").mean_rel;
        assert!((plain - 0.1 / 3.0).abs() < 1e-12 && (weighed - 0.1 / 100.0).abs() < 1e-12, "{plain} {weighed}");
    }

    #[test]
    fn nothing_finite_measures_nothing() {
        assert!(measure(&points(vec![], vec![]), SCALE).is_none());
        assert!(measure(&points(vec![f64::NAN, 1.0], vec![1.0, f64::INFINITY]), SCALE).is_none());
    }

    #[test]
    fn the_floor_hides_small_differences_only() {
        assert_eq!(relative_difference(2.0, 2.0 + 1e-6, 1e-5).to_bits(), 0.0_f64.to_bits());
        assert!((relative_difference(2.0, 2.2, 1e-5) - 0.1).abs() < 1e-12);
        assert!(relative_difference(0.0, 1.0, 1e-5).is_finite());
    }

    #[test]
    fn a_lasting_departure_begins_where_the_difference_begins() {
        let baseline = vec![2.0; 120];
        let mut candidate = baseline.clone();
        candidate[20] = 3.0;
        candidate.iter_mut().skip(59).for_each(|value| *value = 2.2);
        let measures = measure(&points(baseline, candidate), SCALE).expect("finite");
        assert_eq!(measures.first_lasting_departure(0.02), Some(60));
        assert_eq!(measures.first_lasting_departure(0.5), None);
        assert_eq!(measures.steps_above(0.02), 62);
    }

    #[test]
    fn an_onset_is_told_from_growth() {
        let baseline = vec![2.0; 60];
        let growing = (0..60).map(|t| 2.0 * (1.0 + 1e-5 * 1.1_f64.powi(t))).collect();
        let sudden = (0..60).map(|t| if t < 30 { 2.0 } else { 2.004 }).collect();
        let of = |candidate| measure(&points(baseline.clone(), candidate), SCALE).expect("finite").onset(2e-4);
        assert!(of(growing).is_some_and(|onset| onset.size / onset.before < 2.0));
        assert!(
            of(sudden).is_some_and(|onset| onset.step == 31 && onset.size / onset.before > 1000.0 && onset.gap == 1)
        );
        assert_eq!(of(baseline.clone()), None);
    }

    proptest::proptest! {
        #[test]
        fn measures_equal_the_formulas(
            pairs in proptest::collection::vec((0.5_f64..9.0, -0.3_f64..0.3), 1..400)
        ) {
            let baseline: Vec<f64> = pairs.iter().map(|(b, _)| *b).collect();
            let candidate: Vec<f64> = pairs.iter().map(|(b, d)| b * (1.0 + d)).collect();
            let n = pairs.len();
            let mut sorted = baseline.clone();
            sorted.sort_by(f64::total_cmp);
            let floor = 1e-5 * sorted[n / 2].max(1.0);
            let r: Vec<f64> = (0..n)
                .map(|t| (candidate[t] - baseline[t]).abs())
                .enumerate()
                .map(|(t, d)| if d <= floor { 0.0 } else { d / baseline[t].abs() })
                .collect();
            let tail = (n / 10).clamp(5, 50).min(n);
            let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
            let (tb, tc) = (mean(&baseline[n - tail..]), mean(&candidate[n - tail..]));
            let measures = measure(&points(baseline.clone(), candidate.clone()), SCALE).expect("finite");
            let close = |a: f64, b: f64| (a - b).abs() <= 1e-12 * a.abs().max(b.abs()).max(1e-3);
            proptest::prop_assert!(close(measures.mean_rel, mean(&r)));
            proptest::prop_assert!(close(measures.head.expect("some").value, r.iter().take(5).copied().fold(0.0, f64::max)));
            proptest::prop_assert!(close(measures.max.expect("some").value, r.iter().copied().fold(0.0, f64::max)));
            proptest::prop_assert!((tc - tb).abs() <= floor || close(measures.tail, (tc - tb) / tb));
            if n < SMOOTHED_FROM {
                proptest::prop_assert_eq!(measures.steps_above(0.02), r.iter().filter(|r| **r > 0.02).count());
            }
        }
    }
}
