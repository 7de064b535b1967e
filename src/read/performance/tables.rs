//! Readers of the profiler's tables: steps, kernels, totals of operators, and memory.

use std::collections::HashMap;

use super::kernels::{Kernels, OperatorKey, core_kind, without_quotes};
use super::number::{nanoseconds, parse_finite, parse_whole};
use super::profile::{OperatorTotal, StepRow};
use super::table::{Columns, Row, Titles, read};
use crate::error::Result;
use crate::fetch::ByteSource;

/// Most rows of the table of steps, which is more than a recording has.
const MOST_STEPS: usize = 100_000;
/// Most rows of the totals of operators.
const MOST_TOTALS: usize = 100_000;
/// Components whose memory belongs to the framework.
const FRAMEWORK: [&str; 2] = ["PTA", "PTA+GE"];

const STEP: Titles = &["Step Id", "Step ID", "Step"];

const STEPS: Columns = Columns {
    needed: &[&["Step"], &["Computing"], &["Communication(Not Overlapped)"], &["Free"]],
    others: &[&["Overlapped"]],
};

/// Reads `step_trace_time.csv`.
pub(super) fn steps(source: &dyn ByteSource) -> Result<Vec<StepRow>> {
    let mut rows = Vec::new();
    read(source, &STEPS, |row| {
        if rows.len() >= MOST_STEPS {
            return Ok(false);
        }
        let parsed = step_row(row);
        rows.extend(parsed);
        Ok(parsed.is_some())
    })?;
    Ok(rows)
}

fn step_row(row: &Row<'_>) -> Option<StepRow> {
    let step = row.cell(0).trim_ascii();
    let step = if step.is_empty() { None } else { Some(parse_whole(step)?) };
    let [computing, communication, free] = [1, 2, 3].map(|nth| parse_finite(row.cell(nth)));
    let overlapped = match row.cell(4).trim_ascii() {
        // Older releases have no such column.
        [] => 0.0,
        cell => parse_finite(cell)?,
    };
    Some(StepRow { step, computing: computing?, communication: communication?, overlapped, free: free? })
}

const KERNELS: Columns = Columns {
    needed: &[&["Type"], &["Accelerator Core"], &["Start Time(us)"], &["Duration(us)"]],
    others: &[STEP, &["Input Shapes"], &["Input Data Types"]],
};

/// Reads `kernel_details.csv`.
pub(super) fn kernels(source: &dyn ByteSource) -> Result<Kernels> {
    let mut kernels = Kernels::new(source);
    let mut known: HashMap<Vec<u8>, u32, foldhash::fast::RandomState> = HashMap::default();
    let mut cells = Vec::new();
    read(source, &KERNELS, |row| {
        cells.clear();
        for nth in [0, 1, 5, 6] {
            cells.extend_from_slice(row.cell(nth));
            cells.push(0);
        }
        let kind = match known.get(&cells) {
            Some(kind) => *kind,
            None => {
                let key = OperatorKey {
                    name: row.text(0),
                    shapes: without_quotes(&row.text(5)),
                    dtypes: without_quotes(&row.text(6)),
                    core: core_kind(&row.text(1)),
                };
                let kind = kernels.kind_place(source.name(), key)?;
                known.insert(cells.clone(), kind);
                kind
            }
        };
        let step = row.cell(4).trim_ascii();
        let is_outside = step.is_empty() || step.eq_ignore_ascii_case(b"N/A");
        let step = if is_outside { None } else { parse_whole(step) };
        let (start, duration) = (nanoseconds(row.cell(2)), nanoseconds(row.cell(3)));
        let (Some(start), Some(duration)) = (start, duration) else { return Ok(false) };
        if !is_outside && step.is_none() {
            return Ok(false);
        }
        kernels.add(source.name(), kind, step, (start, duration))?;
        Ok(true)
    })?;
    Ok(kernels.finish())
}

const TOTALS: Columns = Columns {
    needed: &[&["OP Type"], &["Core Type"], &["Count"], &["Total Time(us)"]],
    others: &[&["Min Time(us)"], &["Max Time(us)"]],
};

/// Reads `op_statistic.csv`.
pub(super) fn totals(source: &dyn ByteSource) -> Result<Vec<OperatorTotal>> {
    let mut totals = Vec::new();
    read(source, &TOTALS, |row| {
        let (Some(count), Some(total)) = (parse_whole(row.cell(2)), parse_finite(row.cell(3))) else {
            return Ok(false);
        };
        if totals.len() >= MOST_TOTALS {
            return Ok(false);
        }
        let extremes = parse_finite(row.cell(4)).zip(parse_finite(row.cell(5))).map(<[f64; 2]>::from);
        totals.push(OperatorTotal { name: row.text(0), core: core_kind(&row.text(1)), count, total, extremes });
        Ok(true)
    })?;
    Ok(totals)
}

const MEMORY: Columns = Columns { needed: &[&["Component"], &["Total Allocated(MB)"]], others: &[] };

/// Reads the smallest and the largest allocated memory from `memory_record.csv`, in MB; `None` if the framework recorded none.
pub(super) fn memory_range(source: &dyn ByteSource) -> Result<Option<[f64; 2]>> {
    let mut range: Option<[f64; 2]> = None;
    read(source, &MEMORY, |row| {
        let is_framework = FRAMEWORK.iter().any(|name| row.cell(0).trim_ascii() == name.as_bytes());
        if !is_framework {
            return Ok(true);
        }
        let Some(allocated) = parse_finite(row.cell(1)) else { return Ok(false) };
        range = Some(range.map_or([allocated; 2], |[least, most]| [least.min(allocated), most.max(allocated)]));
        Ok(true)
    })?;
    Ok(range)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fetch::MemorySource;

    #[test]
    fn a_time_that_is_no_number_damages_the_table_of_steps() {
        let table = |overlapped: &str| {
            let titles = "Step,Computing,Communication(Not Overlapped),Overlapped,Free";
            MemorySource::new("step_trace_time.csv", format!("{titles}\n1,5.5,1.5,{overlapped},0.5\n").into_bytes())
        };
        assert!(steps(&table("0.25")).is_ok_and(|rows| (rows[0].overlapped - 0.25).abs() < 1e-12));
        assert!(steps(&table("")).is_ok_and(|rows| rows[0].overlapped.abs() < 1e-12));
        assert!(steps(&table("nan")).is_err() && steps(&table("N/A")).is_err());
    }
}
