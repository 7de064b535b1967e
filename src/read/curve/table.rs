//! Tables with a header line, separated by commas, semicolons or tabs.
//!
//! One column numbers the steps; every other column of numbers is a metric. TensorBoard's export (`Wall
//! time,Step,Value`) does not say which metric it holds: it is taken for the loss. Empty cells are missing values.

use std::sync::Arc;

use rayon::prelude::*;

use super::batch::Batch;
use super::beside::{ContextKey, KeyMeanings, RecordContext};
use super::collector::Collector;
use super::file::{CurveFile, CurveNote};
use super::format::CurveFormat;
use super::lines::{self, Lines};
use crate::error::{Error, Result};
use crate::fetch::{ByteSource, Room};
use crate::kind::Role;
use crate::read::account::numbers_in_text;
use crate::read::decimal;
use crate::read::metric;

/// Meaning of a column.
#[derive(Clone, Debug, PartialEq)]
enum Column {
    Step,
    /// Another number that orders or separates rows: epoch, samples, tokens, rank.
    Beside(ContextKey),
    Metric(String),
    /// Name of the metric that a row of a long table holds.
    Key,
    /// Value that a row of a long table holds.
    Value,
    /// Run that a row of a long table belongs to.
    Run,
    /// Data that a row was measured on: training or held-out data.
    Phase,
    Ignored,
}

/// Whether a text is such a table, from its first lines.
pub(super) fn recognise(head: &str) -> bool {
    let mut lines = head.lines().filter(|line| !line.trim().is_empty() && !is_comment(line.trim().as_bytes()));
    let Some(header) = lines.next() else { return false };
    let Some((separator, columns)) = header_of(header.trim().as_bytes()) else { return false };
    let Some(row) = lines.next() else { return is_unmistakable(&columns) };
    let cells = cells(row.trim().as_bytes(), separator);
    cells.len() == columns.len()
        && columns.iter().zip(&cells).all(|(column, cell)| match column {
            Column::Step => text(cell).and_then(lines::parse_step).is_some(),
            _ => true,
        })
        && columns.iter().zip(&cells).any(|(column, cell)| {
            matches!(column, Column::Metric(_) | Column::Value) && text(cell).and_then(lines::parse_cell).is_some()
        })
}

/// Whether a header alone shows that a table holds curves: it has steps and a known metric.
fn is_unmistakable(columns: &[Column]) -> bool {
    let is_known = |column: &Column| match column {
        Column::Metric(name) => matches!(metric::role(&metric::canonical(name)), Role::Loss | Role::GradNorm),
        _ => false,
    };
    columns.contains(&Column::Step) && columns.iter().any(is_known)
}

/// Separator and columns; `None` where the line is not a header of a curve table.
fn header_of(line: &[u8]) -> Option<(u8, Vec<Column>)> {
    let separator = [b',', b'\t', b';'].into_iter().find(|separator| line.contains(separator))?;
    let whole: Vec<String> =
        cells(line, separator).iter().map(|cell| String::from_utf8_lossy(cell).trim().to_owned()).collect();
    let names: Vec<String> = whole.iter().map(|name| without_run(name, &whole).to_owned()).collect();
    // A table of pandas begins with its index, which has no name.
    let is_unnamed =
        |(index, name): (usize, &String)| name.is_empty() && index > 0 || lines::parse_number(name).is_some();
    if names.iter().enumerate().any(is_unnamed) || is_monitor(&names) {
        return None;
    }
    let best = names.iter().enumerate().filter_map(|(index, name)| Some((metric::step_rank(name)?, index))).min();
    if let (Some((_, step)), Some(columns)) = (best, long(&names)) {
        let columns = columns.into_iter().enumerate();
        let columns = columns.map(|(index, column)| if index == step { Column::Step } else { column });
        return Some((separator, columns.collect()));
    }
    let columns: Vec<Column> = names
        .iter()
        .enumerate()
        .map(|(index, name)| match best {
            Some((_, step)) if step == index => Column::Step,
            _ if let Some(key) = ContextKey::from_name(name) => Column::Beside(key),
            _ if name.is_empty() || name.starts_with("Unnamed:") => Column::Ignored,
            _ if is_phase(name) => Column::Phase,
            // Rows of several folds or seeds become separate series, as those of several ranks do.
            _ if ["fold", "seed"].iter().any(|known| known.eq_ignore_ascii_case(name)) => {
                Column::Beside(ContextKey::Rank)
            }
            _ if is_metric(name) => Column::Metric(if name == "Value" { "loss".into() } else { name.clone() }),
            _ => Column::Ignored,
        })
        .collect();
    let has_epoch = columns.contains(&Column::Beside(ContextKey::Epoch));
    let known = names.iter().any(|name| match metric::role(&metric::canonical(name)) {
        Role::Loss | Role::GradNorm => true,
        Role::EvalLoss | Role::EvalScore | Role::AuxiliaryLoss => has_epoch,
        _ => false,
    });
    let metrics = columns.iter().any(|column| matches!(column, Column::Metric(_)));
    (metrics && (best.is_some() || known)).then_some((separator, columns))
}

