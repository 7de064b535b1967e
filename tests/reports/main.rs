//! Documents: what people and systems read of a result.
#![allow(clippy::indexing_slicing, reason = "a test that indexes beyond what is there fails, as it should")]

mod cases;
mod comment;
mod formats;
mod hostile;
mod rendered;
