//! The forward pass agrees, the backward pass does not: a backward kernel, or a hook on gradients.

use std::collections::BTreeMap;

use super::super::context::{DumpContext, Suspect};
use super::super::curves::{RunCurves, relative_differences};
use super::super::entry::Cause;
use super::super::evidence::{GRADIENT_UNRECORDED, finding_as_evidence};
use super::input_differs::call_before;
use crate::dtype::Dtype;
use crate::judge::dump::limits::band_of_dtype;
use crate::judge::dump::rules as dump_rules;
use crate::judge::dump::update::is_layer;
use crate::judge::loss::code as curve_rules;
use crate::judge::loss::start::BACKWARD_NOISE;
use crate::kind::TensorKind;
use crate::read::dump::name::{Direction, OpName, is_module};
use crate::read::frame::{StackFrame, calling_frame};
use crate::result::diagnosis::{Diagnosis, Statement, Sureness};
use crate::result::finding::{Fact, Finding};
use crate::verdict::Side;

pub(super) const CAUSE: Cause = Cause {
    in_dump,
    in_curves,
    is_last_resort: true,
    explained_by: &[
        "zero-gradient",
        "input-differs",
        "reduced-precision",
        "other-algorithm",
        "silent-corruption",
        "communication",
    ],
    supported_by: &[&curve_rules::GRAD_NORM],
    links: &["https://docs.pytorch.org/docs/stable/notes/gradcheck.html"],
    ..Cause::new("gradient-only")
};

fn in_dump(context: &DumpContext<'_>) -> Option<Diagnosis> {
    let suspect = context.suspect().filter(|suspect| suspect.is_backward())?;
    if let Some(diagnosis) = of_unrecorded(context, &suspect) {
        return Some(diagnosis);
    }
    let evidence = Statement::new("forward-agrees").with("op", suspect.culprit.op.as_str());
    // A parameter's gradient is recorded without the call that made it, and no other cause covers it.
    let is_of_parameter = suspect.value.kind == TensorKind::ParameterGradient;
    let sureness = if is_of_parameter { Sureness::Likely } else { Sureness::Possible };
    Some(Diagnosis::new(&CAUSE, suspect.culprit.tensor.as_str(), sureness).because(evidence))
}

/// A gradient that arrives differently although the backward call before agrees: what ran between the two was not recorded.
fn of_unrecorded(context: &DumpContext<'_>, suspect: &Suspect<'_>) -> Option<Diagnosis> {
    let is_given = !suspect.is_result() && suspect.has_finding_of(&[&dump_rules::INPUT_DIFFERS]);
    let before = call_before(context, suspect)
        .filter(|before| is_given && OpName::parse(before).direction == Some(Direction::Backward))?;
    let op = suspect.culprit.op.as_str();
    let mut advice = Statement::new("input-of-backward").with("before", before.as_str()).with("op", op);
    let mut evidence = Statement::new(GRADIENT_UNRECORDED).with("before", before.as_str()).with("op", op);
    if let Some((own, uses)) = lines_between(context, suspect, &before) {
        let indexed = uses.iter().find_map(|line| Some((line, indexed(&line.code)?)));
        advice = advice.with("place", own.place());
        match indexed {
            Some((line, index)) => {
                advice = advice.with("index", index).with("uses", vec![line.place()]);
                evidence = evidence.with("place", line.place()).with("code", line.code.as_str());
            }
            None => advice = advice.with("uses", uses.iter().map(StackFrame::place).collect::<Vec<_>>()),
        }
    }
    // A smaller error may come from a narrower type in what was not recorded.
    let is_wrong = suspect.error() > band_of_dtype(Some(Dtype::BF16)).wrong;
    let sureness = if is_wrong { Sureness::Likely } else { Sureness::Possible };
    let diagnosis = Diagnosis::new(&CAUSE, suspect.culprit.tensor.as_str(), sureness);
    Some(diagnosis.because(evidence.with("error", suspect.error())).advise(advice))
}

