//! Judging evaluations by paired statistics: which answers got worse, and whether chance explains it.
//!
//! docs/evaluation.md derives the tests, margins and limits.

mod account;
pub mod alone;
pub mod answers;
mod change;
mod comparable;
pub mod decision;
mod draft;
mod excerpt;
pub mod generations;
pub mod margin;
mod measure;
mod pooled;
pub mod rollouts;
pub mod rules;
pub mod run;
mod shard;
mod standard_error;
mod texts;
mod witness;

pub use rules::RULES;
