//! Tables as workbooks, with typed cells, as msprobe writes them.
//!
//! Text is always written as text, so that nothing in it is taken for a formula, and guarded as in CSV, which a workbook
//! may be saved as. The same tables give the same
//! bytes: no clock and no name of a machine enters a workbook.

use rust_xlsxwriter::{DocProperties, ExcelDateTime, Format, Workbook, Worksheet, XlsxError};

use crate::error::{Error, ErrorKind, Result};
use crate::msprobe::table::{Cell, MsprobeTable};

/// Rows from which msprobe cuts a sheet (a sheet holds 1 048 576).
const MAX_ROWS: usize = 1_048_500;
/// Characters a cell holds; longer texts are cut, as the libraries msprobe uses cut them.
const MAX_TEXT: usize = 32_767;
/// Characters a sheet's name holds.
const MAX_NAME: usize = 31;

/// Workbooks by file name: the config check's tables together in `result.xlsx`, every other table in its own.
pub fn workbooks(tables: &[MsprobeTable]) -> Result<Vec<(String, Vec<u8>)>> {
    let (config, others): (Vec<&MsprobeTable>, Vec<&MsprobeTable>) = tables.iter().partition(|table| is_shared(table));
    let mut books = Vec::new();
    if !config.is_empty() {
        books.push(("result.xlsx".to_owned(), workbook(&config)?));
    }
    for table in others {
        books.push((format!("{}.xlsx", table.name), workbook(&[table])?));
    }
    Ok(books)
}

/// Whether a table has its workbook in common with others.
pub fn is_shared(table: &MsprobeTable) -> bool {
    table.name.starts_with("config_check_")
}

/// One workbook with a sheet per table.
fn workbook(tables: &[&MsprobeTable]) -> Result<Vec<u8>> {
    let write = || -> Result<Vec<u8>, XlsxError> {
        let mut measurements = Workbook::new();
        // Workbooks carry a date of creation; the earliest one a spreadsheet knows stands for none.
        let created = ExcelDateTime::from_ymd(1980, 1, 1)?;
        measurements.set_properties(&DocProperties::new().set_creation_datetime(&created));
        for table in tables {
            for (name, rows) in parts(table) {
                fill(measurements.add_worksheet().set_name(name)?, &table.columns, rows)?;
            }
        }
        measurements.save_to_buffer()
    };
    write().map_err(|error| Error::new(ErrorKind::Internal, "workbook", error))
}

/// The sheets of a table: itself, or `{name}_part_{i}` of equal length where it is too long for one.
fn parts(table: &MsprobeTable) -> Vec<(String, &[Vec<Cell<'static>>])> {
    let name = |suffix: &str| -> String {
        let room = MAX_NAME.saturating_sub(suffix.len());
        table.sheet.chars().take(room).chain(suffix.chars()).collect()
    };
    if table.rows.len() < MAX_ROWS {
        return vec![(name(""), &table.rows)];
    }
    let slices = table.rows.len().div_ceil(MAX_ROWS);
    let chunks = table.rows.chunks(table.rows.len().div_ceil(slices));
    chunks.enumerate().map(|(index, rows)| (name(&format!("_part_{index}")), rows)).collect()
}

fn fill(sheet: &mut Worksheet, columns: &[String], rows: &[Vec<Cell<'static>>]) -> Result<(), XlsxError> {
    let header = Format::new().set_bold();
    for (column, title) in (0_u16..).zip(columns) {
        sheet.write_string_with_format(0, column, title, &header)?;
    }
    for (row, cells) in (1_u32..).zip(rows) {
        for (column, cell) in (0_u16..).zip(cells) {
            write_cell(sheet, row, column, cell)?;
        }
    }
    Ok(())
}

fn write_cell(sheet: &mut Worksheet, row: u32, column: u16, cell: &Cell<'static>) -> Result<(), XlsxError> {
    match cell {
        Cell::Empty => {}
        Cell::Bool(value) => drop(sheet.write_boolean(row, column, *value)?),
        #[allow(clippy::cast_precision_loss, reason = "a workbook holds every number as a double")]
        Cell::Int(value) => drop(sheet.write_number(row, column, *value as f64)?),
        Cell::Float(value) if value.is_finite() => drop(sheet.write_number(row, column, *value)?),
        Cell::Float(value) if value.is_nan() => {}
        Cell::Float(_) | Cell::Infinite(_) => drop(sheet.write_string(row, column, cell.text().trim_start())?),
        Cell::Written(_) | Cell::Percent(_) => drop(sheet.write_string(row, column, cell.text())?),
        Cell::Text(_) => {
            let text: String = cell.guarded_text().chars().take(MAX_TEXT).collect();
            sheet.write_string(row, column, text)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: Vec<Vec<Cell<'static>>>) -> MsprobeTable {
        MsprobeTable { name: "config_check_env".into(), sheet: "env".into(), columns: vec!["a".into()], rows }
    }

    #[test]
    fn the_same_table_gives_the_same_bytes() {
        let tables = [table(vec![
            vec!["=1+1".into()],
            vec![Cell::Float(f64::INFINITY)],
            vec![Cell::Bool(true)],
            vec![Cell::from("x".repeat(40_000))],
        ])];
        let first = workbooks(&tables).expect("written");
        assert_eq!(first[0].0, "result.xlsx");
        assert_eq!(first, workbooks(&tables).expect("written"));
    }

    #[test]
    fn a_long_table_is_cut_into_equal_parts() {
        let long = table(vec![Vec::new(); MAX_ROWS + 1]);
        let names: Vec<(String, usize)> = parts(&long).into_iter().map(|(name, rows)| (name, rows.len())).collect();
        assert_eq!(names, [("env_part_0".into(), MAX_ROWS / 2 + 1), ("env_part_1".into(), MAX_ROWS / 2)]);
    }
}
