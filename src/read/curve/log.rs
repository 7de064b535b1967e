//! Plain training logs.
//!
//! One grammar reads the lines of all programs; there is no list of known programs. Dates, paths and other text of the logger are
//! masked (`mask`), and Chinese words become English (`words`). The rest of a line is numbers, words and signs (`tokens`). Some
//! numbers are counters (`counters`), others are values with names (`pairs`, `names`). One line alone does not show everything:
//! a survey of all lines (`survey`) finds which leading number counts, which lines are headers of the lines below them (`blocks`)
//! and which form a table (`columns`). Numbers that are not read are reported as such. A pattern of the user is applied in
//! addition.

mod ahead;
mod blocks;
mod columns;
mod counter_words;
mod counters;
mod event;
mod facts;
mod forms;
mod kinds;
mod mask;
mod names;
mod noise;
mod pairs;
mod record;
mod survey;
mod telling;
mod tokens;
pub mod unknown;
mod words;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, LazyLock};

use regex::Regex;

use super::beside::RecordContext;
use super::collector::Collector;
use super::expression::constant_regex;
use super::file::{CurveFile, CurveNote};
use super::format::{CurveFormat, LossMeaning};
use super::lines::{self, Lines};
use super::series::Counter;
use super::stored::StoredSeries;
use super::told::FactLines;
use super::updates::UpdateLines;
use crate::error::Result;
use crate::fetch::{ByteSource, Room};
use crate::kind::Role;
use crate::read::metric;
use ahead::Part;
use blocks::{Blocks, LineContent};
use facts::LineFacts;
use forms::LineReader;
use names::{Name, Names};
use pairs::Pair;
use record::Record;

pub use super::pattern::LogPattern;
pub use counter_words::by_kind as counters_by_kind;

/// Bytes of a text that are searched for lines of a training log.
const SEARCHED: u64 = 8 << 20;
/// Bytes at the beginning of a log that are surveyed for what its lines have in common.
const SURVEYED: u64 = 4 << 20;

static DECIMAL: LazyLock<Regex> = LazyLock::new(|| constant_regex(r"\d[.eE][-+]?\d"));

/// A log that is read line by line, with its meaning so far.
struct Reading<'a> {
    lines: Lines<'a>,
    so_far: SoFar<'a>,
    /// A line that was read already, because it ended the rows of the record that was returned before it.
    ahead: Option<Line<'static>>,
    /// Reader of lines by themselves, where no pattern of the user has to see them.
    reader: Option<LineReader>,
}

/// The meaning of all lines so far.
struct SoFar<'a> {
    blocks: Blocks,
    pattern: Option<&'a LogPattern>,
    /// Reader of lines that are no records and hold facts about the run.
    told: FactLines,
}

/// A line of a log.
struct Line<'t> {
    text: Cow<'t, str>,
    has_end: bool,
    has_nul: bool,
    is_mean: bool,
    record: Option<Record>,
}

impl<'a> SoFar<'a> {
    fn new(blocks: Blocks, pattern: Option<&'a LogPattern>) -> Self {
        Self { blocks, pattern, told: FactLines::default() }
    }

    /// Whether the next line has to be read whatever it holds.
    fn is_open(&self) -> bool {
        self.blocks.is_within_table() || self.pattern.is_some() || self.told.is_open()
    }

    /// Takes a line. Returns the record of table rows that it ended, if any (rows that no ruler closes), and the line itself.
    fn take<'t>(&mut self, text: &'t [u8], has_end: bool, known: Option<LineFacts>) -> (Option<Record>, Line<'t>) {
        let text = lines::text_of(text);
        let LineFacts { may_tell, has_nul, is_mean, looked } = known.unwrap_or_else(|| LineFacts::from_text(&text));
        let is_other = (may_tell || self.told.is_open()) && self.told.take_line(&text);
        let record = match looked {
            _ if is_other => None,
            LineContent::Other => record_of(&text, &mut self.blocks, self.pattern),
            looked => self.blocks.read_content(&text, looked),
        };
        (self.blocks.take_ended(), Line { text, has_end, has_nul, is_mean, record })
    }
}

