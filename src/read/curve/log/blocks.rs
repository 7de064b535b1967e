//! Lines in their order, for what depends on neighbouring lines: headers and the lines below them, tables, rows between rulers.

use std::borrow::Cow;
use std::collections::HashSet;

use super::columns::{Column, Columns, is_ruler};
use super::counters::Counters;
use super::event::Benchmark;
use super::names::{Name, Names, Prefix};
use super::noise;
use super::pairs::{Pair, Reader};
use super::record::Record;
use super::survey::Survey;
use super::words;
use crate::kind::Role;
use crate::read::account::UnreadNumbers;

/// The last line with a counter, whose step the lines below it may take over.
#[derive(Clone, Debug)]
struct Current {
    record: Record,
    /// Whether lines without a counter may take over its step.
    is_open: bool,
    /// Whether its line has no value of its own.
    is_header: bool,
    /// Names that already have a value at this step.
    taken: Taken,
}

impl Current {
    /// Takes the names of values. Returns true, and takes none, where one of them already had a value.
    fn take(&mut self, values: &[Pair]) -> bool {
        let taken = self.taken.all();
        let is_repeated = values.iter().any(|pair| taken.contains(&pair.name));
        if !is_repeated {
            taken.extend(values.iter().map(|pair| pair.name));
        }
        is_repeated
    }
}

/// Names that have a value at a step. The set is built only when asked for, because for most steps it never is.
#[derive(Clone, Debug, Default)]
struct Taken {
    first: Vec<usize>,
    all: HashSet<usize>,
}

impl Taken {
    fn all(&mut self) -> &mut HashSet<usize> {
        self.all.extend(self.first.drain(..));
        &mut self.all
    }
}

/// Rows of one record between rulers.
#[derive(Clone, Debug, Default)]
struct Rows {
    counters: Counters,
    pairs: Vec<Pair>,
    group: Option<usize>,
}

/// Content of a line as far as it can be read without the lines around it.
#[allow(
    clippy::large_enum_variant,
    reason = "most lines hold values, and a box would be an allocation for each of them"
)]
#[derive(Debug)]
pub(super) enum LineContent {
    /// Nothing that matters.
    Nothing,
    /// Values, with their names.
    Values(LineValues),
    /// Other content, which depends on the lines around it.
    Other,
}

/// Counters and values of a line.
#[derive(Debug)]
pub(super) struct LineValues {
    pub(super) counters: Counters,
    pub(super) pairs: Vec<Pair>,
    /// Number of runs of words without a value.
    pub(super) valueless: usize,
    pub(super) unjoined: Unjoined,
    /// All numbers of a line that holds nothing else.
    pub(super) alone: Vec<f64>,
}

/// Key metrics of a line that have no value, and the numbers beside them that have no name.
#[derive(Debug, Default)]
pub(super) struct Unjoined {
    pub(super) names: Vec<usize>,
    pub(super) values: Vec<f64>,
}

impl LineContent {
    /// Reads a line without the lines around it. A survey of a file needs nothing that could not be paired.
    pub(super) fn from_line(line: &str, reader: &mut Reader, names: &mut Names, is_survey: bool) -> Self {
        let plain = words::plain(line);
        let line = plain.as_ref();
        if is_ruler(line) || is_row_of_two(line) {
            return Self::Other;
        }
        if noise::is_noise(line) {
            return if noise::is_summary(line) { Self::Other } else { Self::Nothing };
        }
        reader.read(line, names);
        if Columns::from_reader(line, reader, names).is_some() {
            return Self::Other;
        }
        let values = LineValues::from_reader(line, reader);
        Self::Values(if is_survey { values } else { values.with_unjoined(line, reader, names) })
    }
}

impl LineValues {
    /// Those of the line that the reader read last, without what could not be paired.
    fn from_reader(line: &str, reader: &Reader) -> Self {
        Self {
            counters: reader.found.counters.read(line, &reader.tokens.list),
            pairs: reader.found.pairs.clone(),
            valueless: reader.found.valueless_words.len(),
            unjoined: Unjoined::default(),
            alone: Vec::new(),
        }
    }

    fn with_unjoined(self, line: &str, reader: &Reader, names: &mut Names) -> Self {
        let names = reader.names_without_value(line, names);
        let unnamed = reader.found.unnamed_beside(&names).iter();
        let values = unnamed.filter_map(|at| reader.tokens.list.get(*at)?.value()).collect();
        let is_alone = self.pairs.is_empty() && self.valueless == 0 && !self.counters.has_counter();
        let tokens = if is_alone { reader.tokens.list.as_slice() } else { &[] };
        let alone = tokens.iter().filter_map(|token| token.value()).collect();
        Self { unjoined: Unjoined { names, values }, alone, ..self }
    }
}

