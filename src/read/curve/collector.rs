//! Collecting the metrics of a file, in its order.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};

use super::numbering::{Numbering, Stretches};
use super::series::{Counter, MAX_METRICS, MAX_POINTS, Order, Series, Steps};
use crate::error::{Error, ErrorKind, Result};
use crate::read::metric;

/// Numbers of a record beside its step and its values.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Beside {
    /// The epoch.
    pub(super) epoch: Option<f64>,
    /// The rank that wrote it.
    pub(super) rank: Option<u64>,
    /// Samples seen so far.
    pub(super) samples: Option<u64>,
    /// Tokens seen so far.
    pub(super) tokens: Option<u64>,
}

/// Numbers that order records beside their steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Epoch,
    Rank,
    Samples,
    Tokens,
}

impl Key {
    /// The meaning of a record's key; `None` where it orders nothing.
    pub(super) fn of(name: &str) -> Option<Self> {
        match metric::canonical(name).as_ref() {
            "epoch" => Some(Self::Epoch),
            "rank" => Some(Self::Rank),
            name if metric::SAMPLES.contains(&name) => Some(Self::Samples),
            name if metric::TOKENS.contains(&name) => Some(Self::Tokens),
            _ => None,
        }
    }
}

impl Beside {
    /// Takes the number of a key.
    pub(super) fn take(&mut self, key: Key, number: f64) {
        let count = super::lines::whole(number);
        match key {
            Key::Epoch => self.epoch = Some(number),
            Key::Rank => self.rank = count,
            Key::Samples => self.samples = self.samples.or(count),
            Key::Tokens => self.tokens = self.tokens.or(count),
        }
    }
}

/// Points of one metric.
#[derive(Debug)]
struct Points {
    name: String,
    /// The stream it belongs to.
    stream: usize,
    numbered: bool,
    /// Steps as the file counts them; without step numbers, the records.
    steps: Steps,
    values: Vec<f64>,
    /// Index of the first point of each stretch that it has points in.
    stretches: Vec<(usize, usize)>,
    last: Option<u64>,
}

/// Records of one rank, or of a file that names none.
#[derive(Debug, Default)]
struct Stream {
    rank: Option<u64>,
    order: HashMap<String, usize>,
    stretches: Stretches,
    /// Counters other than the step, by record: samples, tokens, epochs.
    others: [Vec<(u64, u64)>; 3],
}

/// The other counters, best first.
const OTHERS: [Counter; 3] = [Counter::Samples, Counter::Tokens, Counter::Epoch];

/// Collects the metrics of a file.
#[derive(Debug)]
pub(super) struct Collector<'a> {
    /// Named in messages.
    file: &'a str,
    streams: Vec<Stream>,
    /// Places of the streams by rank.
    ranks: HashMap<Option<u64>, usize>,
    /// The stream of the present record.
    stream: usize,
    epoch: Option<f64>,
    records: u64,
    has_steps: bool,
    metrics: Vec<Points>,
    /// Steps that the file lists without a value, by metric.
    blanks: HashMap<String, Vec<u64>>,
    points: usize,
}

impl<'a> Collector<'a> {
    pub(super) fn new(file: &'a str) -> Self {
        Self {
            file,
            streams: vec![Stream::default()],
            ranks: HashMap::from([(None, 0)]),
            stream: 0,
            epoch: None,
            records: 0,
            has_steps: false,
            metrics: Vec::new(),
            blanks: HashMap::new(),
            points: 0,
        }
    }

    /// Begins a record: the values that follow stand beside what it says.
    pub(super) fn record(&mut self, beside: Beside) {
        self.records += 1;
        self.epoch = beside.epoch;
        self.stream = *self.ranks.entry(beside.rank).or_insert_with(|| {
            self.streams.push(Stream { rank: beside.rank, ..Stream::default() });
            self.streams.len() - 1
        });
        let Some(stream) = self.streams.get_mut(self.stream).filter(|_| !self.has_steps) else { return };
        let epoch = beside.epoch.and_then(super::lines::whole);
        for (counts, count) in stream.others.iter_mut().zip([beside.samples, beside.tokens, epoch]) {
            counts.extend(count.map(|count| (self.records, count)));
        }
    }