/// Whether a column names the data that its rows were measured on.
fn is_phase(name: &str) -> bool {
    ["phase", "split", "mode", "stage", "subset", "dataset"].iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// Columns of a long table, in which each row holds one value and the name of its metric.
fn long(names: &[String]) -> Option<Vec<Column>> {
    let is = |name: &String, known: &[&str]| known.iter().any(|known| name.eq_ignore_ascii_case(known));
    let column = |name: &String| match name {
        name if is(name, &["name", "key", "metric", "metric_name", "tag"]) => Column::Key,
        name if is(name, &["value"]) => Column::Value,
        name if is(name, &["run", "run_id", "run_name", "run_uuid", "run_hash", "run.hash"]) => Column::Run,
        _ => Column::Ignored,
    };
    let columns: Vec<Column> = names.iter().map(column).collect();
    let one = |wanted: &Column| columns.iter().filter(|column| *column == wanted).count() == 1;
    (one(&Column::Key) && one(&Column::Value)).then_some(columns)
}

/// Whether a header is that of msprobe's monitor, which has a row per tensor and step and is not a curve.
fn is_monitor(names: &[String]) -> bool {
    let has = |wanted: &str| names.iter().any(|name| name == wanted);
    has("vpp_stage") && has("name") && has("step")
}

/// Groups of metrics that follow a run's name in an export.
const GROUPS: [&str; 6] = ["train/", "training/", "eval/", "val/", "valid/", "test/"];

/// A column's name without the run's name that SwanLab puts in front of it: `train/loss` for `llama-npu-train/loss`. A name
/// without such a group is reduced to its shortest ending that is a known metric, but only where a `_timestamp` column beside
/// it shows that SwanLab wrote the file.
fn without_run<'n>(name: &'n str, all: &[String]) -> &'n str {
    let ends = || name.match_indices('-').filter_map(|(at, _)| name.get(at + 1..));
    if let Some(end) = ends().find(|end| GROUPS.iter().any(|group| end.starts_with(group))) {
        return end;
    }
    let is_swanlab = all.iter().any(|other| other.strip_suffix("_timestamp") == Some(name));
    let is_known = |end: &&str| metric::role(&metric::canonical(end)) != Role::Other;
    ends().filter(|_| is_swanlab).rfind(is_known).unwrap_or(name)
}

/// Whether a column is a metric. W&B exports smallest and largest values beside a curve, SwanLab its times; those are not metrics.
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

