//! Pairing of values: step with step, or window with window.
//!
//! A loss logged every k steps is the mean over the window since the last log line. Where two runs log at
//! different intervals, equal step numbers mean different windows; then neighbouring windows are joined until
//! both sides cover the same steps. Coverage counts steps, not log lines.

use std::borrow::Cow;

use super::source::CurveSource;
use crate::median::upper_median;
use crate::read::curve::LossMeaning;
use crate::read::curve::series::{Series, Steps};

/// Key that values were paired by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairedBy {
    /// The step number.
    Step,
    /// Windows of steps, joined until both sides cover the same.
    Window,
    /// The position, because a source has no step numbers.
    Position,
}

impl PairedBy {
    /// The name in results.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Step => "step",
            Self::Window => "window",
            Self::Position => "position",
        }
    }
}

/// Values of both sides at the same steps, rising. NaN and the infinities are values.
///
/// Two files that log the same steps, as most do, lend their values: curves of ten million points are not copied.
#[derive(Clone, Debug)]
pub struct AlignedPoints<'a> {
    /// Key that they were paired by.
    pub by: PairedBy,
    /// Steps; the last step of a window.
    pub steps: Steps,
    /// Baseline values.
    pub baseline: Cow<'a, [f64]>,
    /// Candidate values.
    pub candidate: Cow<'a, [f64]>,
    /// Steps that are covered.
    pub coverage: StepCoverage,
    /// Meaning of a value, where the two sides log at different intervals.
    pub values: Option<ValueMeaning>,
}

/// Meaning of the values of a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueMeaning {
    /// Whether each value is the mean over the steps since the last record; else it is the value of its step.
    pub are_means: bool,
    /// Whether this follows from the data; else it follows from the file's format.
    pub by_data: bool,
}

impl ValueMeaning {
    /// The name in results.
    pub fn as_str(self) -> &'static str {
        if self.are_means { "mean" } else { "sample" }
    }

    /// The name in results of the evidence for it.
    pub fn evidence(self) -> &'static str {
        if self.by_data { "data" } else { "form" }
    }
}

/// Manner in which a metric is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoggingForm {
    /// As a mean over the steps since the last, by many trainers.
    Averaged,
    /// As it is at its step.
    AtStep,
    /// By evaluations: each is a point.
    Evaluated,
}

/// Numbers of steps that were there to compare.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepCoverage {
    /// Steps at which the baseline has a finite value.
    pub baseline: u64,
    /// Steps among these at which the candidate has one too.
    pub both: u64,
    /// Steps that only the candidate has.
    pub candidate_only: u64,
    /// Steps of the candidate that lie before the first or behind the last one of the baseline.
    pub beyond: u64,
    /// Steps from the first to the last one of the baseline.
    pub span: u64,
    /// Ranges of baseline steps without a candidate value (first and last step), at most `RANGES`.
    pub missing: Vec<(u64, u64)>,
}

impl StepCoverage {
    /// Ranges that are listed.
    pub(crate) const RANGES: usize = 20;

    /// Covered share of the baseline, 0 to 1; 0 where the baseline has nothing.
    pub fn share(&self) -> f64 {
        #[allow(clippy::cast_precision_loss, reason = "counts of steps lie far below 2^53")]
        if self.baseline == 0 { 0.0 } else { self.both as f64 / self.baseline as f64 }
    }
}

impl<'a> AlignedPoints<'a> {
    /// No values.
    pub(super) fn new(by: PairedBy) -> Self {
        let (baseline, candidate) = (Cow::Owned(Vec::new()), Cow::Owned(Vec::new()));
        Self { by, steps: Steps::numbered(), baseline, candidate, coverage: StepCoverage::default(), values: None }
    }

