//! Runs of a suite over time.
#![allow(clippy::indexing_slicing, reason = "a test that indexes beyond what is there fails, as it should")]

mod nights;
