//! Stage 4, *compare*: pairs to numbers. It knows no limit and writes no text.

pub mod arrays;
pub mod checkpoint;
mod checksum;
pub mod closeness;
pub mod config;
pub(crate) mod convert;
pub mod curve;
mod detail;
pub mod dump;
pub mod evaluation;
pub(crate) mod exact;
pub mod field;
mod kernel;
pub mod measurements;
pub mod operators;
pub mod performance;
pub mod run;
pub mod sample;
mod scalar;
pub mod significance;
pub mod tensor;
pub mod tokens;
pub mod values;
pub mod weight_sync;