/// Whether a line is a row of two cells.
fn is_row_of_two(line: &str) -> bool {
    line.starts_with('|') && line.bytes().filter(|byte| *byte == b'|').count() == 3
}

/// Reader of the lines of a file, one after the other.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    pub(super) names: Names,
    pub(super) survey: Survey,
    pub(super) account: UnreadNumbers,
    pub(super) benchmark: Benchmark,
    reader: Reader,
    current: Option<Current>,
    epoch: Option<u64>,
    columns: Option<Columns>,
    rows: Option<Rows>,
    /// Whether the file has header lines: lines that hold only a counter, for the lines below them.
    pub(super) has_headers: bool,
    /// The record of table rows that the last line ended, where no ruler closed them.
    ended: Option<Record>,
    /// A line with a metric's name and no number; the value may stand in the next line.
    waiting: Option<String>,
    is_surveying: bool,
}

impl Blocks {
    /// Blocks for the survey of a file, which comes before it is read.
    pub(super) fn surveying() -> Self {
        Self { is_surveying: true, ..Self::default() }
    }

    /// Blocks with the names and the survey found so far, ready to read the file from its beginning.
    pub(super) fn into_reading(self) -> Self {
        Self { names: self.names, survey: self.survey, ..Self::default() }
    }

    /// Whether the next line has to be read whatever it holds.
    pub(super) fn is_within_table(&self) -> bool {
        self.columns.is_some() || self.rows.is_some() || self.waiting.is_some()
    }

    /// Takes a line and returns the record that it completes, if any.
    pub(super) fn read_line(&mut self, line: &str) -> Option<Record> {
        let plain = words::plain(line);
        let line = plain.as_ref();
        if let Some(columns) = &self.columns {
            if is_ruler(line) {
                return None;
            }
            if let Some(row) = columns.row(line) {
                return self.row(row);
            }
            self.columns = None;
        }
        if is_ruler(line) {
            return self.ruler();
        }
        let is_noise = noise::is_noise(line);
        if is_noise && !noise::is_summary(line) {
            return None;
        }
        self.reader.read(line, &mut self.names);
        if is_noise {
            self.note_summary(line);
            return None;
        }
        if self.rows.is_some() && is_row_of_two(line) {
            self.cell(line);
            return None;
        }
        self.ended = self.take_open_record();
        self.columns = Columns::from_reader(line, &self.reader, &mut self.names);
        let mut values = LineValues::from_reader(line, &self.reader);
        if !self.is_surveying {
            values = values.with_unjoined(line, &self.reader, &mut self.names);
        }
        self.plain_line(line, values)
    }

    /// Takes a line whose content was read ahead, with the names of this file. Returns the record that it completes, if any.
    pub(super) fn read_content(&mut self, line: &str, looked: LineContent) -> Option<Record> {
        let values = match looked {
            LineContent::Values(values) if self.columns.is_none() => values,
            LineContent::Nothing if self.columns.is_none() => return None,
            _ => return self.read_line(line),
        };
        self.ended = self.take_open_record();
        self.plain_line(&words::plain(line), values)
    }

    /// Takes the record that the last line ended. It comes before the record of that line itself.
    pub(super) fn take_ended(&mut self) -> Option<Record> {
        self.ended.take()
    }

    /// Takes the record whose rows are still open, as at the end of the file.
    pub(super) fn take_open_record(&mut self) -> Option<Record> {
        self.rows.take().and_then(|rows| self.of_rows(rows))
    }

    fn ruler(&mut self) -> Option<Record> {
        match self.rows.take() {
            Some(rows) if !rows.pairs.is_empty() => {
                self.rows = Some(Rows::default());
                self.of_rows(rows)
            }
            _ => {
                self.rows = Some(Rows::default());
                None
            }
        }
    }

    /// Takes a row of two cells: a name and its value, or the name of a group.
    fn cell(&mut self, line: &str) {
        let found = &self.reader.found;
        let Some(rows) = &mut self.rows else { return };
        let (new, known) = (found.counters.read(line, &self.reader.tokens.list), &mut rows.counters);
        if known.step.is_none() {
            (known.step, known.step_of) = (new.step, new.step_of);
        }
        (known.batch, known.epoch) = (known.batch.or(new.batch), known.epoch.or(new.epoch));
        if let ([], [group]) = (found.pairs.as_slice(), found.valueless_words.as_slice()) {
            let text = self.reader.tokens.text(line, group);
            let group = text.filter(|text| text.ends_with('/')).map(str::to_owned);
            rows.group = group.map(|group| self.names.place(&group));
        }
        let group = rows.group;
        for pair in &found.pairs {
            let name = group.map_or(pair.name, |group| self.names.place_below(Prefix::Group(group), pair.name));
            rows.pairs.push(Pair { name, ..*pair });
        }
    }

