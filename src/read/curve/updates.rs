//! Skipped updates of a run, as its log reports them.
//!
//! Megatron counts skipped and non-finite iterations in each of its lines, MindFormers reports whether a step overflowed, and
//! DeepSpeed, apex and fairseq print a line before the record. Where no line reports it, a falling loss scale shows a skipped update.

mod records;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

use super::expression::constant_regex;
use super::lines;
use super::stored::StoredSeries;
use crate::error::Result;
use crate::read::metric;
pub use records::{UpdateRecord, UpdateRecords};

/// Metrics that hold the loss scale, by the last part of their names.
const SCALES: [&str; 4] = ["loss_scale", "grad_scale", "loss_scaler", "grad_scaler"];
/// Metrics that count skipped updates, by the last part of their names.
const COUNTS: [&str; 8] = [
    "number_of_skipped_iterations",
    "number_of_nan_iterations",
    "skipped_iterations",
    "skipped_iters",
    "skipped_steps",
    "skipped",
    "overflow",
    "overflow_cond",
];

static CONDITION: LazyLock<Regex> =
    LazyLock::new(|| constant_regex(r"(?i)\boverflow[_ ]cond\w*\s*[:=]\s*(true|false|1|0)\b"));
static OVERFLOW: LazyLock<Regex> = LazyLock::new(|| {
    constant_regex(
        r"(?i)\boverflow\b.{0,60}?\b(?:skipping (?:step|update)|ignoring gradient|skipped|drop(?:ping|ped)? (?:the |this )?(?:step|update))",
    )
});
static STILL: LazyLock<Regex> = LazyLock::new(|| constant_regex(r"(?i)\boverflow(?:ed)?\b.{0,30}?\bstill updat"));
static SCALE: LazyLock<Regex> = LazyLock::new(|| {
    constant_regex(
        r"(?i)(?:reducing (?:loss scale )?to|setting loss scale to|scale adjust(?:ed)? to):?\s*([0-9.e+-]*[0-9])",
    )
});
static TRIED: LazyLock<Regex> =
    LazyLock::new(|| constant_regex(r"(?i)attempted (?:loss )?scale:?\s*([0-9.e+-]*[0-9])"));
static RANK: LazyLock<Regex> = LazyLock::new(|| constant_regex(r"(?i)\brank[ _:=]*(\d+)"));
static TOTAL: LazyLock<Regex> = LazyLock::new(|| constant_regex(r"\bskipped=(\d+), lr=\["));

/// All updates of a run, in its order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UpdateHistory {
    /// One entry for each record.
    pub records: UpdateRecords,
    /// Whether the log states which updates were skipped; otherwise they follow from a falling loss scale.
    pub is_stated: bool,
}

impl UpdateHistory {
    /// Adds a record. It is merged with a last record of the same step. A record that goes back shows a resumed run, and replaces
    /// all later records.
    pub(super) fn add(&mut self, update: UpdateRecord) {
        if let (Some(step), Some(last)) = (update.step, self.records.last().and_then(|last| last.step)) {
            if step == last {
                return self.records.change_last(|known| {
                    known.skipped = known.skipped.max(update.skipped);
                    known.overflowed = known.overflowed.max(update.overflowed);
                    known.tried_scale = known.tried_scale.or(update.tried_scale);
                    known.scale = update.scale.or(known.scale);
                });
            }
            while self.records.last().is_some_and(|last| last.step.is_some_and(|last| last >= step)) {
                self.records.pop();
            }
        }
        self.records.push(update);
    }

    /// Number of updates that the record at `place` stands for: the distance to the neighbouring record's step, at least 1.
    pub(crate) fn covered_updates(&self, place: usize) -> u64 {
        let step = |place: usize| self.records.get(place).and_then(|record| record.step);
        let apart = |place: usize| Some(step(place)?.saturating_sub(step(place.checked_sub(1)?)?));
        apart(place).or_else(|| apart(place + 1)).unwrap_or(1).max(1)
    }

    /// The updates, with one skipped update for each fall of the loss scale where the log does not state skipped ones. `None` where
    /// the log has neither.
    fn resolved(mut self) -> Option<Self> {
        if !self.is_stated {
            let mut before: Option<f64> = None;
            let resolved = self.records.iter().map(|record| {
                let falls = matches!((before, record.scale), (Some(before), Some(now)) if now < before);
                before = record.scale.or(before);
                UpdateRecord { skipped: u64::from(falls), ..record }
            });
            self.records = resolved.collect();
        }
        let tells = self.is_stated || self.records.iter().any(|record| record.scale.is_some());
        tells.then_some(self)
    }
}

