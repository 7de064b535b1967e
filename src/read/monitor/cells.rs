//! Header and cells of a monitor's table.

use super::place::MonitorPlace;
use super::row::{MonitorRow, MonitorStatistics, says_absent};
use super::texts::{Name, TableTexts};
use super::version::MonitorVersion;
use crate::kind::{MonitorKind, Statistic};
use crate::read::account::{UnreadNumbers, numbers_in_text};
use crate::read::decimal;
use crate::read::metric;

/// Content of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Stage,
    Name,
    Step,
    Scope,
    MicroStep,
    Statistic(Statistic),
    Nans,
    Shape,
    Dtype,
    /// A known column that holds no measure.
    Known,
    /// A column with an unknown name.
    Unread,
}

/// Columns that hold no measure of a tensor, each with its reason.
const KNOWN: [&str; 2] = [
    // A count of elements.
    "zeros", // An identity of the tensor in its process.
    "id",
];

/// The header of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MonitorHeader {
    /// The tool that wrote it.
    pub version: MonitorVersion,
    columns: Vec<Column>,
    /// Indices and names of the unknown columns.
    unread: Vec<(usize, String)>,
}

/// Error of a line that cannot be read as a row.
pub(super) struct Broken;

impl MonitorHeader {
    /// Reads the first line of a table; `None` if another tool wrote it.
    pub fn parse(line: &[u8]) -> Option<Self> {
        let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
        let line = std::str::from_utf8(line).ok()?.trim_end_matches(['\r', '\n']);
        let names: Vec<&str> = line.split(',').map(str::trim).collect();
        let version = match names.as_slice() {
            ["vpp_stage", "name", "step", ..] => MonitorVersion::V1,
            ["vpp_stage", "step", "module_name", "scope", ..] => MonitorVersion::V2,
            _ => return None,
        };
        let column = |name: &str| match name {
            "vpp_stage" => Column::Stage,
            "name" | "module_name" => Column::Name,
            "step" => Column::Step,
            "scope" => Column::Scope,
            "micro_step" => Column::MicroStep,
            "nans" => Column::Nans,
            "shape" => Column::Shape,
            "dtype" => Column::Dtype,
            other => Statistic::ALL
                .into_iter()
                .find(|statistic| statistic.as_str() == other)
                .map(Column::Statistic)
                .unwrap_or(if KNOWN.contains(&other) { Column::Known } else { Column::Unread }),
        };
        let columns: Vec<Column> = names.iter().copied().map(column).collect();
        let unread = columns.iter().enumerate().filter(|(_, column)| **column == Column::Unread);
        let unread = unread.filter_map(|(place, _)| Some((place, (*names.get(place)?).to_owned()))).collect();
        Some(Self { version, columns, unread })
    }

    /// Whether the table records a statistic that can be compared.
    pub(crate) fn has_statistics(&self) -> bool {
        self.columns.iter().any(|column| matches!(column, Column::Statistic(_)))
    }

    /// Whether the last column is an element type. Its known names show whether the last cell is complete or cut.
    pub(super) fn ends_in_text(&self) -> bool {
        matches!(self.columns.last(), Some(Column::Dtype))
    }

    /// Records the numbers of a line in unknown columns.
    pub(super) fn note_unread(&self, line: &[u8], account: &mut UnreadNumbers) {
        let Some(line) = Some(line).filter(|_| !self.unread.is_empty()).and_then(|line| std::str::from_utf8(line).ok())
        else {
            return;
        };
        let cells: Vec<&str> = Cells(Some(line)).collect();
        for (place, name) in &self.unread {
            let cell = cells.get(*place).copied().unwrap_or_default();
            let values = numbers_in_text(cell);
            if !values.is_empty() {
                let names = Some(name.clone()).filter(|name| metric::is_key_metric(&metric::canonical(name)));
                account.add_text(&format!("{name}: {cell}"), names.into_iter().collect(), &values);
            }
        }
    }

    /// Reads a line; `None` if it is not a row under this header.
    pub fn read(&self, line: &[u8], place: &MonitorPlace) -> Option<MonitorRow> {
        Some(self.line(line, place).ok()??.into_row(self.version, &TableTexts::default()))
    }

