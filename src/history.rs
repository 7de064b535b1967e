//! Stage 7, *history*: compares this run with earlier runs of its suite.
//!
//! Every run writes one immutable [`Record`](record::Record) to a place that the gate can write ([`records`]): a folder, a bucket, or a branch of
//! the repository. Parallel jobs write separate files, so no record is lost and no server is needed. [`summary`] finds whether a failing
//! case has failed before and between which runs it broke, [`change`] lists the differences between two runs, [`series`] collects the
//! values of each rule, and [`trend`] finds their steps and drifts.

pub mod change;
pub mod moment;
pub mod record;
pub mod records;
pub mod series;
pub mod summary;
pub mod trend;

pub use summary::summarise;
