//! Tables with a header line, separated by commas, semicolons or tabs.
//!
//! One column numbers the steps; every other column of numbers is a metric. TensorBoard's export (`Wall
//! time,Step,Value`) does not say which metric it holds: it is taken for the loss. Empty cells are missing values.

use super::lines::{self, Lines};
use super::{Beside, Collector, CurveFile, Format, Key, Note};
use crate::error::{Error, Result};
use crate::fetch::ByteSource;
use crate::read::metric::{self, Role};

/// Meaning of a column.
#[derive(Clone, Debug, PartialEq)]
enum Column {
    Step,
    /// Another number that orders rows: the epoch, samples, tokens.
    Beside(Key),
    Metric(String),
    Ignored,
}

/// Whether a text is such a table, from its first lines.
pub(super) fn recognise(head: &str) -> bool {
    let mut lines = head.lines().filter(|line| !line.trim().is_empty());
    let (Some(header), Some(row)) = (lines.next(), lines.next()) else { return false };
    let Some((separator, columns)) = header_of(header.trim().as_bytes()) else { return false };
    let cells = cells(row.trim().as_bytes(), separator);
    cells.len() == columns.len()
        && columns.iter().zip(&cells).all(|(column, cell)| match column {
            Column::Step => text(cell).and_then(lines::step).is_some(),
            Column::Beside(_) | Column::Metric(_) | Column::Ignored => true,
        })
        && columns
            .iter()
            .zip(&cells)
            .any(|(column, cell)| matches!(column, Column::Metric(_)) && text(cell).and_then(lines::number).is_some())
}

/// Separator and columns; `None` where the line is not a header of a curve table.
fn header_of(line: &[u8]) -> Option<(u8, Vec<Column>)> {
    let separator = [b',', b'\t', b';'].into_iter().find(|separator| line.contains(separator))?;
    let names: Vec<String> = cells(line, separator)
        .iter()
        .map(|cell| without_run(String::from_utf8_lossy(cell).trim()).to_owned())
        .collect();
    if names.iter().any(|name| name.is_empty() || lines::number(name).is_some()) || is_monitor(&names) {
        return None;
    }
    let best = names.iter().enumerate().filter_map(|(index, name)| Some((metric::step_rank(name)?, index))).min();
    let columns: Vec<Column> = names
        .iter()
        .enumerate()
        .map(|(index, name)| match best {
            Some((_, step)) if step == index => Column::Step,
            _ if let Some(key) = Key::of(name) => Column::Beside(key),
            _ if is_metric(name) => Column::Metric(if name == "Value" { "loss".into() } else { name.clone() }),
            _ => Column::Ignored,
        })
        .collect();
    let known = names.iter().any(|name| matches!(metric::role(&metric::canonical(name)), Role::Loss | Role::GradNorm));
    let metrics = columns.iter().any(|column| matches!(column, Column::Metric(_)));
    (metrics && (best.is_some() || known)).then_some((separator, columns))
}

/// Table of msprobe's monitor: a row per tensor and step, which is not a curve.
fn is_monitor(names: &[String]) -> bool {
    let has = |wanted: &str| names.iter().any(|name| name == wanted);
    has("vpp_stage") && has("name") && has("step")
}

/// W&B exports a curve with its smallest and largest value beside it.
/// Groups of metrics that follow a run's name in an export.
const GROUPS: [&str; 6] = ["train/", "training/", "eval/", "val/", "valid/", "test/"];

/// A column's name without the name of the run that SwanLab puts in front of it: `train/loss` of `llama-npu-train/loss`.
fn without_run(name: &str) -> &str {
    let mut ends = name.match_indices('-').filter_map(|(at, _)| name.get(at + 1..));
    ends.find(|end| GROUPS.iter().any(|group| end.starts_with(group))).unwrap_or(name)
}

fn is_metric(name: &str) -> bool {
    !metric::is_bookkeeping(name)
        && !name.ends_with("_timestamp")
        && !name.ends_with("__MIN")
        && !name.ends_with("__MAX")
}

