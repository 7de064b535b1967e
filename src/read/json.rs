//! JSON in Python's dialect.
//!
//! Python's `json.dump` writes more than the standard allows: bare `NaN`, `Infinity`, `-Infinity`, integers of
//! any size, and lone surrogates in strings (kept as the text of their escape, `\udcff`). All of it is read. Key order
//! is kept,
//! and `1` stays apart from `1.0`, because the msprobe tables print what Python would.
//!
//! The parser pulls blocks from a [`ByteSource`](crate::fetch::ByteSource), so a document need not fit in memory:
//! [`Parser::object`] and [`Parser::array`] hand their entries out one at a time.

mod batches;
mod limits;
mod parser;
mod tape;
mod value;
mod words;
mod write;

pub use batches::{Batch, Batches};
pub use limits::JsonLimits;
pub(crate) use parser::parse_bytes;
pub use parser::{Parser, parse};
pub use tape::{Item, Tape};
pub use value::Json;
pub(crate) use write::{to_indented_text, to_text};
