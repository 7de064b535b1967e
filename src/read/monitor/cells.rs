//! Header and cells of a table.

use super::{Kind, Place, Row, Statistic, Statistics, Version, name};

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
    /// A column that is not compared.
    Other,
}

/// The header of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The tool that wrote it.
    pub version: Version,
    columns: Vec<Column>,
}

/// One line that cannot be read as a row.
pub(super) struct Broken;

impl Header {
    /// Reads the first line of a table; `None` where it is of another tool.
    pub fn parse(line: &[u8]) -> Option<Self> {
        let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
        let line = std::str::from_utf8(line).ok()?.trim_end_matches(['\r', '\n']);
        let names: Vec<&str> = line.split(',').map(str::trim).collect();
        let version = match names.as_slice() {
            ["vpp_stage", "name", "step", ..] => Version::V1,
            ["vpp_stage", "step", "module_name", "scope", ..] => Version::V2,
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
                .map_or(Column::Other, Column::Statistic),
        };
        Some(Self { version, columns: names.into_iter().map(column).collect() })
    }

    /// Whether a statistic with a number that can be compared is recorded.
    pub fn has_statistics(&self) -> bool {
        self.columns.iter().any(|column| matches!(column, Column::Statistic(_)))
    }

    /// Whether the last column holds a text of known form, by which a cut cell is told from a whole one.
    pub(super) fn ends_in_text(&self) -> bool {
        matches!(self.columns.last(), Some(Column::Dtype))
    }

    /// Reads a line; `None` where it is no row under this header.
    pub fn read(&self, line: &[u8], place: &Place) -> Option<Row> {
        self.row(line, place).ok().flatten()
    }

    /// Reads a line; `Ok(None)` for a line of communication that is left out.
    pub(super) fn row(&self, line: &[u8], place: &Place) -> Result<Option<Row>, Broken> {
        let line = std::str::from_utf8(line).map_err(|_| Broken)?;
        let cells = split(line);
        if self.version == Version::V1 && place.kinds() == [Kind::Comm] {
            return Ok(self.shifted(&cells, place));
        }
        if cells.len() != self.columns.len() {
            return Err(Broken);
        }
        let mut raw = Raw::default();
        for (column, cell) in self.columns.iter().zip(&cells) {
            raw.take(*column, cell)?;
        }
        raw.finish(self.version, place).map(Some)
    }

    /// A line of V1's communication table: `name, first statistic, step, other statistics`, under a header of another order.
    fn shifted(&self, cells: &[&str], place: &Place) -> Option<Row> {
        let statistics: Vec<Column> =
            self.columns.iter().copied().filter(|column| !is_key(*column) && *column != Column::MicroStep).collect();
        let (first, rest) = statistics.split_first()?;
        let order = [Column::Name, *first, Column::Step];
        let columns: Vec<Column> = order.into_iter().chain(rest.iter().copied()).collect();
        if columns.len() != cells.len() {
            return None;
        }
        let mut raw = Raw::default();
        for (column, cell) in columns.into_iter().zip(cells) {
            raw.take(column, cell).ok()?;
        }
        raw.finish(Version::V1, place).ok()
    }
}

fn is_key(column: Column) -> bool {
    matches!(column, Column::Stage | Column::Name | Column::Step | Column::Scope)
}

/// A row while its cells are read.
#[derive(Default)]
struct Raw {
    stage: i64,
    name: Option<String>,
    step: Option<u64>,
    scope: Option<String>,
    micro_step: Option<u64>,
    statistics: Statistics,
    nans: Option<f64>,
    shape: Option<String>,
    dtype: Option<String>,
}

impl Raw {
    fn take(&mut self, column: Column, cell: &str) -> Result<(), Broken> {
        let text = || Some(cell.to_owned());
        match column {
            Column::Stage if cell.is_empty() => {}
            Column::Stage => self.stage = number::<i64>(cell)?.max(0),
            Column::Name => self.name = text(),
            Column::Step => self.step = Some(number(cell)?),
            Column::Scope => self.scope = text(),
            Column::MicroStep if cell.is_empty() => {}
            Column::MicroStep => self.micro_step = Some(number(cell)?),
            Column::Statistic(statistic) => self.statistics.set(statistic, float(cell)?),
            Column::Nans => self.nans = Some(float(cell)?),
            Column::Shape => self.shape = text(),
            Column::Dtype => self.dtype = text(),
            Column::Other => {}
        }
        Ok(())
    }