impl Line<'_> {
    /// A line without text that carries a record which was completed before the next line.
    fn of_record(record: Record) -> Self {
        Self { text: Cow::Borrowed(""), has_end: true, has_nul: false, is_mean: false, record: Some(record) }
    }
}

impl<'a> Reading<'a> {
    fn new(source: &'a dyn ByteSource, blocks: Blocks, pattern: Option<&'a LogPattern>) -> Self {
        Self { lines: Lines::cutting(source), so_far: SoFar::new(blocks, pattern), ahead: None, reader: None }
    }

    /// The next line that may mean something. Before a line that ends table rows without a ruler, the record of those rows.
    fn next(&mut self) -> Result<Option<Line<'_>>> {
        if let Some(ahead) = self.ahead.take() {
            return Ok(Some(ahead));
        }
        if !self.so_far.is_open() {
            self.lines.skip_until(telling::first_match, kinds::is_numeric)?;
        }
        let Some((line, has_end)) = self.lines.next_with_end()? else { return Ok(None) };
        let names = &mut self.so_far.blocks.names;
        let known = self.reader.as_mut().map(|reader| reader.read(line, names));
        let (ended, line) = self.so_far.take(line, has_end, known);
        let Some(ended) = ended else { return Ok(Some(line)) };
        self.ahead = Some(Line { text: Cow::Owned(line.text.into_owned()), ..line });
        Ok(Some(Line::of_record(ended)))
    }
}

/// The values of a line.
fn record_of(line: &str, blocks: &mut Blocks, pattern: Option<&LogPattern>) -> Option<Record> {
    let by_pattern = pattern.and_then(|pattern| parse_with(line, pattern, &mut blocks.names));
    if event::is_event(line) {
        return by_pattern.or_else(|| event::read(line, &mut blocks.names, &mut blocks.benchmark, &mut blocks.account));
    }
    let record = blocks.read_line(line);
    let Some(by_pattern) = by_pattern else { return record };
    Some(with_pattern(line, by_pattern, record, blocks))
}

/// The values that the user's pattern reads, plus those that the grammar reads under other names.
fn with_pattern(line: &str, mut by_pattern: Record, record: Option<Record>, blocks: &mut Blocks) -> Record {
    let Some(record) = record else { return by_pattern };
    let first = |place: usize| blocks.names.get(place).map_or(place, |name| name.first);
    let told: HashMap<usize, f64> = by_pattern.pairs.iter().map(|pair| (first(pair.name), pair.value)).collect();
    let mut differing = Vec::new();
    for pair in &record.pairs {
        match told.get(&first(pair.name)) {
            None => by_pattern.pairs.push(*pair),
            Some(value) if value.to_bits() == pair.value.to_bits() => {}
            Some(_) => differing.push(*pair),
        }
    }
    for pair in differing {
        let name = blocks.names.get(pair.name).map(|name| name.text.clone());
        blocks.account.add_text(line, name.into_iter().collect(), &[pair.value]);
    }
    let is_by_epoch = by_pattern.step.is_none() && record.is_by_epoch;
    by_pattern.step = by_pattern.step.or(record.step);
    Record { context: record.context, skipped: record.skipped, is_by_epoch, ..by_pattern }
}

/// Reads one line by the user's pattern; `None` where it does not match.
fn parse_with(line: &str, pattern: &LogPattern, names: &mut Names) -> Option<Record> {
    let found = pattern.0.captures(line)?;
    let groups = || pattern.0.capture_names().flatten().filter_map(|name| Some((name, found.name(name)?.as_str())));
    let step =
        groups().filter(|(name, _)| metric::step_rank(name).is_some()).find_map(|(_, text)| lines::parse_step(text));
    let values = groups().filter(|(name, _)| metric::step_rank(name).is_none());
    let values = values.filter_map(|(name, text)| Some((name, lines::parse_number(text)?)));
    let pairs: Vec<Pair> = values.map(|(name, value)| Pair::new(names.place(name), value)).collect();
    (!pairs.is_empty()).then(|| Record { step, pairs, ..Record::default() })
}

