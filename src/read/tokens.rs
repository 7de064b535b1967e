//! Log-probabilities by token, of a rollout engine, of the trainer, or of both.
//!
//! docs/formats/tokens.md has the layouts. A file is recognised by its keys. A table returns one answer at a time, so that a batch
//! of any size is measured in bounded memory.

mod cells;
mod columns;
mod keys;
mod lines;
mod open;
mod place;
mod raw;
mod recognise;
mod row;
mod table;

pub use open::{OpenedTables, open_all};
pub use place::{RecordDamage, TokensFile, TokensFormat, TokensStep};
pub use recognise::recognise;
pub use row::{PromptDifference, RowQuantities, TokensRow};
pub use table::{Scratch, TokensTable};