    fn of_rows(&mut self, rows: Rows) -> Option<Record> {
        self.record(rows.counters, &rows.pairs, true)
    }

    /// A row of a printed table.
    fn row(&mut self, row: Vec<(Column, f64)>) -> Option<Record> {
        let whole = |value: f64| crate::read::curve::lines::whole_number(value);
        let mut counters = Counters::default();
        let mut pairs = Vec::new();
        for (column, value) in row {
            match column {
                Column::Step => counters.step = counters.step.or(whole(value).map(|at| (1, at))),
                Column::Epoch if value.fract() == 0.0 => counters.epoch = whole(value),
                Column::Epoch => counters.share = Some(value),
                Column::Metric(name) => pairs.push(Pair::new(name, value)),
            }
        }
        self.record(counters, &pairs, true)
    }

    fn plain_line(&mut self, line: &str, values: LineValues) -> Option<Record> {
        let is_row = line.contains('{') || values.valueless < 4;
        let mut counters = values.counters;
        if let (Some(lead), true) = (counters.lead, values.valueless == 0 && values.pairs.is_empty()) {
            // A number alone in its line may be a header, as any counter may.
            (counters.is_alone, counters.dress) = (true, u64::from(lead.dress.0));
        }
        let record = self.record(counters, &values.pairs, is_row);
        if !self.is_surveying {
            self.note_unread(line, values, record.is_some());
        }
        record
    }

    /// The values of a line as a record.
    fn record(&mut self, mut counters: Counters, pairs: &[Pair], is_row: bool) -> Option<Record> {
        if counters.epoch.is_none() && (counters.batch.is_some() || counters.step_of.is_some()) {
            counters.epoch = self.epoch;
        } else if counters.epoch.is_some() {
            self.epoch = counters.epoch;
        }
        let mut record = self.placed(&counters);
        let mut values: Vec<Pair> = Vec::with_capacity(pairs.len());
        let has_counter = record.step.is_some();
        for pair in pairs {
            let Some(name) = self.names.get(pair.name) else { continue };
            if let Some(key) = name.key {
                record.context.set(key, pair.value);
            }
            if name.counts_skips {
                record.skipped = record.skipped.max(crate::read::curve::lines::whole_number(pair.value));
            }
            let counts = pair.is_joined || has_counter || name.is_key_metric();
            if !name.is_bookkeeping && !name.is_best && counts {
                values.push(*pair);
            }
        }
        let is_counted = has_counter || record.context.samples.is_some() || record.context.tokens.is_some();
        if self.is_surveying {
            self.survey.take_counters(&counters, !values.is_empty());
        }
        if values.is_empty() {
            if has_counter {
                let is_open = counters.bar.is_none() && (self.is_surveying || self.survey.is_header(&counters));
                self.has_headers |= is_open;
                self.current = Some(Current { record, is_open, is_header: true, taken: Taken::default() });
            }
            return None;
        }
        let is_told = self.is_told(&values);
        if self.is_surveying && counters.lead.is_some() && !counters.has_counter() {
            // Only the complete survey shows whether the leading number counts, so the line is surveyed in both ways.
            if let Some(current) = self.current.as_mut().filter(|current| current.is_open && current.is_header) {
                let is_repeated = current.take(&values);
                self.survey.take_line_below(&values, is_repeated);
                self.survey.take_values(&values, &self.names);
                return None;
            }
        }
        if is_counted {
            if self.is_surveying {
                self.survey.take_values(&values, &self.names);
            }
            if !is_told && !self.survey.is_common(&values) {
                return None;
            }
        } else {
            if !is_told {
                return None;
            }
            self.below(&mut record, &values, is_row)?;
        }
        self.name_evaluation(&mut values);
        if is_counted {
            let first = values.iter().map(|pair| pair.name).collect();
            let taken = Taken { first, all: HashSet::new() };
            self.current = Some(Current { record: record.clone(), is_open: true, is_header: false, taken });
        }
        record.pairs = values;
        Some(record)
    }

    fn is_told(&self, values: &[Pair]) -> bool {
        values.iter().any(|pair| self.names.get(pair.name).is_some_and(Name::is_key_metric))
    }

    /// Gives a record without a counter the step of the line above, or else marks it as loose. Returns `None` where it is no data.
    fn below(&mut self, record: &mut Record, values: &[Pair], is_row: bool) -> Option<()> {
        let takes_place = self.is_surveying || self.survey.takes_place(values);
        let mut current = self.current.as_mut().filter(|current| current.is_open && takes_place);
        let is_repeated = current.as_mut().is_none_or(|current| current.take(values));
        if self.is_surveying {
            self.survey.take_line_below(values, is_repeated);
        }
        if let Some(current) = current.filter(|_| !is_repeated) {
            let above = &current.record;
            record.step = above.step;
            record.is_by_epoch = above.is_by_epoch;
            record.context.epoch = record.context.epoch.or(above.context.epoch);
            record.context.rank = record.context.rank.or(above.context.rank);
            return Some(());
        }
        let goals = [Role::Loss, Role::EvalLoss, Role::AuxiliaryLoss, Role::ValueLoss, Role::GradNorm, Role::Reward];
        let has_goal =
            values.iter().any(|pair| self.names.get(pair.name).is_some_and(|name| goals.contains(&name.role)));
        record.is_loose = true;
        (is_row && has_goal && (self.is_surveying || self.survey.count_alike(values) > 1)).then_some(())
    }

