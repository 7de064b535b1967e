//! Operations that only one side recorded, while the numbers around them agree: a scripted or fused function, an
//! operator that is not hooked, or calls of another name for the same.

use std::collections::BTreeSet;

use super::super::context::{Context, Suspect};
use super::super::{Diagnosis, Statement, Sureness};
use super::Cause;
use super::wrong_weights_or_data::is_weight;
use crate::judge::finding::{Fact, Finding};
use crate::read::dump::Dump;
use crate::read::frame::{Frame, innermost_own};
use crate::verdict::Severity;

pub(super) const CAUSE: Cause =
    Cause { in_dump, links: &["https://docs.pytorch.org/docs/stable/jit.html"], ..Cause::new("missing-operations") };

/// Operations named in the evidence; the findings list more.
const MOST_NAMES: usize = 6;

fn in_dump(context: &Context<'_>) -> Option<Diagnosis> {
    let gaps: Vec<&Finding> =
        context.findings_of("operations-missing").filter(|finding| finding.severity >= Severity::Warn).collect();
    gaps.first()?;
    // Without numbers in agreement around it a gap says nothing: the dump was cut short, or is another program's.
    if context.unit.compared == 0 {
        return None;
    }
    let near = context.suspect().and_then(|suspect| gap_before(context, &suspect, &gaps));
    let explains = near.as_ref().and(context.unit.culprit.as_ref()).map(|culprit| {
        Statement::new("difference-behind-gap").with("tensor", culprit.tensor.as_str())
    });
    let gaps = near.unwrap_or(gaps);
    let first = gaps.first()?;
    let sides: BTreeSet<&str> = gaps.iter().filter_map(|finding| text(finding, "side")).collect();
    let sureness = match &context.unit.culprit {
        None => Sureness::Certain,
        Some(_) if explains.is_some() => Sureness::Likely,
        Some(_) => Sureness::Possible,
    };
    let mut diagnosis = Diagnosis::new(&CAUSE, first.place.as_str(), sureness)
        .because_all(sides.iter().map(|side| missing(side, &gaps)))
        .because_all(explains);
    if context.unit.culprit.is_none() {
        diagnosis = diagnosis.because(Statement::new("numbers-agree-around").with("compared", context.unit.compared));
    }
    let frames: Vec<Frame> = gaps.iter().filter_map(|finding| frame(finding)).collect();
    if let Some(frame) = frames.first() {
        let place = format!("{}:{}", frame.file, frame.line);
        let evidence = Statement::new("gap-called-at").with("place", place).with("function", frame.function.as_str());
        diagnosis = diagnosis.because(evidence);
    }
    Some(advised(diagnosis, &sides, &gaps, &frames))
}

/// The gaps right before the culprit, where that is an input that nothing dumped made and no weight: what is missing there
/// is what made it.
fn gap_before<'a>(context: &Context<'a>, suspect: &Suspect<'a>, gaps: &[&'a Finding]) -> Option<Vec<&'a Finding>> {
    /// Calls of both sides that may stand between: modules around the call, and what its other arguments need.
    const BETWEEN: usize = 2;
    if suspect.is_made() || !suspect.is(&["input-differs", "integer-differs"]) || is_weight(suspect) {
        return None;
    }
    let mut names: BTreeSet<&str> = BTreeSet::new();
    let mut between = 0;
    for comparison in context.input.comparison.operations.iter().take(suspect.order).rev() {
        let of = |dump: &'a Dump, index: Option<usize>| dump.operations.get(index?).map(|operation| operation.name);
        let ours = of(context.input.baseline, comparison.pair.baseline());
        let theirs = of(context.input.candidate, comparison.pair.candidate());
        match (ours, theirs) {
            (Some(_), Some(_)) if between == BETWEEN || !names.is_empty() => break,
            (Some(_), Some(_)) => between += 1,
            (Some(name), None) | (None, Some(name)) => {
                names.insert(name);
            }
            (None, None) => {}
        }
    }
    let near: Vec<&Finding> = gaps.iter().copied().filter(|finding| names.contains(finding.place.as_str())).collect();
    (!near.is_empty()).then_some(near)
}

/// States how many operations `side` lacks, with the names of the first few.
fn missing(side: &str, gaps: &[&Finding]) -> Statement {
    let own = || gaps.iter().filter(|finding| text(finding, "side") == Some(side));
    let count: u64 = own()
        .filter_map(|finding| match finding.facts.get("count") {
            Some(Fact::Count(count)) => Some(*count),
            _ => None,
        })
        .sum();
    let names = own().filter_map(|finding| match finding.facts.get("operations") {
        Some(Fact::List(names)) => Some(names),
        _ => None,
    });
    let names: Vec<String> = names.flatten().take(MOST_NAMES).cloned().collect();
    Statement::new("only-on-one-side").with("side", side).with("count", count).with("operations", names)
}

fn text<'a>(finding: &'a Finding, fact: &str) -> Option<&'a str> {
    match finding.facts.get(fact) {
        Some(Fact::Text(text)) => Some(text),
        _ => None,
    }
}

fn frame(finding: &Finding) -> Option<Frame> {
    match finding.facts.get("stack") {
        Some(Fact::List(stack)) => innermost_own(stack),
        _ => None,
    }
}

/// One function on one side is scripted or fused on the other; calls missing on both sides are two names for the same;
/// backward calls alone are hooks that were not there.
fn advised(diagnosis: Diagnosis, sides: &BTreeSet<&str>, gaps: &[&Finding], frames: &[Frame]) -> Diagnosis {
    let functions: BTreeSet<&str> = frames.iter().map(|frame| frame.function.as_str()).collect();
    let only_backward = gaps.iter().all(|finding| finding.place.contains("backward"));
    match (sides.len(), functions.iter().next()) {
        (2.., _) => diagnosis.advise(Statement::new("operations-replaced")),
        _ if only_backward => diagnosis.advise(Statement::new("backward-not-recorded")),
        (_, Some(function)) if functions.len() == 1 => {
            diagnosis.advise(Statement::new("function-not-recorded").with("function", *function))
        }
        _ => diagnosis,
    }
}
