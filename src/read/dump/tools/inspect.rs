//! Logs of nvdlfw-inspect: `INFO - fc1_activation_max   iteration=000020   value=1.4388`, a line per statistic.

use std::collections::{BTreeMap, HashMap};

use super::cell::{PrintedStatistics, no_rows_error};
use super::part::ToolTables;
use super::place::{ToolPlace, file_name};
use super::table::{Content, ToolRow};
use crate::error::Result;
use crate::fetch::{Source, check_memory, read_all};
use crate::kind::TensorKind;
use crate::read::dump::precision::SeenDigits;
use crate::read::dump::tool::Tool;

/// Endings of names that are statistics. If one ends with another, the longer one comes first.
const STATISTICS: [&str; 7] = ["cur_amax", "l1_norm", "l2_norm", "amax", "max", "min", "mean"];
/// Counts of elements at the end of a type's range. Rounding changes these counts, so they are not judged.
const COUNTS: [&str; 5] = ["dynamic_range", "underflows_num", "underflows%", "overflows_num", "overflows%"];
/// Standard deviation, from which the root mean square is computed together with the mean.
const DEVIATION: &str = "std";
/// Largest log that is read, in bytes.
const LARGEST: u64 = 2 << 30;

/// Whether the file at `path` that begins with `head` is such a log, by its folder and name or by its first whole lines.
pub(super) fn recognise(path: &str, head: &[u8]) -> bool {
    let is_placed = path.split('/').rev().nth(1) == Some("nvdlfw_inspect_statistics_logs")
        && file_name(path).starts_with("nvdlfw_inspect_globalrank");
    is_placed || memchr::memmem::find(head, b"iteration=").is_some() && has_line(head)
}

fn has_line(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head.get(..4096).unwrap_or(head));
    text.lines().take(16).any(|line| Line::parse(line).is_some())
}

/// One statistic of one iteration.
struct Line<'a> {
    /// Name of the record: layer and tensor.
    record: &'a str,
    statistic: &'a str,
    iteration: u64,
    value: f64,
    text: &'a str,
}

impl<'a> Line<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let (before, rest) = line.split_once("iteration=")?;
        let (iteration, rest) = rest.split_once("value=")?;
        let name = before.split_whitespace().next_back()?;
        let text = rest.split_whitespace().next()?;
        let known = STATISTICS.iter().chain([&DEVIATION]).chain(&COUNTS);
        let split = |known: &'static str| Some((name.strip_suffix(known)?.strip_suffix('_')?, known));
        let (record, statistic) = known.copied().find_map(split).or_else(|| name.rsplit_once('_'))?;
        (!record.is_empty()).then_some(())?;
        let value = text.parse().ok()?;
        Some(Self { record, statistic, iteration: iteration.trim().parse().ok()?, value, text })
    }
}

/// The statistics of a record at one iteration.
#[derive(Default)]
struct Gathered {
    statistics: PrintedStatistics,
    deviation: Option<f64>,
    /// Other statistics, each of which becomes a value of its own.
    others: Vec<(String, f64)>,
}

/// Reads the log.
pub(super) fn read(path: &str, source: &Source) -> Result<ToolTables> {
    let bytes = read_all(source.as_ref(), LARGEST.min(source.memory_limit()))?;
    let text = String::from_utf8_lossy(&bytes);
    let (mut steps, mut digits, mut damage) = (BTreeMap::<u64, Records>::new(), SeenDigits::default(), None);
    let mut held = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let is_cut = !line.ends_with('\n');
        match Line::parse(line).filter(|_| !is_cut) {
            Some(line) => {
                digits.note(line.text);
                held += steps.entry(line.iteration).or_default().add(&line);
                check_memory(source.as_ref(), held)?;
            }
            None if is_cut || line.contains("iteration=") || line.contains("value=") => {
                let reason = || (format!("line {} is not a whole line", number + 1), 0);
                damage.get_or_insert_with(reason).1 += 1;
            }
            None => {}
        }
    }
    if steps.is_empty() {
        return Err(no_rows_error(path, "nvdlfw-inspect's statistics"));
    }
    let (place, rank) = (ToolPlace::from_path(path), rank_of(path));
    let units = steps.into_iter().map(|(step, records)| ((step, rank.or(place.rank)), records.rows())).collect();
    let precision = digits.precision();
    Ok(ToolTables { tool: Tool::Inspect, path: path.to_owned(), group: place.group, units, precision, damage })
}

/// Rank at the end of a file name such as `nvdlfw_inspect_globalrank-0.log`.
fn rank_of(path: &str) -> Option<u64> {
    let (stem, _) = file_name(path).rsplit_once('.')?;
    stem.rsplit_once("rank")?.1.trim_start_matches(['-', '_']).parse().ok()
}

