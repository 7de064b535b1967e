//! Time of each operator of the framework, summed over a recording.

use std::collections::HashMap;

use super::number::parse_finite;
use super::profile::{LoadingTime, OperatorTime};
use super::table::{Columns, read};
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::ByteSource;

/// Most different names of operators; a program with many modules has some thousand.
const MOST_NAMES: usize = 200_000;

/// Operators of the framework with their times on the device, and the time of loading.
#[derive(Debug, Default)]
pub(super) struct OperatorTimes {
    operators: HashMap<String, (u64, f64)>,
    loading: LoadingTime,
    has_loading: bool,
}

impl OperatorTimes {
    /// Adds the time on the device, in microseconds, of a number of calls.
    ///
    /// # Errors
    /// If there are too many names.
    pub(super) fn add(&mut self, file: &str, name: &str, count: u64, time: f64) -> Result<()> {
        if let Some((calls, total)) = self.operators.get_mut(name) {
            (*calls, *total) = (*calls + count, *total + time);
            return Ok(());
        }
        if self.operators.len() >= MOST_NAMES {
            let message = format!("more than {MOST_NAMES} names of operators");
            return Err(Error::new(ErrorKind::LimitExceeded, file, message));
        }
        self.operators.insert(name.to_owned(), (count, time));
        Ok(())
    }

    /// Adds the time of loading one batch, in microseconds.
    pub(super) fn add_loading(&mut self, time: f64) {
        self.loading.count += 1;
        self.loading.total += time;
        self.has_loading = true;
    }

    /// Times of all operators, sorted by name.
    pub(super) fn operators(&self) -> Vec<OperatorTime> {
        let of = |(name, (count, total)): (&String, &(u64, f64))| OperatorTime {
            name: name.clone(),
            count: *count,
            total: *total,
        };
        let mut operators: Vec<OperatorTime> = self.operators.iter().map(of).collect();
        operators.sort_by(|a, b| a.name.cmp(&b.name));
        operators
    }

    /// Time of loading batches; `None` if none was recorded.
    pub(super) fn loading(&self) -> Option<LoadingTime> {
        self.has_loading.then_some(self.loading)
    }
}

/// Whether an event with this name is the wait for the next batch.
pub(super) fn is_loading(name: &str) -> bool {
    name.starts_with("enumerate(DataLoader)#") && name.ends_with("__next__")
}

const DETAILS: Columns =
    Columns { needed: &[&["Name"], &["Host Total Duration(us)"], &["Device Self Duration(us)"]], others: &[] };

/// Reads `operator_details.csv`.
pub(super) fn read_details(source: &dyn ByteSource) -> Result<OperatorTimes> {
    let mut times = OperatorTimes::default();
    read(source, &DETAILS, |row| {
        let name = row.text(0);
        let (Some(host), Some(device)) = (parse_finite(row.cell(1)), parse_finite(row.cell(2))) else {
            return Ok(false);
        };
        if is_loading(&name) {
            times.add_loading(host);
        }
        if device > 0.0 {
            times.add(source.name(), &name, 1, device)?;
        }
        Ok(true)
    })?;
    Ok(times)
}
