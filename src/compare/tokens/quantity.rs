//! Quantities of an answer: the log-probabilities of the engine and of the trainer.

use crate::read::tokens::{RowQuantities, TokensRow};

/// Owner of log-probabilities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// The engine's.
    Engine,
    /// The trainer's.
    Trainer,
}

impl Quantity {
    /// The name as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Engine => "engine",
            Self::Trainer => "trainer",
        }
    }

    /// The values of an answer.
    pub(super) fn values(self, row: &TokensRow) -> &[f64] {
        match self {
            Self::Engine => &row.engine,
            Self::Trainer => &row.trainer,
        }
    }

    /// Whether an answer has it.
    pub(super) fn is_in(self, holds: RowQuantities) -> bool {
        match self {
            Self::Engine => holds.engine,
            Self::Trainer => holds.trainer,
        }
    }
}