/// Reader of the lines of a log that are about updates.
#[derive(Debug, Default)]
pub(super) struct UpdateLines {
    updates: UpdateHistory,
    /// Number of lines about a skipped update since the last record, by rank.
    overflows: BTreeMap<Option<u64>, u64>,
    /// Number of lines about an update that took place despite an overflow since the last record, by rank.
    still: BTreeMap<Option<u64>, u64>,
    tried: Option<f64>,
    scale: Option<f64>,
    /// Number of skipped updates since the start, according to the last line that counts them.
    total: Option<u64>,
}

impl UpdateLines {
    /// Takes a line that is no record.
    pub(super) fn take_line(&mut self, line: &str) {
        let total = || TOTAL.captures(line);
        if let Some(total) =
            line.contains("skipped=").then(total).flatten().and_then(|found| found.get(1)?.as_str().parse().ok())
        {
            let before = self.total.replace(total).unwrap_or_default();
            self.updates.is_stated = true;
            let since = total.saturating_sub(before);
            self.updates.records.change_last(|known| known.skipped = known.skipped.max(since));
        }
        // Few lines mention an overflow, and searching for the word is cheaper than the pattern.
        if !line.contains("verflow") && !line.contains("VERFLOW") {
            return;
        }
        let lines_by_rank = if OVERFLOW.is_match(line) {
            &mut self.overflows
        } else if STILL.is_match(line) {
            &mut self.still
        } else {
            return;
        };
        self.updates.is_stated = true;
        let number =
            |pattern: &Regex| pattern.captures(line).and_then(|found| lines::parse_number(found.get(1)?.as_str()));
        self.scale = number(&SCALE).or(self.scale);
        // The first attempt is the highest.
        self.tried = self.tried.or_else(|| number(&TRIED));
        *lines_by_rank.entry(number(&RANK).and_then(lines::whole_number)).or_default() += 1;
    }

    /// Takes a record. `skipped` and `scale` are the values that the record itself holds.
    pub(super) fn take_record(&mut self, step: Option<u64>, line: &str, skipped: Option<u64>, scale: Option<f64>) {
        let condition = || CONDITION.captures(line)?.get(1).map(|found| found.as_str().to_ascii_lowercase());
        let told = skipped.or_else(|| {
            let condition = if line.contains("verflow") { condition() } else { None };
            condition.map(|condition| u64::from(matches!(condition.as_str(), "true" | "1")))
        });
        let [overflows, overflowed] = self.take_lines();
        self.updates.is_stated |= told.is_some();
        self.scale = scale.or(self.scale);
        let skipped = told.unwrap_or_default().max(overflows);
        self.updates.add(UpdateRecord { step, skipped, overflowed, tried_scale: self.tried.take(), scale: self.scale });
    }

    /// Number of updates since the last record that were skipped, and that took place despite an overflow: the most lines of any
    /// one rank.
    fn take_lines(&mut self) -> [u64; 2] {
        let most =
            |lines: &mut BTreeMap<Option<u64>, u64>| std::mem::take(lines).into_values().max().unwrap_or_default();
        [most(&mut self.overflows), most(&mut self.still)]
    }

    /// All updates; `None` where the log does not mention them.
    pub(super) fn finish(mut self) -> Option<UpdateHistory> {
        let [skipped, overflowed] = self.take_lines();
        if skipped + overflowed > 0 {
            self.updates.add(UpdateRecord {
                step: None,
                skipped,
                overflowed,
                tried_scale: self.tried,
                scale: self.scale,
            });
        }
        self.updates.resolved()
    }
}

/// Whether a metric is the loss scale.
pub(super) fn is_scale(name: &str) -> bool {
    let name = metric::canonical(name);
    name == "scale" || name.rsplit('/').next().is_some_and(|last| SCALES.contains(&last))
}

fn is_count(name: &str) -> bool {
    let name = metric::canonical(name);
    name.rsplit('/').next().is_some_and(|last| COUNTS.contains(&last))
}

