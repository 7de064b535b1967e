//! Names of findings: digests of what they are about, so that a finding keeps its name from run to run.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use super::GateResult;
use super::finding::{Fact, Finding};
use super::unit::Culprit;
use crate::check::CheckId;

/// Names every finding of a result, those that count first; the second of two about the same is told from the first by its
/// number.
pub fn identify(result: &mut GateResult) {
    let waived = result.waived.iter_mut().map(|waived| &mut waived.finding);
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for finding in result.findings.iter_mut().chain(waived) {
        let nth = seen.entry(nth_id(finding, 1)).or_default();
        *nth += 1;
        finding.id = nth_id(finding, *nth);
    }
}

/// The id of the finding that a culprit of this code, value and unit stands for.
pub(crate) fn own_finding(culprit: &Culprit) -> String {
    finding_id(culprit.check, &culprit.code, &culprit.unit(), &culprit.tensor, 1)
}

/// The name of the `nth` finding of this check, code, unit and place, from 1.
fn nth_id(finding: &Finding, nth: usize) -> String {
    let unit = match finding.facts.get("unit") {
        Some(Fact::Text(unit)) => unit.as_str(),
        _ => "",
    };
    // A line moves with every line before it; its code does not.
    let place = match (&finding.source, finding.facts.get("code")) {
        (Some(_), Some(Fact::Text(code))) => code,
        _ => &finding.place,
    };
    finding_id(finding.check, &finding.code, unit, place, nth)
}

/// The name of the `nth` finding of `code` that a check has at a place of a unit, from 1; the unit is empty where the finding
/// is about none.
fn finding_id(check: CheckId, code: &str, unit: &str, place: &str, nth: usize) -> String {
    let about = [check.as_str(), code, unit, place].join("\0");
    let digest = format!("{:x}", Sha256::digest(format!("{about}\0{nth}")));
    digest.get(..32).unwrap_or(&digest).to_owned()
}
