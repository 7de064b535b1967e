//! Signing off a release: the program itself, on results that it made from the fixtures.
#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that indexes beyond what is there fails, as it should"
)]

#[path = "../data/mod.rs"]
#[allow(dead_code, reason = "shared with other tests")]
mod data;
mod documents;
mod pipelines;
mod refusals;
mod release;
#[path = "../changes/tree.rs"]
mod tree;