    /// All values of two series with the same steps.
    fn whole(by: PairedBy, steps: Steps, baseline: &Cow<'a, Series>, candidate: &Cow<'a, Series>) -> Self {
        let lent = |series: &Cow<'a, Series>| match series {
            Cow::Borrowed(series) => Cow::Borrowed(series.values.as_slice()),
            Cow::Owned(series) => Cow::Owned(series.values.clone()),
        };
        let (baseline, candidate) = (lent(baseline), lent(candidate));
        Self { by, steps, baseline, candidate, coverage: StepCoverage::default(), values: None }
    }

    /// Number of paired values, non-finite ones included.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Whether nothing was paired.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Whether the steps are step numbers.
    pub(crate) fn is_numbered(&self) -> bool {
        self.by != PairedBy::Position
    }

    /// Step, baseline value, candidate value.
    pub fn iter(&self) -> impl Iterator<Item = (u64, f64, f64)> + '_ {
        let values = self.baseline.iter().zip(self.candidate.iter());
        self.steps.iter().zip(values).map(|(step, (baseline, candidate))| (step, *baseline, *candidate))
    }

    fn push(&mut self, step: u64, baseline: f64, candidate: f64) {
        self.steps.push(step);
        self.baseline.to_mut().push(baseline);
        self.candidate.to_mut().push(candidate);
    }
}

/// Reason why two series cannot be paired at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PairingObstacle {
    /// Their points are numbered by different counters, or on one side only.
    Counters,
    /// Neither side has step numbers, and their lengths differ: a missing line would shift all points after it.
    Lengths,
}

/// The reason why two series cannot be paired; `None` where they can.
pub(crate) fn obstacle(baseline: &Series, candidate: &Series) -> Option<PairingObstacle> {
    if baseline.steps.is_numbered() || candidate.steps.is_numbered() {
        return (!baseline.counter.is_comparable(candidate.counter)).then_some(PairingObstacle::Counters);
    }
    (baseline.steps.len() != candidate.steps.len()).then_some(PairingObstacle::Lengths)
}

/// Pairs the values of two sources; `kept` is the manner in which the metric is logged.
pub fn align<'a>(baseline: &CurveSource<'a>, candidate: &CurveSource<'a>, kept: LoggingForm) -> AlignedPoints<'a> {
    let numbered = baseline.series.steps.is_numbered() && candidate.series.steps.is_numbered();
    if obstacle(&baseline.series, &candidate.series).is_some() {
        let mut nothing = AlignedPoints::new(if numbered { PairedBy::Step } else { PairedBy::Position });
        nothing.coverage.baseline = baseline.series.values.iter().filter(|value| value.is_finite()).count() as u64;
        return nothing;
    }
    if !numbered {
        return by_position(baseline, candidate);
    }
    if kept == LoggingForm::Averaged && baseline.interval != candidate.interval {
        return at_other_intervals(baseline, candidate);
    }
    let mut aligned = by_step(baseline, candidate);
    // Where only one of the two files may hold window means, each record counts for its own step only.
    let is_alike =
        baseline.logged.may_be_windows() == candidate.logged.may_be_windows() && kept != LoggingForm::Evaluated;
    let (longest, other) = if is_alike { (longest(baseline), longest(candidate)) } else { (1, 1) };
    aligned.coverage = coverage(windows_up_to(baseline, longest), windows_up_to(candidate, other));
    if aligned.is_empty() {
        aligned.coverage.both = 0;
    }
    aligned
}

/// Pairs a loss that the two sides log at different intervals, as samples or as means. The data decide which, else the format
/// of the files.
fn at_other_intervals<'a>(baseline: &CurveSource<'a>, candidate: &CurveSource<'a>) -> AlignedPoints<'a> {
    let is_windowed = |source: &CurveSource<'_>| source.logged == LossMeaning::Windows;
    let samples = by_step(baseline, candidate);
    let means = by_window(baseline, candidate, [baseline.interval, candidate.interval]);
    let shown = told_by_data(&samples, &means);
    let by_form = || {
        let covers = |source: &CurveSource<'_>| is_windowed(source) || source.interval == 1;
        (is_windowed(baseline) || is_windowed(candidate)) && covers(baseline) && covers(candidate)
    };
    let values = ValueMeaning { are_means: shown.unwrap_or_else(by_form), by_data: shown.is_some() };
    let mut aligned = if values.are_means { means } else { samples };
    if !values.are_means {
        // With regular samples at common steps, the steps between them are covered too: only the interval differs.
        aligned.coverage = match aligned.len() >= COMMON && is_regular(baseline) && is_regular(candidate) {
            true => range_coverage(&aligned, baseline),
            false => coverage(windows_up_to(baseline, 1), windows_up_to(candidate, 1)),
        };
        if aligned.is_empty() {
            aligned.coverage.both = 0;
        }
    }
    aligned.values = Some(values);
    aligned
}