/// Updates of a file: those from its lines, `told`, or else those from its metrics.
///
/// # Errors
/// Errors of the disk, where points lie there.
pub(crate) fn updates_of_file(told: Option<&UpdateHistory>, metrics: &[StoredSeries]) -> Result<Option<UpdateHistory>> {
    if told.is_some() {
        return Ok(told.cloned());
    }
    let mut by_step: BTreeMap<u64, UpdateRecord> = BTreeMap::new();
    let mut is_told = false;
    for series in metrics.iter().filter(|series| is_scale(series.name()) || is_count(series.name())) {
        let series = series.load()?;
        let of_step =
            |step: u64| UpdateRecord { step: series.steps.is_numbered().then_some(step), ..UpdateRecord::default() };
        if is_scale(&series.name) {
            for (step, scale) in series.points() {
                by_step.entry(step).or_insert_with(|| of_step(step)).scale = Some(scale);
            }
            continue;
        }
        is_told = true;
        let counts: Vec<u64> =
            series.values.iter().map(|value| lines::whole_number(*value).unwrap_or_default()).collect();
        // A running total never falls, and grows beyond the one update that a single step can skip.
        let is_total = counts.is_sorted() && counts.iter().any(|count| *count > 1);
        let mut before = 0;
        for (step, count) in series.steps.iter().zip(counts) {
            let update = by_step.entry(step).or_insert_with(|| of_step(step));
            update.skipped = update.skipped.max(if is_total { count.saturating_sub(before) } else { count });
            before = count;
        }
    }
    Ok(UpdateHistory { records: by_step.into_values().collect(), is_stated: is_told }.resolved())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skipped(lines: UpdateLines) -> Vec<u64> {
        lines.finish().map(|updates| updates.records.iter().map(|record| record.skipped).collect()).unwrap_or_default()
    }

    #[test]
    fn lines_in_front_of_a_record_count_once_for_all_ranks() {
        for (line, scale) in [
            ("[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768", 32768.0),
            ("Overflow detected. Skipping step. Attempted loss scale: 4096.0, reducing to 2048.0", 2048.0),
            ("Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 512.0", 512.0),
            ("NOTE: gradient overflow detected, ignoring gradient, setting loss scale to: 64.0", 64.0),
        ] {
            let mut lines = UpdateLines::default();
            lines.take_record(Some(1), "", None, None);
            lines.take_line(line);
            lines.take_line(&line.replace("Rank 0", "Rank 1"));
            lines.take_record(Some(2), "", None, None);
            let updates = lines.finish().expect(line);
            let expected = if line.contains("Rank") { 1 } else { 2 };
            assert_eq!(
                updates.records.get(1).expect(line),
                UpdateRecord {
                    tried_scale: updates.records.get(1).expect(line).tried_scale,
                    step: Some(2),
                    skipped: expected,
                    overflowed: 0,
                    scale: Some(scale)
                },
                "{line}"
            );
        }
        let mut still = UpdateLines::default();
        still.take_line("[WARNING] overflow, still update, loss scale adjust to 1.0");
        still.take_record(Some(10), "", None, None);
        let expected = UpdateRecord { step: Some(10), overflowed: 1, scale: Some(1.0), ..UpdateRecord::default() };
        assert_eq!(still.finish().map(|updates| updates.records), Some([expected].into_iter().collect()));
        let mut quiet = UpdateLines::default();
        quiet.take_line("overflow checking is enabled");
        quiet.take_record(Some(1), "", None, None);
        assert_eq!(quiet.finish(), None);
    }

    #[test]
    fn records_tell_by_condition_count_or_scale() {
        let mut lines = UpdateLines::default();
        for (step, condition) in [(1, "overflow cond: False"), (2, "overflow cond: True")] {
            lines.take_record(Some(step), condition, None, None);
        }
        assert_eq!(skipped(lines), [0, 1]);
        let mut counted = UpdateLines::default();
        counted.take_record(Some(10), "", Some(3), None);
        counted.take_record(Some(20), "", Some(0), None);
        assert_eq!(
            counted.finish().map(|updates| (updates.covered_updates(0), updates.covered_updates(1))),
            Some((10, 10))
        );
        let mut falling = UpdateLines::default();
        for (step, scale) in [(1, 8.0), (2, 4.0), (3, 4.0), (4, 8.0)] {
            falling.take_record(Some(step), "", None, Some(scale));
        }
        assert_eq!(skipped(falling), [0, 1, 0, 0]);
    }

    #[test]
    fn of_a_restart_the_later_records_count() {
        let mut updates = UpdateHistory::default();
        for (step, skipped) in [(1, 0), (2, 1), (3, 1), (2, 0), (3, 0), (3, 1)] {
            updates.add(UpdateRecord { step: Some(step), skipped, ..UpdateRecord::default() });
        }
        let found: Vec<_> = updates.records.iter().map(|record| (record.step, record.skipped)).collect();
        assert_eq!(found, [(Some(1), 0), (Some(2), 0), (Some(3), 1)]);
    }
}
