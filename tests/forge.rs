//! Publishing: the program itself against fake forges that hold every request and answer against the contracts.
#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that indexes beyond what is there fails, as it should"
)]

mod answers;
pub(crate) mod contract;
mod elsewhere;
mod fake;
mod fork;
mod gate;
mod github;
mod gitlab;
mod instructions;
mod nights;
mod permissions;
mod recheck;
mod releases;
mod report_only;
mod requests;
mod secrets;
mod states;
mod training;
mod trust;
mod webhooks;
