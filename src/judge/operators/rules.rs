//! The rules of the check of operator tests.

use crate::judge::rule::{Rule, rules};
use crate::result::finding::Finding;

rules! {
    CheckId::Operators;

    /// Errors of an output are several times the baseline's.
    INACCURATE = "operators-inaccurate", Fail;
    /// An output is NaN or infinite on the candidate only, or infinite where the baseline is NaN.
    NON_FINITE = "operators-non-finite", Fail;
    /// An output is NaN or infinite on the baseline only, so that it cannot be compared.
    BASELINE_NON_FINITE = "operators-baseline-non-finite", Warn;
    /// Element types of an output differ.
    DTYPE_DIFFERS = "operators-dtype-differs", Fail;
    /// Elements of an output that is no float differ from the CPU's.
    ELEMENTS_DIFFER = "operators-elements-differ", Fail;
    /// The tool calls an output wrong, and its numbers cannot be compared.
    TOOL_ERROR = "operators-tool-error", Fail;
    /// The tool calls an output doubtful, and its numbers cannot be compared.
    TOOL_WARNING = "operators-tool-warning", Warn;
    /// The tool calls an output wrong that holds a mask of infinities.
    MASK = "operators-mask", Warn;
    /// Only the largest relative error is several times the baseline's.
    MAX_RELATIVE = "operators-max-relative", Warn;
    /// Outputs were skipped on one side and checked on the other.
    SKIPPED = "operators-skipped", Warn;
    /// Operators were tested on one side only.
    MISSING = "operators-missing", Incomplete;
    /// A table cannot be read to its end.
    FILE_DAMAGED = "operators-file-damaged", Incomplete absence;
    /// Not one output was checked.
    NOTHING_CHECKED = "operators-nothing-checked", Incomplete absence;
}

/// Rules about one output: those that make it an error, and those that make it a warning.
pub(crate) fn row_rules() -> [&'static [&'static Rule]; 2] {
    [
        &[&INACCURATE, &NON_FINITE, &DTYPE_DIFFERS, &ELEMENTS_DIFFER, &TOOL_ERROR],
        &[&TOOL_WARNING, &MASK, &MAX_RELATIVE, &BASELINE_NON_FINITE],
    ]
}

/// Rules about numbers, which can be wrong because an earlier output is.
pub(crate) const NUMERIC: [&Rule; 4] = [&INACCURATE, &MAX_RELATIVE, &TOOL_ERROR, &TOOL_WARNING];

/// Name of a finding's operator: `Functional.gelu.0` of `Functional.gelu.0.backward.output.1`.
pub fn operator(finding: &Finding) -> &str {
    operator_of(&finding.place)
}

/// Name of the operator of a row, by the row's name.
pub(super) fn operator_of(place: &str) -> &str {
    let end = [".forward", ".backward"].iter().filter_map(|direction| place.find(direction)).min();
    end.and_then(|end| place.get(..end)).unwrap_or(place)
}
