//! Construction of diagnoses, and evidence that several causes share.

use super::entry::Cause;
use crate::judge::rule::Rule;
use crate::result::diagnosis::{Diagnosis, Statement, Sureness};
use crate::result::finding::{Fact, Finding};

/// Code of the evidence that a value was made by an undumped operation.
/// A gradient differs although the backward call before it agrees: neither records what made it.
pub(super) const GRADIENT_UNRECORDED: &str = "gradient-unrecorded";
pub(super) const MADE_BY_UNDUMPED: &str = "made-by-undumped";
/// Code of the evidence that a gradient was lost between two operations.
pub(super) const LOST_IN_GAP: &str = "lost-in-gap";

/// Code of the evidence that an operand may hold the same values at other places.
pub(super) const UNSEEN_ORDER: &str = "unseen-order";

/// Whether a finding names a cause by its code.
pub(super) fn names_cause(finding: &Finding, code: &str) -> bool {
    matches!(finding.facts.get("pattern"), Some(Fact::Text(pattern)) if pattern == code)
}

/// A diagnosis from findings of the config check of one of `rules`; nothing where there are none.
pub(super) fn diagnosis_from_findings(
    cause: &Cause,
    sureness: Sureness,
    findings: &[&Finding],
    rules: &[&Rule],
) -> Option<Diagnosis> {
    let mut fitting = findings.iter().filter(|finding| finding.is_any(rules)).peekable();
    let first = fitting.peek()?;
    let diagnosis = Diagnosis::new(cause, first.place.as_str(), sureness);
    Some(diagnosis.because_all(fitting.take(MOST_FINDINGS).map(|finding| finding_as_evidence(finding))))
}

/// Most findings of one kind that are used as evidence; the rest are only listed among the findings.
const MOST_FINDINGS: usize = 3;

/// A finding as evidence: its code, place and facts, so that it has the same text as among the findings.
pub(super) fn finding_as_evidence(finding: &Finding) -> Statement {
    let evidence = Statement { facts: finding.facts.clone(), ..Statement::new("finding") };
    evidence.with("finding_code", finding.code.as_str()).with("finding_place", finding.place.as_str())
}
