//! Plain training logs.
//!
//! Three kinds of line are known: Megatron's and MindSpeed's (`iteration 10/ 500 | lm loss: 1.2E+00 | ...`), the
//! Trainer's (`{'loss': 1.2, 'grad_norm': 0.4, ...}`, a Python dictionary without a step), and names with values
//! (`step: 10  loss: 1.2`, as torchtitan and verl print). Anything else takes the user's own pattern, a
//! regular expression with a group named `step` and a group per metric.

mod layout;
pub mod unknown;

use std::sync::{Arc, LazyLock};

use regex::{Captures, Regex};

use super::beside::{Beside, Key};
use super::collector::Collector;
use super::expression::constant;
use super::file::{CurveFile, Note};
use super::format::Format;
use super::lines::{self, Lines};
use super::series::Counter;
use super::updates::UpdateLines;
use crate::error::Result;
use crate::fetch::{ByteSource, Room};
use crate::kind::Role;
use crate::read::metric;

pub use super::pattern::LogPattern;

/// Bytes of a text that are searched for lines of a training log.
const SEARCHED: u64 = 8 << 20;

static ITERATION: LazyLock<Regex> = LazyLock::new(|| constant(r"\biteration\s+(\d+)\s*/\s*\d+\s*\|(.*)"));
static DICTIONARY: LazyLock<Regex> = LazyLock::new(|| constant(r"\{('[^']+':[^{}]*)\}"));
static ENTRY: LazyLock<Regex> = LazyLock::new(|| constant(r"'([^']+)':\s*('[^']*'|[^,}\s]+)"));
static DECIMAL: LazyLock<Regex> = LazyLock::new(|| constant(r"\d[.eE][-+]?\d"));

/// One line that holds values.
#[derive(Clone, Debug, PartialEq)]
struct Record {
    /// The rank that wrote it, other counters, and the epoch, where steps are counted within epochs of unknown length.
    beside: Beside,
    step: Option<u64>,
    values: Vec<(String, f64)>,
    /// Skipped updates, where the line counts them.
    skipped: Option<u64>,
    /// Whether it is data only beside a line of the same layout, as it has no counter.
    is_loose: bool,
}

impl Record {
    fn new(step: Option<u64>, values: Vec<(String, f64)>) -> Option<Self> {
        (!values.is_empty()).then_some(Self { beside: Beside::default(), step, values, skipped: None, is_loose: false })
    }

    /// A record at the place that its line tells.
    fn placed(place: Option<layout::Place>, values: Vec<(String, f64)>) -> Option<Self> {
        let mut record = Self::new(None, values)?;
        if let Some(place) = place {
            match place.counter {
                Counter::Samples => record.beside.samples = Some(place.at),
                Counter::Epoch => record.beside.epoch = Some(in_f64(place.at)),
                _ => (record.step, record.beside.epoch) = (Some(place.at), place.epoch.map(in_f64)),
            }
        }
        Some(record)
    }

    /// Whether both lines are laid out in one way: they hold the same names.
    fn is_like(&self, other: &Self) -> bool {
        let names = |record: &Self| record.values.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
        names(self) == names(other)
    }

    /// Whether it holds a metric that a run is about.
    fn is_known(&self) -> bool {
        let is_known = |name: &str| {
            matches!(
                metric::role(&metric::canonical(name)),
                Role::Loss | Role::EvalLoss | Role::AuxiliaryLoss | Role::GradNorm | Role::Reward
            )
        };
        self.values.iter().any(|(name, _)| is_known(name))
    }

    /// Whether it holds a score, which is often the only thing that a validation prints.
    fn has_score(&self) -> bool {
        let is_score = |name: &str| {
            let name = metric::canonical(name);
            [metric::role(&name), metric::role_in_rl(&name)].contains(&Role::EvalScore)
        };
        self.values.iter().any(|(name, _)| is_score(name))
    }
}

#[allow(clippy::cast_precision_loss, reason = "epochs and steps lie far below 2^53")]
fn in_f64(count: u64) -> f64 {
    count as f64
}

/// Words without which a line holds no value of a run.
const TELLING: [&str; 12] =
    ["loss", "Loss", "LOSS", "grad", "gnorm", "损失", "reward", "score", "acc", "Acc", "val", LR_LIST];
/// DeepSpeed's line of learning rates, which stands beside that of its loss.
const LR_LIST: &str = "lr=[";

