//! The rules about a single curve, in the order in which they are applied.

use super::curve::Curve;
use crate::judge::loss::rule_results::RuleResults;

/// A rule about a single curve, which adds at most one finding.
type Judge = fn(&Curve<'_>, &mut RuleResults);

/// All rules about a single curve. Their order matters: a rule may look at the findings of earlier ones.
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
