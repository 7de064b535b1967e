//! Arithmetic of evaluations: exact tests, permutations, intervals, and the place where two generations diverge.
//!
//! It knows no limit. docs/evaluation.md derives the tests, with their sources.

pub mod answers;
pub mod binomial;
pub mod generation;
pub mod holm;
pub mod interval;
pub mod normal;
pub mod permutation;