/// Records of one iteration in the order in which they first appear.
#[derive(Default)]
struct Records {
    places: HashMap<String, usize>,
    records: Vec<(String, Gathered)>,
}

impl Records {
    /// Adds a line and returns the number of bytes that it takes.
    fn add(&mut self, line: &Line<'_>) -> usize {
        let next = self.records.len();
        let place = *self.places.entry(line.record.to_owned()).or_insert(next);
        if place == next {
            self.records.push((line.record.to_owned(), Gathered::default()));
        }
        let Some((_, gathered)) = self.records.get_mut(place) else { return 0 };
        let PrintedStatistics { max, min, mean, .. } = &mut gathered.statistics;
        let known = match line.statistic {
            "max" => max,
            "min" => min,
            "mean" => mean,
            DEVIATION => &mut gathered.deviation,
            other => {
                gathered.others.push((other.to_owned(), line.value));
                return size_of::<(String, f64)>() + other.len();
            }
        };
        match known {
            // A second value of the same statistic becomes a value of its own.
            Some(_) => gathered.others.push((line.statistic.to_owned(), line.value)),
            None => *known = Some(line.value),
        }
        if place == next { size_of::<Gathered>() + 2 * line.record.len() } else { 0 }
    }

    fn rows(self) -> Vec<ToolRow> {
        self.records.into_iter().flat_map(|(name, gathered)| gathered.rows(&name)).collect()
    }
}

impl Gathered {
    fn rows(self, name: &str) -> Vec<ToolRow> {
        let Self { mut statistics, deviation, others } = self;
        // The number of elements is unknown, so the root mean square is used as the norm.
        statistics.norm = match (statistics.mean, deviation) {
            (Some(mean), Some(deviation)) => Some(mean.hypot(deviation)),
            (None, deviation) => deviation,
            (Some(_), None) => None,
        };
        let row = |below: String, content: Content| ToolRow {
            operation: name.to_owned(),
            call: 0,
            below,
            kind: TensorKind::Value,
            content,
        };
        let tensor = |statistics| Content::Tensor { dtype: String::new(), shape: Vec::new(), statistics };
        let whole = (statistics != PrintedStatistics::default()).then(|| row(String::new(), tensor(statistics)));
        let single = |(name, value): (String, f64)| {
            let statistics = PrintedStatistics { max: Some(value), min: Some(value), ..PrintedStatistics::default() };
            let content = if COUNTS.contains(&name.as_str()) { Content::Null } else { tensor(statistics) };
            row(format!(".{name}"), content)
        };
        whole.into_iter().chain(others.into_iter().map(single)).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::fetch::MemorySource;
    use crate::read::dump::precision::Precision;

    fn log(text: &str) -> Result<ToolTables> {
        let path = "nvdlfw_inspect_statistics_logs/nvdlfw_inspect_globalrank-3.log";
        assert!(recognise(path, text.as_bytes()) && recognise("any.log", text.as_bytes()));
        read(path, &(Arc::new(MemorySource::new(path, text.as_bytes().to_vec())) as Source))
    }

    #[test]
    fn lines_are_gathered_by_iteration_and_name() {
        let text = "INFO - fc1_activation_max \t\t iteration=000020 \t\t value=1.4388\n\
                    INFO - fc1_activation_mean \t\t iteration=000020 \t\t value=0.3000\n\
                    INFO - fc1_activation_std \t\t iteration=000020 \t\t value=0.4000\n\
                    INFO - fc1_activation_l2_norm \t\t iteration=000020 \t\t value=nan\n";
        let tables = log(text).expect("a log");
        assert_eq!((tables.precision, tables.damage.is_none()), (Precision::Decimals(4), true));
        let rows = tables.units.get(&(20, Some(3))).expect("a unit");
        assert_eq!(rows.len(), 2);
        let Content::Tensor { statistics, .. } = &rows[0].content else { panic!("a tensor") };
        assert_eq!((rows[0].operation.as_str(), statistics.max), ("fc1_activation", Some(1.4388)));
        assert!((statistics.norm.expect("a norm") - 0.5).abs() < 1e-12);
    }

    #[test]
    fn a_cut_line_is_damage() {
        let line = "INFO - fc1_activation_max \t iteration=000020 \t value=1.4388\n";
        for cut in ["INFO - fc1_activation_min \t iteration=000020 \t value=-1.43", "INFO - fc1_act"] {
            assert!(log(&format!("{line}{cut}")).expect("a log").damage.is_some(), "{cut}");
        }
    }
}