pub(super) fn read(source: &dyn ByteSource, room: &Arc<Room>) -> Result<CurveFile> {
    let mut lines = Lines::new(source);
    let header = header_line(&mut lines)?;
    let (separator, columns) = header_of(&header)
        .ok_or_else(|| Error::corrupt(source.name(), "line 1: expected the names of a step column and of metrics"))?;
    let layout = Layout::new(named_by_path(columns, source.name()), separator);
    let mut collector = Collector::new(source.name(), room);
    for name in layout.metrics.iter().flatten() {
        collector.index_of(name, layout.step_column.is_some())?;
    }
    let mut table = Table { layout, collector, run: None, count: 0, skipped: 0 };
    while let Some(part) = lines.next_part()? {
        let read: Vec<Rows> = lines::pieces(part).into_par_iter().map(|piece| table.layout.rows(piece)).collect();
        let ended = lines::line_count(part);
        read.into_iter().try_for_each(|rows| table.take(rows))?;
        lines.number += ended;
    }
    let mut cut = false;
    while let Some((line, ended)) = lines.next_with_end()? {
        let mut rows = Rows::default();
        cut = !ended && is_cut(line, separator, table.layout.columns);
        if cut {
            // The last cell may have lost digits; the cells before it are complete.
            let whole = line.rsplitn(2, |byte| *byte == separator).nth(1).unwrap_or_default();
            table.layout.row(whole.split(|byte| *byte == separator).map(Cell::of), &mut rows);
            rows.skipped = 0;
        } else {
            table.layout.line(line, &mut rows);
        }
        table.take(rows)?;
    }
    if table.count == 0 {
        let message = "has the header of a table of curves, and no row; expected one per logged step";
        return Err(Error::corrupt(source.name(), message).with_help("give the complete file, as the run wrote it"));
    }
    let file = CurveFile::from_collector(source, CurveFormat::Table, table.collector)?;
    let file = file.with_note((table.skipped > 0).then_some(CurveNote::SkippedLines(table.skipped)));
    Ok(file.with_note(cut.then_some(CurveNote::Truncated)))
}

/// Whether a line above the header is a comment.
fn is_comment(line: &[u8]) -> bool {
    line.starts_with(b"#") && !line.contains(&b',') || line.starts_with(b"# ") || line.starts_with(b"//")
}

/// The line with the names of the columns: the first one that is not a comment.
fn header_line(lines: &mut Lines<'_>) -> Result<Vec<u8>> {
    while let Some(line) = lines.next()? {
        let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
        if !is_comment(line) {
            return Ok(line.to_vec());
        }
    }
    Ok(Vec::new())
}

/// Names a column by its file's path, as DVCLive needs: there a column has only the last part of the metric's name, and the path
/// has all of it (`plots/metrics/train/loss.tsv`).
fn named_by_path(mut columns: Vec<Column>, path: &str) -> Vec<Column> {
    const FOLDER: &str = "plots/metrics/";
    let stem = path.rsplit_once('.').map_or(path, |(stem, _)| stem);
    let below = stem.rfind(FOLDER).and_then(|at| stem.get(at + FOLDER.len()..));
    let mut metrics = columns.iter_mut().filter_map(|column| match column {
        Column::Metric(name) => Some(name),
        _ => None,
    });
    if let (Some(name), None, Some(below)) = (metrics.next(), metrics.next(), below)
        && below.rsplit('/').next() == Some(name.as_str())
    {
        below.clone_into(name);
    }
    columns
}

/// Whether a last line without line end stops inside its row: cells are missing, a quotation is open, or the last cell is
/// empty or ends as no number does.
fn is_cut(line: &[u8], separator: u8, columns: usize) -> bool {
    let quotes = line.iter().filter(|byte| **byte == b'"').count();
    let have = cells(line, separator).len();
    let last = line.last().copied().unwrap_or_default();
    quotes % 2 == 1 || have < columns || matches!(last, b'.' | b'-' | b'+')
}

/// Meaning of the cells of a row.
struct Layout {
    separator: u8,
    /// Number of columns.
    columns: usize,
    /// Name of each column's metric; `None` for other columns.
    metrics: Vec<Option<String>>,
    step_column: Option<usize>,
    beside_columns: Vec<(usize, ContextKey)>,
    /// Columns of the name and of the value of a long table.
    long: Option<(usize, usize)>,
    run_column: Option<usize>,
    /// Column that names the data of a row.
    phase_column: Option<usize>,
    /// Whether the decimal separator is a comma.
    decimal_comma: bool,
}

