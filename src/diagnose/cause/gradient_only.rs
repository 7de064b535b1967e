//! The forward pass agrees, the backward pass does not: a backward kernel, or a hook on gradients.

use super::super::context::{DumpContext, Suspect};
use super::super::curves::{RunCurves, relative_differences};
use super::super::entry::Cause;
use super::super::evidence::{GRADIENT_UNRECORDED, finding_as_evidence};
use super::input_differs::call_before;
use crate::dtype::Dtype;
use crate::judge::dump::limits::band_of_dtype;
use crate::judge::dump::rules as dump_rules;
use crate::judge::loss::code as curve_rules;
use crate::judge::loss::start::BACKWARD_NOISE;
use crate::kind::TensorKind;
use crate::read::dump::name::{Direction, OpName};
use crate::read::frame::{StackFrame, calling_frame};
use crate::result::diagnosis::{Diagnosis, Statement, Sureness};
use crate::result::finding::{Fact, Finding};

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
    let (own, other) = (forward_frame(context, op), forward_frame(context, &before));
    let mut advice = Statement::new("input-of-backward").with("before", before.as_str()).with("op", op);
    if let (Some(own), Some(other)) = (own, other)
        && own.file == other.file
    {
        let file = own.file.rsplit(['/', '\\']).next().unwrap_or(&own.file);
        let (from, to) = (own.line.min(other.line), own.line.max(other.line));
        let place = if from == to { format!("{file}:{from}") } else { format!("{file}:{from}-{to}") };
        advice = advice.with("place", place);
    }
    let evidence = Statement::new(GRADIENT_UNRECORDED).with("before", before).with("op", op);
    // A smaller error may come from a narrower type in what was not recorded.
    let is_wrong = suspect.error() > band_of_dtype(Some(Dtype::BF16)).wrong;
    let sureness = if is_wrong { Sureness::Likely } else { Sureness::Possible };
    let diagnosis = Diagnosis::new(&CAUSE, suspect.culprit.tensor.as_str(), sureness);
    Some(diagnosis.because(evidence.with("error", suspect.error())).advise(advice))
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
