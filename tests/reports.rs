//! Documents: what people and systems read of a result.
#![allow(
    clippy::indexing_slicing,
    clippy::float_cmp,
    clippy::print_stdout,
    reason = "a test that indexes beyond what is there fails, as it should; it compares exactly where that is meant, and says what it counted"
)]

mod cases;
mod chinese;
pub(crate) mod comment;
mod evaluation;
mod first_screen;
mod formats;
mod gallery;
mod hostile;
pub(crate) mod opening;
mod operators;
mod page;
mod performance;
mod readers;
mod rendered;
mod several;
