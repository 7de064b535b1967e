//! A loss before its reduction over ranks that is the same on all of them: they read the same data.

use super::curve::Curve;
use crate::judge::loss::rule_results::RuleResults;
use crate::judge::run::rules::SAME_DATA;
use crate::verdict::CheckId;

/// Least number of steps at which all ranks are equal to the last bit, so that chance is excluded.
const LEAST: u64 = 10;

pub(super) fn judge(curve: &Curve<'_>, results: &mut RuleResults) {
    let (ranks, steps) = curve.equal_ranks;
    if ranks > 1 && steps >= LEAST && is_before_reduction(curve.metric) {
        results.add_finding(&SAME_DATA, |finding| {
            finding.of_check(CheckId::Loss).with("metric", curve.metric).with("ranks", ranks).with("steps", steps)
        });
    }
}

/// Whether a metric is, by its name, the loss of one rank before the reduction; the reduced loss is equal on all ranks anyway.
pub(super) fn is_before_reduction(metric: &str) -> bool {
    let lower = metric.to_ascii_lowercase();
    let has = |word: &str| lower.split(|sign: char| !sign.is_ascii_alphanumeric()).any(|part| part == word);
    let before = lower.contains("before_reduc")
        || lower.contains("before_all")
        || lower.contains("pre_reduc")
        || lower.contains("per_rank");
    lower.contains("loss") && (before || has("local") || has("unreduced") || has("rank") && !has("all"))
}
