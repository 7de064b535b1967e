//! `trace_view.json`, of which only the clock of the cores and the time of loading batches are read.

use super::event::Event;
use super::number::{microseconds, parse_finite};
use super::operator_times::is_loading;
use super::profile::LoadingTime;
use super::scanner::{Receiver, scan, unquoted};
use super::stream::unpacked_reader;
use crate::error::{Error, Result};
use crate::fetch::ByteSource;

/// Most values of the clock that are kept.
const MOST_VALUES: usize = 1_000_000;
/// Name of the counter of the clock.
const COUNTER: &[u8] = b"AI Core Freq";

/// Facts read from a `trace_view.json`.
#[derive(Debug, Default)]
pub(super) struct NpuTrace {
    /// Median clock in MHz; `None` if it was not recorded.
    pub(super) frequency: Option<f64>,
    /// Time of loading batches; `None` if it was not recorded.
    pub(super) loading: Option<LoadingTime>,
}

/// Reads a trace to its end.
///
/// # Errors
/// `Corrupt` if the file is cut or not a trace.
pub(super) fn read_trace(source: &dyn ByteSource) -> Result<NpuTrace> {
    let mut found = Found { name: source.name(), clock: Vec::new(), loading: None };
    scan(source.name(), unpacked_reader(source), &mut found)?;
    Ok(NpuTrace { frequency: median(found.clock), loading: found.loading })
}

/// Median of values; `None` if there are none.
pub(super) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

struct Found<'a> {
    name: &'a str,
    clock: Vec<f64>,
    loading: Option<LoadingTime>,
}

impl Receiver for Found<'_> {
    fn event(&mut self, object: &[u8]) -> Result<()> {
        let event =
            Event::parse(object).ok_or_else(|| Error::corrupt(self.name, "holds an event that is no object"))?;
        if event.phase == b"C" && event.raw_name() == COUNTER {
            event.arguments(|key, value| {
                if key == b"MHz" && self.clock.len() < MOST_VALUES {
                    self.clock.extend(parse_finite(unquoted(value)).filter(|clock| *clock > 0.0));
                }
            });
        }
        if event.phase == b"X" && event.raw_name().starts_with(b"enumerate(DataLoader)") && is_loading(&event.name()) {
            let loading = self.loading.get_or_insert_default();
            loading.count += 1;
            loading.total += event.duration().map_or(0.0, microseconds);
        }
        Ok(())
    }
}
