//! Stage 4, *compare*: pairs to numbers. It knows no limit and writes no text.

pub mod config;