fn text(cell: &[u8]) -> Option<&str> {
    std::str::from_utf8(cell).ok()
}

/// The cells of a line; a quoted cell may hold the separator, but no line end.
fn cells(line: &[u8], separator: u8) -> Vec<Vec<u8>> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).delimiter(separator).from_reader(line);
    let record = reader.byte_records().next().and_then(std::result::Result::ok);
    record.map(|record| record.iter().map(<[u8]>::to_vec).collect()).unwrap_or_default()
}

pub(super) fn read(source: &dyn ByteSource) -> Result<CurveFile> {
    let mut lines = Lines::new(source);
    let header = lines.next()?.unwrap_or_default();
    let header = header.strip_prefix("\u{feff}".as_bytes()).unwrap_or(header);
    let (separator, columns) = header_of(header)
        .ok_or_else(|| Error::corrupt(source.name(), "line 1: expected the names of a step column and of metrics"))?;
    let mut rows = Rows::new(source, &columns)?;
    let mut skipped = 0;
    let mut cut = false;
    while let Some((line, ended)) = lines.next_with_end()? {
        if !ended && is_cut(line, separator, columns.len()) {
            cut = true;
            // Its last cell may have lost digits; what stands before it is whole.
            let whole = line.rsplitn(2, |byte| *byte == separator).nth(1).unwrap_or_default();
            rows.take(whole.split(|byte| *byte == separator))?;
            continue;
        }
        let taken = if memchr::memchr(b'"', line).is_some() {
            let cells = cells(line, separator);
            rows.take(cells.iter().map(Vec::as_slice))?
        } else {
            rows.take(line.split(|byte| *byte == separator))?
        };
        skipped += u64::from(!taken);
    }
    let file = CurveFile::new(source, Format::Table, rows.collector.finish());
    let file = file.with_note((skipped > 0).then_some(Note::SkippedLines(skipped)));
    Ok(file.with_note(cut.then_some(Note::Truncated)))
}

/// Whether a last line without line end stops inside its row: cells are missing, a quotation is open, or the last cell is
/// empty or ends as no number does.
fn is_cut(line: &[u8], separator: u8, columns: usize) -> bool {
    let quotes = line.iter().filter(|byte| **byte == b'"').count();
    let have = cells(line, separator).len();
    let last = line.last().copied().unwrap_or_default();
    quotes % 2 == 1 || have < columns || matches!(last, b'.' | b'-' | b'+')
}

/// Rows on their way into curves.
struct Rows<'a> {
    collector: Collector<'a>,
    /// Place of each column's metric in the collector.
    places: Vec<Option<usize>>,
    step_column: Option<usize>,
    beside_columns: Vec<(usize, Key)>,
    values: Vec<(usize, f64)>,
    /// Places of the cells of a row that hold no number.
    blanks: Vec<usize>,
}

impl<'a> Rows<'a> {
    fn new(source: &'a dyn ByteSource, columns: &[Column]) -> Result<Self> {
        let mut collector = Collector::new(source.name());
        let step_column = columns.iter().position(|column| *column == Column::Step);
        let beside = |(index, column): (usize, &Column)| match column {
            Column::Beside(key) => Some((index, *key)),
            _ => None,
        };
        let beside_columns = columns.iter().enumerate().filter_map(beside).collect();
        let mut places = Vec::new();
        for column in columns {
            places.push(match column {
                Column::Metric(name) => Some(collector.index_of(name, step_column.is_some())?),
                Column::Step | Column::Beside(_) | Column::Ignored => None,
            });
        }
        Ok(Self { collector, places, step_column, beside_columns, values: Vec::new(), blanks: Vec::new() })
    }

