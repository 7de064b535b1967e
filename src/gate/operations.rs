//! Check that the operations that `--ops` asks for exist.
//!
//! Lines pass through to another sink, and their operations are matched against the pattern. A pattern that fits none of them
//! would leave all data unread, and the result would not show that anything was asked for.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::compare::measurements::Measurements;
use crate::error::{Error, ErrorKind, Result};
use crate::msprobe::table::MsprobeRows;
use crate::report::sink::{LinesOf, Sink};

/// A sink that notes whether an operation fits what was asked for.
pub(super) struct OperationSink<'a> {
    measurements: &'a Measurements,
    sink: &'a dyn Sink,
    matched: AtomicBool,
    /// An operation that does not fit.
    other: OnceLock<String>,
}

impl<'a> OperationSink<'a> {
    /// Passes everything on to `sink`.
    pub(super) fn new(measurements: &'a Measurements, sink: &'a dyn Sink) -> Self {
        Self { measurements, sink, matched: AtomicBool::new(false), other: OnceLock::new() }
    }

    fn look_at(&self, op: &str) {
        if self.measurements.selects_operation(op) {
            self.matched.store(true, Ordering::Relaxed);
        } else {
            self.other.get_or_init(|| op.to_owned());
        }
    }

    /// Refuses a pattern that fits no operation, where there are operations.
    ///
    /// # Errors
    /// `Usage`, with the name of an operation.
    pub(super) fn refuse_unmatched(&self) -> Result<()> {
        let (Some(ops), Some(other)) = (self.measurements.ops(), self.other.get()) else { return Ok(()) };
        if self.matched.load(Ordering::Relaxed) {
            return Ok(());
        }
        let message = format!("`{ops}` fits no operation of these dumps; they hold `{other}`, for example");
        Err(Error::new(ErrorKind::Usage, "--ops", message)
            .with_help("give a pattern for whole names as dumped, such as 'Functional.linear.*'"))
    }
}

impl Sink for OperationSink<'_> {
    fn lines(&self, operations: usize, of: &LinesOf<'_>) -> Result<()> {
        let mut left = if self.measurements.ops().is_some() { 0..operations } else { 0..0 };
        while !self.matched.load(Ordering::Relaxed)
            && let Some(operation) = left.next()
        {
            let mut lines = Vec::new();
            of(operation, &mut lines);
            if let Some(line) = lines.first() {
                self.look_at(&line.op);
            }
        }
        self.sink.lines(operations, of)
    }

    fn table(&self, table: MsprobeRows<'_>) -> Result<()> {
        self.sink.table(table)
    }
}