    /// Renames the training loss beside a held-out one to one of the evaluation, where the run's own loss has separate lines.
    fn name_evaluation(&mut self, values: &mut [Pair]) {
        let role = |place: usize| self.names.get(place).map(|name| name.role);
        if !values.iter().any(|pair| role(pair.name) == Some(Role::EvalLoss)) {
            return;
        }
        for pair in values {
            let is_training = self.names.get(pair.name).is_some_and(|name| name.canonical == "loss");
            if is_training && self.survey.is_of_evaluation(pair.name) {
                pair.name = self.names.place_below(Prefix::Evaluation, pair.name);
            }
        }
    }

    /// A record without values, with the step, epoch and rank that the counters give.
    fn placed(&self, counters: &Counters) -> Record {
        let lead = counters.lead.filter(|_| !counters.has_counter());
        let lead_counts = lead.filter(|lead| self.is_surveying || self.survey.is_counting(lead));
        let rank =
            counters.rank.or_else(|| counters.lead.filter(|lead| self.survey.is_rank(lead)).map(|lead| lead.count));
        let epoch = counters.epoch.filter(|_| !self.survey.has_shares);
        let (at, of) = match counters.step {
            Some((_, at)) => (Some(at), counters.step_of),
            None => (counters.batch, counters.batch_of),
        };
        let mut record = Record { part: at.zip(of), ..Record::default() };
        record.context.rank = rank;
        record.bar = counters.bar.map(|bar| (bar, counters.epoch));
        record.context.epoch = counters.share;
        let of = of.filter(|of| *of > 0 && self.survey.is_within_epoch());
        match (at, epoch, of) {
            (Some(at), Some(epoch), Some(of)) => {
                let before = epoch.saturating_sub(self.survey.epoch_base());
                record.step = before.checked_mul(of).and_then(|before| before.checked_add(at));
            }
            (Some(at), epoch, _) => {
                record.step = Some(at);
                record.context.epoch = epoch.map(in_f64).or(record.context.epoch);
            }
            (None, Some(epoch), _) => (record.step, record.is_by_epoch) = (Some(epoch), true),
            (None, None, _) => record.step = lead_counts.map(|lead| lead.count),
        }
        record
    }

    /// Notes the values of a summary that are not finite. A summary repeats logged values and is no record.
    fn note_summary(&mut self, line: &str) {
        if self.is_surveying {
            return;
        }
        for pair in self.reader.found.pairs.iter().filter(|pair| !pair.value.is_finite()) {
            if let Some(name) = self.names.get(pair.name).filter(|name| name.is_key_metric()) {
                self.account.add_text(line, vec![name.text.clone()], &[pair.value]);
            }
        }
    }

    /// Notes the numbers beside a metric's name that were not read.
    fn note_unread(&mut self, line: &str, found: LineValues, is_read: bool) {
        let waiting = self.waiting.take();
        let Unjoined { names: mut told, mut values } = found.unjoined;
        if !is_read {
            let known = |pair: &&Pair| self.names.get(pair.name).is_some_and(Name::is_key_metric);
            for pair in found.pairs.iter().filter(known) {
                told.push(pair.name);
                values.push(pair.value);
            }
        }
        if values.is_empty() && !told.is_empty() && found.valueless < 4 && found.pairs.is_empty() {
            self.waiting = Some(line.to_owned());
            return;
        }
        let line: Cow<'_, str> = match waiting {
            Some(above) if !found.alone.is_empty() => {
                values = found.alone;
                told.push(self.names.place(&above));
                Cow::Owned(format!("{above} / {line}"))
            }
            _ if found.alone.len() > 1 && found.alone.iter().any(|value| value.fract() != 0.0) => {
                values = found.alone;
                Cow::Borrowed(line)
            }
            _ => Cow::Borrowed(line),
        };
        if values.is_empty() || noise::is_known_noise(&line) {
            return;
        }
        let names = told.iter().filter_map(|place| Some(self.names.get(*place)?.text.clone())).collect();
        self.account.add_text(&line, names, &values);
    }
}

#[allow(clippy::cast_precision_loss, reason = "epochs lie far below 2^53")]
fn in_f64(count: u64) -> f64 {
    count as f64
}
