//! msprobe 26.2.0's view of the same artifacts: its tables, cell by cell, and its levels.
//!
//! The gate's own verdict never depends on these tables: they are for people who know the tool. Rules and formats follow the
//! behaviour of the real tool, including its mistakes; each file names its part.

mod bytes;
pub mod config;
pub mod dump;
pub mod operators;
pub mod overflow_check;
pub mod python;
pub mod table;
