//! Values of one metric, step by step.

use std::collections::{BTreeMap, BTreeSet};

/// Largest number of points in a file; 50 million take 800 MB.
pub(super) const MAX_POINTS: usize = 50_000_000;
/// Largest number of metrics in a file, so that a file of keys cannot become a report of a million curves.
pub(super) const MAX_METRICS: usize = 4096;

/// The steps of a series.
///
/// Runs almost always log at a fixed interval, so regular steps are stored as first step and interval: ten million points
/// then need no memory for their steps.
#[derive(Clone, Debug, PartialEq)]
pub enum Steps {
    /// The source has no step numbers; points are numbered 1, 2, 3 ... by position.
    Positions(usize),
    /// `first`, `first + interval`, ...
    Regular {
        /// The first step.
        first: u64,
        /// Distance between steps, at least 1.
        interval: u64,
        /// Number of steps.
        len: usize,
    },
    /// Any rising steps.
    Listed(Vec<u64>),
}

impl Steps {
    /// Number of steps.
    pub fn len(&self) -> usize {
        match self {
            Self::Positions(len) | Self::Regular { len, .. } => *len,
            Self::Listed(steps) => steps.len(),
        }
    }

    /// Whether there are no steps.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the source numbers its steps.
    pub(crate) fn is_numbered(&self) -> bool {
        !matches!(self, Self::Positions(_))
    }

    /// The step at `index`.
    pub fn get(&self, index: usize) -> Option<u64> {
        match self {
            Self::Positions(len) => (index < *len).then_some(index as u64 + 1),
            Self::Regular { first, interval, len } => {
                if index >= *len {
                    None
                } else {
                    interval.checked_mul(index as u64)?.checked_add(*first)
                }
            }
            Self::Listed(steps) => steps.get(index).copied(),
        }
    }

    /// All steps, rising.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        (0..self.len()).filter_map(|index| self.get(index))
    }

    /// The distance between neighbouring steps that occurs most (the smaller of equals); `None` for fewer than
    /// two steps.
    pub fn interval(&self) -> Option<u64> {
        match self {
            Self::Positions(len) => (*len > 1).then_some(1),
            Self::Regular { interval, len, .. } => (*len > 1).then_some(*interval),
            Self::Listed(steps) => {
                let mut counts: BTreeMap<u64, usize> = BTreeMap::new();
                for (low, high) in steps.iter().zip(steps.iter().skip(1)) {
                    *counts.entry(high.saturating_sub(*low)).or_default() += 1;
                }
                let (interval, _) = counts.iter().rev().max_by_key(|(_, count)| **count)?;
                Some(*interval)
            }
        }
    }

    /// The list of steps, where they are kept as one.
    pub(super) fn listed(&self) -> Option<&Vec<u64>> {
        if let Self::Listed(steps) = self { Some(steps) } else { None }
    }

    /// No steps yet, to be filled by [`Steps::push`].
    pub fn numbered() -> Self {
        Self::Regular { first: 0, interval: 1, len: 0 }
    }

    /// Appends all of `next`: in constant time where they continue the same interval.
    pub(super) fn append(&mut self, next: &Self) {
        match (&mut *self, next) {
            (Self::Regular { len: 0, .. }, _) => self.clone_from(next),
            (Self::Regular { first, interval, len }, Self::Regular { first: start, interval: distance, len: more })
                if (*distance == *interval || *more == 1) && follows(*first, *interval, *len, *start) =>
            {
                *len += more;
            }
            _ => self.extend(next.iter()),
        }
    }

    /// Appends a step.
    pub fn push(&mut self, step: u64) {
        match self {
            Self::Positions(len) => *len += 1,
            Self::Regular { len: len @ 0, first, .. } => (*first, *len) = (step, 1),
            Self::Regular { first, interval, len: len @ 1 } if step > *first => (*interval, *len) = (step - *first, 2),
            Self::Regular { first, interval, len } if follows(*first, *interval, *len, step) => *len += 1,
            Self::Regular { .. } => {
                let mut steps: Vec<u64> = self.iter().collect();
                steps.push(step);
                *self = Self::Listed(steps);
            }
            Self::Listed(steps) => steps.push(step),
        }
    }
}

