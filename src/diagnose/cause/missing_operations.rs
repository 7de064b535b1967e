//! Operations that only one side recorded, while the numbers around them agree: a scripted or fused function, an
//! operator that is not hooked, or calls of another name for the same.

use super::super::entry::Cause;
use std::collections::BTreeSet;

use super::super::context::is_weight;
use super::super::context::{DumpContext, Suspect};
use super::super::trace::{Trace, operation_of};
use crate::compare::dump::OperationComparison;
use crate::judge::dump::rules as dump_rules;
use crate::kind::TensorKind;
use crate::pair::dump::argument_of;
use crate::read::dump::name::{Direction, OpName};
use crate::read::dump::{Dump, LeafValue, TensorRecord};
use crate::read::frame::{StackFrame, calling_frame};
use crate::read::json::Json;
use crate::result::diagnosis::{Diagnosis, Statement, Sureness};
use crate::result::finding::{Fact, Finding};
use crate::verdict::{PerSide, Severity, Side};

pub(super) const CAUSE: Cause =
    Cause { in_dump, links: &["https://docs.pytorch.org/docs/stable/jit.html"], ..Cause::new("missing-operations") };

/// Operations named in the evidence; the findings list more.
const MOST_NAMES: usize = 6;

/// First part of the names of collectives.
const COLLECTIVE: &str = "Distributed.";

fn in_dump(context: &DumpContext<'_>) -> Option<Diagnosis> {
    let gaps: Vec<&Finding> = context
        .findings_of(&dump_rules::OPERATIONS_MISSING)
        .filter(|finding| finding.severity >= Severity::Warn)
        .collect();
    let first = gaps.first()?;
    // Without agreeing numbers around it a gap proves nothing: the dump was cut short, or is of another program.
    if context.unit.compared == 0 {
        return None;
    }
    if let Some(diagnosis) = candidate_only(context) {
        return Some(diagnosis);
    }
    if let Some(diagnosis) = context.suspect().and_then(|suspect| behind_gap(context, &suspect)) {
        return Some(diagnosis);
    }
    let sides: BTreeSet<&str> = gaps.iter().filter_map(|finding| text(finding, "side")).collect();
    let sureness = if context.unit.culprit.is_none() { Sureness::Certain } else { Sureness::Possible };
    let mut diagnosis = Diagnosis::new(&CAUSE, first.place.as_str(), sureness)
        .because_all(sides.iter().map(|side| missing(side, &gaps)));
    if context.unit.culprit.is_none() {
        diagnosis = diagnosis.because(Statement::new("numbers-agree-around").with("compared", context.unit.compared));
    }
    let frames: Vec<StackFrame> = gaps.iter().filter_map(|finding| frame(finding)).collect();
    diagnosis = diagnosis.because_all(frames.first().map(called_in));
    if let Some([baseline, candidate]) = context.input.baseline.differing_frameworks(context.input.candidate) {
        let advice =
            Statement::new("frameworks-not-mapped").with("framework", baseline).with("candidate_framework", candidate);
        return Some(diagnosis.advise(advice));
    }
    Some(advised(diagnosis, &sides, &gaps, &frames))
}