    /// Adds a value; without a step the point is numbered by another counter of its record, or by its position.
    pub(super) fn push(&mut self, name: &str, step: Option<u64>, value: f64) -> Result<()> {
        let index = self.index_of(name, step.is_some())?;
        self.push_at(index, step, value)
    }

    /// The place of metric `name`, made where it is new.
    pub(super) fn index_of(&mut self, name: &str, numbered: bool) -> Result<usize> {
        let known = self.streams.get(self.stream).and_then(|stream| stream.order.get(name));
        if let Some(index) = known {
            return Ok(*index);
        }
        if self.metrics.len() >= MAX_METRICS {
            return Err(self.too_much(format!("more than {MAX_METRICS} metrics")));
        }
        let index = self.metrics.len();
        if let Some(stream) = self.streams.get_mut(self.stream) {
            stream.order.insert(name.to_owned(), index);
        }
        self.metrics.push(Points::new(name, self.stream, numbered));
        Ok(index)
    }

    /// Adds a value to the metric at `index`.
    pub(super) fn push_at(&mut self, index: usize, step: Option<u64>, value: f64) -> Result<()> {
        self.points += 1;
        if self.points > MAX_POINTS {
            return Err(self.too_much(format!("more than {MAX_POINTS} values")));
        }
        let index = self.of_this_rank(index)?;
        let Some(points) = self.metrics.get_mut(index) else { return Ok(()) };
        let Some(stream) = self.streams.get_mut(points.stream) else { return Ok(()) };
        match (points.numbered, step) {
            (true, Some(step)) => {
                self.has_steps = true;
                let last = points.last.filter(|_| points.stretch() == Some(stream.stretches.current()));
                stream.stretches.take(step, last, self.epoch);
                points.push(step, value, stream.stretches.current());
            }
            // A record without a step in a numbered metric has no place; a coverage rule sees that it is missing.
            (true, None) => {}
            (false, _) => points.push(self.records, value, 0),
        }
        Ok(())
    }

    /// The metric at `index` as the rank of the present record logs it.
    fn of_this_rank(&mut self, index: usize) -> Result<usize> {
        match self.metrics.get(index) {
            Some(points) if points.stream != self.stream => {
                let (name, numbered) = (points.name.clone(), points.numbered);
                self.index_of(&name, numbered)
            }
            _ => Ok(index),
        }
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
        let Some(name) = self.metrics.get(index).map(|points| points.name.clone()) else { return Ok(()) };
        self.blank(&name, step)
    }

    /// The error about a file with the values of several runs in one table.
    pub(super) fn several_runs(&self) -> Error {
        Error::new(ErrorKind::Unsupported, self.file, "holds several runs in one table").with_help("export one run")
    }

    fn too_much(&self, what: String) -> Error {
        Error::new(ErrorKind::LimitExceeded, self.file, what)
            .with_help("log less often, or keep only the metrics to judge")
    }

    /// The metrics, in the order in which they first occurred.
    pub(super) fn finish(self) -> Vec<Series> {
        match self.other_counter() {
            Some((counter, counts)) => self.counted_by(counter, &counts),
            None => self.in_order(),
        }
    }

    /// The best counter of a file without steps, with the counts of each metric's points (`None` where one has none): it rises
    /// nearly always, as what was seen so far does and what one step took does not.
    fn other_counter(&self) -> Option<(Counter, Vec<Option<Vec<u64>>>)> {
        if self.has_steps {
            return None;
        }
        OTHERS.into_iter().enumerate().find_map(|(place, counter)| {
            let counts: Vec<Option<Vec<u64>>> = self.metrics.iter().map(|points| self.counts(points, place)).collect();
            let mut counted = counts.iter().flatten().peekable();
            let is_counted = counted.peek().is_some();
            (is_counted && counted.all(|counts| rises(counts, counter))).then_some((counter, counts))
        })
    }