/// The line whose call receives the gradient, and those that use its result, in their order: that of the call before in the backward pass, and later
/// ones that are given a part of the result, as a product of queries, keys and values that one call computes together.
fn lines_between(
    context: &DumpContext<'_>,
    suspect: &Suspect<'_>,
    before: &str,
) -> Option<(StackFrame, Vec<StackFrame>)> {
    /// Calls after the one that receives the gradient in which a part of its result is looked for.
    const REACH: usize = 64;
    let own = forward_frame(context, &suspect.culprit.op)?;
    let other = forward_frame(context, before).filter(|other| other.file == own.file)?;
    let dump = context.input.candidate;
    let stacks = dump.stacks.as_ref()?;
    let forward = OpName::parse(&suspect.culprit.op).forward_names();
    let operations = &context.input.comparison.operations;
    let at = |order: usize| dump.operations.get(operations.get(order)?.pair.candidate()?);
    let start = (0..operations.len())
        .find(|order| at(*order).is_some_and(|one| forward.iter().any(|name| name == one.name)))?;
    let whole = at(start)?.leaves.iter().find(|leaf| leaf.kind == TensorKind::Output)?.record()?;
    let [most, least] = [whole.max.as_f64()?, whole.min.as_f64()?];
    let trace = context.trace_of(Side::Candidate);
    let later = (start + 1..operations.len()).take(REACH).filter_map(|order| Some((order, at(order)?)));
    // The next layer with weights begins another part of the model.
    let later =
        later.filter(|(_, one)| !is_module(one.name)).take_while(|(_, one)| !is_layer(&OpName::parse(one.name)));
    let takes_part = later.filter(|(order, one)| {
        let parts = one.leaves.iter().filter(|leaf| leaf.kind == TensorKind::Input).filter_map(|leaf| leaf.record());
        let mut parts =
            parts.filter(|record| record.requires_grad == Some(true) && record.elements() < whole.elements());
        parts.any(|record| {
            let is_part = record.elements() > 0 && whole.elements().is_multiple_of(record.elements());
            let is_within = record.max.as_f64().is_some_and(|max| max <= most)
                && record.min.as_f64().is_some_and(|min| min >= least);
            is_part && is_within && trace.last_made(&record, *order).is_none()
        })
    });
    let lines = takes_part.filter_map(|(_, one)| calling_frame(stacks.get(one.name)?));
    let of_function = lines.filter(|line| (&line.file, &line.function) == (&own.file, &own.function));
    let uses: BTreeMap<u64, StackFrame> = of_function.chain([other]).map(|line| (line.line, line)).collect();
    Some((own, uses.into_values().collect()))
}

/// The element access of a line by an index that is a name, such as `m[s]`: its backward adds the gradients of repeated indices.
fn indexed(code: &str) -> Option<&str> {
    let is_of_name = |character: char| character.is_alphanumeric() || character == '_';
    code.match_indices('[').find_map(|(open, _)| {
        let name = code.get(..open)?.rfind(|character| !is_of_name(character)).map_or(0, |place| place + 1);
        let (index, _) = code.get(open + 1..)?.split_once(']')?;
        let is_name =
            index.starts_with(|first: char| first.is_alphabetic() || first == '_') && index.chars().all(is_of_name);
        (is_name && name < open).then(|| code.get(name..open + index.len() + 2))?
    })
}

/// The line of the model that calls the forward of a backward operation.
fn forward_frame(context: &DumpContext<'_>, backward: &str) -> Option<StackFrame> {
    let stacks = context.input.candidate.stacks.as_ref()?;
    let mut names = OpName::parse(backward).forward_names().into_iter();
    calling_frame(names.find_map(|name| stacks.get(&name))?)
}

fn in_curves(curves: &RunCurves<'_>) -> Option<Diagnosis> {
    // Norms by layer show where the backward pass starts to differ.
    let is_jump = |finding: &&Finding| finding.facts.get("shape") == Some(&Fact::from("jump"));
    if let Some(finding) = curves.finding(&[&curve_rules::GROWTH_BY_LAYER]).filter(is_jump) {
        let diagnosis = Diagnosis::new(&CAUSE, finding.place.as_str(), Sureness::Certain);
        let advice = Statement { facts: finding.facts.clone(), ..Statement::new("gradient-of-layer") };
        return Some(diagnosis.because(finding_as_evidence(finding)).advise(advice));
    }
    let (step, apart) = relative_differences(curves.gradients?).next()?;
    let first = curves.loss.series.step.first().copied()?;
    if !curves.starts_equal() || step != first || apart < BACKWARD_NOISE {
        return None;
    }
    let series = &curves.gradients?.series;
    let norms = [&series.baseline, &series.candidate].map(|side| side.first().and_then(|norm| *norm));
    let evidence = Statement::new("loss-equal-gradients-apart").with("step", step).with("value", apart);
    let diagnosis = Diagnosis::new(&CAUSE, curves.gradients?.metric.as_str(), Sureness::Likely).because(evidence);
    if let [Some(baseline), Some(candidate)] = norms
        && let Some((factor, parts)) = whole_factor(baseline.0, candidate.0)
    {
        let statement = Statement::new("norms-by-factor").with("factor", factor).with("parts", parts);
        let diagnosis = Diagnosis { sureness: Sureness::Certain, ..diagnosis };
        return Some(diagnosis.because(statement.clone()).advise(statement));
    }
    Some(diagnosis.advise(Statement::new("gradient-only-in-curve")))
}

/// The factor between two norms and the whole number that it, or one over it, is: the number of micro-batches or ranks.
fn whole_factor(baseline: f64, candidate: f64) -> Option<(f64, u64)> {
    /// Relative distance from a whole number, and the largest one: near 64 any factor is that near about once in a hundred times.
    const NEAR: f64 = 1e-4;
    const MOST: u32 = 64;
    let factor = candidate / baseline;
    let near = |parts: u32| [factor, 1.0 / factor].into_iter().any(|one| (one / f64::from(parts) - 1.0).abs() < NEAR);
    (2..=MOST).find(|parts| near(*parts)).map(|parts| (factor, u64::from(parts)))
}

#[cfg(test)]
mod tests {
    use super::indexed;

    #[test]
    fn an_access_by_a_name_is_found() {
        assert_eq!(indexed("o = o.index_add_(0, d, m[s])"), Some("m[s]"));
        assert_eq!(indexed("q = x[0] + y[..., :3] + z[:, None]"), None);
        assert_eq!(indexed("h = [a] + h[order]"), Some("h[order]"));
    }
}