/// A cell of a row, with its text where it is valid UTF-8.
#[derive(Clone, Copy)]
struct Cell<'l> {
    bytes: &'l [u8],
    text: Option<&'l str>,
}

impl<'l> Cell<'l> {
    fn of(bytes: &'l [u8]) -> Self {
        Self { bytes, text: text(bytes) }
    }

    fn of_text(text: &'l str) -> Self {
        Self { bytes: text.as_bytes(), text: Some(text) }
    }
}

/// Rows of a part of a table.
#[derive(Default)]
struct Rows {
    batch: Batch,
    /// The run of a long table's first row.
    run: Option<Vec<u8>>,
    /// Whether a long table has rows of several runs. Reading stops at the first row of a second run.
    has_several_runs: bool,
    /// Number of rows read.
    count: u64,
    /// Number of rows without a step, or with a cell that should be a number and is not.
    skipped: u64,
    /// Index of each metric column in the batch: for rows of training data, and for rows of held-out data.
    places: [Vec<Option<usize>>; 2],
    /// Batch columns of the current row that hold no number.
    blanks: Vec<usize>,
    /// Cells of metric columns that contain digits but are no number: column and text.
    unread: Vec<(usize, String)>,
    /// Meanings of the names in a long table.
    keys: KeyMeanings,
}

impl Layout {
    fn new(columns: Vec<Column>, separator: u8) -> Self {
        let place_of = |wanted: &Column| columns.iter().position(|column| column == wanted);
        let beside = |(index, column): (usize, &Column)| match column {
            Column::Beside(key) => Some((index, *key)),
            _ => None,
        };
        let metric = |column: &Column| match column {
            Column::Metric(name) => Some(name.clone()),
            _ => None,
        };
        Self {
            separator,
            columns: columns.len(),
            metrics: columns.iter().map(metric).collect(),
            step_column: place_of(&Column::Step),
            beside_columns: columns.iter().enumerate().filter_map(beside).collect(),
            long: place_of(&Column::Key).zip(place_of(&Column::Value)),
            run_column: place_of(&Column::Run),
            phase_column: place_of(&Column::Phase),
            decimal_comma: separator == b';',
        }
    }

    fn number(&self, text: &str) -> Option<f64> {
        if self.decimal_comma && text.contains(',') {
            lines::parse_cell(&text.replace(',', "."))
        } else {
            lines::parse_cell(text)
        }
    }

    /// Whether a cell is a word in a column whose name is no known metric.
    fn is_text(&self, column: usize, cell: Cell<'_>) -> bool {
        let is_word = cell.text.map(str::trim).is_some_and(|text| text.starts_with(char::is_alphabetic));
        let name = self.metrics.get(column).and_then(Option::as_ref);
        is_word && name.is_some_and(|name| metric::role(&metric::canonical(name)) == Role::Other)
    }

    /// The rows of a text of whole lines.
    fn rows(&self, piece: &[u8]) -> Rows {
        let mut rows = Rows::default();
        for (_, line) in lines::numbered_lines(piece) {
            self.line(line, &mut rows);
            if rows.has_several_runs {
                break;
            }
        }
        rows
    }

    /// Adds the row of a line.
    fn line(&self, line: &[u8], rows: &mut Rows) {
        if memchr::memchr(b'"', line).is_some() {
            let cells = cells(line, self.separator);
            self.row(cells.iter().map(|cell| Cell::of(cell)), rows);
        } else if let Some(line) = text(line) {
            let ends = memchr::memchr_iter(self.separator, line.as_bytes()).chain([line.len()]);
            let cells = ends.scan(0, |start, end| line.get(std::mem::replace(start, end + 1)..end));
            self.row(cells.map(Cell::of_text), rows);
        } else {
            self.row(line.split(|byte| *byte == self.separator).map(Cell::of), rows);
        }
    }