/// Blocks that know from the first `bytes` of a text what its lines have in common, ready to read it from its beginning.
fn surveyed<'a>(source: &'a dyn ByteSource, pattern: Option<&'a LogPattern>, bytes: u64) -> Result<Blocks> {
    let mut reading = Reading::new(source, Blocks::surveying(), pattern);
    reading.reader = pattern.is_none().then(LineReader::surveying);
    while reading.lines.consumed() < bytes && reading.next()?.is_some() {}
    Ok(reading.so_far.blocks.into_reading())
}

/// Whether a text holds at least two different lines of a training log near its beginning.
pub(super) fn recognise(source: &dyn ByteSource) -> bool {
    let Ok(blocks) = surveyed(source, None, SEARCHED) else { return false };
    let mut reading = Reading::new(source, blocks, None);
    let mut first: Option<Record> = None;
    while reading.lines.consumed() < SEARCHED {
        let Ok(Some(line)) = reading.next() else { break };
        let Some(record) = line.record else { continue };
        if first.as_ref().is_some_and(|first| *first != record) || is_unmistakable(&line.text, &record) {
            return true;
        }
        first = Some(record);
    }
    reading.so_far.blocks.take_open_record().is_some_and(|last| first.is_some_and(|first| first != last))
}

/// Whether a single line shows that its text is a log, as a line of Megatron's does. Single lines of other programs do not, because
/// documentation quotes them.
fn is_unmistakable(line: &str, record: &Record) -> bool {
    record.step.is_some() && line.contains("iteration ") && line.contains(" | ")
}

/// Whether a text holds a line that the user's pattern reads.
pub(crate) fn matches_pattern(source: &dyn ByteSource, pattern: &LogPattern) -> bool {
    let (mut lines, mut names) = (Lines::new(source), Names::default());
    while lines.consumed() < SEARCHED {
        match lines.next() {
            Ok(Some(line)) if parse_with(&String::from_utf8_lossy(line), pattern, &mut names).is_some() => return true,
            Ok(Some(_)) => {}
            // A text that cannot be split into lines is not a log.
            Ok(None) | Err(_) => return false,
        }
    }
    false
}

/// Whether a text has a line with the word `loss` and a decimal number.
pub(crate) fn resembles_log(head: &[u8]) -> bool {
    let speaks = |line: &str| line.to_lowercase().contains("loss") && DECIMAL.is_match(line);
    !head.contains(&0) && String::from_utf8_lossy(head).lines().any(speaks)
}

/// The lines of a text that look most as if they hold a loss, in their order and cut to a width; `None` for binary data and for a
/// text without lines.
pub(crate) fn sample_lines(source: &dyn ByteSource) -> Option<Vec<String>> {
    /// Lines that a message shows.
    const SHOWN: usize = 3;
    /// Lines that are searched for them.
    const LOOKED_AT: usize = 10_000;
    /// Characters of a line.
    const WIDTH: usize = 100;
    let mut lines = Lines::new(source);
    let mut found: Vec<(usize, String)> = Vec::new();
    for _ in 0..LOOKED_AT {
        let Some(line) = lines.next().ok()? else { break };
        if line.contains(&0) {
            return None;
        }
        let line: String = String::from_utf8_lossy(line).chars().take(WIDTH).collect();
        let words = line.to_lowercase();
        let hints = ["loss", "step", "iter", "epoch"].into_iter().filter(|hint| words.contains(hint)).count();
        let rank = if DECIMAL.is_match(&line) { 2 + hints } else { usize::from(hints > 0) };
        found.push((rank, line));
    }
    let mut ranked: Vec<usize> = (0..found.len()).collect();
    ranked.sort_by_key(|at| std::cmp::Reverse(found.get(*at).map(|(rank, _)| *rank)));
    ranked.truncate(SHOWN);
    ranked.sort_unstable();
    let shown: Vec<String> = ranked.into_iter().filter_map(|at| Some(found.get(at)?.1.clone())).collect();
    (!shown.is_empty()).then_some(shown)
}