/// Operations that only one side has right before the culprit, where the culprit is an input that no dumped operation
/// made and that is no weight: the missing operations made it. Listed by the side that lacks them; a call that both
/// sides have by name was merely not paired.
fn gap_before<'a>(context: &DumpContext<'a>, suspect: &Suspect<'a>) -> Option<[Vec<&'a str>; 2]> {
    /// Most calls of both sides that may stand in between: modules around the call, and calls that its other arguments
    /// need.
    const BETWEEN: usize = 2;
    // A module's result is made by the calls inside it.
    let is_of_module = suspect.is_module()
        && suspect.value.kind == TensorKind::Output
        && suspect.has_finding_of(&[&dump_rules::OUTPUT_DIVERGES]);
    let is_given = !suspect.is_result()
        && suspect.has_finding_of(&[&dump_rules::INPUT_DIFFERS, &dump_rules::INTEGER_DIFFERS])
        && !is_weight(suspect);
    if !is_of_module && !is_given {
        return None;
    }
    let [mut only_baseline, mut only_candidate]: [Vec<&str>; 2] = [Vec::new(), Vec::new()];
    let mut between = 0;
    for comparison in context.input.comparison.operations.iter().take(suspect.order).rev() {
        let of = |dump: &'a Dump, index: Option<usize>| dump.operations.get(index?).map(|operation| operation.name);
        let baseline = of(context.input.baseline, comparison.pair.baseline());
        let candidate = of(context.input.candidate, comparison.pair.candidate());
        let is_empty = only_baseline.is_empty() && only_candidate.is_empty();
        match (baseline, candidate) {
            (Some(_), Some(_)) if between == BETWEEN || !is_empty => break,
            (Some(_), Some(_)) => between += 1,
            (Some(name), None) => only_baseline.push(name),
            (None, Some(name)) => only_candidate.push(name),
            (None, None) => {}
        }
    }
    let alone = |own: &[&'a str], others: &[&'a str]| {
        own.iter().rev().copied().filter(|name| !others.contains(name)).collect::<Vec<&str>>()
    };
    let gap = [alone(&only_candidate, &only_baseline), alone(&only_baseline, &only_candidate)];
    gap.iter().any(|names| !names.is_empty()).then_some(gap).or_else(|| gap_behind_value(context, suspect))
}

/// Operations that only one side runs on a value which the other side uses as it is: the culprit's input is that value there, and no
/// dumped value on this side. Listed as in [`gap_before`].
fn gap_behind_value<'a>(context: &DumpContext<'a>, suspect: &Suspect<'a>) -> Option<[Vec<&'a str>; 2]> {
    let (baseline, candidate) = suspect.value.records().filter(|_| !suspect.is_backward())?;
    let traces = PerSide::of(|side| context.trace_of(side));
    let lacks = |lacking: Side| {
        let (unchanged, changed) = match lacking {
            Side::Candidate => (&candidate, &baseline),
            Side::Baseline => (&baseline, &candidate),
        };
        let maker = traces[lacking].last_made(unchanged, suspect.order)?;
        if traces[lacking.other()].last_made(changed, suspect.order).is_some() {
            return None;
        }
        let between = context.input.comparison.operations.get(maker.order..suspect.order)?;
        let name = |comparison: &OperationComparison| match lacking {
            Side::Candidate if comparison.pair.candidate().is_none() => {
                Some(context.input.baseline.operations.get(comparison.pair.baseline()?)?.name)
            }
            Side::Baseline if comparison.pair.baseline().is_none() => {
                Some(context.input.candidate.operations.get(comparison.pair.candidate()?)?.name)
            }
            _ => None,
        };
        let names: Vec<&'a str> = between.iter().filter_map(name).collect();
        (!names.is_empty()).then_some(names)
    };
    match lacks(Side::Candidate) {
        Some(names) => Some([Vec::new(), names]),
        None => lacks(Side::Baseline)
            .map(|names| [names, Vec::new()])
            .or_else(|| maker_of_whole(context, &traces, suspect, [&baseline, &candidate])),
    }
}

/// An operation that only one side runs and whose result holds the culprit's input as a part (half of a head, one of several chunks),
/// where another operation's holds it on the other side. Listed as in [`gap_before`].
fn maker_of_whole<'a>(
    context: &DumpContext<'a>,
    traces: &PerSide<Trace<'a>>,
    suspect: &Suspect<'a>,
    [baseline, candidate]: [&TensorRecord<'_>; 2],
) -> Option<[Vec<&'a str>; 2]> {
    let of_baseline = traces[Side::Baseline].whole_made(baseline, suspect.order)?;
    let of_candidate = traces[Side::Candidate].whole_made(candidate, suspect.order)?;
    let pair = |order: usize| context.input.comparison.operations.get(order).map(|comparison| comparison.pair);
    match (pair(of_baseline.order)?.candidate(), pair(of_candidate.order)?.baseline()) {
        (_, None) => Some([vec![of_candidate.operation.name], Vec::new()]),
        (None, _) => Some([Vec::new(), vec![of_baseline.operation.name]]),
        _ => None,
    }
}