/// Reads one line by the built-in patterns; `None` where it holds no loss and no gradient norm.
fn parse(line: &str) -> Option<Record> {
    if !TELLING.iter().any(|word| line.contains(word)) {
        return None;
    }
    let (line, rank) = layout::bare(line);
    let mut record = parse_bare(&line)?;
    record.beside.rank = rank;
    Some(record)
}

fn parse_bare(line: &str) -> Option<Record> {
    if let Some(found) = ITERATION.captures(line) {
        return iteration(&found);
    }
    if let Some((step, values)) = layout::validation(line) {
        return Record::new(Some(step), values);
    }
    if let Some(found) = DICTIONARY.captures(line).and_then(|found| dictionary(&found)) {
        let place = layout::place(line).filter(|_| found.step.is_none());
        return Some(Record { step: found.step.or(place.map(|(place, _)| place.at)), ..found });
    }
    if let Some((place, values)) = layout::object(line) {
        return Record::placed(place, values).filter(Record::is_known);
    }
    laid_out(line).or_else(|| named(line))
}

/// A line with a counter of a known shape.
fn laid_out(line: &str) -> Option<Record> {
    let (place, is_held_out) = layout::place(line)?;
    let kept = |(name, value): (String, f64)| {
        let name = if is_held_out { format!("val/{name}") } else { name };
        (!metric::is_bookkeeping(&name)).then_some((name, value))
    };
    let values = layout::pairs(line).into_iter().filter_map(kept).collect();
    Record::placed(Some(place), values).filter(Record::is_known)
}

fn iteration(found: &Captures<'_>) -> Option<Record> {
    let step = lines::step(found.get(1)?.as_str())?;
    let field = |field: &str| {
        let (name, value) = field.rsplit_once(':')?;
        let name = name.trim();
        // The unit in brackets is not part of the name: `elapsed time per iteration (ms)`.
        let name = name.split_once(" (").map_or(name, |(name, _)| name);
        let counter = name.starts_with("number of") || metric::is_bookkeeping(name);
        Some((name.to_owned(), lines::number(value)?)).filter(|_| !counter)
    };
    let fields = found.get(2)?.as_str();
    // An iteration that is not finite is skipped.
    let is_skip =
        |name: &str| name.contains("number of skipped iterations") || name.contains("number of nan iterations");
    let counts = fields.split('|').filter_map(|field| field.rsplit_once(':')).filter(|(name, _)| is_skip(name));
    let skipped = counts.filter_map(|(_, count)| lines::step(count)).max();
    Some(Record { skipped, ..Record::new(Some(step), fields.split('|').filter_map(field).collect())? })
}

fn dictionary(found: &Captures<'_>) -> Option<Record> {
    let body = found.get(1)?.as_str();
    let entries: Vec<(&str, &str)> =
        ENTRY.captures_iter(body).filter_map(|entry| Some((entry.get(1)?.as_str(), entry.get(2)?.as_str()))).collect();
    if entries.iter().any(|(key, _)| *key == "train_runtime") {
        return None;
    }
    let step =
        entries.iter().filter(|(key, _)| metric::step_rank(key).is_some()).find_map(|(_, text)| lines::step(text));
    let epoch = entries.iter().find(|(key, _)| *key == "epoch").and_then(|(_, text)| lines::number(text));
    let values: Vec<(String, f64)> = entries
        .iter()
        .filter(|(key, _)| !metric::is_bookkeeping(key))
        .filter_map(|(key, text)| Some(((*key).to_owned(), lines::number(text)?)))
        .collect();
    let known = values.iter().any(|(name, _)| metric::role(&metric::canonical(name)) != Role::Other);
    let record = Record::new(step, values).filter(|_| known)?;
    Some(Record { beside: Beside { epoch, ..Beside::default() }, ..record })
}

/// `step: 10 loss: 1.2`: only with a loss or gradient norm, as prose holds colons too. Without a counter it is data beside
/// a line of the same layout alone.
fn named(line: &str) -> Option<Record> {
    let pairs = layout::pairs(line);
    let step = pairs.iter().filter(|(name, _)| metric::step_rank(name).is_some()).find_map(|(_, at)| lines::whole(*at));
    let mut beside = Beside::default();
    for (key, number) in pairs.iter().filter_map(|(name, number)| Some((Key::of(name)?, *number))) {
        beside.take(key, number);
    }
    let values = pairs.into_iter().filter(|(name, _)| !metric::is_bookkeeping(name)).collect();
    let is_beside = |record: &Record| line.contains(LR_LIST) || record.has_score();
    let is_of_run = |record: &Record| record.is_known() || step.is_some() && is_beside(record);
    let record = Record::new(step, values).filter(is_of_run)?;
    let is_loose = step.is_none() && beside.samples.is_none() && beside.tokens.is_none();
    // Behind other words a name may mean something else: `Test set: Average loss: 0.05`.
    (!is_loose || layout::begins_with_name(line)).then_some(Record { beside, is_loose, ..record })
}