/// Reads a log.
pub(super) fn read(source: &dyn ByteSource, room: &Arc<Room>) -> Result<CurveFile> {
    read_lines(source, room, CurveFormat::Log, None)
}

/// Reads a log, in which the user's pattern reads the lines that it matches.
pub(super) fn read_with_pattern(source: &dyn ByteSource, room: &Arc<Room>, pattern: &LogPattern) -> Result<CurveFile> {
    read_lines(source, room, CurveFormat::Pattern(pattern.clone()), Some(pattern))
}

fn read_lines(
    source: &dyn ByteSource,
    room: &Arc<Room>,
    format: CurveFormat,
    pattern: Option<&LogPattern>,
) -> Result<CurveFile> {
    let run = Run::new(source, room, SoFar::new(surveyed(source, pattern, SURVEYED)?, pattern));
    // The pattern of a user may need any line, so that such a log is read line by line.
    let size = if pattern.is_none() { Some(ahead::PART) } else { None };
    run.lines(Lines::cutting(source), size)?.finish(source, format)
}

/// State while a log is read as curves.
struct Run<'a> {
    so_far: SoFar<'a>,
    curves: Curves,
    updates: UpdateLines,
    /// The record of the last drawn progress bar, which the next drawing may replace.
    bar: Option<Record>,
    last: Option<Size>,
    /// Number of lines that were cut because they are too long.
    cut: u64,
    is_cut: bool,
    has_nul: bool,
    is_of_means: bool,
}

impl<'a> Run<'a> {
    fn new(source: &dyn ByteSource, room: &Arc<Room>, so_far: SoFar<'a>) -> Self {
        Self {
            so_far,
            curves: Curves::new(source, room),
            updates: UpdateLines::default(),
            bar: None,
            last: None,
            cut: 0,
            is_cut: false,
            has_nul: false,
            is_of_means: false,
        }
    }

    /// Takes all lines: those of a part of `size` bytes while all threads scan the next part. Without a size, one by one.
    fn lines(mut self, mut lines: Lines<'_>, size: Option<usize>) -> Result<Self> {
        let names = self.so_far.blocks.names.clone();
        let mut part = Part::default();
        // Buffers are reused: with a new one for each part, the allocator kept more than a hundred of them.
        let mut spare = Vec::new();
        loop {
            let has_part = size.map(|size| lines.take_part(size, &mut spare)).transpose()? == Some(true);
            let bytes = if has_part { std::mem::take(&mut spare) } else { Vec::new() };
            let next = || if has_part { Part::from_bytes(bytes, &names) } else { Part::default() };
            let (taken, next) = rayon::join(|| self.part(&mut part), next);
            taken?;
            let taken = std::mem::replace(&mut part, next).into_bytes();
            if taken.capacity() > spare.capacity() {
                spare = taken;
            }
            if has_part {
                continue;
            }
            // A line without its end, or one that is longer than a part.
            let Some((line, has_end)) = lines.next_with_end()? else { break };
            self.take(line, has_end, None)?;
        }
        self.cut += lines.cut_lines();
        Ok(self)
    }

    /// Takes the lines of a part.
    fn part(&mut self, part: &mut Part) -> Result<()> {
        while let Some((text, known)) = part.next(self.so_far.is_open(), &mut self.so_far.blocks.names) {
            self.take(text, true, known)?;
        }
        self.cut += part.cut;
        Ok(())
    }

    fn take(&mut self, text: &[u8], has_end: bool, known: Option<LineFacts>) -> Result<()> {
        let (ended, line) = self.so_far.take(text, has_end, known);
        if let Some(ended) = ended {
            self.line(Line::of_record(ended))?;
        }
        self.line(line)
    }

