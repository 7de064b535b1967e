//! The gate: the pipeline, top to bottom.
//!
//! [`run`](run()) opens both sides, recognises what lies there, runs every check that has something to judge, and adds
//! the verdicts up. One check's stages are wired in a file of its own below this one.

mod alone;
mod arrays;
pub mod baseline;
pub mod baseline_name;
pub mod calibrate;
pub mod checkpoint;
mod checks;
pub mod config;
pub mod discover;
pub mod dump;
pub mod dump_tables;
mod entries;
mod evaluation;
pub mod history;
mod identical;
pub mod init;
mod known_defects;
mod label;
mod location;
pub mod loss;
mod members;
pub mod mistake;
pub mod monitor;
pub mod noise;
mod one_by_one;
mod opening;
mod operations;
pub mod operators;
mod outcome;
pub mod parts;
mod performance;
pub mod promote;
pub mod recheck;
pub mod renew;
pub mod repeats;
mod request;
mod run;
mod samples;
pub mod selftest;
mod side;
mod sides;
pub mod source;
mod surroundings;
mod tokens;
pub mod training;
mod wiring;

pub use crate::fetch::progress::{Progress, Quiet};
pub use checks::{recognisers, search};
pub use location::{inventory_of_location, open};
pub use outcome::CheckOutcome;
pub use request::{FurtherRuns, Request, UncheckedRequest};
pub use run::{run, run_by};
pub use surroundings::{Shared, SourceTree, Surroundings};
