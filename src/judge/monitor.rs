//! Judging training monitors, row by row in the order in which a step computes them.
//!
//! Any two healthy runs part by rounding; that error grows slowly and shows everywhere. A defect jumps: its row is off by more
//! than its type explains and by several times more than every row before it. docs/monitor.md derives the limits.

pub mod account;
pub mod alone;
mod cause;
pub mod copies;
mod layer;
pub mod measure;
pub mod picture;
pub mod precision;
pub mod rules;
mod update;
pub mod walk;

pub use rules::RULES;
