//! Publishing on the command line: the `publish` command, and what `run` does before and after judging.
#![allow(clippy::print_stderr, reason = "what could not be published is told here")]

pub(crate) mod attach;
mod judgements;
mod open;
mod result;
mod runner;
mod upload;

pub(crate) use judgements::{Commit, Judgement, every};
pub(crate) use open::{Publishing, of_damaged};
pub(crate) use result::{PublishArgs, publish};
pub(crate) use runner::{Told, tell_runner};
