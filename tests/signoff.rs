//! Signing off a release: the program itself, on results that it made from the fixtures.
#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that indexes beyond what is there fails, as it should"
)]

mod documents;
mod pipelines;
mod refusals;
mod release;
use crate::changes::tree;
