//! Scores and drops as people write them.

use crate::judge::number::Number;
use crate::judge::unit::EvaluationUnit;
use crate::report::messages::{relative, rounded, short};

/// A score with four digits.
pub(in crate::report) fn score(value: f64) -> String {
    minus(&short(value))
}

/// A drop in the unit's own measure: a percentage where it is a fraction of the baseline's score, else with `digits` digits.
pub(in crate::report) fn lost(value: f64, unit: &EvaluationUnit, digits: usize) -> String {
    minus(&if unit.is_relative { relative(value, &[]) } else { rounded(value, digits) })
}

/// A number in words; empty for none.
pub(super) fn shown(value: Option<Number>, words: impl Fn(f64) -> String) -> String {
    value.map_or_else(String::new, |value| words(value.0))
}

/// A written number with a proper minus sign.
fn minus(number: &str) -> String {
    number.strip_prefix('-').map_or_else(|| number.to_owned(), |rest| format!("−{rest}"))
}
