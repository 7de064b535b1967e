//! A loss before its reduction over ranks that is the same on all of them: they read the same data.

use super::curve::Curve;
use crate::judge::loss::rule_results::RuleResults;
use crate::judge::run::rules::SAME_DATA;
use crate::verdict::CheckId;

/// Steps from which on no chance makes all ranks equal to the last bit.
const LEAST: u64 = 10;

pub(super) fn judge(curve: &Curve<'_>, results: &mut RuleResults) {
    let (ranks, steps) = curve.equal_ranks;
    if ranks > 1 && steps >= LEAST && is_before_reduction(curve.metric) {
        results.say(&SAME_DATA, |finding| {
            finding.of_check(CheckId::Loss).with("metric", curve.metric).with("ranks", ranks).with("steps", steps)
        });
    }
}

/// Whether a loss is that of one rank by its name; the reduced one is equal on all ranks.
pub(super) fn is_before_reduction(metric: &str) -> bool {
    let lower = metric.to_ascii_lowercase();
    let has = |word: &str| lower.split(|sign: char| !sign.is_ascii_alphanumeric()).any(|part| part == word);
    let before = lower.contains("before_reduc")
        || lower.contains("before_all")
        || lower.contains("pre_reduc")
        || lower.contains("per_rank");
    lower.contains("loss") && (before || has("local") || has("unreduced") || has("rank") && !has("all"))
}
