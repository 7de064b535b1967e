//! Locations: the right bytes or a clear error, whatever the other side does.
//!
//! Plain tests speak to servers of this process that fail on demand. Those marked `#[ignore]` speak to servers and
//! clients that others wrote; `.ci/run` installs them.
#![allow(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "a test that indexes beyond what is there fails, as it should; sizes are small"
)]

mod archives;
mod baselines;
mod cli;
#[path = "../forge/contract.rs"]
#[allow(dead_code, reason = "one module for all tests against forges; not every one needs all of it")]
mod contract;
#[path = "../data/mod.rs"]
#[allow(dead_code, reason = "shared with other tests")]
mod data;
mod forges;
mod objects;
mod peers;
mod server;
mod web;