    fn finish(self, version: Version, place: &Place) -> Result<Row, Broken> {
        let kind = match version {
            Version::V1 => *place.kinds().first().ok_or(Broken)?,
            Version::V2 => kind_of_scope(self.scope.as_deref().unwrap_or_default()).ok_or(Broken)?,
        };
        let name = self.name.ok_or(Broken)?;
        let micro_step = match (version, kind) {
            // V1 counts from 0, V2 from 1; of a reduced gradient V2 writes how many there were.
            (Version::V2, Kind::GradUnreduced) => self.micro_step.map(|number| number.saturating_sub(1)),
            (Version::V2, _) => None,
            (Version::V1, _) => self.micro_step,
        };
        Ok(Row {
            kind,
            stage: self.stage,
            canonical: name::canonical(&name, kind, version),
            name,
            step: self.step.ok_or(Broken)?,
            micro_step,
            statistics: self.statistics,
            nans: self.nans,
            shape: self.shape,
            dtype: self.dtype,
        })
    }
}

fn kind_of_scope(scope: &str) -> Option<Kind> {
    Some(match scope {
        "param_origin" => Kind::ParamOrigin,
        "param_updated" => Kind::ParamUpdated,
        "forward" => Kind::Actv,
        "backward" => Kind::ActvGrad,
        "unreduced" => Kind::GradUnreduced,
        "reduced" => Kind::GradReduced,
        "comm" => Kind::Comm,
        "exp_avg" => Kind::ExpAvg,
        "exp_avg_sq" => Kind::ExpAvgSq,
        _ => return None,
    })
}

fn number<T: std::str::FromStr>(cell: &str) -> Result<T, Broken> {
    // pandas writes a column of integers with a gap as 0.0.
    cell.strip_suffix(".0").unwrap_or(cell).parse().map_err(|_| Broken)
}

/// A number as the tool writes it; an empty cell, which pandas writes for NaN, is NaN.
fn float(cell: &str) -> Result<f64, Broken> {
    if cell.is_empty() {
        return Ok(f64::NAN);
    }
    cell.parse().map_err(|_| Broken)
}

/// The cells of a line; a quoted cell may hold commas.
pub(super) fn split(line: &str) -> Vec<&str> {
    let mut cells = Vec::with_capacity(12);
    let mut rest = line;
    loop {
        if let Some(quoted) = rest.strip_prefix('"')
            && let Some((cell, after)) = quoted.split_once('"')
        {
            cells.push(cell);
            match after.strip_prefix(',') {
                Some(next) => rest = next,
                None => return cells,
            }
            continue;
        }
        match rest.split_once(',') {
            Some((cell, next)) => {
                cells.push(cell);
                rest = next;
            }
            None => {
                cells.push(rest);
                return cells;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(text: &str) -> Header {
        Header::parse(text.as_bytes()).expect("a header")
    }

    #[test]
    fn headers_of_both_versions_are_told_from_others() {
        assert_eq!(header("\u{feff}vpp_stage,name,step,norm\r").version, Version::V1);
        assert_eq!(header("vpp_stage,step,module_name,scope,norm").version, Version::V2);
        for other in ["step,loss", "a,b,c,d,e,norm", "vpp_stage,step,name,norm", ""] {
            assert_eq!(Header::parse(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn a_row_without_a_tensor_is_told_from_nan() {
        let header = header("vpp_stage,name,step,norm,nans,shape,dtype");
        let place = Place::of("a-rank0-b/actv_grad_0-4.csv");
        let row = |line: &str| header.row(line.as_bytes(), &place).ok().flatten().expect("a row");
        assert!(row("0,fc.input,0,nan,nan,nan,nan").is_absent());
        assert!(!row("0,fc.input,0,nan,3,[4],torch.float32").is_absent());
        assert!(header.row(b"0,fc.input,0,1.5", &place).is_err());
    }

    #[test]
    fn communication_of_v1_is_read_as_it_is_shifted_or_left_out() {
        let header = header("vpp_stage,name,step,norm,min,max");
        let place = Place::of("a-rank0-b/other_0-4.csv");
        let row = header.row(b"all_reduce,2.5,3,-1.0,1.0", &place).ok().flatten().expect("a shifted row");
        assert_eq!((row.name.as_str(), row.step, row.statistics.get(Statistic::Norm)), ("all_reduce", 3, Some(2.5)));
        assert!(header.row(b"all_reduce,2.5,3,-1.0,1.0,2.5,-1.0", &place).is_ok_and(|row| row.is_none()));
    }
}