/// The diagnosis of a culprit that only the candidate runs, with nothing in its place on the baseline.
fn candidate_only(context: &DumpContext<'_>) -> Option<Diagnosis> {
    let culprit = context.unit.culprit.as_ref().filter(|culprit| culprit.is_any(&[&dump_rules::OTHER_OPERATION]))?;
    if replaced_operation(context).is_some() {
        return None;
    }
    let order = usize::try_from(culprit.order).ok()?;
    let from_there = context.input.comparison.operations.iter().skip(order);
    let alone = from_there.map_while(|comparison| match comparison.pair.baseline() {
        None => context.input.candidate.operations.get(comparison.pair.candidate()?),
        Some(_) => None,
    });
    let names: Vec<String> = alone.map(|operation| operation.name.to_owned()).collect();
    let missing = Statement::new("only-on-one-side")
        .with("side", "baseline")
        .with("count", names.len())
        .with("operations", names.into_iter().take(MOST_NAMES).collect::<Vec<_>>());
    let diagnosis = Diagnosis::new(&CAUSE, culprit.op.as_str(), Sureness::Likely).because(missing);
    let frame = frame_of(context, &culprit.op);
    let advice = behind_gap_advice(context, Some(Side::Baseline), &culprit.op, frame.as_ref());
    Some(diagnosis.because_all(frame.as_ref().map(called_in)).advise(advice))
}

/// The operation that the baseline runs in place of the culprit, which only the candidate runs.
pub(super) fn replaced_operation(context: &DumpContext<'_>) -> Option<String> {
    let culprit = context.unit.culprit.as_ref().filter(|culprit| culprit.is_any(&[&dump_rules::OTHER_OPERATION]))?;
    let order = usize::try_from(culprit.order).ok()?;
    let operations = &context.input.comparison.operations;
    let after = operations.iter().skip(order).take_while(|one| !one.is_paired());
    let before = operations.iter().take(order).rev().take_while(|one| !one.is_paired());
    let index = after.chain(before).find_map(|one| one.pair.baseline())?;
    context.input.baseline.operations.get(index).map(|operation| operation.name.to_owned())
}

/// Whether the operation that made the culprit is missing on one side.
pub(super) fn explains(context: &DumpContext<'_>, suspect: &Suspect<'_>) -> bool {
    gap_before(context, suspect).is_some()
}

/// The diagnosis of a culprit behind a gap: by the operations that the lacking side does not run.
fn behind_gap(context: &DumpContext<'_>, suspect: &Suspect<'_>) -> Option<Diagnosis> {
    let gap = gap_before(context, suspect)?;
    let first = gap.iter().flatten().next()?;
    let missing = statements(&gap);
    let lacking = match &gap {
        [_, only_baseline] if only_baseline.is_empty() => Some(Side::Baseline),
        [only_candidate, _] if only_candidate.is_empty() => Some(Side::Candidate),
        _ => None,
    };
    let explains = Statement::new("difference-behind-gap").with("tensor", suspect.culprit.tensor.as_str());
    let diagnosis = Diagnosis::new(&CAUSE, *first, Sureness::Likely).because_all(missing).because(explains);
    let frame = frame_of(context, first);
    let advice = behind_gap_advice(context, lacking, first, frame.as_ref());
    let diagnosis = diagnosis.because_all(unused_results(context, lacking)).because_all(frame.as_ref().map(called_in));
    Some(diagnosis.advise(advice))
}

