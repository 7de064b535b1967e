//! Times of two profiles: periods of steps, their phases, and what each operator costs per step.
//!
//! docs/performance-check.md derives the measures. All times are in microseconds.

pub mod cost;
mod coverage;
pub mod recording;
pub mod run;
pub mod statistics;
pub mod steps;
