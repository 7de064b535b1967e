//! Stage 7, *history*: what earlier runs of a suite found, and what this one says in their light.
//!
//! A run leaves one immutable [`Record`](record::Record) in a place that the gate can write ([`records`]): a folder, a bucket, a branch of
//! the repository. Records of parallel jobs are files of their own, so that none is lost and no server has to run.
//! [`summary`] tells whether a failing case has failed before and between which runs it broke, [`change`] what is
//! different between two runs, [`series`] how each rule moved, [`trend`] where that leads.

pub mod change;
pub mod moment;
pub mod record;
pub mod records;
pub mod series;
pub mod summary;
pub mod trend;

pub use summary::summarise;
