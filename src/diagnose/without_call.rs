//! Advice where no call was recorded: tools that record the results of modules leave nothing that could be run again.

use crate::result::diagnosis::{Diagnosis, Statement};

/// Advice that needs a recorded call or its stack.
const OF_CALLS: [&str; 11] = [
    "argument-differs",
    "cancelling-variance",
    "gradient-only",
    "missing-operations",
    "other-algorithm",
    "other-formula",
    "other-rows",
    "shape-differs",
    "stale-result",
    "zero-gradient",
    "zero-gradient-of-index",
];
/// Advice about a module.
const MODULE: &str = "module-of-tool";
/// Advice about records that one side lacks, and about shapes.
const RECORDS: &str = "records-of-tool";

/// Gives a diagnosis advice that needs no recorded call.
pub(crate) fn advise_without_call(diagnosis: &mut Diagnosis) {
    if OF_CALLS.contains(&diagnosis.advice.code.as_str()) {
        let is_of_records = ["missing-operations", "shape-differs"].contains(&diagnosis.advice.code.as_str());
        diagnosis.advice = Statement::new(if is_of_records { RECORDS } else { MODULE });
    }
}