    /// Reads the cells of a line; `Ok(None)` for a line of a communication table that is left out.
    pub(super) fn line<'l>(&self, line: &'l [u8], place: &MonitorPlace) -> Result<Option<Line<'l>>, Broken> {
        let line = std::str::from_utf8(line).map_err(|_| Broken)?;
        if self.version == MonitorVersion::V1 && place.kinds() == [MonitorKind::Comm] {
            return Ok(self.shifted(line, place));
        }
        let mut cells = Cells(Some(line));
        let mut raw = Raw::default();
        for column in &self.columns {
            raw.take(*column, cells.next().ok_or(Broken)?)?;
        }
        if cells.next().is_some() {
            return Err(Broken);
        }
        raw.finish(self.version, place).map(Some)
    }

    /// Reads a line of V1's communication table. Its cells are `name, first statistic, step, other statistics`, in another order than
    /// its header.
    fn shifted<'l>(&self, line: &'l str, place: &MonitorPlace) -> Option<Line<'l>> {
        let statistics: Vec<Column> =
            self.columns.iter().copied().filter(|column| !is_key(*column) && *column != Column::MicroStep).collect();
        let (first, rest) = statistics.split_first()?;
        let order = [Column::Name, *first, Column::Step];
        let columns: Vec<Column> = order.into_iter().chain(rest.iter().copied()).collect();
        if columns.len() != Cells(Some(line)).count() {
            return None;
        }
        let mut raw = Raw::default();
        for (column, cell) in columns.into_iter().zip(Cells(Some(line))) {
            raw.take(column, cell).ok()?;
        }
        raw.finish(MonitorVersion::V1, place).ok()
    }
}

fn is_key(column: Column) -> bool {
    matches!(column, Column::Stage | Column::Name | Column::Step | Column::Scope)
}

/// A row whose texts are borrowed from the line.
pub(super) struct Line<'l> {
    /// Kind of the tensor.
    pub(super) kind: MonitorKind,
    /// Stage of the pipeline.
    pub(super) stage: i64,
    /// Name of the tensor as the tool wrote it.
    pub(super) name: &'l str,
    /// The step as written.
    pub(super) step: u64,
    /// Micro step, if the table counts them.
    pub(super) micro_step: Option<u64>,
    /// The statistics.
    pub(super) statistics: MonitorStatistics,
    /// Number of NaN elements, if it was recorded.
    pub(super) nans: Option<f64>,
    /// Shape and element type, if they were recorded.
    pub(super) words: [Option<&'l str>; 2],
}

impl Line<'_> {
    /// Whether the row says that there was no tensor.
    pub(super) fn is_absent(&self) -> bool {
        says_absent(&self.statistics, self.nans, self.words)
    }

    /// Converts the line into a row that shares stored texts.
    pub(super) fn into_row(self, version: MonitorVersion, texts: &TableTexts) -> MonitorRow {
        let Name { written, canonical } = texts.name(self.name, self.kind, version);
        let [shape, dtype] = self.words.map(|word| word.map(|word| texts.word(word)));
        MonitorRow {
            kind: self.kind,
            stage: self.stage,
            name: written,
            canonical,
            step: self.step,
            micro_step: self.micro_step,
            statistics: self.statistics,
            nans: self.nans,
            shape,
            dtype,
        }
    }
}

/// A line while its cells are read.
#[derive(Default)]
struct Raw<'l> {
    stage: i64,
    name: Option<&'l str>,
    step: Option<u64>,
    scope: Option<&'l str>,
    micro_step: Option<u64>,
    statistics: MonitorStatistics,
    nans: Option<f64>,
    words: [Option<&'l str>; 2],
}

impl<'l> Raw<'l> {
    fn take(&mut self, column: Column, cell: &'l str) -> Result<(), Broken> {
        let [shape, dtype] = &mut self.words;
        match column {
            Column::Stage if cell.is_empty() => {}
            Column::Stage => self.stage = integer::<i64>(cell)?.max(0),
            Column::Name => self.name = Some(cell),
            Column::Step => self.step = Some(integer(cell)?),
            Column::Scope => self.scope = Some(cell),
            Column::MicroStep if cell.is_empty() => {}
            Column::MicroStep => self.micro_step = Some(integer(cell)?),
            Column::Statistic(statistic) => self.statistics.set(statistic, number(cell)?),
            Column::Nans => self.nans = Some(number(cell)?),
            Column::Shape => *shape = Some(cell),
            Column::Dtype => *dtype = Some(cell),
            Column::Known | Column::Unread => {}
        }
        Ok(())
    }

    fn finish(self, version: MonitorVersion, place: &MonitorPlace) -> Result<Line<'l>, Broken> {
        let kind = match version {
            MonitorVersion::V1 => *place.kinds().first().ok_or(Broken)?,
            MonitorVersion::V2 => kind_of_scope(self.scope.unwrap_or_default()).ok_or(Broken)?,
        };
        let micro_step = match (version, kind) {
            // V1 counts micro steps from 0, V2 from 1. For a reduced gradient V2 writes the number of micro steps instead.
            (MonitorVersion::V2, MonitorKind::GradUnreduced) => self.micro_step.map(|number| number.saturating_sub(1)),
            (MonitorVersion::V2, _) => None,
            (MonitorVersion::V1, _) => self.micro_step,
        };
        Ok(Line {
            kind,
            stage: self.stage,
            name: self.name.ok_or(Broken)?,
            step: self.step.ok_or(Broken)?,
            micro_step,
            statistics: self.statistics,
            nans: self.nans,
            words: self.words,
        })
    }
}

