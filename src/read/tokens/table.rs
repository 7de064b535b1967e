//! An opened file of log-probabilities, which is read one answer at a time.

use super::columns::Columns;
use super::lines::TokensLines;
use super::place::{RecordDamage, TokensStep};
use super::raw::Raw;
use super::row::{RowQuantities, TokensRow};
use crate::error::Result;

/// An opened file, or several opened `.npy` files of one step.
pub struct TokensTable {
    /// Path, relative to the side's root.
    pub path: String,
    /// Parts of the file that could not be read.
    pub damages: Vec<RecordDamage>,
    /// Names of numeric members that are not read.
    pub unread: Vec<String>,
    pub(super) step: TokensStep,
    pub(super) rank: Option<u64>,
    pub(super) content: Content,
}

/// Answers of a file.
pub(super) enum Content {
    /// Arrays of many answers.
    Arrays(Columns),
    /// JSON lines with one answer each.
    Lines(TokensLines),
}

/// Buffers for reading an answer, which are reused for the next answer.
#[derive(Default)]
pub struct Scratch {
    raw: Raw,
    bytes: Vec<u8>,
}

impl TokensTable {
    /// Number of answers.
    pub fn rows(&self) -> u64 {
        match &self.content {
            Content::Arrays(columns) => columns.rows(),
            Content::Lines(lines) => lines.rows(),
        }
    }

    /// Step of an answer.
    pub fn step(&self, row: u64) -> TokensStep {
        let own = if let Content::Lines(lines) = &self.content { lines.step(row) } else { None };
        own.unwrap_or_else(|| self.step.clone())
    }

    /// Rank of an answer.
    pub fn rank(&self, row: u64) -> Option<u64> {
        let own = if let Content::Lines(lines) = &self.content { lines.rank(row) } else { None };
        own.or(self.rank)
    }

    /// Quantities recorded for an answer.
    pub(crate) fn quantities(&self, row: u64) -> RowQuantities {
        match &self.content {
            Content::Arrays(columns) => columns.quantities(),
            Content::Lines(lines) => lines.quantities(row),
        }
    }

    /// Reads the `nth` answer into `row`, replacing its content.
    ///
    /// # Errors
    /// Those of reading; `row` is then empty.
    pub fn read(&self, nth: u64, scratch: &mut Scratch, row: &mut TokensRow) -> Result<()> {
        let filled = match &self.content {
            Content::Arrays(columns) => columns.fill(nth, &mut scratch.raw, &mut scratch.bytes),
            Content::Lines(lines) => lines.fill(nth, &mut scratch.raw, &mut scratch.bytes),
        };
        row.clear();
        if filled.is_ok() {
            scratch.raw.assemble(row);
        }
        filled
    }
}
