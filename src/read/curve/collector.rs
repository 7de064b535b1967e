//! Collecting the metrics of a file, in its order.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};
use std::sync::Arc;

use super::batch::{Batch, Entry, Record};
use super::beside::{KeyMeanings, RecordContext};
use super::lines;
use super::numbering::{Numbering, Stretches};
use super::points::{FileRoom, Points, Walk};
use super::series::{Counter, MAX_METRICS, MAX_POINTS, Order, ReplacedValues, Series, Steps};
use super::stored::StoredSeries;
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::Room;
use crate::read::account::UnreadNumbers;

/// One metric of one rank.
#[derive(Debug)]
struct Metric {
    name: String,
    /// The stream it belongs to.
    stream: usize,
    numbered: bool,
    /// Its steps as the file counts them, and its values. Without step numbers, the record's number stands for the step.
    points: Points,
    /// The stretches that it has points in: index of the first point there, and number of the stretch.
    stretches: Vec<(usize, usize)>,
    /// Number of values whose record lacks the step that places the others.
    unplaced: u64,
}

/// Records of one rank, or of a file that names none.
#[derive(Debug, Default)]
struct Stream {
    rank: Option<u64>,
    order: HashMap<String, usize>,
    stretches: Stretches,
    /// Counters other than the step, in the order of [`OTHERS`]: record number and count.
    others: [Vec<(u64, u64)>; 3],
}

/// The other counters, best first.
const OTHERS: [Counter; 3] = [Counter::Samples, Counter::Tokens, Counter::Epoch];

/// Largest number of values without a step at the beginning of a metric after which steps are still accepted.
const FEW: usize = 3;
/// Largest number of record shapes in a batch that is added column by column.
const MOST_SHAPES: usize = 16;
/// Points between two checks whether memory is full.
const LOOKED_AFTER: usize = 4096;
/// Least bytes of points that are worth moving to disk while a file is read.
const LEAST_STORED: u64 = 4 << 20;

/// Collects the metrics of a file.
#[derive(Debug)]
pub(super) struct Collector {
    /// The file, which messages name, and the room for its points.
    home: FileRoom,
    streams: Vec<Stream>,
    /// Places of the streams by rank.
    ranks: HashMap<Option<u64>, usize>,
    /// The stream of the present record.
    stream: usize,
    epoch: Option<f64>,
    records: u64,
    has_steps: bool,
    metrics: Vec<Metric>,
    /// Steps that the file lists without a value, by metric.
    blanks: HashMap<String, Points>,
    points: usize,
    /// Numbers beside a metric's name that did not become points.
    account: UnreadNumbers,
    /// Meanings of the keys of its records.
    pub(super) keys: KeyMeanings,
}

impl Collector {
    /// A collector for `file`, the name that messages use. Its points fill `room`.
    pub(super) fn new(file: &str, room: &Arc<Room>) -> Self {
        Self {
            home: FileRoom { file: file.into(), room: room.clone() },
            streams: vec![Stream::default()],
            ranks: HashMap::from([(None, 0)]),
            stream: 0,
            epoch: None,
            records: 0,
            has_steps: false,
            metrics: Vec::new(),
            blanks: HashMap::new(),
            points: 0,
            account: UnreadNumbers::default(),
            keys: KeyMeanings::default(),
        }
    }

    /// Notes numbers beside the metric `name` that did not become points of a curve. `text` is the text that holds them.
    pub(super) fn note_unread(&mut self, text: &str, name: &str, values: &[f64]) {
        self.account.add_text(text, vec![name.to_owned()], values);
    }

    /// Takes the unread numbers noted so far and leaves none.
    pub(super) fn take_account(&mut self) -> UnreadNumbers {
        std::mem::take(&mut self.account)
    }

