//! Receiver of everything that grows with a run: lines of `operations.jsonl`, tables row by row.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{Judged, Outcome};
use crate::error::Result;
use crate::msprobe::table::{Rows, Table};
use crate::result::operation::OperationLine;

/// Lines of the operation at an index.
pub type LinesOf<'a> = dyn Fn(usize) -> Vec<OperationLine<'a>> + Sync + 'a;

/// Takes lines and tables, each kind in the order in which it is written; both may come at the same time.
pub trait Sink: Sync {
    /// Takes the lines of as many operations, in their order. `of` makes those of one operation, on any thread.
    ///
    /// # Errors
    /// Where a line cannot be written; the run ends with it.
    fn lines(&self, operations: usize, of: &LinesOf<'_>) -> Result<()>;

    /// Takes one table. Its rows are made as they are asked for.
    ///
    /// # Errors
    /// Where the table cannot be written; the run ends with it.
    fn table(&self, table: Rows<'_>) -> Result<()>;
}

/// Keeps everything in memory, for programs that look at it: eight kilobytes per value.
#[derive(Debug, Default)]
pub struct Kept {
    operations: Mutex<Vec<OperationLine<'static>>>,
    tables: Mutex<Vec<Table>>,
}

impl Kept {
    /// The judgement, with the lines and tables that were kept.
    pub fn into_outcome(self, judged: Judged) -> Outcome {
        let Judged { result, .. } = judged;
        let operations = self.operations.into_inner().unwrap_or_else(PoisonError::into_inner);
        let tables = self.tables.into_inner().unwrap_or_else(PoisonError::into_inner);
        Outcome { result, operations, tables }
    }
}

impl Sink for Kept {
    fn lines(&self, operations: usize, of: &LinesOf<'_>) -> Result<()> {
        locked(&self.operations).extend((0..operations).flat_map(of).map(OperationLine::into_owned));
        Ok(())
    }

    fn table(&self, table: Rows<'_>) -> Result<()> {
        locked(&self.tables).push(table.into());
        Ok(())
    }
}

/// Locks a mutex, also after a panic of another holder: every change of the value behind it is whole.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Drops everything, where the verdict alone is wanted.
#[derive(Clone, Copy, Debug)]
pub struct Dropped;

impl Sink for Dropped {
    fn lines(&self, _: usize, _: &LinesOf<'_>) -> Result<()> {
        Ok(())
    }

    fn table(&self, _: Rows<'_>) -> Result<()> {
        Ok(())
    }
}