impl Extend<u64> for Steps {
    fn extend<T: IntoIterator<Item = u64>>(&mut self, steps: T) {
        steps.into_iter().for_each(|step| self.push(step));
    }
}

/// Whether `step` is the next one of a regular run of `len` steps.
fn follows(first: u64, interval: u64, len: usize, step: u64) -> bool {
    len > 1 && interval.checked_mul(len as u64).and_then(|offset| offset.checked_add(first)) == Some(step)
}

/// Kind of number that orders the points of a series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Counter {
    /// Steps of the run.
    #[default]
    Step,
    /// Steps that restart with each epoch and were renumbered to run through all epochs.
    EpochStep,
    /// Samples seen so far.
    Samples,
    /// Tokens seen so far.
    Tokens,
    /// Epochs.
    Epoch,
    /// Places in the file, because nothing else orders the points.
    Position,
}

impl Counter {
    /// The name in results.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Step => "step",
            Self::EpochStep => "epoch-step",
            Self::Samples => "samples",
            Self::Tokens => "tokens",
            Self::Epoch => "epoch",
            Self::Position => "position",
        }
    }

    /// Whether equal numbers of both kinds mean the same point of a run.
    pub(crate) fn is_comparable(self, other: Self) -> bool {
        let steps = |counter| matches!(counter, Self::Step | Self::EpochStep);
        self == other || steps(self) && steps(other)
    }
}

/// Changes that were made to bring a series into order. Every replaced value is counted here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// Number of points that another value of the same step replaced within the same pass over the steps.
    pub repeated: u64,
    /// Number of points without the step that places the others.
    pub unplaced: u64,
    /// Number of points that a resumed run logged again and replaced.
    pub resumed: u64,
    /// Last step before each resume and first step after it; at most 20 resumes are listed.
    pub resumes: Vec<(u64, u64)>,
    /// Number of times the steps restarted while no epoch was logged; each restart counts as a new epoch.
    pub restarts: u64,
    /// Whether the file holds several runs one after the other.
    pub is_several_runs: bool,
    /// Number of ranks whose values were equal to the last bit and became one series, and number of steps that they share.
    pub equal_ranks: (u64, u64),
}

impl Order {
    /// Largest number of resumes that are listed.
    pub(crate) const LISTED: usize = 20;
}

/// One metric of one file.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// The metric, as the file spells it.
    pub name: String,
    /// Steps, rising.
    pub steps: Steps,
    /// One value per step; NaN and the infinities are values.
    pub values: Vec<f64>,
    /// Number of steps that the file lists, including those without a recorded value.
    pub listed: usize,
    /// Kind of counter that its steps come from.
    pub counter: Counter,
    /// Rank that logged it, where the ranks of a file logged different values.
    pub rank: Option<u64>,
    /// Changes that were made to bring its steps into order.
    pub order: Order,
    /// Steps that the source lists without a value, rising: `null`, an empty cell, a text that is not a number.
    pub unrecorded: Vec<u64>,
    /// Values that the source holds for steps of the series and that differ from those in `values`, by rising step.
    pub contradicting: Vec<(u64, f64)>,
}

impl Series {
    /// A series without step numbers.
    pub(crate) fn by_position(name: impl Into<String>, values: Vec<f64>) -> Self {
        let steps = Steps::Positions(values.len());
        Self { counter: Counter::Position, ..Self::from_rising(name.into(), steps, values) }
    }

    /// A series sorted by step. Where a step occurs more than once, the last value counts and the others are kept as contradicting.
    pub fn by_step(name: impl Into<String>, points: impl IntoIterator<Item = (u64, f64)>) -> Self {
        let (mut steps, mut values) = (Steps::numbered(), Vec::new());
        let mut last = None;
        let mut sorted = true;
        for (step, value) in points {
            sorted &= last.replace(step).is_none_or(|last| last < step);
            steps.push(step);
            values.push(value);
        }
        if sorted {
            return Self::from_rising(name.into(), steps, values);
        }
        let mut others = ReplacedValues::default();
        let mut points: BTreeMap<u64, f64> = BTreeMap::new();
        for (step, value) in steps.iter().zip(values) {
            if let Some(earlier) = points.insert(step, value) {
                others.note_replaced(step, earlier, value);
            }
        }
        let repeated = others.repeated;
        let contradicting = others.into_differing(&points);
        let series = Self::by_step(name, points);
        Self { order: Order { repeated, ..Order::default() }, contradicting, ..series }
    }