/// States calls that both runs make and whose results only the one without `lacking` calls of its own uses: no gradient comes back to them
/// in the other run.
fn unused_results(context: &DumpContext<'_>, lacking: Option<Side>) -> Option<Statement> {
    let unused = lacking?.other();
    let gaps = context.findings_of(&dump_rules::OPERATIONS_MISSING);
    let of_side = gaps.filter(|finding| text(finding, "side") == Some(unused.as_str()));
    let names = of_side.filter_map(|finding| match finding.facts.get("operations") {
        Some(Fact::List(names)) => Some(names),
        _ => None,
    });
    let operations = &context.input.comparison.operations;
    let paired = operations.iter().filter(|comparison| comparison.is_paired());
    let called: BTreeSet<&str> = paired
        .filter_map(|comparison| Some(operation_of(context.input, &comparison.pair, Side::Candidate)?.name))
        .collect();
    let backward = names.flatten().filter(|name| OpName::parse(name).direction == Some(Direction::Backward));
    let forward = backward.filter_map(|name| {
        OpName::parse(name).forward_names().into_iter().find(|forward| called.contains(forward.as_str()))
    });
    // In the order of the backward pass the result that nothing uses comes first.
    let mut seen = BTreeSet::new();
    let told: Vec<String> = forward.filter(|name| seen.insert(name.clone())).take(MOST_NAMES).collect();
    (!told.is_empty())
        .then(|| Statement::new("results-unused").with("unused_side", unused.as_str()).with("unused", told))
}

/// Advises to look at the line that one side does not run: a collective that is left out makes other numbers than a branch.
fn behind_gap_advice(
    context: &DumpContext<'_>,
    lacking: Option<Side>,
    first: &str,
    frame: Option<&StackFrame>,
) -> Statement {
    let advice = Statement::new("operations-behind-gap");
    let Some((side, frame)) = lacking.zip(frame) else { return advice };
    let advice =
        advice.with("side", side.as_str()).with("place", frame.place()).with("function", frame.function.as_str());
    if first.starts_with(COLLECTIVE) {
        return advice.with("collective", first);
    }
    if let Some(patch) = patched_frame(context) {
        return advice.with("patch", patch.place()).with("patch_function", patch.function.as_str());
    }
    let modes = modes_of(context, side, first);
    let advice = if modes.is_empty() { advice } else { advice.with("modes", modes) };
    if runs_line_beside(context, side, first, frame) { advice.with("first", first) } else { advice }
}

/// A frame of the program through which only the candidate reaches the culprit: a function that replaces another.
fn patched_frame(context: &DumpContext<'_>) -> Option<StackFrame> {
    let suspect = context.suspect()?;
    let frames = |dump: &Dump, name: &str| -> Vec<StackFrame> {
        let stack = dump.stacks.as_ref().and_then(|stacks| stacks.get(name));
        stack.into_iter().flat_map(|stack| stack.iter()).filter_map(|text| StackFrame::parse(text)).collect()
    };
    let baseline = frames(context.input.baseline, suspect.baseline.name);
    let candidate = frames(context.input.candidate, suspect.candidate.name);
    let is_own = |frame: &&StackFrame| {
        !frame.is_library()
            && baseline.iter().all(|other| (&other.file, &other.function) != (&frame.file, &frame.function))
    };
    candidate.iter().find(is_own).cloned().filter(|_| !baseline.is_empty())
}

/// Texts that the operation which `lacking` does not run is called with, such as the mode of a padding.
fn modes_of(context: &DumpContext<'_>, lacking: Side, name: &str) -> Vec<String> {
    let dump = dump_of(context, lacking.other());
    let Some(operation) = dump.operations.iter().find(|operation| operation.name == name) else { return Vec::new() };
    let texts = operation.leaves.iter().filter_map(|leaf| match leaf.value {
        LeafValue::Plain { value: Json::Text(text), .. } => {
            let argument = argument_of(operation, leaf, &dump.operations);
            Some(argument.map_or_else(|| text.clone(), |argument| format!("{argument}={text}")))
        }
        _ => None,
    });
    texts.take(MOST_NAMES).collect()
}