fn kind_of_scope(scope: &str) -> Option<MonitorKind> {
    Some(match scope {
        "param_origin" => MonitorKind::ParamOrigin,
        "param_updated" => MonitorKind::ParamUpdated,
        "forward" => MonitorKind::Actv,
        "backward" => MonitorKind::ActvGrad,
        "unreduced" => MonitorKind::GradUnreduced,
        "reduced" => MonitorKind::GradReduced,
        "comm" => MonitorKind::Comm,
        "exp_avg" => MonitorKind::ExpAvg,
        "exp_avg_sq" => MonitorKind::ExpAvgSq,
        _ => return None,
    })
}

fn integer<T: std::str::FromStr>(cell: &str) -> Result<T, Broken> {
    // pandas writes a column of integers with a gap as 0.0.
    cell.strip_suffix(".0").unwrap_or(cell).parse().map_err(|_| Broken)
}

/// Reads a number as the tool writes it. An empty cell is NaN, because pandas writes NaN that way.
fn number(cell: &str) -> Result<f64, Broken> {
    if cell.is_empty() {
        return Ok(f64::NAN);
    }
    decimal::parse_f64(cell).ok_or(Broken)
}

/// Iterator over the cells of a line. A quoted cell may hold commas.
pub(super) struct Cells<'l>(pub(super) Option<&'l str>);

impl<'l> Iterator for Cells<'l> {
    type Item = &'l str;

    fn next(&mut self) -> Option<&'l str> {
        let rest = self.0?;
        if rest.as_bytes().first() == Some(&b'"')
            && let Some((cell, after)) = rest.get(1..).and_then(|quoted| quoted.split_once('"'))
        {
            self.0 = after.strip_prefix(',');
            return Some(cell);
        }
        match memchr::memchr(b',', rest.as_bytes()).and_then(|comma| Some((rest.get(..comma)?, rest.get(comma + 1..)?)))
        {
            Some((cell, next)) => {
                self.0 = Some(next);
                Some(cell)
            }
            None => self.0.take(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(text: &str) -> MonitorHeader {
        MonitorHeader::parse(text.as_bytes()).expect("a header")
    }

    #[test]
    fn headers_of_both_versions_are_told_from_others() {
        assert_eq!(header("\u{feff}vpp_stage,name,step,norm\r").version, MonitorVersion::V1);
        assert_eq!(header("vpp_stage,step,module_name,scope,norm").version, MonitorVersion::V2);
        for other in ["step,loss", "a,b,c,d,e,norm", "vpp_stage,step,name,norm", ""] {
            assert_eq!(MonitorHeader::parse(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn a_row_without_a_tensor_is_told_from_nan() {
        let header = header("vpp_stage,name,step,norm,nans,shape,dtype");
        let place = MonitorPlace::from_path("a-rank0-b/actv_grad_0-4.csv");
        let row = |line: &str| header.read(line.as_bytes(), &place).expect("a row");
        assert!(row("0,fc.input,0,nan,nan,nan,nan").is_absent());
        assert!(!row("0,fc.input,0,nan,3,[4],torch.float32").is_absent());
        assert!(header.line(b"0,fc.input,0,1.5", &place).is_err());
    }

    #[test]
    fn communication_of_v1_is_read_as_it_is_shifted_or_left_out() {
        let header = header("vpp_stage,name,step,norm,min,max");
        let place = MonitorPlace::from_path("a-rank0-b/other_0-4.csv");
        let row = header.read(b"all_reduce,2.5,3,-1.0,1.0", &place).expect("a shifted row");
        assert_eq!((&*row.name, row.step, row.statistics.get(Statistic::Norm)), ("all_reduce", 3, Some(2.5)));
        assert!(header.line(b"all_reduce,2.5,3,-1.0,1.0,2.5,-1.0", &place).is_ok_and(|row| row.is_none()));
    }

    #[test]
    fn numbers_of_a_column_that_is_not_known_are_noted() {
        let header = header("vpp_stage,name,step,norm,kurtosis,zeros,id,dtype");
        let mut account = UnreadNumbers::default();
        header.note_unread(b"0,fc.weight,1,2.5,3.5,7,140233,torch.float32", &mut account);
        header.note_unread(b"0,fc.bias,1,2.5,nan,7,140233,torch.float32", &mut account);
        let [unread] = account.shapes() else { panic!("{account:?}") };
        assert_eq!((unread.shape.as_str(), unread.count, unread.names.len()), ("kurtosis: #", 2, 0));
        assert!(unread.columns[0][1].is_nan());
        let known = MonitorHeader::parse(b"vpp_stage,name,step,norm,zeros").expect("a header");
        known.note_unread(b"0,fc.bias,1,2.5,7", &mut account);
        assert_eq!(account.shapes().len(), 1);
    }

    #[test]
    fn a_quoted_cell_may_hold_commas() {
        let cells = |line: &'static str| Cells(Some(line)).collect::<Vec<_>>();
        assert_eq!(cells("0,a,\"[4, 12]\",torch.int64"), ["0", "a", "[4, 12]", "torch.int64"]);
        assert_eq!(cells("0,,\"[4]\""), ["0", "", "[4]"]);
        assert_eq!(cells("a,"), ["a", ""]);
    }
}
