//! A loss that repeats a sequence of values to the last bit: the same batches come again, and nothing is learned from them.

use super::curve::Curve;
use crate::compare::run::course::repeat_period;
use crate::judge::loss::code;
use crate::judge::loss::rule_results::RuleResults;

/// Least number of values; in fewer a repetition may be chance.
const LEAST: usize = 12;

pub(super) fn judge(curve: &Curve<'_>, results: &mut RuleResults) {
    if curve.role != crate::kind::Role::Loss || curve.len() < LEAST {
        return;
    }
    let values = curve.values();
    // A constant loss has period 1, and a code of its own.
    let period = repeat_period(values).filter(|period| (2..=values.len() / 3).contains(period));
    let Some(period) = period.filter(|_| values.iter().all(|value| value.is_finite())) else { return };
    results.add_finding(&code::PERIODIC, |finding| finding.with("period", period).with("count", values.len()));
}
