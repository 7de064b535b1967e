//! Documents: what people and systems read of a result.

mod cases;
mod comment;
mod formats;
mod hostile;
mod rendered;