    /// The series with `shift` added to its steps; points whose step would fall below 0 are left out.
    pub fn shifted(&self, shift: i64) -> Self {
        let points = self.points().filter_map(|(step, value)| Some((step.checked_add_signed(shift)?, value)));
        let moved = Self::by_step(self.name.clone(), points);
        let unrecorded = self.unrecorded.iter().filter_map(|step| step.checked_add_signed(shift)).collect();
        let others = self.contradicting.iter();
        let contradicting =
            others.filter_map(|(step, value)| Some((step.checked_add_signed(shift)?, *value))).collect();
        let (counter, rank, order, listed) = (self.counter, self.rank, self.order.clone(), self.listed);
        Self { counter, rank, order, listed, unrecorded, contradicting, ..moved }
    }

    /// The series without the points at steps for which `is_left_out` holds.
    pub(crate) fn without_steps(&self, is_left_out: impl Fn(u64) -> bool) -> Self {
        let kept = Self::by_step(self.name.clone(), self.points().filter(|(step, _)| !is_left_out(*step)));
        let others = self.contradicting.iter().filter(|(step, _)| !is_left_out(*step)).copied().collect();
        let (unrecorded, order) = (self.unrecorded.clone(), self.order.clone());
        Self { counter: self.counter, rank: self.rank, order, unrecorded, contradicting: others, ..kept }
    }

    /// Number of steps for which the source holds contradicting values.
    pub fn contradictions(&self) -> u64 {
        self.contradicting.chunk_by(|(a, _), (b, _)| a == b).count() as u64
    }

    /// This series continued by `next`, the same run's series of a later file. Steps that `next` logs again replace those here: the run
    /// was resumed.
    pub(crate) fn followed_by(&self, next: &Self) -> Self {
        let mut points: BTreeMap<u64, f64> = self.points().collect();
        let resumed = next.points().filter(|(step, value)| points.insert(*step, *value).is_some()).count() as u64;
        let mut contradicting = self.contradicting.clone();
        if !contradicting.is_empty() {
            let later: BTreeSet<u64> = next.steps.iter().collect();
            contradicting.retain(|(step, _)| !later.contains(step));
        }
        contradicting.extend(&next.contradicting);
        contradicting.sort_by_key(|(step, _)| *step);
        let resume = self.steps.iter().last().zip(next.steps.get(0)).filter(|_| resumed > 0);
        let mut order = self.order.clone();
        order.repeated += next.order.repeated;
        order.unplaced += next.order.unplaced;
        order.resumed += next.order.resumed + resumed;
        order.restarts += next.order.restarts;
        order.is_several_runs |= next.order.is_several_runs;
        order.resumes.extend(resume.into_iter().chain(next.order.resumes.iter().copied()));
        order.resumes.truncate(Order::LISTED);
        Self {
            counter: self.counter,
            rank: self.rank,
            order,
            contradicting,
            ..Self::by_step(self.name.clone(), points)
        }
    }

    pub(super) fn from_rising(name: String, steps: Steps, values: Vec<f64>) -> Self {
        let listed = steps.len();
        let (counter, order) = (Counter::Step, Order::default());
        Self {
            name,
            steps,
            values,
            listed,
            counter,
            rank: None,
            order,
            unrecorded: Vec::new(),
            contradicting: Vec::new(),
        }
    }

    /// The series with the steps of `blank` as unrecorded: the file lists them without a value. Steps that have a value elsewhere
    /// are left out.
    pub(super) fn with_unrecorded(mut self, mut blank: Vec<u64>) -> Self {
        if blank.is_empty() || !self.steps.is_numbered() {
            return self;
        }
        blank.sort_unstable();
        blank.dedup();
        let mut recorded = self.steps.iter().peekable();
        blank.retain(|step| {
            while recorded.next_if(|other| other < step).is_some() {}
            recorded.peek() != Some(step)
        });
        drop(recorded);
        self.unrecorded = blank;
        self
    }