    fn line(&mut self, line: Line<'_>) -> Result<()> {
        let Line { text, has_end, has_nul, is_mean, record } = line;
        self.has_nul |= has_nul;
        self.is_of_means |= is_mean;
        let Some(mut record) = record else {
            self.updates.take_line(&text);
            self.so_far.told.take_other_line(&text);
            return Ok(());
        };
        let names = &self.so_far.blocks.names;
        if record.pairs.iter().any(|pair| names.get(pair.name).is_some_and(Name::is_key_metric)) {
            self.so_far.told.note_record(record.part);
        }
        let size = Size { values: record.pairs.len(), figures: figures_at_end(&text) };
        if !has_end && self.last.is_some_and(|last| size.is_cut_short(last)) {
            self.is_cut = true;
            // The last figure may have lost digits; the values before it are complete.
            record.pairs.truncate(size.values - usize::from(size.figures > 0));
        }
        self.last = Some(size);
        let scale = record.pairs.iter().find(|pair| names.get(pair.name).is_some_and(|name| name.is_scale));
        self.updates.take_record(record.step, &text, record.skipped, scale.map(|scale| scale.value));
        self.record(record)
    }

    /// Takes a record. Where a progress bar is drawn several times, the last drawing counts.
    fn record(&mut self, record: Record) -> Result<()> {
        let names = &self.so_far.blocks.names;
        match self.bar.take() {
            Some(drawn) if record.redraws(&drawn) => {
                let broken = drawn.pairs.iter().filter(|pair| !pair.value.is_finite());
                let broken = broken.filter_map(|pair| Some((names.get(pair.name)?.text.clone(), pair.value)));
                // A value that is not finite is reported even if the bar that showed it was drawn again.
                let account = &mut self.so_far.blocks.account;
                broken
                    .for_each(|(name, value)| account.add_text(&format!("{name}: {value} [..]"), vec![name], &[value]));
            }
            Some(drawn) => self.curves.take(drawn, names)?,
            None => {}
        }
        if record.bar.is_some() {
            self.bar = Some(record);
            return Ok(());
        }
        self.curves.take(record, names)
    }

    fn finish(mut self, source: &dyn ByteSource, format: CurveFormat) -> Result<CurveFile> {
        let end = self.so_far.blocks.take_open_record();
        let Self { so_far: SoFar { blocks, told, .. }, mut curves, updates, .. } = self;
        self.bar.into_iter().chain(end).try_for_each(|record| curves.take(record, &blocks.names))?;
        let rounded = std::mem::take(&mut curves.rounded).into_iter().map(CurveNote::RoundedZeros);
        let decimals = std::mem::take(&mut curves.decimals).into_iter();
        let decimals = decimals.filter(|(_, (least, most))| least == most && *most < 7);
        let decimals: Vec<CurveNote> =
            decimals.map(|(name, (decimals, _))| CurveNote::Decimals(name, decimals)).collect();
        let mut file =
            CurveFile::new(source, format, curves.finish()?).with_note(self.is_cut.then_some(CurveNote::Truncated));
        let has_uncounted = file.series.iter().any(|series| series.counter() == Counter::Position);
        let unused = (has_uncounted && blocks.has_headers).then_some(CurveNote::UnusedCounter);
        file.logged = if self.is_of_means { LossMeaning::Windows } else { LossMeaning::Unstated };
        file.notes.extend(
            rounded
                .chain(decimals)
                .chain(self.has_nul.then_some(CurveNote::NulBytes))
                .chain((self.cut > 0).then_some(CurveNote::LongLines(self.cut)))
                .chain(unused),
        );
        Ok(CurveFile { updates: updates.finish(), told: told.finish(), account: blocks.account, ..file })
    }
}

/// Size of a line.
#[derive(Clone, Copy)]
struct Size {
    values: usize,
    /// Number of characters of the figure at its end.
    figures: usize,
}

impl Size {
    /// Whether a last line without line end has fewer values than the line before it, or a shorter last figure.
    fn is_cut_short(self, last: Self) -> bool {
        self.values < last.values || self.values == last.values && self.figures < last.figures
    }
}

