//! Judging evaluations by paired statistics: which answers got worse, and whether chance explains it.
//!
//! docs/evaluation.md derives the tests, margins and limits.

pub mod rules;

pub use rules::RULES;