    /// Begins a record: the values that follow belong to its epoch, rank and counters.
    pub(super) fn begin_record(&mut self, beside: RecordContext) {
        self.records += 1;
        self.epoch = beside.epoch;
        self.stream = *self.ranks.entry(beside.rank).or_insert_with(|| {
            self.streams.push(Stream { rank: beside.rank, ..Stream::default() });
            self.streams.len() - 1
        });
        let Some(stream) = self.streams.get_mut(self.stream).filter(|_| !self.has_steps) else { return };
        let epoch = beside.epoch.and_then(lines::whole_number);
        for (counts, count) in stream.others.iter_mut().zip([beside.samples, beside.tokens, epoch]) {
            counts.extend(count.map(|count| (self.records, count)));
        }
    }

    /// Adds a value. Without a step, another counter of its record numbers the point, or else its position does.
    pub(super) fn push(&mut self, name: &str, step: Option<u64>, value: f64) -> Result<()> {
        let index = self.index_of(name, step.is_some())?;
        self.push_at(index, step, value)
    }

    /// Returns the index of metric `name` in the current stream, and adds the metric where it is new.
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
        self.metrics.push(Metric {
            name: name.to_owned(),
            stream: self.stream,
            numbered,
            points: self.no_points(),
            stretches: Vec::new(),
            unplaced: 0,
        });
        Ok(index)
    }

    /// Counts a value of the metric `name` whose record lacks the number that places the others.
    fn lose(&mut self, name: &str) -> Result<()> {
        let index = self.index_of(name, true)?;
        self.metrics.get_mut(index).into_iter().for_each(|metric| metric.unplaced += 1);
        Ok(())
    }

    /// Adds a value to the metric at `index`.
    pub(super) fn push_at(&mut self, index: usize, step: Option<u64>, value: f64) -> Result<()> {
        self.count(1)?;
        let index = self.of_this_rank(index)?;
        let home = &self.home;
        let Some(metric) = self.metrics.get_mut(index) else { return Ok(()) };
        // The first records may be those that lack their step.
        if !metric.numbered && step.is_some() && metric.points.len() <= FEW {
            metric.unplaced += metric.points.len() as u64;
            (metric.numbered, metric.points) = (true, Points::new(home.clone()));
            metric.stretches.clear();
        }
        let Some(stream) = self.streams.get_mut(metric.stream) else { return Ok(()) };
        match (metric.numbered, step) {
            (true, Some(step)) => {
                self.has_steps = true;
                let last = metric.points.last().filter(|_| metric.stretch() == Some(stream.stretches.current()));
                stream.stretches.add_record(step, last, self.epoch);
                metric.push(step, value, stream.stretches.current());
            }
            // A record without a step has no place in a numbered metric. With an epoch it summarises that epoch and is no point.
            (true, None) => metric.unplaced += u64::from(self.epoch.is_none()),
            (false, _) => metric.push(self.records, value, 0),
        }
        Ok(())
    }

    /// Counts points that are about to be added, and moves all points to disk where memory is full.
    fn count(&mut self, points: usize) -> Result<()> {
        let before = self.points;
        self.points += points;
        if self.points > MAX_POINTS {
            return Err(self.too_much(format!("more than {MAX_POINTS} values")));
        }
        let is_time = before / LOOKED_AFTER != self.points / LOOKED_AFTER;
        if is_time && self.home.room.is_full() { self.store() } else { Ok(()) }
    }

    /// Moves all points to disk, unless they are too few to be worth it.
    fn store(&mut self) -> Result<()> {
        let all = || self.metrics.iter().map(|metric| &metric.points).chain(self.blanks.values());
        if all().map(Points::bytes).sum::<u64>() < LEAST_STORED {
            return Ok(());
        }
        let metrics = self.metrics.iter_mut().map(|metric| &mut metric.points);
        metrics.chain(self.blanks.values_mut()).try_for_each(Points::store)
    }

    fn no_points(&self) -> Points {
        Points::new(self.home.clone())
    }

    /// Index of the metric with the name of the one at `index` in the stream of the current record's rank.
    fn of_this_rank(&mut self, index: usize) -> Result<usize> {
        match self.metrics.get(index) {
            Some(metric) if metric.stream != self.stream => {
                let (name, numbered) = (metric.name.clone(), metric.numbered);
                self.index_of(&name, numbered)
            }
            _ => Ok(index),
        }
    }

    /// Notes a step that the file lists without a value of metric `name`. A metric that never has a value does not become a series.
    pub(super) fn add_blank(&mut self, name: &str, step: Option<u64>) -> Result<()> {
        let Some(step) = step else { return Ok(()) };
        self.count(1)?;
        if let Some(steps) = self.blanks.get_mut(name) {
            steps.push_step(step);
        } else if self.blanks.len() < MAX_METRICS {
            let mut steps = self.no_points();
            steps.push_step(step);
            self.blanks.insert(name.to_owned(), steps);
        }
        Ok(())
    }

    /// Adds all records of a batch, with the same result as adding them one after the other.
    pub(super) fn add_batch(&mut self, batch: &Batch) -> Result<()> {
        if self.follows(batch) { self.append(batch) } else { self.replay(batch) }
    }

    /// Adds the records one after the other: the slow way, which handles every batch.
    fn replay(&mut self, batch: &Batch) -> Result<()> {
        let mut next = vec![0; batch.columns.len()];
        let mut places: Vec<Option<usize>> = vec![None; batch.columns.len()];
        for record in &batch.records {
            let before = self.stream;
            self.begin_record(record.context);
            if self.stream != before {
                places.fill(None);
            }
            for entry in batch.shapes.get(record.shape).into_iter().flatten() {
                let Some(column) = batch.columns.get(entry.column) else { continue };
                if !entry.has_value {
                    self.add_blank(&column.name, record.step)?;
                    continue;
                }
                let (Some(at), Some(place)) = (next.get_mut(entry.column), places.get_mut(entry.column)) else {
                    continue;
                };
                let value = column.values.get(*at).copied().unwrap_or(f64::NAN);
                *at += 1;
                let index = match *place {
                    Some(index) => index,
                    None => *place.insert(self.index_of(&column.name, record.step.is_some())?),
                };
                self.push_at(index, record.step, value)?;
            }
        }
        Ok(())
    }

    /// Whether all records of a batch continue the metrics of a single rank: their steps rise, and no epoch falls.
    fn follows(&self, batch: &Batch) -> bool {
        let Some(first) = batch.records.first() else { return false };
        let stream = self.ranks.get(&first.context.rank).and_then(|stream| self.streams.get(*stream));
        let (Some(stream), Some(start)) = (stream, first.step) else { return false };
        if batch.shapes.len() > MOST_SHAPES || batch.has_repeats || batch.with_values.is_empty() {
            return false;
        }
        let (mut last, mut epoch) = (None, stream.stretches.epoch());
        for Record { context: beside, step, .. } in &batch.records {
            let now = beside.epoch.filter(|epoch| epoch.is_finite());
            let falls = matches!((epoch, now), (Some(before), Some(now)) if now < before);
            if step.is_none() || *step <= last || falls || beside.rank != first.context.rank {
                return false;
            }
            (last, epoch) = (*step, now.or(epoch));
        }
        let current = Some(stream.stretches.current());
        let metrics = batch.with_values.iter().filter_map(|column| stream.order.get(&batch.columns.get(*column)?.name));
        metrics.filter_map(|index| self.metrics.get(*index)).all(|metric| {
            metric.numbered && (metric.stretch() != current || metric.points.last().is_none_or(|last| last < start))
        })
    }

    /// Adds a batch that [follows](Self::follows), column by column.
    fn append(&mut self, batch: &Batch) -> Result<()> {
        let (Some(first), Some(last)) = (batch.records.first(), batch.records.last()) else { return Ok(()) };
        self.count(batch.entries)?;
        self.begin_record(first.context);
        self.records += batch.records.len() as u64 - 1;
        (self.epoch, self.has_steps) = (last.context.epoch, true);
        let has_values: Vec<bool> =
            batch.shapes.iter().map(|shape| shape.iter().any(|entry| entry.has_value)).collect();
        let Some(stream) = self.streams.get_mut(self.stream) else { return Ok(()) };
        for record in batch.records.iter().filter(|record| has_values.get(record.shape) == Some(&true)) {
            record.step.into_iter().for_each(|step| stream.stretches.add_record(step, None, record.context.epoch));
        }
        let stretch = stream.stretches.current();
        let mut known: HashMap<Vec<bool>, Steps> = HashMap::new();
        let mut steps_of = |wanted: Entry| {
            let is_due: Vec<bool> = batch.shapes.iter().map(|shape| shape.contains(&wanted)).collect();
            known.entry(is_due).or_insert_with_key(|is_due| batch.steps_of(is_due)).clone()
        };
        for column in batch.with_values.iter().copied() {
            let Some(of) = batch.columns.get(column) else { continue };
            let index = self.index_of(&of.name, true)?;
            let Some(metric) = self.metrics.get_mut(index) else { continue };
            metric.begin(stretch);
            metric.points.append(&steps_of(Entry { column, has_value: true }), &of.values);
        }
        for (column, of) in batch.columns.iter().enumerate() {
            let steps = steps_of(Entry { column, has_value: false });
            if !steps.is_empty() && (self.blanks.contains_key(&of.name) || self.blanks.len() < MAX_METRICS) {
                let none = self.no_points();
                self.blanks.entry(of.name.clone()).or_insert(none).append(&steps, &[]);
            }
        }
        Ok(())
    }

    /// The error for a file that holds the values of several runs in one table.
    pub(super) fn several_runs_error(&self) -> Error {
        Error::new(ErrorKind::Unsupported, &*self.home.file, "holds several runs in one table")
            .with_help("export one run")
    }

    fn too_much(&self, what: String) -> Error {
        Error::new(ErrorKind::LimitExceeded, &*self.home.file, what)
            .with_help("log less often, or keep only the metrics to judge")
    }

    /// The metrics, in the order in which they first occurred.
    ///
    /// # Errors
    /// Those of [`Room`].
    pub(super) fn finish(self) -> Result<Vec<StoredSeries>> {
        match self.other_counter()? {
            Some(counter) => self.counted_by(counter),
            None => self.in_order(),
        }
    }

    /// The index in [`OTHERS`] of the best counter of a file without steps. Such a counter nearly always rises: a running total
    /// does, while the size of a single step (samples per step) does not.
    fn other_counter(&self) -> Result<Option<usize>> {
        if self.has_steps {
            return Ok(None);
        }
        for (place, counter) in OTHERS.into_iter().enumerate() {
            let (mut is_counted, mut all_rise) = (false, true);
            for metric in self.metrics.iter().filter(|metric| metric.points.len() > 0) {
                if let Some(counts) = self.counts(metric, place)? {
                    is_counted = true;
                    all_rise &= rises(&counts.into_iter().flatten().collect::<Vec<_>>(), counter);
                }
            }
            if is_counted && all_rise {
                return Ok(Some(place));
            }
        }
        Ok(None)
    }

    /// The count of another counter for each point of a metric; `None` where fewer than half of the points have one, because the
    /// counter then counts something else.
    fn counts(&self, metric: &Metric, counter: usize) -> Result<Option<Vec<Option<u64>>>> {
        let counts = self.streams.get(metric.stream).and_then(|stream| stream.others.get(counter));
        let Some(counts) = counts.filter(|counts| !counts.is_empty() || metric.points.len() == 0) else {
            return Ok(None);
        };
        let of_record = |record| {
            let at = counts.binary_search_by_key(&record, |(record, _)| *record).ok()?;
            counts.get(at).map(|(_, count)| *count)
        };
        let counts: Vec<Option<u64>> = metric.points.load_steps()?.iter().map(of_record).collect();
        let counted = counts.iter().flatten().count();
        Ok((2 * counted >= counts.len()).then_some(counts))
    }

    /// The metrics, with the counts of another counter in place of steps.
    fn counted_by(self, place: usize) -> Result<Vec<StoredSeries>> {
        let counter = OTHERS.get(place).copied().unwrap_or_default();
        let mut counted = Collector::new(&self.home.file, &self.home.room);
        let mut metrics = Vec::new();
        for metric in &self.metrics {
            metrics.push(Counted { counts: self.counts(metric, place)?, walk: metric.points.walk() });
        }
        // Records in the order of the file, over all metrics.
        let mut next: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::new();
        for (index, metric) in metrics.iter_mut().enumerate() {
            next.extend(metric.walk.peek()?.map(|(record, _)| Reverse((record, index))));
        }
        while let Some(Reverse((_, index))) = next.pop() {
            let (Some(metric), Some(counted_metric)) = (self.metrics.get(index), metrics.get_mut(index)) else {
                continue;
            };
            let rank = self.streams.get(metric.stream).and_then(|stream| stream.rank);
            counted.begin_record(RecordContext { rank, ..RecordContext::default() });
            let at = counted_metric.walk.place();
            let is_counted = counted_metric.counts.is_some();
            let step = counted_metric.counts.as_ref().and_then(|counts| counts.get(at).copied().flatten());
            let value = counted_metric.walk.next()?.map_or(f64::NAN, |(_, value)| value);
            match step {
                None if is_counted => counted.lose(&metric.name)?,
                step => counted.push(&metric.name, step, value)?,
            }
            next.extend(counted_metric.walk.peek()?.map(|(record, _)| Reverse((record, index))));
        }
        let mut series = counted.in_order()?;
        series.iter_mut().for_each(|series| series.set_counter(counter));
        Ok(series)
    }

    fn in_order(self) -> Result<Vec<StoredSeries>> {
        let mut blanks = self.blanks;
        let mut numberings: HashMap<usize, Numbering> = HashMap::new();
        for (index, stream) in self.streams.iter().enumerate().filter(|(_, stream)| !stream.stretches.is_plain()) {
            let of_stream = self.metrics.iter().filter(|metric| metric.stream == index);
            let repeats = repeats(of_stream, stream.stretches.current() + 1)?;
            numberings.insert(index, stream.stretches.resolve(&repeats));
        }
        let streams = &self.streams;
        let finish = |metric: Metric| {
            let rank = streams.get(metric.stream).and_then(|stream| stream.rank);
            let blank = blanks.remove(&metric.name);
            let numbering = numberings.get(&metric.stream).filter(|_| metric.numbered);
            Ok(metric.finish(numbering, blank, &self.home)?.with_rank(rank))
        };
        let series = self.metrics.into_iter().map(finish).collect::<Result<Vec<_>>>()?;
        if streams.len() > 1 { join_equal_ranks(series, &self.home) } else { Ok(series) }
    }
}