    /// Adds one row.
    fn row<'l>(&self, cells: impl Iterator<Item = Cell<'l>>, rows: &mut Rows) {
        rows.count += 1;
        let is_sound = match self.long {
            Some((key, value)) => self.long_row(&cells.collect::<Vec<_>>(), (key, value), rows),
            None => match self.phase_column {
                Some(column) => {
                    let cells: Vec<Cell<'_>> = cells.collect();
                    let phase = cells.get(column).and_then(|cell| cell.text);
                    let is_held_out = phase.is_some_and(|phase| metric::is_held_out(phase.trim()));
                    self.wide_row(cells.into_iter(), is_held_out, rows)
                }
                None => self.wide_row(cells, false, rows),
            },
        };
        rows.skipped += u64::from(!is_sound);
    }

    /// Adds one row of a long table. Returns false where it has no name, step or value.
    fn long_row(&self, cells: &[Cell<'_>], (key, value): (usize, usize), rows: &mut Rows) -> bool {
        let cell = |at: usize| cells.get(at).and_then(|cell| cell.text).map(str::trim);
        if let Some(run) = self.run_column.and_then(|at| cells.get(at))
            && rows.run.get_or_insert_with(|| run.bytes.to_vec()).as_slice() != run.bytes
        {
            rows.has_several_runs = true;
            return true;
        }
        let step = self.step_column.and_then(cell).and_then(lines::parse_step);
        let (Some(name), Some(step), Some(value)) = (cell(key), step, cell(value).and_then(|text| self.number(text)))
        else {
            return false;
        };
        if !rows.keys.of(name).is_bookkeeping {
            let column = rows.batch.column(name);
            rows.batch.add(column, Some(value));
            rows.batch.finish_record(RecordContext::default(), Some(step));
        }
        true
    }

    /// Adds one row with a column per metric. Returns false where it has no step, or where a cell that should be a number is none.
    fn wide_row<'l>(&self, cells: impl Iterator<Item = Cell<'l>>, is_held_out: bool, rows: &mut Rows) -> bool {
        let [train, held_out] = &mut rows.places;
        let places = if is_held_out { held_out } else { train };
        if places.is_empty() {
            let batch = &mut rows.batch;
            let mut place =
                |name: &String| batch.column(&if is_held_out { format!("val/{name}") } else { name.clone() });
            *places = self.metrics.iter().map(|name| name.as_ref().map(&mut place)).collect();
        }
        let (mut step, mut beside) = (None, RecordContext::default());
        let mut is_sound = true;
        for (column, cell) in cells.enumerate() {
            if self.step_column == Some(column) {
                step = lines::plain_step(cell.bytes).or_else(|| cell.text.and_then(lines::parse_step));
            } else if let Some((_, key)) = self.beside_columns.iter().find(|(at, _)| *at == column) {
                cell.text.and_then(lines::parse_number).into_iter().for_each(|number| beside.set(*key, number));
            } else if let Some(place) = places.get(column).copied().flatten() {
                let number = decimal::nearest_f64(cell.bytes).or_else(|| self.number(cell.text?));
                if let Some(value) = number {
                    rows.batch.add(place, Some(value));
                } else if self.is_text(column, cell) {
                    // Words beside the metrics are no damage: the row still counts as sound.
                } else {
                    is_sound &= cell.text.is_some_and(|text| text.trim().is_empty());
                    rows.blanks.push(place);
                    let text = cell.text.filter(|text| text.contains(|sign: char| sign.is_ascii_digit()));
                    rows.unread.extend(text.map(|text| (column, text.trim().to_owned())));
                }
            }
        }
        if step.is_none() && self.step_column.is_some() {
            rows.blanks.clear();
            rows.batch.discard();
            return false;
        }
        for place in rows.blanks.drain(..) {
            rows.batch.add(place, None);
        }
        rows.batch.finish_record(beside, step);
        is_sound
    }
}

/// State while a table is read: its layout, and what was collected so far.
struct Table {
    layout: Layout,
    collector: Collector,
    /// The run of a long table's rows.
    run: Option<Vec<u8>>,
    count: u64,
    skipped: u64,
}