    /// Counts of a metric's points by another counter; `None` where one of them has none.
    fn counts(&self, points: &Points, counter: usize) -> Option<Vec<u64>> {
        let counts = self.streams.get(points.stream)?.others.get(counter)?;
        let of_record = |record| {
            let at = counts.binary_search_by_key(&record, |(record, _)| *record).ok()?;
            counts.get(at).map(|(_, count)| *count)
        };
        points.steps.iter().map(of_record).collect()
    }

    /// The metrics by another counter, which is read as steps are.
    fn counted_by(self, counter: Counter, counts: &[Option<Vec<u64>>]) -> Vec<Series> {
        let mut counted = Collector::new(self.file);
        let record = |metric: usize, at: usize| self.metrics.get(metric).and_then(|points| points.steps.get(at));
        let first = |metric: usize| record(metric, 0).map(|record| Reverse((record, metric, 0)));
        // Records in the order of the file, over all metrics.
        let mut next: BinaryHeap<Reverse<(u64, usize, usize)>> = (0..self.metrics.len()).filter_map(first).collect();
        while let Some(Reverse((_, metric, at))) = next.pop() {
            let Some(points) = self.metrics.get(metric) else { continue };
            let rank = self.streams.get(points.stream).and_then(|stream| stream.rank);
            counted.record(Beside { rank, ..Beside::default() });
            let step = counts.get(metric).and_then(|counts| counts.as_ref()?.get(at).copied());
            let value = points.values.get(at).copied().unwrap_or(f64::NAN);
            // As many points as were collected before, so that no limit is met.
            let _within_limits = counted.push(&points.name, step, value);
            next.extend(record(metric, at + 1).map(|record| Reverse((record, metric, at + 1))));
        }
        let mut series = counted.in_order();
        for series in series.iter_mut().filter(|series| series.counter == Counter::Step) {
            series.counter = counter;
        }
        series
    }

    fn in_order(self) -> Vec<Series> {
        let mut blanks = self.blanks;
        let mut numberings: HashMap<usize, Numbering> = HashMap::new();
        for (index, stream) in self.streams.iter().enumerate().filter(|(_, stream)| !stream.stretches.is_plain()) {
            let of_stream: Vec<&Points> = self.metrics.iter().filter(|points| points.stream == index).collect();
            numberings.insert(index, stream.stretches.resolve(&repeats(&of_stream, stream.stretches.current() + 1)));
        }
        let finish = |points: Points| {
            let rank = self.streams.get(points.stream).and_then(|stream| stream.rank);
            let blank = blanks.remove(&points.name).unwrap_or_default();
            let series = match numberings.get(&points.stream) {
                Some(numbering) if points.numbered => points.numbered_through(numbering),
                _ => points.plain(),
            };
            Series { rank, ..series.without(blank) }
        };
        let mut series: Vec<Series> = self.metrics.into_iter().map(finish).collect();
        if self.streams.len() > 1 {
            series = join_equal_ranks(series);
        }
        series
    }
}

/// Whether counts rise from point to point: always for epochs, of which a run has one point each, nearly always for samples and
/// tokens, which fall where a run was resumed.
fn rises(counts: &[u64], counter: Counter) -> bool {
    let rises = counts.iter().zip(counts.iter().skip(1)).filter(|(before, count)| before < count).count();
    let pairs = counts.len().saturating_sub(1);
    !counts.is_empty() && if counter == Counter::Epoch { rises == pairs } else { rises * 10 >= pairs * 9 }
}

impl Points {
    fn new(name: &str, stream: usize, numbered: bool) -> Self {
        Self {
            name: name.to_owned(),
            stream,
            numbered,
            steps: Steps::numbered(),
            values: Vec::new(),
            stretches: Vec::new(),
            last: None,
        }
    }

    /// The stretch of the last point.
    fn stretch(&self) -> Option<usize> {
        self.stretches.last().map(|(_, stretch)| *stretch)
    }

