//! History: records that survive parallel writers, and what a run says in the light of those before it.
#![allow(clippy::indexing_slicing, reason = "a test that indexes beyond what is there fails, as it should")]

mod branch;
#[path = "../data/mod.rs"]
#[allow(dead_code, reason = "shared with other tests")]
mod data;
mod folder;
mod nights;
mod page;
mod records;
mod support;
mod thirty_nights;
