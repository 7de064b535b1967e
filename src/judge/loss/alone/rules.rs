//! The rules of one curve, in the order in which they speak.

use super::curve::Curve;
use crate::judge::loss::rule_results::RuleResults;

/// A rule of one curve, which says at most one thing.
type Judge = fn(&Curve<'_>, &mut RuleResults);

/// All rules of one curve, in the order in which they speak.
const JUDGES: [Judge; 8] = [
    super::gradient::judge,
    super::rate::judge,
    super::periodic::judge,
    super::ends_high::judge,
    super::at_chance::judge,
    super::overfits::judge,
    super::ranks::judge,
    super::throughput::judge,
];

/// Applies all rules to a curve.
pub(in crate::judge::loss) fn judge(curve: &Curve<'_>, results: &mut RuleResults) {
    JUDGES.iter().for_each(|judge| judge(curve, results));
}
