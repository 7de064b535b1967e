//! The rules of the check of operator tests.

use crate::judge::rule::Rule;
use crate::verdict::{CheckId, Severity};

const fn rule(code: &'static str, severity: Severity) -> Rule {
    Rule::new(CheckId::Operators, code, severity)
}

/// Errors of an output are several times the baseline's.
pub const INACCURATE: Rule = rule("operators-inaccurate", Severity::Fail);
/// An output is NaN or infinite on the candidate only.
pub const NON_FINITE: Rule = rule("operators-non-finite", Severity::Fail);
/// Element types of an output differ.
pub const DTYPE_DIFFERS: Rule = rule("operators-dtype-differs", Severity::Fail);
/// Elements of an output that is no float differ from the CPU's.
pub const ELEMENTS_DIFFER: Rule = rule("operators-elements-differ", Severity::Fail);
/// The tool calls an output wrong, and its numbers cannot be compared.
pub const TOOL_ERROR: Rule = rule("operators-tool-error", Severity::Fail);
/// The tool calls an output doubtful, and its numbers cannot be compared.
pub const TOOL_WARNING: Rule = rule("operators-tool-warning", Severity::Warn);
/// The tool calls an output wrong that holds a mask of infinities.
pub const MASK: Rule = rule("operators-mask", Severity::Warn);
/// Only the largest relative error is several times the baseline's.
pub const MAX_RELATIVE: Rule = rule("operators-max-relative", Severity::Warn);
/// Outputs were skipped on one side and checked on the other.
pub const SKIPPED: Rule = rule("operators-skipped", Severity::Warn);
/// Operators were tested on one side only.
pub const MISSING: Rule = rule("operators-missing", Severity::Incomplete);
/// A table cannot be read to its end.
pub const FILE_DAMAGED: Rule = rule("operators-file-damaged", Severity::Incomplete).absence();
/// Not one output was checked.
pub const NOTHING_CHECKED: Rule = rule("operators-nothing-checked", Severity::Incomplete).absence();

/// All of them.
pub const RULES: &[&Rule] = &[
    &INACCURATE,
    &NON_FINITE,
    &DTYPE_DIFFERS,
    &ELEMENTS_DIFFER,
    &TOOL_ERROR,
    &TOOL_WARNING,
    &MASK,
    &MAX_RELATIVE,
    &SKIPPED,
    &MISSING,
    &FILE_DAMAGED,
    &NOTHING_CHECKED,
];

/// Rules about one output: those that make it an error, and those that make it a warning.
pub fn of_rows() -> [&'static [&'static Rule]; 2] {
    [&[&INACCURATE, &NON_FINITE, &DTYPE_DIFFERS, &ELEMENTS_DIFFER, &TOOL_ERROR], &[&TOOL_WARNING, &MASK, &MAX_RELATIVE]]
}
