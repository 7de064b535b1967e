//! Stage 4, *compare*: pairs to numbers. It knows no limit and writes no text.

pub mod checkpoint;
pub mod closeness;
pub mod config;
mod convert;
pub mod curve;
mod detail;
pub mod dump;
mod kernel;
mod scalar;
pub mod tensor;
pub mod values;