impl Table {
    /// Adds the rows of a part.
    fn take(&mut self, rows: Rows) -> Result<()> {
        self.count += rows.count;
        self.skipped += rows.skipped;
        if self.run.is_none() {
            self.run.clone_from(&rows.run);
        }
        if rows.run.is_some() && self.run != rows.run {
            return Err(self.collector.several_runs_error());
        }
        for (column, text) in &rows.unread {
            let name = self.layout.metrics.get(*column).and_then(Option::as_ref);
            if let Some(name) = name.filter(|name| metric::is_key_metric(&metric::canonical(name))) {
                self.collector.note_unread(&format!("{name}: {text}"), name, &numbers_in_text(text));
            }
        }
        self.collector.add_batch(&rows.batch)?;
        if rows.has_several_runs { Err(self.collector.several_runs_error()) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fetch::MemorySource;

    fn table(text: &str) -> CurveFile {
        read(&MemorySource::new("loss.csv", text.as_bytes().to_vec()), &Room::unlimited()).expect("a table")
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
            assert_eq!(file.loaded()[0].steps.len(), steps, "{text}");
            assert_eq!(file.notes.contains(&CurveNote::Truncated), cut, "{text}");
        }
    }

    #[test]
    fn cells_without_a_number_are_kept_as_steps_without_a_value() {
        let file = table("step,loss\n1,2.5\n2,\n3,none\n4,2.2\n");
        assert_eq!(file.loaded()[0].unrecorded, [2, 3]);
    }

    fn points(file: &CurveFile, name: &str) -> Vec<(u64, f64)> {
        file.loaded().into_iter().find(|series| series.name == name).expect(name).points().collect()
    }

    #[test]
    fn a_semicolon_makes_the_comma_a_decimal_sign() {
        assert_eq!(points(&table("step;loss\n1;2,5\n2;1,234\n"), "loss"), [(1, 2.5), (2, 1.234)]);
        assert_eq!(points(&table("step,loss\n1,\"1,234\"\n"), "loss"), [(1, 1234.0)]);
    }

    #[test]
    fn a_long_table_names_the_metric_of_each_row() {
        let text =
            "run_id,key,value,timestamp,step\nab,train/loss,2.5,17,1\nab,grad_norm,1.5,17,1\nab,train/loss,2.25,18,2\n";
        assert!(recognise(text));
        let file = table(text);
        assert_eq!(points(&file, "train/loss"), [(1, 2.5), (2, 2.25)]);
        assert_eq!(points(&file, "grad_norm"), [(1, 1.5)]);
        let several =
            read(&MemorySource::new("a.csv", text.replace("ab,grad", "cd,grad").into_bytes()), &Room::unlimited());
        assert!(several.expect_err("two runs").message().contains("several runs"));
    }

    #[test]
    fn names_of_runs_and_folders_of_metrics_belong_to_no_metric_or_to_it() {
        let file = table("step,llama-npu-loss,llama-npu-loss_timestamp\n1,2.5,17\n");
        assert_eq!(points(&file, "loss"), [(1, 2.5)]);
        let dvclive = MemorySource::new("run/dvclive/plots/metrics/eval/loss.tsv", b"step\tloss\n1\t2.5\n".to_vec());
        assert_eq!(read(&dvclive, &Room::unlimited()).expect("a table").series[0].name(), "eval/loss");
    }

    #[test]
    fn a_header_without_rows_is_damage() {
        assert!(recognise("step,loss\n") && !recognise("step,name\n"));
        let error = read(&MemorySource::new("a.csv", b"step,loss\n".to_vec()), &Room::unlimited()).expect_err("no row");
        assert!(error.message().contains("no row"), "{error}");
    }

    #[test]
    fn quotes_empty_cells_and_words_for_numbers_are_read() {
        let file = table("step,\"loss, total\",lr\n1,\"2.5\",\n2,nan,0.1\n3,oops,0.2\n");
        assert_eq!(file.loaded()[0].name, "loss, total");
        assert_eq!(file.loaded()[0].steps.len(), 2);
        assert!(file.loaded()[0].values[1].is_nan());
        assert_eq!(file.loaded()[1].points().collect::<Vec<_>>(), [(2, 0.1), (3, 0.2)]);
        assert_eq!(file.notes, [CurveNote::SkippedLines(1)]);
    }
}