    /// Steps and values.
    pub fn points(&self) -> impl Iterator<Item = (u64, f64)> + '_ {
        self.steps.iter().zip(self.values.iter().copied())
    }
}

/// Values that a later value of the same step replaced.
#[derive(Debug, Default)]
pub(super) struct ReplacedValues {
    by_step: BTreeMap<u64, Vec<f64>>,
    /// Number of values that a different value replaced.
    pub(super) repeated: u64,
}

impl ReplacedValues {
    /// Notes that `value` replaced `earlier`; a repeat of the same value is not counted.
    pub(super) fn note_replaced(&mut self, step: u64, earlier: f64, value: f64) {
        if earlier.to_bits() != value.to_bits() {
            self.repeated += 1;
            self.by_step.entry(step).or_default().push(earlier);
        }
    }

    /// Forgets the replaced values of a step, because a resumed run logged it again.
    pub(super) fn forget(&mut self, step: u64) {
        self.by_step.remove(&step);
    }

    /// The replaced values that differ from the final value of their step in `points`, each once, by rising step.
    pub(super) fn into_differing(self, points: &BTreeMap<u64, f64>) -> Vec<(u64, f64)> {
        let mut beside = Vec::new();
        for (step, mut values) in self.by_step {
            values.sort_by(f64::total_cmp);
            values.dedup_by_key(|value| value.to_bits());
            let stands = points.get(&step).copied().unwrap_or_default();
            beside.extend(values.into_iter().filter(|value| !is_same(*value, stands)).map(|value| (step, value)));
        }
        beside
    }
}

/// Whether two values differ by no more than rounding to `float32` and printing can cause.
fn is_same(a: f64, b: f64) -> bool {
    const SAME: f64 = 1e-6;
    a.to_bits() == b.to_bits()
        || a.is_nan() && b.is_nan()
        || (a - b).abs() <= SAME * a.abs().max(b.abs()) && a.is_finite()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regular_steps_take_no_memory_and_irregular_ones_survive() {
        let series = Series::by_step("loss", (1..=5).map(|step| (step * 10, 1.0)));
        assert_eq!(series.steps, Steps::Regular { first: 10, interval: 10, len: 5 });
        let series = Series::by_step("loss", [1, 5, 10, 15].map(|step| (step, 1.0)));
        assert_eq!(series.steps.iter().collect::<Vec<_>>(), [1, 5, 10, 15]);
        assert_eq!(series.steps.interval(), Some(5));
    }

    #[test]
    fn a_repeated_step_keeps_its_last_value() {
        let series = Series::by_step("loss", [(1, 1.0), (2, 2.0), (3, 3.0), (2, 20.0), (3, 30.0), (4, 4.0)]);
        assert_eq!(series.points().collect::<Vec<_>>(), [(1, 1.0), (2, 20.0), (3, 30.0), (4, 4.0)]);
        assert_eq!((series.order.repeated, series.contradicting.as_slice()), (2, [(2, 2.0), (3, 3.0)].as_slice()));
        let equal = Series::by_step("loss", [(1, 1.0), (1, 1.0), (2, 2.0), (2, 2.000_000_1)]);
        assert_eq!(equal.contradictions(), 0, "a repeat, and one that was printed with other digits");
        let thrice = Series::by_step("loss", [(1, 1.0), (1, f64::NAN), (1, 2.0), (1, 1.0)]);
        assert_eq!((thrice.contradictions(), thrice.contradicting.len()), (1, 2));
    }

    #[test]
    fn one_step_has_no_interval() {
        assert_eq!(Series::by_step("loss", [(7, 1.0)]).steps.interval(), None);
        assert_eq!(Series::by_step("loss", []).steps.interval(), None);
    }

    proptest::proptest! {
        #[test]
        fn steps_come_back_rising_with_the_last_value(
            points in proptest::collection::vec((0_u64..40, -9.0_f64..9.0), 0..60)
        ) {
            let series = Series::by_step("loss", points.clone());
            let expected: BTreeMap<u64, f64> = points.into_iter().collect();
            proptest::prop_assert_eq!(series.points().collect::<Vec<_>>(), expected.into_iter().collect::<Vec<_>>());
        }
    }
}