/// Number of common steps from which a comparison means anything.
const COMMON: usize = 5;

/// Whether a source logs at its interval nearly always: what is missing from it was never logged.
fn is_regular(source: &CurveSource<'_>) -> bool {
    let steps = &source.series.steps;
    let span = steps.get(steps.len().saturating_sub(1)).zip(steps.get(0)).map_or(0, |(last, first)| last - first);
    let promised = span / source.interval.max(1) + 1;
    steps.len() as u64 * 10 >= promised * 9
}

/// Whether the data show that values are means. One way of pairing must leave at most half of the other's typical difference;
/// `None` where neither does.
fn told_by_data(samples: &AlignedPoints<'_>, means: &AlignedPoints<'_>) -> Option<bool> {
    const TIMES: f64 = 2.0;
    let typical = |aligned: &AlignedPoints<'_>| {
        let finite = aligned.iter().filter(|(_, b, c)| b.is_finite() && c.is_finite() && *b != 0.0);
        let differences: Vec<f64> = finite.map(|(_, b, c)| ((c - b) / b).abs()).collect();
        if differences.len() < COMMON { None } else { upper_median(differences) }
    };
    let (as_samples, as_means) = (typical(samples)?, typical(means)?);
    if TIMES * as_samples <= as_means {
        Some(false)
    } else if TIMES * as_means <= as_samples {
        Some(true)
    } else {
        None
    }
}

/// Coverage of samples at other intervals: those of the baseline from the first step that both sides have to the last.
fn range_coverage(aligned: &AlignedPoints<'_>, baseline: &CurveSource<'_>) -> StepCoverage {
    let mut finite = aligned.iter().filter(|(_, b, c)| b.is_finite() && c.is_finite()).map(|(step, ..)| step);
    let first = finite.next();
    let range = first.map(|first| (first, finite.last().unwrap_or(first)));
    let mut coverage = StepCoverage::default();
    for (step, _) in baseline.series.points().filter(|(_, value)| value.is_finite()) {
        coverage.baseline += 1;
        match range {
            // The first step that both have is at most as far from the beginning as both intervals together.
            Some((first, last)) if step <= last && (step >= first || step + baseline.interval >= first) => {
                coverage.both += 1
            }
            _ => coverage.miss(step, step),
        }
    }
    coverage.span = coverage.baseline;
    coverage
}

fn by_position<'a>(baseline: &CurveSource<'_>, candidate: &CurveSource<'_>) -> AlignedPoints<'a> {
    let mut aligned = AlignedPoints::new(PairedBy::Position);
    for (position, (b, c)) in (1..).zip(baseline.series.values.iter().zip(&candidate.series.values)) {
        aligned.push(position, *b, *c);
    }
    let numbered = |source: &CurveSource<'_>| -> Vec<Window> {
        (2..).zip(&source.series.values).map(|(end, value)| Window { start: end - 1, end, value: *value }).collect()
    };
    aligned.coverage = coverage(numbered(baseline).into_iter(), numbered(candidate).into_iter());
    aligned
}

fn by_step<'a>(baseline: &CurveSource<'a>, candidate: &CurveSource<'a>) -> AlignedPoints<'a> {
    if baseline.series.steps == candidate.series.steps {
        let steps = baseline.series.steps.clone();
        return AlignedPoints::whole(PairedBy::Step, steps, &baseline.series, &candidate.series);
    }
    let mut aligned = AlignedPoints::new(PairedBy::Step);
    let mut candidate = candidate.series.points().peekable();
    for (step, value) in baseline.series.points() {
        while candidate.next_if(|(other, _)| *other < step).is_some() {}
        if let Some((_, other)) = candidate.next_if(|(other, _)| *other == step) {
            aligned.push(step, value, other);
        }
    }
    aligned
}