/// A metric with its counts by another counter.
struct Counted<'m> {
    counts: Option<Vec<Option<u64>>>,
    walk: Walk<'m>,
}

/// Whether counts rise from point to point. Epochs must always rise, because a run has one point for each. Samples and tokens
/// must rise in at least 90% of the pairs: they fall where a run was resumed.
fn rises(counts: &[u64], counter: Counter) -> bool {
    let rises = counts.iter().zip(counts.iter().skip(1)).filter(|(before, count)| before < count).count();
    let pairs = counts.len().saturating_sub(1);
    !counts.is_empty() && if counter == Counter::Epoch { rises == pairs } else { rises * 10 >= pairs * 9 }
}

impl Metric {
    /// The stretch of the last point.
    fn stretch(&self) -> Option<usize> {
        self.stretches.last().map(|(_, stretch)| *stretch)
    }

    fn push(&mut self, step: u64, value: f64, stretch: usize) {
        self.begin(stretch);
        self.points.push(step, value);
    }

    /// Notes that the points that follow belong to `stretch`.
    fn begin(&mut self, stretch: usize) {
        if self.stretch() != Some(stretch) {
            self.stretches.push((self.points.len(), stretch));
        }
    }

    /// Stretch and step of each point.
    fn placed(&self, steps: &Steps) -> Vec<(usize, u64)> {
        let ends = self.stretches.iter().skip(1).map(|(start, _)| *start).chain([self.points.len()]);
        let ranges = self.stretches.iter().zip(ends);
        let steps = ranges.flat_map(|((start, stretch), end)| {
            (*start..end).filter_map(|at| steps.get(at)).map(|step| (*stretch, step))
        });
        steps.collect()
    }

