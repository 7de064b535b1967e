//! Values of one metric, step by step.

use std::collections::{BTreeMap, HashMap};

use crate::error::{Error, ErrorKind, Result};

/// Points a file may hold; 50 million take 800 MB.
pub(super) const MAX_POINTS: usize = 50_000_000;
/// Metrics a file may hold, so that a file of keys cannot become a report of a million curves.
pub(super) const MAX_METRICS: usize = 4096;

/// The steps of a series.
///
/// Runs log at a fixed interval almost always, so steps are kept as such where they can be: ten million points
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

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the source numbers its steps.
    pub fn is_numbered(&self) -> bool {
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

    /// No steps yet, to be filled by [`Steps::push`].
    pub fn numbered() -> Self {
        Self::Regular { first: 0, interval: 1, len: 0 }
    }

    /// Adds a step behind the others.
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

/// Whether `step` is the next one of a regular run of `len` steps.
fn follows(first: u64, interval: u64, len: usize, step: u64) -> bool {
    len > 1 && interval.checked_mul(len as u64).and_then(|offset| offset.checked_add(first)) == Some(step)
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
    /// Steps the file lists, those without a recorded value included.
    pub listed: usize,
    /// Steps that were logged more than once; the last value counts.
    pub repeated: u64,
    /// Steps that the source lists without a value, rising: `null`, an empty cell, a text that is not a number.
    pub unrecorded: Vec<u64>,
}

impl Series {
    /// A series without step numbers.
    pub fn by_position(name: impl Into<String>, values: Vec<f64>) -> Self {
        let len = values.len();
        let steps = Steps::Positions(len);
        Self { name: name.into(), steps, values, listed: len, repeated: 0, unrecorded: Vec::new() }
    }

    /// A series with rising steps.
    pub fn by_step(name: impl Into<String>, points: impl IntoIterator<Item = (u64, f64)>) -> Self {
        let mut builder = SeriesBuilder::new(true);
        points.into_iter().for_each(|(step, value)| builder.push(Some(step), value));
        builder.finish(name.into())
    }

    /// The same, which the file lists without a value at the steps of `blank`; a step that has one elsewhere is none of
    /// them.
    fn without(mut self, mut blank: Vec<u64>) -> Self {
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

/// Collects one metric, in the order of the file.
#[derive(Debug)]
struct SeriesBuilder {
    steps: Steps,
    values: Vec<f64>,
    last: Option<u64>,
    sorted: bool,
}

impl SeriesBuilder {
    fn new(numbered: bool) -> Self {
        let steps = if numbered { Steps::numbered() } else { Steps::Positions(0) };
        Self { steps, values: Vec::new(), last: None, sorted: true }
    }

    fn push(&mut self, step: Option<u64>, value: f64) {
        let step = step.unwrap_or_default();
        if self.steps.is_numbered() {
            self.sorted &= self.last.is_none_or(|last| last < step);
            self.last = Some(step);
        }
        self.steps.push(step);
        self.values.push(value);
    }

    /// Brings steps into rising order; of a step that occurs again, the last value counts, as a resumed run
    /// overwrites what it logged before it stopped.
    fn finish(self, name: String) -> Series {
        let listed = self.steps.len();
        if self.sorted {
            return Series {
                name,
                steps: self.steps,
                values: self.values,
                listed,
                repeated: 0,
                unrecorded: Vec::new(),
            };
        }
        let points: BTreeMap<u64, f64> = self.steps.iter().zip(self.values).collect();
        let mut rising = Self::new(true);
        points.iter().for_each(|(step, value)| rising.push(Some(*step), *value));
        let repeated = (listed - points.len()) as u64;
        Series {
            name,
            steps: rising.steps,
            values: rising.values,
            listed: points.len(),
            repeated,
            unrecorded: Vec::new(),
        }
    }
}

/// Steps that are counted within epochs, numbered through from the first epoch on.
///
/// A counter that falls back while the epoch rises starts again with the epoch. One that falls back with its epoch belongs to
/// a resumed run, whose later values count.
#[derive(Debug, Default)]
struct Epochs {
    /// Epochs with the number of steps before each.
    before: Vec<(f64, u64)>,
    first: u64,
    last: u64,
}

impl Epochs {
    /// Whether a step of a new epoch is none that follows the last one. The same step again is an evaluation beside it, unless
    /// it is the first of all.
    fn starts_again(&self, step: u64) -> bool {
        step < self.last || step == self.last && step == self.first
    }

    fn numbered_through(&mut self, epoch: Option<f64>, step: u64) -> u64 {
        let Some(epoch) = epoch.filter(|epoch| epoch.is_finite()) else { return step };
        let known = self.before.iter().rev().find(|(known, _)| *known <= epoch).copied();
        let steps = match known {
            Some((known, steps)) if known < epoch && self.starts_again(step) => {
                // Counters begin at 0 or at 1.
                let all = steps.saturating_add(self.last.saturating_sub(self.first).saturating_add(1));
                self.before.push((epoch, all));
                all
            }
            Some((_, steps)) => steps,
            None => {
                self.before.insert(0, (epoch, 0));
                self.first = step;
                0
            }
        };
        self.last = step;
        steps.saturating_add(step)
    }
}

/// Collects the metrics of a file.
#[derive(Debug)]
pub(super) struct Collector<'a> {
    /// Named in messages.
    file: &'a str,
    order: HashMap<String, usize>,
    series: Vec<(String, SeriesBuilder)>,
    /// Steps that the file lists without a value, by metric.
    blanks: HashMap<String, Vec<u64>>,
    points: usize,
    epochs: Epochs,
}

impl<'a> Collector<'a> {
    pub(super) fn new(file: &'a str) -> Self {
        Self {
            file,
            order: HashMap::new(),
            series: Vec::new(),
            blanks: HashMap::new(),
            points: 0,
            epochs: Epochs::default(),
        }
    }

    /// The step of a record, where a counter that starts again with each epoch is numbered through.
    pub(super) fn numbered_through(&mut self, epoch: Option<f64>, step: u64) -> u64 {
        self.epochs.numbered_through(epoch, step)
    }

    /// Adds a value; without a step the point is numbered by its position.
    pub(super) fn push(&mut self, name: &str, step: Option<u64>, value: f64) -> Result<()> {
        let index = self.index_of(name, step.is_some())?;
        self.push_at(index, step, value)
    }

    /// The place of metric `name`, made where it is new.
    pub(super) fn index_of(&mut self, name: &str, numbered: bool) -> Result<usize> {
        if let Some(index) = self.order.get(name) {
            return Ok(*index);
        }
        if self.series.len() >= MAX_METRICS {
            return Err(self.too_much(format!("more than {MAX_METRICS} metrics")));
        }
        self.order.insert(name.to_owned(), self.series.len());
        self.series.push((name.to_owned(), SeriesBuilder::new(numbered)));
        Ok(self.series.len() - 1)
    }

    /// Adds a value to the metric at `index`.
    pub(super) fn push_at(&mut self, index: usize, step: Option<u64>, value: f64) -> Result<()> {
        self.points += 1;
        if self.points > MAX_POINTS {
            return Err(self.too_much(format!("more than {MAX_POINTS} values")));
        }
        match self.series.get_mut(index) {
            // A record without a step in a numbered series has no place; a coverage rule sees that it is missing.
            Some((_, builder)) if builder.steps.is_numbered() && step.is_none() => {}
            Some((_, builder)) => builder.push(step, value),
            None => {}
        }
        Ok(())
    }

    /// Notes a step that the file lists without a value of metric `name`. A metric that never has a value is none.
    pub(super) fn blank(&mut self, name: &str, step: Option<u64>) -> Result<()> {
        let Some(step) = step else { return Ok(()) };
        self.points += 1;
        if self.points > MAX_POINTS {
            return Err(self.too_much(format!("more than {MAX_POINTS} values")));
        }
        if let Some(steps) = self.blanks.get_mut(name) {
            steps.push(step);
        } else if self.blanks.len() < MAX_METRICS {
            self.blanks.insert(name.to_owned(), vec![step]);
        }
        Ok(())
    }

    /// Notes a step without a value of the metric at `index`.
    pub(super) fn blank_at(&mut self, index: usize, step: Option<u64>) -> Result<()> {
        let Some(name) = self.series.get(index).map(|(name, _)| name.clone()) else { return Ok(()) };
        self.blank(&name, step)
    }

    fn too_much(&self, what: String) -> Error {
        Error::new(ErrorKind::LimitExceeded, self.file, what)
            .with_help("log less often, or keep only the metrics to judge")
    }

    /// The metrics, in the order in which they first occurred.
    pub(super) fn finish(self) -> Vec<Series> {
        let mut blanks = self.blanks;
        let finish = |(name, builder): (String, SeriesBuilder)| {
            let blank = blanks.remove(&name).unwrap_or_default();
            builder.finish(name).without(blank)
        };
        self.series.into_iter().map(finish).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_that_starts_again_with_its_epoch_is_numbered_through() {
        let numbered = |records: &[(f64, u64)]| -> Vec<u64> {
            let mut epochs = Epochs::default();
            records.iter().map(|(epoch, step)| epochs.numbered_through(Some(*epoch), *step)).collect()
        };
        assert_eq!(numbered(&[(1.0, 1), (1.0, 2), (2.0, 1), (2.0, 2)]), [1, 2, 3, 4]);
        assert_eq!(numbered(&[(0.0, 0), (0.0, 1), (1.0, 0), (1.0, 1)]), [0, 1, 2, 3]);
        assert_eq!(
            numbered(&[(0.1, 10), (0.2, 20), (0.2, 20), (0.3, 30)]),
            [10, 20, 20, 30],
            "a running counter stays"
        );
        assert_eq!(numbered(&[(1.0, 1), (1.0, 2), (2.0, 1), (1.0, 2)]), [1, 2, 3, 2], "a resumed run goes back");
        assert_eq!(numbered(&[(1.0, 1), (2.0, 1), (3.0, 1)]), [1, 2, 3], "one step per epoch");
    }

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
        assert_eq!(series.repeated, 2);
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
