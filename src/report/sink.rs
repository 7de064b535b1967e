//! Where what grows with a run goes while it is made: lines of `operations.jsonl`, tables row by row.

use std::cell::RefCell;

use super::{Judged, Outcome};
use crate::error::Result;
use crate::judge::operation::OperationLine;
use crate::msprobe::table::{Rows, Table};

/// Takes lines and tables in the order in which they are written.
pub trait Sink {
    /// Takes one line of `operations.jsonl`.
    ///
    /// # Errors
    /// What writing gives; the run ends with it.
    fn line(&self, line: OperationLine) -> Result<()>;

    /// Takes one table. Its rows are made as they are asked for.
    ///
    /// # Errors
    /// What writing gives; the run ends with it.
    fn table(&self, table: Rows<'_>) -> Result<()>;
}

/// Keeps everything in memory, for programs that look at it: eight kilobytes per value.
#[derive(Debug, Default)]
pub struct Kept {
    operations: RefCell<Vec<OperationLine>>,
    tables: RefCell<Vec<Table>>,
}

impl Kept {
    /// A judgement with what was kept of it.
    pub fn into_outcome(self, judged: Judged) -> Outcome {
        let Judged { result, required_unread, .. } = judged;
        Outcome { result, operations: self.operations.into_inner(), tables: self.tables.into_inner(), required_unread }
    }
}

impl Sink for Kept {
    fn line(&self, line: OperationLine) -> Result<()> {
        self.operations.borrow_mut().push(line);
        Ok(())
    }

    fn table(&self, table: Rows<'_>) -> Result<()> {
        self.tables.borrow_mut().push(table.into());
        Ok(())
    }
}

/// Drops everything, where the verdict alone is wanted.
#[derive(Clone, Copy, Debug)]
pub struct Dropped;

impl Sink for Dropped {
    fn line(&self, _: OperationLine) -> Result<()> {
        Ok(())
    }

    fn table(&self, _: Rows<'_>) -> Result<()> {
        Ok(())
    }
}