    fn push(&mut self, step: u64, value: f64, stretch: usize) {
        if self.stretch() != Some(stretch) {
            self.stretches.push((self.values.len(), stretch));
        }
        self.last = Some(step);
        self.steps.push(step);
        self.values.push(value);
    }

    /// Stretch and step of each point.
    fn placed(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let ends = self.stretches.iter().skip(1).map(|(start, _)| *start).chain([self.values.len()]);
        let ranges = self.stretches.iter().zip(ends);
        ranges.flat_map(|((start, stretch), end)| {
            (*start..end).filter_map(|at| self.steps.get(at)).map(|step| (*stretch, step))
        })
    }

    /// The series as it stands: its counter never fell.
    fn plain(self) -> Series {
        if self.numbered {
            return Series::by_step(self.name, self.steps.iter().zip(self.values));
        }
        Series::by_position(self.name, self.values)
    }

    /// The series with the steps of its stretches numbered through.
    fn numbered_through(self, numbering: &Numbering) -> Series {
        let mut order =
            Order { restarts: numbering.restarts, is_several_runs: numbering.is_several_runs, ..Order::default() };
        let mut points: BTreeMap<u64, (usize, f64)> = BTreeMap::new();
        let placed: Vec<(usize, u64)> = self.placed().collect();
        for ((stretch, step), value) in placed.into_iter().zip(self.values) {
            let offset = numbering.offsets.get(stretch).copied().unwrap_or_default();
            match points.insert(step.saturating_add(offset), (stretch, value)) {
                Some((earlier, _)) if earlier != stretch => order.resumed += 1,
                Some((_, earlier)) if earlier.to_bits() != value.to_bits() => order.repeated += 1,
                _ => {}
            }
        }
        if order.resumed > 0 {
            order.resumes = numbering.resumes.iter().take(Order::LISTED).copied().collect();
        }
        let series = Series::by_step(self.name, points.into_iter().map(|(step, (_, value))| (step, value)));
        let counter = if numbering.has_epochs { Counter::EpochStep } else { Counter::Step };
        Series { counter, order, ..series }
    }
}

/// For each stretch, whether a metric logs a step in it that it logged before.
fn repeats(metrics: &[&Points], stretches: usize) -> Vec<bool> {
    let mut repeats = vec![false; stretches];
    for points in metrics {
        let mut steps: Vec<(u64, usize)> = points.placed().map(|(stretch, step)| (step, stretch)).collect();
        steps.sort_unstable();
        for pair in steps.windows(2) {
            if let [(before, earlier), (step, stretch)] = pair
                && before == step
                && earlier != stretch
                && let Some(repeats) = repeats.get_mut(*stretch)
            {
                *repeats = true;
            }
        }
    }
    repeats
}

/// Series of ranks that say the same become one; those that do not stay apart.
fn join_equal_ranks(series: Vec<Series>) -> Vec<Series> {
    let mut names: Vec<String> = Vec::new();
    let mut ranks: HashMap<String, Vec<Series>> = HashMap::new();
    for series in series {
        if !ranks.contains_key(&series.name) {
            names.push(series.name.clone());
        }
        ranks.entry(series.name.clone()).or_default().push(series);
    }
    names.into_iter().flat_map(|name| joined(ranks.remove(&name).unwrap_or_default())).collect()
}

