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
use crate::data;
use crate::forge::contract;
mod forges;
mod objects;
mod peers;
mod server;
mod web;
