//! Scores and drops as people write them.

use crate::report::messages::{relative_error_text, rounded, short_number};
use crate::result::number::Number;
use crate::result::unit::EvaluationUnit;

/// A score with four digits.
pub(in crate::report) fn score(value: f64) -> String {
    minus(&short_number(value))
}

/// A drop in the unit's own measure: a percentage if it is a fraction of the baseline's score, otherwise a number with two
/// digits, or three from 0.1 on.
pub(in crate::report) fn drop_text(value: f64, unit: &EvaluationUnit) -> String {
    let digits = if value.abs() < 0.1 { 2 } else { 3 };
    minus(&if unit.is_relative { relative_error_text(value, &[]) } else { rounded(value, digits) })
}

/// The filter of a unit; `None` if the harness applies none or names it `none`.
pub(in crate::report) fn filter(unit: &EvaluationUnit) -> Option<&str> {
    unit.filter.as_deref().filter(|filter| *filter != "none" && !filter.is_empty())
}

/// Metric and filter of a unit: `exact_match (strict-match)`.
pub(in crate::report) fn metric(unit: &EvaluationUnit) -> String {
    filter(unit).map_or_else(|| unit.metric.clone(), |filter| format!("{} ({filter})", unit.metric))
}

/// A number in words; empty for none.
pub(super) fn number_text(value: Option<Number>, words: impl Fn(f64) -> String) -> String {
    value.map_or_else(String::new, |value| words(value.0))
}

/// A written number with a proper minus sign.
fn minus(number: &str) -> String {
    number.strip_prefix('-').map_or_else(|| number.to_owned(), |rest| format!("−{rest}"))
}