    /// The finished series. Where its counter fell back, its steps are numbered through. `blank` holds the steps without a value.
    fn finish(self, numbering: Option<&Numbering>, blank: Option<Points>, home: &FileRoom) -> Result<StoredSeries> {
        let unplaced = self.unplaced;
        if numbering.is_none() && blank.is_none() && self.numbered && self.points.is_rising() {
            return Ok(StoredSeries::from_rising(self.name, self.points, home)?.with_unplaced(unplaced));
        }
        let mut series = match numbering {
            Some(numbering) => self.numbered_through(numbering)?,
            None => self.plain()?,
        };
        series.order.unplaced = unplaced;
        let blank = blank.map(|blank| blank.load_steps()).transpose()?;
        let blank = blank.iter().flat_map(Steps::iter).collect();
        StoredSeries::store(series.with_unrecorded(blank), home)
    }

    /// The series with its steps as logged, for a counter that never fell.
    fn plain(self) -> Result<Series> {
        let is_rising = self.points.is_rising();
        let (steps, values) = self.points.into_loaded()?;
        Ok(match self.numbered {
            true if is_rising => Series::from_rising(self.name, steps, values),
            true => Series::by_step(self.name, steps.iter().zip(values)),
            false => Series::by_position(self.name, values),
        })
    }

