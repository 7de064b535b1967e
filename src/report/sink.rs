//! Receiver of everything that grows with a run: lines of `operations.jsonl`, tables row by row.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{JudgedRun, RunOutcome};
use crate::error::Result;
use crate::msprobe::table::{MsprobeRows, MsprobeTable};
use crate::result::operation::OperationLine;

/// Adds the lines of the operation at an index.
pub(crate) type LinesOf<'a> = dyn Fn(usize, &mut Vec<OperationLine<'a>>) + Sync + 'a;

/// Receives lines and tables, each kind in the order in which it is written; lines and tables may arrive at the same time.
pub trait Sink: Sync {
    /// Receives the lines of `operations` operations in their order. `of` adds the lines of one operation, on any thread.
    ///
    /// # Errors
    /// Where a line cannot be written; the run ends with it.
    fn lines(&self, operations: usize, of: &LinesOf<'_>) -> Result<()>;

    /// Receives one table, whose rows are made when they are requested.
    ///
    /// # Errors
    /// Where the table cannot be written; the run ends with it.
    fn table(&self, table: MsprobeRows<'_>) -> Result<()>;
}

/// Keeps everything in memory, for programs that examine it: eight kilobytes per value.
#[derive(Debug, Default)]
pub struct MemorySink {
    operations: Mutex<Vec<OperationLine<'static>>>,
    tables: Mutex<Vec<MsprobeTable>>,
}

impl MemorySink {
    /// The judgement, with the lines and tables that were kept.
    pub fn into_outcome(self, judged: JudgedRun) -> RunOutcome {
        let JudgedRun { result, .. } = judged;
        let operations = self.operations.into_inner().unwrap_or_else(PoisonError::into_inner);
        let tables = self.tables.into_inner().unwrap_or_else(PoisonError::into_inner);
        RunOutcome { result, operations, tables }
    }
}

impl Sink for MemorySink {
    fn lines(&self, operations: usize, of: &LinesOf<'_>) -> Result<()> {
        let mut lines = Vec::new();
        (0..operations).for_each(|operation| of(operation, &mut lines));
        locked(&self.operations).extend(lines.into_iter().map(OperationLine::into_owned));
        Ok(())
    }

    fn table(&self, table: MsprobeRows<'_>) -> Result<()> {
        locked(&self.tables).push(table.into());
        Ok(())
    }
}

/// Locks a mutex even after a panic of another holder; the values behind these mutexes are never changed partially.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Discards everything, for callers that need the verdict alone.
#[derive(Clone, Copy, Debug)]
pub struct DiscardingSink;

impl Sink for DiscardingSink {
    fn lines(&self, _: usize, _: &LinesOf<'_>) -> Result<()> {
        Ok(())
    }

    fn table(&self, _: MsprobeRows<'_>) -> Result<()> {
        Ok(())
    }
}