/// Whether the side that lacks an operation calls others of its line around the place where it would stand: it runs the line otherwise.
fn runs_line_beside(context: &DumpContext<'_>, lacking: Side, name: &str, frame: &StackFrame) -> bool {
    /// Calls before and after that belong to the same pass over the line.
    const BESIDE: usize = 4;
    let operations = &context.input.comparison.operations;
    let of = |comparison: &OperationComparison, side| operation_of(context.input, &comparison.pair, side);
    let is_it = |one: &OperationComparison| of(one, lacking.other()).is_some_and(|operation| operation.name == name);
    let (Some(place), Some(stacks)) = (operations.iter().position(is_it), dump_of(context, lacking).stacks.as_ref())
    else {
        return false;
    };
    let beside = operations.iter().skip(place.saturating_sub(BESIDE)).take(2 * BESIDE + 1);
    let stacks = beside.filter_map(|one| stacks.get(of(one, lacking)?.name));
    stacks.filter_map(|stack| calling_frame(stack)).any(|line| line == *frame)
}

/// The dump of a side.
fn dump_of<'a>(context: &DumpContext<'a>, side: Side) -> &'a Dump {
    match side {
        Side::Baseline => context.input.baseline,
        Side::Candidate => context.input.candidate,
    }
}

/// The line that calls an operation which only one side runs.
fn frame_of(context: &DumpContext<'_>, name: &str) -> Option<StackFrame> {
    let is_of = |finding: &&Finding| match finding.facts.get("operations") {
        Some(Fact::List(names)) => names.iter().any(|other| other == name),
        _ => false,
    };
    let finding = context.findings_of(&dump_rules::OPERATIONS_MISSING).find(is_of)?;
    frame(finding)
}

/// States a collective that only one side runs and where it is called; nothing where there is none.
pub(super) fn collective_on_one_side(context: &DumpContext<'_>) -> Vec<Statement> {
    let gaps = context.findings_of(&dump_rules::OPERATIONS_MISSING);
    let collectives = gaps.filter_map(|finding| {
        let Some(Fact::List(names)) = finding.facts.get("operations") else { return None };
        let names: Vec<String> = names.iter().filter(|name| name.starts_with(COLLECTIVE)).cloned().collect();
        Some((finding, names)).filter(|(_, names)| !names.is_empty())
    });
    let Some((finding, names)) = collectives.into_iter().next() else { return Vec::new() };
    let Some(side) = text(finding, "side") else { return Vec::new() };
    let only =
        Statement::new("only-on-one-side").with("side", side).with("count", names.len()).with("operations", names);
    std::iter::once(only).chain(frame(finding).as_ref().map(called_in)).collect()
}

/// States the line that calls missing operations.
fn called_in(frame: &StackFrame) -> Statement {
    let statement = Statement::new("gap-called-at").with("place", frame.place());
    statement.with("function", frame.function.as_str()).with("code", frame.code.as_str())
}

/// The operation that made the culprit, where only one side runs it: the statement that says so.
pub(super) fn maker_on_one_side(context: &DumpContext<'_>, suspect: &Suspect<'_>) -> Option<Statement> {
    let mut all = statements(&gap_before(context, suspect)?);
    all.pop().filter(|_| all.is_empty())
}

/// States for each side which operations before the culprit it lacks.
fn statements(gap: &[Vec<&str>; 2]) -> Vec<Statement> {
    let sides = ["baseline", "candidate"].into_iter().zip(gap).filter(|(_, names)| !names.is_empty());
    let missing = sides.map(|(side, names)| {
        let told: Vec<String> = names.iter().take(MOST_NAMES).map(|name| (*name).to_owned()).collect();
        Statement::new("only-on-one-side").with("side", side).with("count", names.len()).with("operations", told)
    });
    missing.collect()
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

fn frame(finding: &Finding) -> Option<StackFrame> {
    match finding.facts.get("stack") {
        Some(Fact::List(stack)) => calling_frame(stack),
        _ => None,
    }
}

/// One function on one side is scripted or fused on the other; calls missing on both sides are two names for the same;
/// backward calls alone are hooks that were not there.
fn advised(diagnosis: Diagnosis, sides: &BTreeSet<&str>, gaps: &[&Finding], frames: &[StackFrame]) -> Diagnosis {
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