/// A value over the steps `start ..= end - 1`, so that step 0 can have a window too.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Window {
    start: u64,
    end: u64,
    value: f64,
}

#[allow(clippy::cast_precision_loss, reason = "windows are far shorter than 2^53 steps")]
impl Window {
    fn len(&self) -> f64 {
        (self.end - self.start) as f64
    }

    /// Extends this window by the next one, where that follows without a gap.
    fn join(&mut self, next: Option<Self>) -> bool {
        let Some(next) = next.filter(|next| next.start == self.end) else { return false };
        self.value = (self.value * self.len() + next.value * next.len()) / (self.len() + next.len());
        self.end = next.end;
        true
    }
}

/// Largest number of steps that a record may cover.
fn longest(source: &CurveSource<'_>) -> u64 {
    if source.logged.may_be_windows() { source.interval } else { 1 }
}

/// The windows of a source. Each begins after the previous record and covers at most `longest` steps, so that a gap in the
/// log stays a gap.
fn windows_up_to<'s>(source: &'s CurveSource<'_>, longest: u64) -> impl Iterator<Item = Window> + 's {
    source.series.points().scan(None::<u64>, move |last, (step, value)| {
        let end = step.saturating_add(1);
        let bound = end.saturating_sub(longest);
        let start = last.map_or(bound, |last| bound.max(last));
        *last = Some(end);
        Some(Window { start, end, value })
    })
}

fn by_window<'a>(
    baseline: &CurveSource<'_>,
    candidate: &CurveSource<'_>,
    [longest, other]: [u64; 2],
) -> AlignedPoints<'a> {
    let mut aligned = AlignedPoints::new(PairedBy::Window);
    let mut both = 0;
    let windows = || (windows_up_to(baseline, longest), windows_up_to(candidate, other));
    let (baselines, candidates) = windows();
    let (mut baselines, mut candidates) = (baselines.peekable(), candidates.peekable());
    let (mut left, mut right) = (baselines.next(), candidates.next());
    while let (Some(b), Some(c)) = (&mut left, &mut right) {
        if b.start != c.start {
            if b.start < c.start {
                left = baselines.next()
            } else {
                right = candidates.next()
            }
            continue;
        }
        // Windows with the same start are extended until they end together; a gap in one of them drops both.
        let whole = match b.end.cmp(&c.end) {
            std::cmp::Ordering::Less => b.join(baselines.next_if(|next| next.start == b.end)),
            std::cmp::Ordering::Greater => c.join(candidates.next_if(|next| next.start == c.end)),
            std::cmp::Ordering::Equal => {
                aligned.push(b.end - 1, b.value, c.value);
                if b.value.is_finite() && c.value.is_finite() {
                    both += b.end - b.start;
                }
                (left, right) = (baselines.next(), candidates.next());
                true
            }
        };
        if !whole {
            (left, right) = (baselines.next(), candidates.next());
        }
    }
    let (baselines, candidates) = windows();
    aligned.coverage = coverage(baselines, candidates);
    aligned.coverage.both = aligned.coverage.both.min(both);
    aligned
}

/// Coverage of the baseline's steps by the candidate, counting finite values only.
fn coverage(baseline: impl Iterator<Item = Window>, candidate: impl Iterator<Item = Window>) -> StepCoverage {
    let mut coverage = StepCoverage::default();
    let mut candidate = candidate.filter(|window| window.value.is_finite()).peekable();
    let mut candidate_total = 0;
    let mut ends: [Option<(u64, u64)>; 2] = [None; 2];
    let widen = |ends: &mut Option<(u64, u64)>, window: Window| {
        let (start, end) = ends.unwrap_or((window.start, window.end));
        *ends = Some((start.min(window.start), end.max(window.end)));
    };
    let [of_baseline, of_candidate] = &mut ends;
    // Steps of the candidate's current window that lie behind the baseline's.
    let mut current: Option<Window> = None;
    for window in baseline.filter(|window| window.value.is_finite()) {
        coverage.baseline += window.end - window.start;
        widen(of_baseline, window);
        let mut at = window.start;
        while at < window.end {
            if current.is_none_or(|current| current.end <= at) {
                match candidate.next() {
                    Some(next) => {
                        candidate_total += next.end - next.start;
                        widen(of_candidate, next);
                        current = Some(next);
                        continue;
                    }
                    None => {
                        coverage.miss(at, window.end - 1);
                        break;
                    }
                }
            }
            let Some(have) = current else { break };
            if have.start > at {
                let until = have.start.min(window.end);
                coverage.miss(at, until - 1);
                at = until;
            } else {
                let until = have.end.min(window.end);
                coverage.both += until - at;
                at = until;
            }
        }
    }
    for window in candidate {
        candidate_total += window.end - window.start;
        widen(of_candidate, window);
    }
    if let [Some((start, end)), Some((first, last))] = ends {
        coverage.span = end - start;
        coverage.beyond = start.saturating_sub(first) + last.saturating_sub(end);
    }
    coverage.candidate_only = candidate_total.saturating_sub(coverage.both);
    coverage
}

