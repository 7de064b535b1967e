//! Dumps of several runs. Each of the candidate's runs is judged by itself; where only some of them fail, that is a finding too.

use super::rules;
use crate::result::finding::Finding;
use crate::result::unit::RunCounts;
use crate::verdict::CheckId;

/// The finding that some runs fail and others do not; `None` where all runs are alike.
pub(crate) fn not_repeatable(check: CheckId, failed: &[String], counts: RunCounts) -> Option<Finding> {
    let finding = || Finding::new(&rules::NOT_REPEATABLE, check.as_str()).of_check(check);
    let is_rate = counts.failed > 0 && counts.failed < counts.m;
    is_rate.then(|| finding().with("count", counts.failed).with("of", counts.m).with("runs", failed.to_vec()))
}
