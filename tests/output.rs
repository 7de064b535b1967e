//! The output folder: what a run removes, what it refuses to write through, and what a killed one leaves.
#![allow(
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test that indexes beyond what is there fails, as it should, and says what it counted"
)]

mod documents;
mod kills;
mod lines;
mod links;
mod scalars;
mod support;
mod together;
