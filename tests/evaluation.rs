//! Evaluations: what is read of a harness's files, how both sides' samples are paired, and how they are judged.
#![allow(clippy::indexing_slicing, reason = "a test that indexes beyond what is there fails, as it should")]

#[path = "evaluation/cases.rs"]
mod cases;
#[path = "data/mod.rs"]
#[allow(dead_code, reason = "shared with other tests")]
mod data;
#[path = "evaluation/judge.rs"]
mod judge;
#[path = "evaluation/read.rs"]
mod read;
#[path = "evaluation/statistics.rs"]
mod statistics;
