//! Evaluations: what is read of a harness's files, and how both sides' samples are paired.
#![allow(clippy::indexing_slicing, reason = "a test that indexes beyond what is there fails, as it should")]

#[path = "evaluation/read.rs"]
mod read;
