//! Amount that a check compared, in numbers and in words.

use std::collections::BTreeSet;

use minijinja::{Value, context};

use super::writer::Writer;
use crate::error::Result;
use crate::result::finding::Finding;
use crate::result::unit::Check;
use crate::verdict::{Severity, Verdict};

/// Start of the codes of findings about one parameter.
const PARAMETER: &str = "parameter-";

/// Phrase for how much a check compared; empty for one that compared nothing.
pub(super) fn compared_phrase(check: &Check, findings: &[Finding], writer: &Writer) -> Result<String> {
    match (check.verdict, check.id) {
        (Verdict::Skipped, _) => Ok(String::new()),
        (_, id) if !id.is_of_run() => Ok(String::new()),
        (_, id) => {
            let counts = context! { wrong => wrong(check, findings), ..counts(check) };
            writer.phrase(&format!("compared_{}", id.as_str()), &counts)
        }
    }
}

/// Number of parameters of a checkpoint that fail.
fn wrong(check: &Check, findings: &[Finding]) -> usize {
    let own = findings.iter().filter(|finding| finding.check == check.id && finding.severity == Severity::Fail);
    let own = own.filter(|finding| finding.code.starts_with(PARAMETER));
    own.filter(|finding| finding.counts()).map(|finding| finding.place.as_str()).collect::<BTreeSet<&str>>().len()
}

/// Counts of a check for its phrase: units, values, steps, values without a partner, checkers.
pub(super) fn counts(check: &Check) -> Value {
    let sizes = || check.units.iter().map(|unit| unit.size());
    let values: u64 = sizes().map(|size| size.values).sum();
    let steps = sizes().map(|size| size.steps).max().unwrap_or_default();
    let unmatched: u64 = sizes().map(|size| size.unmatched).sum();
    let compared = check.items.iter().filter(|item| item.verdict != Verdict::Skipped).count();
    context! { units => check.units.len(), values, steps, unmatched, checkers => compared }
}