    /// Adds one row; false where it has no step or a cell that should be a number is not.
    fn take<'c>(&mut self, cells: impl Iterator<Item = &'c [u8]>) -> Result<bool> {
        let (mut step, mut beside) = (None, Beside::default());
        let mut sound = true;
        self.values.clear();
        self.blanks.clear();
        for (column, cell) in cells.enumerate() {
            if self.step_column == Some(column) {
                step = lines::plain_step(cell).or_else(|| text(cell).and_then(lines::step));
            } else if let Some((_, key)) = self.beside_columns.iter().find(|(at, _)| *at == column) {
                text(cell).and_then(lines::number).into_iter().for_each(|number| beside.take(*key, number));
            } else if let Some(place) = self.places.get(column).copied().flatten() {
                if let Some(value) = lines::plain_number(cell) {
                    self.values.push((place, value));
                    continue;
                }
                match text(cell).map(|text| (lines::number(text), text)) {
                    Some((Some(value), _)) => self.values.push((place, value)),
                    other => {
                        sound &= other.is_some_and(|(_, text)| text.trim().is_empty());
                        self.blanks.push(place);
                    }
                }
            }
        }
        if step.is_none() && self.step_column.is_some() {
            return Ok(false);
        }
        self.collector.record(beside);
        for (place, value) in self.values.drain(..) {
            self.collector.push_at(place, step, value)?;
        }
        for place in self.blanks.drain(..) {
            self.collector.blank_at(place, step)?;
        }
        Ok(sound)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fetch::Memory;

    fn table(text: &str) -> CurveFile {
        read(&Memory::new("loss.csv", text.as_bytes().to_vec())).expect("a table")
    }

    #[test]
    fn only_tables_of_steps_or_losses_are_claimed() {
        assert!(recognise("step,loss\n1,2.5\n"));
        assert!(recognise("Wall time,Step,Value\n1.7e9,1,2.5\n"));
        assert!(recognise("loss\tgrad_norm\n2.5\t1\n"));
        assert!(!recognise("package,version\ntorch,2.1\n"));
        assert!(!recognise("1,2.5\n2,2.4\n"));
        assert!(!recognise("step,name\n1,linear\n"));
        assert!(!recognise("vpp_stage,name,step,norm,min\n0,layer.weight,1,2.5,0.1\n"));
        assert!(!recognise("NPU Name,Bench Name,Cosine\na,b,1.0\n"));
    }

    #[test]
    fn a_last_row_that_is_cut_is_told_and_its_last_cell_is_not_believed() {
        for (text, steps, cut) in [
            ("step,loss,lr\n1,2.5,0.1\n2,2.4,0.1", 2, false),
            ("step,loss,lr\n1,2.5,0.1\n2,2.4,", 2, false),
            ("step,loss,lr\n1,2.5,0.1\n2,2.", 1, true),
            ("step,loss,lr\n1,2.5,0.1\n2", 1, true),
            ("step,loss\n1,2.5\n2,2.", 1, true),
            ("step,loss\n1,2.5\n2,\"2.4", 1, true),
            ("step,loss,lr\n1,2.5,0.1\n2,2.4\n", 2, false),
        ] {
            let file = table(text);
            assert_eq!(file.series[0].steps.len(), steps, "{text}");
            assert_eq!(file.notes.contains(&Note::Truncated), cut, "{text}");
        }
    }

    #[test]
    fn cells_without_a_number_are_kept_as_steps_without_a_value() {
        let file = table("step,loss\n1,2.5\n2,\n3,none\n4,2.2\n");
        assert_eq!(file.series[0].unrecorded, [2, 3]);
    }

    #[test]
    fn quotes_empty_cells_and_words_for_numbers_are_read() {
        let file = table("step,\"loss, total\",lr\n1,\"2.5\",\n2,nan,0.1\n3,oops,0.2\n");
        assert_eq!(file.series[0].name, "loss, total");
        assert_eq!(file.series[0].steps.len(), 2);
        assert!(file.series[0].values[1].is_nan());
        assert_eq!(file.series[1].points().collect::<Vec<_>>(), [(2, 0.1), (3, 0.2)]);
        assert_eq!(file.notes, [Note::SkippedLines(1)]);
    }
}
