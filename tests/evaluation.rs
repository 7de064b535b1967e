//! Evaluations: what is read of a harness's files, how both sides' samples are paired, and how they are judged.
#![allow(clippy::indexing_slicing, reason = "a test that indexes beyond what is there fails, as it should")]

mod cases;
mod judge;
mod read;
mod statistics;
