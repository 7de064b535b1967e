//! The operator is inaccurate by itself: the operation that a dump names first is wrong when it is tested alone, too.

use super::super::entry::{ACCURACY_NOTES, Cause};
use crate::judge::operators::rules;
use crate::read::dump::name::OpName;
use crate::result::diagnosis::{Diagnosis, Statement, Sureness};
use crate::result::finding::Finding;
use crate::result::unit::Culprit;

pub(super) const CAUSE: Cause = Cause { links: &[ACCURACY_NOTES], ..Cause::new("operator-inaccurate") };

/// Puts an operator's test before all other evidence about a dump's culprit, or adds a diagnosis where there is none.
pub(crate) fn add_operator_evidence(told: &mut Vec<Diagnosis>, culprit: &Culprit, findings: &[Finding]) {
    let Some(evidence) = operator_evidence(culprit, findings) else { return };
    let mut of_culprit = told.iter_mut().filter(|diagnosis| diagnosis.place == culprit.tensor).peekable();
    if of_culprit.peek().is_none() {
        let diagnosis = Diagnosis::new(&CAUSE, culprit.tensor.as_str(), Sureness::Likely);
        told.push(diagnosis.because(evidence));
        return;
    }
    of_culprit.for_each(|diagnosis| diagnosis.evidence.insert(0, evidence.clone()));
}

/// The first finding about the culprit's operator, in its direction, as evidence.
fn operator_evidence(culprit: &Culprit, findings: &[Finding]) -> Option<Statement> {
    let [errors, _] = rules::row_rules();
    let op = OpName::parse(&culprit.op);
    let text = |finding: &Finding, name: &str| match finding.facts.get(name) {
        Some(crate::result::finding::Fact::Text(text)) => Some(text.clone()),
        _ => None,
    };
    let is_same = |finding: &&Finding| {
        finding.is_any(errors)
            && text(finding, "op").is_some_and(|tested| {
                let tested = OpName::parse(&tested);
                tested.base == op.base && tested.direction == op.direction
            })
    };
    let finding = findings.iter().find(is_same)?;
    let mut evidence = Statement::new("operator-inaccurate").with("op", culprit.op.as_str());
    evidence = evidence.with("row", finding.place.as_str());
    for name in ["rule", "value", "limit"] {
        evidence.facts.extend(finding.facts.get(name).map(|fact| (name.to_owned(), fact.clone())));
    }
    Some(evidence)
}