    /// The series with the steps of its stretches numbered through.
    fn numbered_through(self, numbering: &Numbering) -> Result<Series> {
        let mut order =
            Order { restarts: numbering.restarts, is_several_runs: numbering.is_several_runs, ..Order::default() };
        let mut points: BTreeMap<u64, (usize, f64)> = BTreeMap::new();
        let mut others = ReplacedValues::default();
        let (steps, values) = self.points.load()?;
        for ((stretch, step), value) in self.placed(&steps).into_iter().zip(values) {
            let step = step.saturating_add(numbering.offsets.get(stretch).copied().unwrap_or_default());
            match points.insert(step, (stretch, value)) {
                Some((earlier, _)) if earlier != stretch => {
                    order.resumed += 1;
                    others.forget(step);
                }
                Some((_, earlier)) => others.note_replaced(step, earlier, value),
                None => {}
            }
        }
        order.repeated = others.repeated;
        if order.resumed > 0 {
            order.resumes = numbering.resumes.iter().take(Order::LISTED).copied().collect();
        }
        let points: BTreeMap<u64, f64> = points.into_iter().map(|(step, (_, value))| (step, value)).collect();
        let contradicting = others.into_differing(&points);
        let series = Series::by_step(self.name, points);
        let counter = if numbering.has_epochs { Counter::EpochStep } else { Counter::Step };
        Ok(Series { counter, order, contradicting, ..series })
    }
}

