//! Parallel layouts: runs that cut the same model differently, through the whole gate.

#![allow(
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test that panics has failed, and it says what it counted"
)]

mod checkpoints;