/// Reads one line by the user's pattern; `None` where it does not match.
fn parse_with(line: &str, pattern: &LogPattern) -> Option<Record> {
    let found = pattern.0.captures(line)?;
    let groups = || pattern.0.capture_names().flatten().filter_map(|name| Some((name, found.name(name)?.as_str())));
    let step = groups().filter(|(name, _)| metric::step_rank(name).is_some()).find_map(|(_, text)| lines::step(text));
    let values = groups()
        .filter(|(name, _)| metric::step_rank(name).is_none())
        .filter_map(|(name, text)| Some((name.to_owned(), lines::number(text)?)))
        .collect();
    Record::new(step, values)
}

/// Whether a text holds lines of a training log: two of them with different content, near its beginning.
pub(super) fn recognise(source: &dyn ByteSource) -> bool {
    let mut first: Option<Record> = None;
    find(source, |line| {
        let Some(record) = parse(line) else { return false };
        // Megatron's line is unmistakable; the others need a second one, as documentation quotes single lines.
        let sure = record.step.is_some() && ITERATION.is_match(line);
        let differs = |earlier: &Record| *earlier != record && (!record.is_loose || record.is_like(earlier));
        let second = first.as_ref().is_some_and(differs);
        first = Some(record);
        sure || second
    })
}

/// Whether a text holds a line that the user's pattern reads.
pub fn matches(source: &dyn ByteSource, pattern: &LogPattern) -> bool {
    find(source, |line| parse_with(line, pattern).is_some())
}

fn find(source: &dyn ByteSource, mut wanted: impl FnMut(&str) -> bool) -> bool {
    let mut lines = Lines::new(source);
    while lines.consumed() < SEARCHED {
        match lines.next() {
            Ok(Some(line)) if wanted(&String::from_utf8_lossy(line)) => return true,
            Ok(Some(_)) => {}
            // A text that cannot be split into lines is not a log.
            Ok(None) | Err(_) => return false,
        }
    }
    false
}

/// Whether a text speaks of a loss beside a decimal number.
pub fn resembles(head: &[u8]) -> bool {
    let speaks = |line: &str| line.to_lowercase().contains("loss") && DECIMAL.is_match(line);
    !head.contains(&0) && String::from_utf8_lossy(head).lines().any(speaks)
}

/// Lines of a text that most look as if they hold a loss, in their order and cut to a width; `None` for what is no text
/// with lines.
pub fn sample(source: &dyn ByteSource) -> Option<Vec<String>> {
    /// Lines that a message shows.
    const SHOWN: usize = 3;
    /// Lines that are looked at for these.
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

/// Reads a log by the built-in patterns.
pub(super) fn read(source: &dyn ByteSource, room: &Arc<Room>) -> Result<CurveFile> {
    read_lines(source, room, Format::Log, parse)
}

/// Reads a log by the user's pattern.
pub(super) fn read_with(source: &dyn ByteSource, room: &Arc<Room>, pattern: &LogPattern) -> Result<CurveFile> {
    read_lines(source, room, Format::Pattern(pattern.clone()), |line| parse_with(line, pattern))
}

fn read_lines(
    source: &dyn ByteSource,
    room: &Arc<Room>,
    format: Format,
    parse: impl Fn(&str) -> Option<Record>,
) -> Result<CurveFile> {
    let mut collector = Collector::new(source.name(), room);
    let mut loose = Loose::new(source, room);
    let mut lines = Lines::new(source);
    let mut updates = UpdateLines::default();
    let mut bar: Option<Record> = None;
    let mut last: Option<Size> = None;
    let mut is_cut = false;
    while let Some((line, has_end)) = lines.next_with_end()? {
        let line = String::from_utf8_lossy(line);
        let Some(mut record) = parse(&line) else {
            updates.line(&line);
            continue;
        };
        let size = Size { values: record.values.len(), figures: figures_at_end(&line) };
        if !has_end && last.is_some_and(|last| size.is_cut_short(last)) {
            is_cut = true;
            // Its last figure may have lost digits; what stands before it is whole.
            record.values.truncate(size.values - usize::from(size.figures > 0));
        }
        last = Some(size);
        updates.record(record.step, &line, record.skipped, &record.values);
        // Of redraws of one progress bar the last counts.
        let drawn = bar.take().filter(|drawn| !is_redraw(drawn, &record));
        drawn.map(|drawn| add(drawn, &mut collector)).transpose()?;
        match record {
            record if record.is_loose => loose.take(record)?,
            record if is_bar(&line) => bar = Some(record),
            record => add(record, &mut collector)?,
        }
    }
    bar.map(|drawn| add(drawn, &mut collector)).transpose()?;
    let series = match collector.finish()? {
        counted if counted.is_empty() => loose.collector.finish()?,
        counted => counted,
    };
    let file = CurveFile::new(source, format, series).with_note(is_cut.then_some(Note::Truncated));
    Ok(CurveFile { updates: updates.finish(), ..file })
}

/// Whether a line is drawn by a progress bar.
fn is_bar(line: &str) -> bool {
    line.contains("%|") && line.contains('[')
}

/// Whether a record draws the bar anew at the place where it stood.
fn is_redraw(drawn: &Record, record: &Record) -> bool {
    drawn.step.is_some() && drawn.step == record.step && drawn.beside == record.beside && drawn.is_like(record)
}

/// Size of a line.
#[derive(Clone, Copy)]
struct Size {
    values: usize,
    /// Characters of the figure that it ends with.
    figures: usize,
}

impl Size {
    /// Whether a last line without its end stops inside the line that the one before it was.
    fn is_cut_short(self, last: Self) -> bool {
        self.values < last.values || self.values == last.values && self.figures < last.figures
    }
}

/// Characters of the figure that a line ends with.
fn figures_at_end(line: &str) -> usize {
    let is_figure = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b'+' | b'e' | b'E');
    line.bytes().rev().take_while(is_figure).count()
}

