//! Evaluations: statistics against recorded answers, and rules over pairs.
#![allow(clippy::indexing_slicing, reason = "a test that indexes beyond what is there fails, as it should")]

#[path = "evaluation/judge.rs"]
mod judge;
#[path = "evaluation/statistics.rs"]
mod statistics;