impl StepCoverage {
    fn miss(&mut self, first: u64, last: u64) {
        let room = self.missing.len() < Self::RANGES;
        match self.missing.last_mut() {
            Some((_, end)) if *end + 1 >= first => *end = last,
            _ if room => self.missing.push((first, last)),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;
    use crate::read::curve::series::Series;

    fn source(logged: LossMeaning, points: impl IntoIterator<Item = (u64, f64)>) -> CurveSource<'static> {
        let series = Series::by_step("loss", points);
        CurveSource {
            path: "a".into(),
            run: None,
            continued_in: Vec::new(),
            format: "JSON lines",
            logged,
            interval: series.steps.interval().unwrap_or(1),
            series: Cow::Owned(series),
            margin: None,
            notes: vec![],
        }
    }

    #[test]
    fn windows_are_compared_with_windows() {
        let fine = source(LossMeaning::Windows, (1..=8).map(|i| (i * 5, i as f64)));
        let coarse = source(LossMeaning::Windows, (1..=4).map(|i| (i * 10, 2.0 * i as f64 - 0.5)));
        for (b, c) in [(&fine, &coarse), (&coarse, &fine)] {
            let aligned = align(b, c, LoggingForm::Averaged);
            assert_eq!(aligned.by, PairedBy::Window);
            assert_eq!(aligned.steps.iter().collect::<Vec<_>>(), [10, 20, 30, 40]);
            assert_eq!(aligned.baseline, aligned.candidate);
            assert_eq!((aligned.coverage.both, aligned.coverage.baseline), (40, 40));
        }
    }

    #[test]
    fn a_gap_in_a_window_drops_that_window_alone() {
        let fine = source(LossMeaning::Windows, [1, 2, 3, 5, 6, 7, 8, 9].map(|step| (step, step as f64)));
        let coarse = source(LossMeaning::Windows, [(3, 2.0), (6, 5.0), (9, 8.0)]);
        let aligned = align(&coarse, &fine, LoggingForm::Averaged);
        assert_eq!(aligned.steps.iter().collect::<Vec<_>>(), [3, 9]);
        assert_eq!((aligned.coverage.both, aligned.coverage.baseline), (6, 9));
        assert_eq!(aligned.coverage.missing, [(4, 4)]);
    }

    #[test]
    fn samples_are_paired_by_step_and_cover_what_lies_between() {
        let all = source(LossMeaning::Samples, (1..=50).map(|step| (step, 1.0)));
        let few = source(LossMeaning::Samples, [1, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50].map(|step| (step, 1.0)));
        let aligned = align(&all, &few, LoggingForm::Averaged);
        assert_eq!((aligned.by, aligned.len()), (PairedBy::Step, 11));
        assert_eq!((aligned.coverage.both, aligned.coverage.baseline), (50, 50));
        let aligned = align(&few, &all, LoggingForm::Averaged);
        assert_eq!((aligned.coverage.both, aligned.coverage.baseline, aligned.coverage.candidate_only), (11, 11, 0));
        let cut = source(LossMeaning::Samples, [1, 5, 10, 30, 35, 40, 50].map(|step| (step, 1.0)));
        assert_eq!(align(&all, &cut, LoggingForm::Averaged).coverage.both, 7, "what is missing was logged once");
    }

    #[test]
    fn a_window_beside_samples_is_a_sample() {
        let samples = source(LossMeaning::Samples, (1..=12).map(|i| (5 * i, 1.0)));
        let coarse = source(LossMeaning::Windows, (1..=6).map(|i| (10 * i, 1.0)));
        for candidate in [coarse.clone(), source(LossMeaning::Samples, coarse.series.points())] {
            let coverage = align(&samples, &candidate, LoggingForm::Averaged).coverage;
            assert_eq!((coverage.both, coverage.baseline, coverage.candidate_only), (12, 12, 0));
        }
    }

    #[test]
    fn missing_and_non_finite_steps_are_not_covered() {
        let all = source(LossMeaning::Windows, (1..=10).map(|step| (step, 1.0)));
        let some = source(LossMeaning::Windows, (1..=8).map(|step| (step, if step == 4 { f64::NAN } else { 1.0 })));
        let aligned = align(&all, &some, LoggingForm::Averaged);
        assert_eq!(aligned.coverage.both, 7);
        assert_eq!(aligned.coverage.missing, [(4, 4), (9, 10)]);
    }

    #[test]
    fn lists_are_paired_by_position() {
        let mut list = source(LossMeaning::Samples, []);
        list.series = Cow::Owned(Series::by_position("loss", vec![1.0, 2.0, 3.0]));
        let listed = |values: &[f64]| {
            let mut list = source(LossMeaning::Samples, []);
            list.series = Cow::Owned(Series::by_position("loss", values.to_vec()));
            list
        };
        let aligned = align(&list, &listed(&[1.0, 2.0, 3.0]), LoggingForm::Averaged);
        assert_eq!((aligned.by, aligned.len()), (PairedBy::Position, 3));
        for other in [listed(&[1.0, 2.0]), source(LossMeaning::Samples, [(10, 1.0), (20, 2.0), (30, 3.0)])] {
            let apart = align(&list, &other, LoggingForm::Averaged);
            assert_eq!(
                (apart.len(), apart.coverage.both, apart.coverage.baseline),
                (0, 0, 3),
                "no counter, or another"
            );
        }
    }

    #[test]
    fn step_0_counts() {
        let alone = source(LossMeaning::Windows, [(0, 1.0)]);
        let aligned = align(&alone, &alone, LoggingForm::Averaged);
        assert_eq!((aligned.len(), aligned.coverage.both, aligned.coverage.baseline), (1, 1, 1));
        let from_0 = source(LossMeaning::Windows, (0..=4).map(|step| (10 * step, 1.0)));
        let aligned = align(&from_0, &from_0, LoggingForm::Averaged);
        assert_eq!((aligned.coverage.both, aligned.coverage.baseline), (41, 41));
    }

    #[test]
    fn steps_beyond_the_baseline_are_told_from_those_between() {
        let few = source(LossMeaning::Samples, [10, 20].map(|step| (step, 1.0)));
        let fine = source(LossMeaning::Samples, (1..=40).map(|step| (step, 1.0)));
        let coverage = align(&few, &fine, LoggingForm::AtStep).coverage;
        assert_eq!((coverage.span, coverage.beyond, coverage.candidate_only), (11, 29, 38));
    }

    proptest::proptest! {
        #[test]
        fn coverage_counts_what_sets_would(
            b in proptest::collection::btree_set(1_u64..60, 0..40), c in proptest::collection::btree_set(1_u64..60, 0..40)
        ) {
            let of = |steps: &std::collections::BTreeSet<u64>| source(LossMeaning::Samples, steps.iter().map(|step| (*step, 1.0)));
            let aligned = align(&of(&b), &of(&c), LoggingForm::AtStep);
            proptest::prop_assert_eq!(aligned.coverage.both, b.intersection(&c).count() as u64);
            proptest::prop_assert_eq!(aligned.coverage.baseline, b.len() as u64);
            proptest::prop_assert_eq!(aligned.coverage.candidate_only, c.difference(&b).count() as u64);
            proptest::prop_assert_eq!(aligned.steps.iter().collect::<Vec<_>>(), b.intersection(&c).copied().collect::<Vec<_>>());
        }
    }
}