fn joined(mut ranks: Vec<Series>) -> Vec<Series> {
    ranks.retain(|series| !series.values.is_empty());
    let mut values: HashMap<u64, u64> = HashMap::new();
    let points = || ranks.iter().flat_map(Series::points);
    let agree = points().all(|(step, value)| *values.entry(step).or_insert(value.to_bits()) == value.to_bits());
    let is_numbered = ranks.iter().all(|series| series.steps.is_numbered());
    let all = (agree && is_numbered && ranks.len() > 1).then(|| points().collect::<BTreeMap<u64, f64>>());
    ranks.sort_by_key(|series| series.rank);
    match (ranks.as_mut_slice(), all) {
        ([first, _, ..], Some(all)) => {
            let (counter, order) = (first.counter, std::mem::take(&mut first.order));
            vec![Series { counter, order, ..Series::by_step(std::mem::take(&mut first.name), all) }]
        }
        ([only], _) => {
            only.rank = None;
            ranks
        }
        _ => ranks,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(series: &Series) -> Vec<(u64, f64)> {
        series.points().collect()
    }

    #[test]
    fn of_a_resumed_run_the_later_values_count_and_are_counted() {
        let mut collector = Collector::new("file");
        for (step, value) in [(1, 1.0), (2, 2.0), (3, 3.0), (2, 20.0), (3, 30.0), (4, 4.0)] {
            collector.push("loss", Some(step), value).expect("few points");
        }
        let series = collector.finish().remove(0);
        assert_eq!(points(&series), [(1, 1.0), (2, 20.0), (3, 30.0), (4, 4.0)]);
        assert_eq!((series.order.resumed, series.order.resumes), (2, vec![(3, 2)]));
    }

    #[test]
    fn an_epoch_begins_for_metrics_that_are_logged_less_often_too() {
        let mut collector = Collector::new("file");
        for epoch in [1.0, 2.0] {
            for step in 1..=3 {
                collector.record(Beside { epoch: Some(epoch), ..Beside::default() });
                collector.push("loss", Some(step), 1.0).expect("few points");
            }
            collector.record(Beside { epoch: Some(epoch), ..Beside::default() });
            collector.push("eval_loss", Some(3), epoch).expect("few points");
        }
        let series = collector.finish();
        assert_eq!(series[0].steps.iter().collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6]);
        assert_eq!(points(&series[1]), [(3, 1.0), (6, 2.0)]);
        assert_eq!(series[1].counter, Counter::EpochStep);
    }

    #[test]
    fn samples_count_where_no_step_does_and_the_size_of_a_step_counts_nothing() {
        let of = |tokens: &[u64]| {
            let mut collector = Collector::new("file");
            for tokens in tokens {
                collector.record(Beside { tokens: Some(*tokens), ..Beside::default() });
                collector.push("loss", None, 1.0).expect("few points");
            }
            let series = collector.finish().remove(0);
            (series.counter, series.steps.iter().collect::<Vec<_>>())
        };
        assert_eq!(of(&[512, 1024, 1536]), (Counter::Tokens, vec![512, 1024, 1536]));
        assert_eq!(of(&[512, 512, 512]), (Counter::Position, vec![1, 2, 3]));
        assert_eq!(of(&[512, 480, 500]).0, Counter::Position);
    }

    #[test]
    fn ranks_stay_apart_where_they_differ() {
        let mut collector = Collector::new("file");
        for (rank, loss) in [(1, 1.5), (0, 1.0)] {
            collector.record(Beside { rank: Some(rank), ..Beside::default() });
            collector.push("loss", Some(1), loss).expect("few points");
            collector.push("lr", Some(1), 0.1).expect("few points");
        }
        let series = collector.finish();
        let found: Vec<_> = series.iter().map(|series| (series.name.as_str(), series.rank, series.values[0])).collect();
        assert_eq!(found, [("loss", Some(0), 1.0), ("loss", Some(1), 1.5), ("lr", None, 0.1)]);
    }

    proptest::proptest! {
        #[test]
        fn steps_come_back_rising_and_none_is_lost(
            points in proptest::collection::vec((0_u64..40, -9.0_f64..9.0), 1..60)
        ) {
            let mut collector = Collector::new("file");
            for (step, value) in &points {
                collector.push("loss", Some(*step), *value).expect("few points");
            }
            let series = collector.finish().remove(0);
            let steps: Vec<u64> = series.steps.iter().collect();
            proptest::prop_assert!(steps.is_sorted_by(|a, b| a < b));
            let kept = series.values.len() as u64 + series.order.resumed + series.order.repeated;
            let same: u64 = points.windows(2).filter(|pair| pair[0] == pair[1]).count() as u64;
            proptest::prop_assert!(kept + same >= points.len() as u64);
        }
    }
}
