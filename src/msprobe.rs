//! msprobe 26.2.0's view of the same artifacts: its tables, cell by cell, and its levels.
//!
//! The gate's own verdict never rests on these: they are for people who know the tool. Rules and formats follow
//! the real tool's behaviour, mistakes included; each file says which part.

pub mod config;
pub mod dump;
pub mod operators;
pub mod overflow_check;
pub mod python;
pub mod table;