/// For each stretch, whether a metric logs a step in it that it logged before.
fn repeats<'m>(metrics: impl Iterator<Item = &'m Metric>, stretches: usize) -> Result<Vec<bool>> {
    let mut repeats = vec![false; stretches];
    for metric in metrics {
        let placed = metric.placed(&metric.points.load_steps()?);
        let mut steps: Vec<(u64, usize)> = placed.into_iter().map(|(stretch, step)| (step, stretch)).collect();
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
    Ok(repeats)
}

/// Joins the series of ranks that logged equal values into one; the others stay apart.
fn join_equal_ranks(series: Vec<StoredSeries>, home: &FileRoom) -> Result<Vec<StoredSeries>> {
    let mut names: Vec<String> = Vec::new();
    let mut ranks: HashMap<String, Vec<StoredSeries>> = HashMap::new();
    for series in series {
        if !ranks.contains_key(series.name()) {
            names.push(series.name().to_owned());
        }
        ranks.entry(series.name().to_owned()).or_default().push(series);
    }
    let mut all = Vec::new();
    for name in names {
        all.extend(joined(ranks.remove(&name).unwrap_or_default(), home)?);
    }
    Ok(all)
}

fn joined(mut ranks: Vec<StoredSeries>, home: &FileRoom) -> Result<Vec<StoredSeries>> {
    ranks.retain(|series| series.shape().len > 0);
    let is_numbered = ranks.iter().all(|series| series.shape().is_numbered);
    let all = if is_numbered && ranks.len() > 1 { agreed(&ranks)? } else { None };
    ranks.sort_by_key(StoredSeries::rank);
    Ok(match (ranks.as_slice(), all) {
        ([first, _, ..], Some(all)) => {
            let logged: usize = ranks.iter().map(|series| series.shape().len).sum();
            let equal_ranks =
                (ranks.len() as u64, logged.saturating_sub(all.len()) as u64 / (ranks.len() as u64 - 1).max(1));
            let (counter, order) = (first.counter(), Order { equal_ranks, ..first.order().clone() });
            let mut contradicting = Vec::new();
            for series in &ranks {
                contradicting.extend_from_slice(&series.load()?.contradicting);
            }
            contradicting.sort_by_key(|(step, _)| *step);
            let series = Series { counter, order, contradicting, ..Series::by_step(first.name(), all) };
            vec![StoredSeries::store(series, home)?]
        }
        ([_], _) => ranks.into_iter().map(|only| only.with_rank(None)).collect(),
        _ => ranks,
    })
}

/// The values of all ranks by step; `None` where two differ.
fn agreed(ranks: &[StoredSeries]) -> Result<Option<BTreeMap<u64, f64>>> {
    let mut all: BTreeMap<u64, f64> = BTreeMap::new();
    for series in ranks {
        let series = series.load()?;
        let mut points = series.points();
        if !points.all(|(step, value)| all.entry(step).or_insert(value).to_bits() == value.to_bits()) {
            return Ok(None);
        }
    }
    Ok(Some(all))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finished(collector: Collector) -> Vec<Series> {
        let series = collector.finish().expect("in memory");
        series.iter().map(|series| series.load().expect("in memory").into_owned()).collect()
    }

    fn points(series: &Series) -> Vec<(u64, f64)> {
        series.points().collect()
    }

    #[test]
    fn of_a_resumed_run_the_later_values_count_and_are_counted() {
        let mut collector = Collector::new("file", &Room::unlimited());
        for (step, value) in [(1, 1.0), (2, 2.0), (3, 3.0), (2, 20.0), (3, 30.0), (4, 4.0)] {
            collector.push("loss", Some(step), value).expect("few points");
        }
        let series = finished(collector).remove(0);
        assert_eq!(points(&series), [(1, 1.0), (2, 20.0), (3, 30.0), (4, 4.0)]);
        assert_eq!((series.order.resumed, series.order.resumes), (2, vec![(3, 2)]));
    }

    #[test]
    fn an_epoch_begins_for_metrics_that_are_logged_less_often_too() {
        let mut collector = Collector::new("file", &Room::unlimited());
        for epoch in [1.0, 2.0] {
            for step in 1..=3 {
                collector.begin_record(RecordContext { epoch: Some(epoch), ..RecordContext::default() });
                collector.push("loss", Some(step), 1.0).expect("few points");
            }
            collector.begin_record(RecordContext { epoch: Some(epoch), ..RecordContext::default() });
            collector.push("eval_loss", Some(3), epoch).expect("few points");
        }
        let series = finished(collector);
        assert_eq!(series[0].steps.iter().collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6]);
        assert_eq!(points(&series[1]), [(3, 1.0), (6, 2.0)]);
        assert_eq!(series[1].counter, Counter::EpochStep);
    }

    #[test]
    fn samples_count_where_no_step_does_and_the_size_of_a_step_counts_nothing() {
        let of = |tokens: &[u64]| {
            let mut collector = Collector::new("file", &Room::unlimited());
            for tokens in tokens {
                collector.begin_record(RecordContext { tokens: Some(*tokens), ..RecordContext::default() });
                collector.push("loss", None, 1.0).expect("few points");
            }
            let series = finished(collector).remove(0);
            (series.counter, series.steps.iter().collect::<Vec<_>>())
        };
        assert_eq!(of(&[512, 1024, 1536]), (Counter::Tokens, vec![512, 1024, 1536]));
        assert_eq!(of(&[512, 512, 512]), (Counter::Position, vec![1, 2, 3]));
        assert_eq!(of(&[512, 480, 500]).0, Counter::Position);
    }

    #[test]
    fn ranks_stay_apart_where_they_differ() {
        let mut collector = Collector::new("file", &Room::unlimited());
        for (rank, loss) in [(1, 1.5), (0, 1.0)] {
            collector.begin_record(RecordContext { rank: Some(rank), ..RecordContext::default() });
            collector.push("loss", Some(1), loss).expect("few points");
            collector.push("lr", Some(1), 0.1).expect("few points");
        }
        let series = finished(collector);
        let found: Vec<_> = series.iter().map(|series| (series.name.as_str(), series.rank, series.values[0])).collect();
        assert_eq!(found, [("loss", Some(0), 1.0), ("loss", Some(1), 1.5), ("lr", None, 0.1)]);
    }

    proptest::proptest! {
        #[test]
        fn steps_come_back_rising_and_none_is_lost(
            points in proptest::collection::vec((0_u64..40, -9.0_f64..9.0), 1..60)
        ) {
            let mut collector = Collector::new("file", &Room::unlimited());
            for (step, value) in &points {
                collector.push("loss", Some(*step), *value).expect("few points");
            }
            let series = finished(collector).remove(0);
            let steps: Vec<u64> = series.steps.iter().collect();
            proptest::prop_assert!(steps.is_sorted_by(|a, b| a < b));
            let kept = series.values.len() as u64 + series.order.resumed + series.order.repeated;
            let same: u64 = points.windows(2).filter(|pair| pair[0] == pair[1]).count() as u64;
            proptest::prop_assert!(kept + same >= points.len() as u64);
        }
    }

    /// A record: epoch, rank, step, and for each of three metrics whether it is absent, blank or has a value.
    type Drawn = (Option<u8>, Option<u64>, Option<u64>, Vec<(usize, Option<f64>)>);

    fn record() -> impl proptest::strategy::Strategy<Value = Drawn> {
        use proptest::{collection::vec, option::of, option::weighted};
        (
            of(0_u8..3),
            weighted(0.1, 0_u64..2),
            weighted(0.95, 0_u64..3),
            vec((0_usize..3, weighted(0.8, -9.0_f64..9.0)), 0..4),
        )
    }

    proptest::proptest! {
        /// Steps mostly rise, so that both ways of taking a batch are met.
        #[test]
        fn batches_give_what_records_one_by_one_give(
            records in proptest::collection::vec(record(), 1..80), size in 1_usize..20, plain in proptest::bool::ANY
        ) {
            const NAMES: [&str; 3] = ["loss", "lr", "grad_norm"];
            let (mut single, mut batched) = (Collector::new("file", &Room::unlimited()), Collector::new("file", &Room::unlimited()));
            let mut last = 5;
            for part in records.chunks(size) {
                let mut batch = Batch::default();
                for (epoch, rank, apart, entries) in part {
                    last = (last + apart.unwrap_or(1)).saturating_sub(u64::from(!plain));
                    let step = if plain { last += 1; Some(last) } else { apart.map(|_| last) };
                    let beside = if plain { RecordContext::default() } else { RecordContext { epoch: epoch.map(f64::from), rank: *rank, ..RecordContext::default() } };
                    single.begin_record(beside);
                    for (metric, value) in entries {
                        let name = NAMES[*metric];
                        match value {
                            Some(value) => single.push(name, step, *value).expect("few points"),
                            None => single.add_blank(name, step).expect("few points"),
                        }
                        let column = batch.column(name);
                        batch.add(column, *value);
                    }
                    batch.finish_record(beside, step);
                }
                batched.add_batch(&batch).expect("few points");
            }
            proptest::prop_assert_eq!(finished(batched), finished(single));
        }
    }
}