/// Number of characters of the figure at the end of a line.
fn figures_at_end(line: &str) -> usize {
    let is_figure = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b'+' | b'e' | b'E');
    line.bytes().rev().take_while(is_figure).count()
}

/// Curves of a log: those of lines with a step, with only an epoch, and with no counter at all.
struct Curves {
    /// Metrics with a zero that may be a rounded small number.
    rounded: BTreeSet<String>,
    /// Learning rates with the fewest and the most decimals they are printed with; a value with an exponent counts as `u8::MAX`.
    decimals: BTreeMap<String, (u8, u8)>,
    by_step: Placed,
    by_epoch: Placed,
    loose: Placed,
}

/// A collector, with a cache of the metrics' indices for the current rank.
struct Placed {
    collector: Collector,
    /// The rank of these records.
    rank: Option<u64>,
    /// Index of the metric in the collector, by the place of its name in [`Names`].
    places: Vec<Option<usize>>,
}

impl Placed {
    fn new(collector: Collector) -> Self {
        Self { collector, rank: None, places: Vec::new() }
    }

    fn record(&mut self, beside: RecordContext) {
        self.collector.begin_record(beside);
        if self.rank != beside.rank {
            self.rank = beside.rank;
            self.places.clear();
        }
    }

    fn push(&mut self, place: usize, name: &str, step: Option<u64>, value: f64) -> Result<()> {
        if place >= self.places.len() {
            self.places.resize(place + 1, None);
        }
        let known = self.places.get(place).copied().flatten();
        let index = match known {
            Some(index) => index,
            None => self.collector.index_of(name, step.is_some())?,
        };
        self.places.get_mut(place).into_iter().for_each(|known| *known = Some(index));
        self.collector.push_at(index, step, value)
    }
}

impl Curves {
    fn new(source: &dyn ByteSource, room: &Arc<Room>) -> Self {
        let collector = || Placed::new(Collector::new(source.name(), room));
        Self {
            rounded: BTreeSet::new(),
            decimals: BTreeMap::new(),
            by_step: collector(),
            by_epoch: collector(),
            loose: collector(),
        }
    }

    fn take(&mut self, record: Record, names: &Names) -> Result<()> {
        let collector = if record.is_loose {
            &mut self.loose
        } else if record.is_by_epoch {
            &mut self.by_epoch
        } else {
            &mut self.by_step
        };
        collector.record(record.context);
        for pair in &record.pairs {
            if let Some(name) = names.get(pair.name) {
                if pair.is_rounded && !self.rounded.contains(&name.canonical) {
                    self.rounded.insert(name.canonical.clone());
                }
                if name.role == Role::LearningRate {
                    let decimals = pair.decimals.unwrap_or(u8::MAX);
                    match self.decimals.get_mut(&name.canonical) {
                        Some(known) => *known = (known.0.min(decimals), known.1.max(decimals)),
                        None => drop(self.decimals.insert(name.canonical.clone(), (decimals, decimals))),
                    }
                }
                collector.push(pair.name, &name.text, record.step, pair.value)?;
            }
        }
        Ok(())
    }

    /// All series. A metric that is logged by step and by epoch becomes two. A metric from lines without a counter is kept only
    /// where no other line has it.
    fn finish(self) -> Result<Vec<StoredSeries>> {
        let mut series = self.by_step.collector.finish()?;
        let has = |series: &[StoredSeries], name: &str| {
            let wanted = metric::canonical(name);
            series.iter().any(|known| metric::canonical(known.name()) == wanted)
        };
        for mut of_epoch in self.by_epoch.collector.finish()? {
            if has(&series, of_epoch.name()) {
                let name = format!("epoch/{}", of_epoch.name());
                of_epoch.rename(&name);
            }
            series.push(of_epoch);
        }
        for alone in self.loose.collector.finish()? {
            if !has(&series, alone.name()) {
                series.push(alone);
            }
        }
        Ok(series)
    }
}

#[cfg(test)]
mod tests;
