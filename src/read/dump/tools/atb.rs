//! `statistic.csv` of Ascend Transformer Boost: a row per input and output of an operation.

use std::collections::BTreeMap;

use super::cell::{Cell, PrintedStatistics, no_rows_error, parse_cell};
use super::part::ToolTables;
use super::place::ToolPlace;
use super::table::{Content, ToolRow};
use crate::error::{Error, Result};
use crate::fetch::{Source, check_memory, read_all};
use crate::kind::TensorKind;
use crate::read::dump::precision::SeenDigits;
use crate::read::dump::tool::Tool;

/// Columns of the table, in the order of the tool.
const COLUMNS: [&str; 15] = [
    "Device and PID",
    "Execution Count",
    "Op Name",
    "Op Type",
    "Op Id",
    "Input/Output",
    "Index",
    "Dtype",
    "Format",
    "Shape",
    "Max",
    "Min",
    "Mean",
    "Norm",
    "Tensor Path",
];
/// Largest table that is read, in bytes.
const LARGEST: u64 = 2 << 30;

/// Whether a file that begins with `head` is such a table.
pub(super) fn recognise(head: &[u8]) -> bool {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    head.starts_with(b"Device and PID,Execution Count,")
}

pub(super) fn read(path: &str, source: &Source) -> Result<ToolTables> {
    let bytes = read_all(source.as_ref(), LARGEST.min(source.memory_limit()))?;
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    let mut table = csv::ReaderBuilder::new().has_headers(true).flexible(true).from_reader(text);
    let header = table.headers().map_err(|error| Error::corrupt(path, error.to_string()))?.clone();
    let columns = COLUMNS.map(|name| header.iter().position(|column| column.trim() == name));
    let mut reader = Reader::default();
    let is_whole = text.ends_with(b"\n");
    let mut records = table.records().peekable();
    while let Some(record) = records.next() {
        let is_cut = records.peek().is_none() && !is_whole;
        let record = record.map_err(|error| Error::corrupt(path, error.to_string()))?;
        let line = record.position().map_or(0, csv::Position::line);
        let field = |index: usize| columns.get(index).copied().flatten().and_then(|column| record.get(column));
        match reader.row(&field).filter(|_| !is_cut && record.len() == header.len()) {
            Some((unit, row)) => reader.add(unit, row),
            None => reader.damaged(line),
        }
        check_memory(source.as_ref(), reader.bytes)?;
    }
    reader.finish(path)
}

#[derive(Default)]
struct Reader {
    units: BTreeMap<(u64, Option<u64>), Vec<ToolRow>>,
    digits: SeenDigits,
    damage: Option<(String, u64)>,
    bytes: usize,
}

impl Reader {
    /// Unit (execution and rank) and value of a row; `None` if a required cell cannot be read.
    fn row<'a>(&mut self, field: &impl Fn(usize) -> Option<&'a str>) -> Option<((u64, Option<u64>), ToolRow)> {
        let [device, count, name, _kind, id, side, index, dtype] = std::array::from_fn(field);
        let number = |text: Option<&str>| text?.trim().parse::<u64>().ok();
        // The process id differs from run to run, so only the device counts.
        let rank = device?.split('_').next().and_then(|device| device.trim().parse().ok());
        let (below, kind) = match side?.trim() {
            "input" => ("input", TensorKind::Input),
            "output" => ("output", TensorKind::Output),
            _ => return None,
        };
        let shape: Option<Vec<u64>> =
            field(9).map(|shape| shape.split(',').map(|len| len.trim().parse().ok()).collect())?;
        let mut numbers = [None; 4];
        for (place, number) in numbers.iter_mut().enumerate() {
            let text = field(10 + place)?;
            self.digits.note(text);
            match parse_cell(text) {
                Cell::Number(value) => *number = Some(value),
                Cell::Absent => {}
                Cell::Unreadable => return None,
            }
        }
        let [max, min, mean, norm] = numbers;
        let row = ToolRow {
            operation: name?.trim().to_owned(),
            call: number(id)?,
            below: format!(".{below}.{}", number(index)?),
            kind,
            content: Content::Tensor {
                dtype: dtype?.trim().to_owned(),
                shape: shape?,
                statistics: PrintedStatistics { max, min, mean, norm },
            },
        };
        Some(((number(count)?, rank), row)).filter(|(_, row)| !row.operation.is_empty())
    }

    fn add(&mut self, unit: (u64, Option<u64>), row: ToolRow) {
        self.bytes += size_of::<ToolRow>() + row.operation.len() + row.below.len() + 64;
        self.units.entry(unit).or_default().push(row);
    }

    fn damaged(&mut self, line: u64) {
        self.damage.get_or_insert_with(|| (format!("line {line} is not a whole row"), 0)).1 += 1;
    }

    fn finish(self, path: &str) -> Result<ToolTables> {
        let Self { units, digits, damage, .. } = self;
        if units.is_empty() {
            return Err(no_rows_error(path, "ATB's statistic.csv"));
        }
        let (group, precision) = (ToolPlace::from_path(path).group, digits.precision());
        Ok(ToolTables { tool: Tool::Atb, path: path.to_owned(), group, units, precision, damage })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::fetch::MemorySource;
    use crate::read::dump::precision::Precision;

    const HEADER: &str = "Device and PID,Execution Count,Op Name,Op Type,Op Id,Input/Output,Index,Dtype,Format,Shape,Max,Min,Mean,Norm,Tensor Path\n";

    fn table(rows: &str) -> Result<ToolTables> {
        let source: Source = Arc::new(MemorySource::new("statistic.csv", format!("{HEADER}{rows}").into_bytes()));
        read("statistic.csv", &source)
    }

    #[test]
    fn rows_belong_to_device_and_execution() {
        let row = "0_977,1,aOperation,LinearOperation,1,output,0,float,nd,\"2,9,16\",0.410217,-0.320719,inf,N/A,N/A\n";
        let tables = table(row).expect("a table");
        assert!(recognise(HEADER.as_bytes()) && tables.damage.is_none());
        assert_eq!((tables.units.keys().next(), tables.precision), (Some(&(1, Some(0))), Precision::Decimals(6)));
    }

    #[test]
    fn a_cut_row_is_damage_and_the_rest_is_read() {
        let row = "0_977,1,aOperation,LinearOperation,1,output,0,float,nd,\"2\",0.410217,-0.320719,0.1,1.0,N/A\n";
        for cut in ["0_977,1,bOper", "0_977,1,b,LinearOperation,2,output,0,float,nd,\"2\",0.4,-0.3,0.1,1.0,N/A"] {
            let tables = table(&format!("{row}{cut}")).expect("a table");
            assert_eq!(tables.damage.as_ref().map(|(_, count)| *count), Some(1), "{cut}");
            assert_eq!(tables.units.values().map(Vec::len).sum::<usize>(), 1);
        }
        assert!(table("0_977,1,bOper").is_err());
    }
}