fn add(record: Record, collector: &mut Collector) -> Result<()> {
    collector.record(record.beside);
    for (name, value) in record.values {
        collector.push(&name, record.step, value)?;
    }
    Ok(())
}

/// Lines without a counter, of which those count that have company.
struct Loose {
    collector: Collector,
    last: Option<Record>,
    /// Whether the last one was added.
    is_added: bool,
}

impl Loose {
    fn new(source: &dyn ByteSource, room: &Arc<Room>) -> Self {
        Self { collector: Collector::new(source.name(), room), last: None, is_added: false }
    }

    fn take(&mut self, record: Record) -> Result<()> {
        let has_company = self.last.as_ref().is_some_and(|last| last.is_like(&record));
        if has_company {
            if let Some(first) = self.last.take().filter(|_| !self.is_added) {
                add(first, &mut self.collector)?;
            }
            add(record.clone(), &mut self.collector)?;
        }
        (self.last, self.is_added) = (Some(record), has_company);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fetch::Memory;

    fn log(text: &str) -> CurveFile {
        let source = Memory::new("train.log", text.as_bytes().to_vec());
        assert!(recognise(&source), "{text}");
        read(&source, &Room::unlimited()).expect("a log")
    }

    fn points(file: &CurveFile, name: &str) -> Vec<(u64, f64)> {
        file.loaded().into_iter().find(|series| series.name == name).expect(name).points().collect()
    }

    #[test]
    fn megatron_lines() {
        let file = log(concat!(
            "building GPT model ...\n",
            " [2026-01-02 03:04:05] iteration        1/    5000 | consumed samples:            8 | elapsed time per ",
            "iteration (ms): 2557.6 | learning rate: 1.250000E-06 | global batch size:     8 | lm loss: 1.221668E+00 | ",
            "loss scale: 1.0 | grad norm: 8.123 | number of skipped iterations:   0 | number of nan iterations:   0 |\n",
            " iteration        2/    5000 | lm loss: nan | grad norm: inf |\n"
        ));
        assert_eq!(points(&file, "lm loss")[0], (1, 1.221_668));
        assert!(points(&file, "lm loss")[1].1.is_nan());
        assert_eq!(points(&file, "grad norm"), [(1, 8.123), (2, f64::INFINITY)]);
        assert_eq!(points(&file, "elapsed time per iteration"), [(1, 2557.6)]);
        assert!(
            file.series.iter().all(|series| !series.name().contains("samples") && !series.name().contains("number"))
        );
    }

    #[test]
    fn trainer_lines_have_no_step() {
        let file = log(concat!(
            "{'loss': 2.5, 'grad_norm': 1.25, 'learning_rate': 1e-05, 'epoch': 0.1}\r  1%| | 10/500\n",
            "{'loss': '2.25', 'grad_norm': nan, 'learning_rate': 2e-05, 'epoch': 0.2}\n",
            "{'train_runtime': 12.5, 'train_loss': 2.4, 'epoch': 1.0}\n"
        ));
        assert_eq!(points(&file, "loss"), [(1, 2.5), (2, 2.25)]);
        assert!(!file.loaded()[0].steps.is_numbered());
        assert!(file.series.iter().all(|series| !series.name().contains("train")));
    }

    #[test]
    fn names_with_values_and_colours() {
        let file = log(concat!(
            "[titan] - root - INFO - \x1b[31mstep:  1  \x1b[32mloss:  8.0483  \x1b[33mgrad_norm:  1.7  tps: 3,000\n",
            "[titan] - root - INFO - \x1b[31mstep:  2  \x1b[32mloss:  7.5  \x1b[33mgrad_norm:  1.6  tps: 3,100\n"
        ));
        assert_eq!(points(&file, "loss"), [(1, 8.0483), (2, 7.5)]);
        assert_eq!(points(&file, "tps"), [(1, 3000.0), (2, 3100.0)]);
    }

    #[test]
    fn a_validation_may_print_its_score_alone() {
        let file = log(concat!(
            "step:0 - val-core/openai/gsm8k/acc/mean@1:np.float64(0.24) - val-aux/num_turns/min:np.int64(2)\n",
            "step:1 - actor/pg_loss:0.1 - critic/score/mean:0.5\n",
            "step:2 - actor/pg_loss:0.2 - critic/score/mean:0.6\n"
        ));
        assert_eq!(points(&file, "val-core/openai/gsm8k/acc/mean@1"), [(0, 0.24)]);
        let source = Memory::new("notes.txt", b"step 3: 80 accounts\nstep: 4 value: 2\n".to_vec());
        assert!(!recognise(&source));
    }

    #[test]
    fn of_a_bar_that_is_drawn_again_the_last_text_counts() {
        let file = log(concat!(
            "Steps:  1%|1 | 1/60 [00:10<00:20, step_loss=0.9]\rSteps:  3%|2 | 2/60 [00:10<00:20, step_loss=0.9]\r",
            "Steps:  3%|2 | 2/60 [00:10<00:20, step_loss=0.7]\rSteps:  5%|3 | 3/60 [00:10<00:20, step_loss=0.6]\n"
        ));
        assert_eq!(points(&file, "step_loss"), [(1, 0.9), (2, 0.7), (3, 0.6)]);
        assert_eq!(file.loaded()[0].contradictions(), 0);
    }

    #[test]
    fn skipped_updates_are_read_beside_the_curves() {
        let megatron = concat!(
            " iteration       10/    60 | lm loss: 1.2E+00 | loss scale: 512.0 | number of skipped iterations:   3 | number of nan iterations:   1 |\n",
            " iteration       20/    60 | lm loss: 1.1E+00 | loss scale: 512.0 | number of skipped iterations:   0 | number of nan iterations:   2 |\n"
        );
        let deepspeed = concat!(
            "{'loss': 8.8, 'grad_norm': 1.7, 'epoch': 0.01}\n",
            "[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768\n",
            "{'loss': 8.6, 'grad_norm': 1.6, 'epoch': 0.02}\n"
        );
        for (text, expected) in [(megatron, [3, 2]), (deepspeed, [0, 1])] {
            let updates = log(text).updates.expect(text);
            assert_eq!(updates.records.iter().map(|record| record.skipped).collect::<Vec<_>>(), expected);
        }
        assert_eq!(log("step: 1 loss: 2.5\nstep: 2 loss: 2.4\n").updates, None);
    }

    #[test]
    fn prose_that_quotes_one_line_is_no_log() {
        let source = Memory::new("README.md", b"It prints {'loss': 2.5, 'epoch': 0.1} as it goes.\nEnd.\n".to_vec());
        assert!(!recognise(&source));
    }

    #[test]
    fn the_users_pattern_names_its_metrics() {
        let pattern = LogPattern::parse(r"^it=(?<step>\d+) L=(?<loss>\S+)").expect("sound");
        let source = Memory::new("my.log", b"noise\nit=1 L=2.5\nit=2 L=nan\n".to_vec());
        assert!(matches(&source, &pattern));
        let file = read_with(&source, &Room::unlimited(), &pattern).expect("a log");
        assert_eq!(points(&file, "loss")[0], (1, 2.5));
        assert!(LogPattern::parse(r"(?<step>\d+)").is_err());
        assert!(LogPattern::parse(r"(").is_err());
    }
}
