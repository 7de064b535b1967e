//! Faults that the candidate's log shows by itself: the earliest one is the cause, the others may follow from it.

use super::curves::RunCurves;
use super::entry::Cause;
use super::evidence::finding_as_evidence;
use crate::judge::loss::code as curve_rules;
use crate::judge::rule::Rule;
use crate::result::diagnosis::{Diagnosis, Statement, Sureness};
use crate::result::finding::{Fact, Finding};

/// Codes of such faults; at the same step, an earlier one in this list takes precedence.
pub(super) const FAULTS: [&Rule; 3] =
    [&curve_rules::UPDATES_SKIPPED, &curve_rules::GRADIENT_NON_FINITE, &curve_rules::LEARNING_RATE_ZERO];

/// The cause that a finding of `rule` names; certain where no other fault is earlier.
pub(super) fn fault_diagnosis(cause: &Cause, rule: &'static Rule, curves: &RunCurves<'_>) -> Option<Diagnosis> {
    let finding = curves.finding(&[rule]).filter(|_| curves.is_pair())?;
    let others = FAULTS.into_iter().enumerate().filter_map(|(place, other)| Some((curves.finding(&[other])?, place)));
    let first = others.min_by_key(|(other, place)| (step_of(other), *place))?;
    let sureness = if first.0.is(rule) { Sureness::Certain } else { Sureness::Likely };
    let diagnosis = Diagnosis::new(cause, finding.place.as_str(), sureness);
    Some(diagnosis.because(finding_as_evidence(finding)).advise(Statement::new(cause.code)))
}

/// The step of a fault; a fault without a step exists from the beginning.
pub(super) fn step_of(finding: &Finding) -> u64 {
    let step = ["step", "first"].into_iter().find_map(|name| match finding.facts.get(name)? {
        Fact::Text(text) => text.parse().ok(),
        Fact::Count(step) => Some(*step),
        _ => None,
    });
    step.unwrap_or_default()
}
