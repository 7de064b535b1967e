//! Origin of NaN or infinity: the first operation with finite inputs whose output is not finite.
//!
//! The walk over ranks and collectives (`docs/dump.md`, The first wrong operation) has been done by then: the culprit is the first
//! of its unit, and a rank that only received it has none.

use half::f16;

use super::super::context::{DumpContext, Suspect};
use super::super::curves::RunCurves;
use super::super::entry::{ACCURACY_NOTES, Cause};
use super::super::evidence::finding_as_evidence;
use super::super::value_pair::ValuePair;
use super::saturation::saturated_side;
use crate::dtype::Dtype;
use crate::judge::config::rules as config_rules;
use crate::judge::dump::domain::{self, OutsideDomain};
use crate::judge::dump::rules as dump_rules;
use crate::judge::loss::code as curve_rules;
use crate::judge::tokens::rules::NON_FINITE;
use crate::kind::TensorKind;
use crate::read::dump::name::OpName;
use crate::read::dump::{Leaf, TensorRecord};
use crate::result::diagnosis::{Diagnosis, Statement, Sureness};
use crate::verdict::Side;

pub(super) const CAUSE: Cause = Cause {
    in_dump,
    in_curves,
    shown_by: &[&NON_FINITE],
    run_advice: "overflow-in-tokens",
    explained_by: &["saturation", "silent-corruption"],
    supported_by: &[&config_rules::WEIGHTS_BROKE],
    links: &[ACCURACY_NOTES, "https://docs.pytorch.org/docs/stable/notes/amp_examples.html"],
    ..Cause::new("overflow")
};

fn in_dump(context: &DumpContext<'_>) -> Option<Diagnosis> {
    on_one_side(context).or_else(|| on_both_sides(context))
}

/// An operation that only one side runs.
fn on_one_side(context: &DumpContext<'_>) -> Option<Diagnosis> {
    let culprit =
        context.unit.culprit.as_ref().filter(|culprit| culprit.is_any(&[&dump_rules::NOT_A_NUMBER_APPEARS]))?;
    let side = culprit.side.unwrap_or(Side::Candidate).as_str();
    let evidence = Statement::new("not-a-number-on-one-side").with("side", side).with("op", culprit.op.as_str());
    let dump = if side == "candidate" { context.input.candidate } else { context.input.baseline };
    let operation = dump.operations.iter().find(|operation| operation.name == culprit.op);
    let outside = operation.and_then(domain::of_operation).map(|outside| outside_statement(&culprit.op, outside));
    let diagnosis = Diagnosis::new(&CAUSE, culprit.tensor.as_str(), Sureness::Certain).because(evidence);
    let code = if outside.is_some() { "outside-domain-on-one-side" } else { "overflow-on-one-side" };
    let advice = Statement::new(code).with("side", side).with("op", culprit.op.as_str());
    Some(diagnosis.because_all(outside).advise(advice))
}

/// An input that goes beyond the numbers for which a function is defined, in words.
fn outside_statement(op: &str, outside: OutsideDomain) -> Statement {
    let code = if outside.is_below() { "input-below-domain" } else { "input-above-domain" };
    let api = OpName::parse(op).function().trim_end_matches('_').to_owned();
    Statement::new(code).with("api", api).with("end", outside.end).with("bound", outside.bound)
}

fn on_both_sides<'a>(context: &DumpContext<'a>) -> Option<Diagnosis> {
    let suspect = context.suspect().filter(|suspect| suspect.has_finding_of(&[&dump_rules::NON_FINITE_DIFFERS]))?;
    if saturated_side(&suspect).is_some() {
        return None;
    }
    let side = if candidate_is_broken(&suspect) { "candidate" } else { "baseline" };
    let place = suspect.culprit.tensor.as_str();
    let op = suspect.culprit.op.as_str();
    if !suspect.is_result() {
        // Sums of large finite numbers overflow by themselves.
        if suspect.value.comparison.stats().is_none()
            && ![suspect.value.baseline, suspect.value.candidate].into_iter().any(is_recorded_broken)
        {
            return None;
        }
        let evidence = Statement::new("non-finite-input").with("side", side).with("op", op);
        return Some(Diagnosis::new(&CAUSE, place, Sureness::Likely).because(evidence));
    }
    let of_side = |both: ValuePair<'a>| if side == "candidate" { both.candidate } else { both.baseline };
    let spreads = suspect.inputs().map(of_side).any(is_recorded_broken);
    let (code, sureness) =
        if spreads { ("non-finite-spreads", Sureness::Likely) } else { ("overflow-begins", Sureness::Certain) };
    let broken = broken_as(of_side(suspect.value));
    let evidence = Statement::new(code).with("side", side).with("op", op).with("broken", broken);
    let diagnosis = Diagnosis::new(&CAUSE, place, sureness).because(evidence);
    let inputs = suspect.inputs().filter(|both| both.kind == TensorKind::Input);
    let records = inputs.map(of_side).filter_map(|leaf| leaf.record());
    let exponent = domain::exponent(suspect.candidate);
    match domain::outside_domain(op, records, exponent).filter(|_| !spreads) {
        Some(outside) => Some(
            diagnosis.because(outside_statement(op, outside)).advise(Statement::new("outside-domain").with("op", op)),
        ),
        None => Some(match largest_of_inputs(&suspect).filter(|_| !spreads) {
            Some(largest) => {
                let advice = Statement::new("broken-by-itself").with("op", op).with("largest", largest);
                diagnosis.advise(advice.with("exponential", u64::from(overflows_in_half(&suspect, largest))))
            }
            None => match far_from_range(&suspect, side).filter(|_| !spreads) {
                Some(largest) => {
                    diagnosis.advise(Statement::new("broken-within-range").with("op", op).with("largest", largest))
                }
                None => diagnosis,
            },
        }),
    }
}

/// The largest number that the sound side of an operation in fp16 reads or makes, where it is far below the type's range: equal inputs
/// give no sum beyond it.
fn far_from_range<'a>(suspect: &Suspect<'a>, broken_side: &str) -> Option<f64> {
    /// Share of the range that numbers stay below.
    const SHARE: f64 = 64.0;
    let is_half = suspect.value.baseline.record()?.element == Some(Dtype::F16);
    let sound = |both: ValuePair<'a>| if broken_side == "candidate" { both.baseline } else { both.candidate };
    let ends = |record: TensorRecord<'_>| [record.max, record.min].map(|end| end.as_f64().map(f64::abs));
    let records = suspect.inputs().chain([suspect.value]).filter_map(|both| sound(both).record());
    let largest = records.flat_map(ends).try_fold(0.0, |largest: f64, end| end.map(|end| largest.max(end)))?;
    (is_half && largest > 0.0 && largest <= f16::MAX.to_f64() / SHARE).then_some(largest)
}

/// The largest input of an operation in a wide type, where it is far from any overflow.
fn largest_of_inputs(suspect: &Suspect<'_>) -> Option<f64> {
    /// Size up to which neither squares nor exponentials overflow a wide type.
    const SMALL: f64 = 30.0;
    let (record, _) = suspect.value.records()?;
    let is_wide = record.element.is_some_and(|element| matches!(element, Dtype::F32 | Dtype::F64 | Dtype::BF16));
    let sizes = suspect.inputs().filter_map(|both| both.baseline.record());
    let ends = sizes.flat_map(|record| [record.max, record.min]).filter_map(|end| end.as_f64());
    let largest = ends.map(f64::abs).fold(0.0, f64::max);
    (is_wide && largest > 0.0 && largest <= SMALL).then_some(largest)
}

/// Whether the operation takes exponentials, which of such an input overflow fp16, but no wide type.
fn overflows_in_half(suspect: &Suspect<'_>, largest: f64) -> bool {
    const EXPONENTIALS: [&str; 8] =
        ["exp", "softmax", "softmin", "logaddexp", "cross_entropy", "crossentropy", "softplus", "attention"];
    let api = suspect.api().to_ascii_lowercase();
    EXPONENTIALS.iter().any(|name| api.contains(name)) && largest > f16::MAX.to_f64().ln()
}

/// Names what a broken value is, by its ends: `inf`, `nan`, or `unknown` where only its data says so.
fn broken_as(leaf: Leaf<'_>) -> &'static str {
    let ends = leaf.record().and_then(|record| Some([record.max.as_f64()?, record.min.as_f64()?]));
    match ends {
        Some(ends) if ends.iter().any(|end| end.is_nan()) => "nan",
        Some(ends) if ends.iter().any(|end| end.is_infinite()) => "inf",
        _ => "unknown",
    }
}

/// Whether the candidate's value holds NaN or infinity, by its data where it was compared, else by its statistics.
fn candidate_is_broken(suspect: &Suspect<'_>) -> bool {
    match suspect.value.comparison.stats() {
        Some(stats) => stats.nan_candidate + stats.inf_candidate > 0,
        None => is_recorded_broken(suspect.value.candidate),
    }
}

fn is_recorded_broken(leaf: Leaf<'_>) -> bool {
    let Some(record) = leaf.record() else { return false };
    [&record.max, &record.min].into_iter().any(|value| value.as_f64().is_some_and(|value| !value.is_finite()))
}

fn in_curves(curves: &RunCurves<'_>) -> Option<Diagnosis> {
    let finding = curves.finding(&[&curve_rules::HIDDEN_FAILURE, &curve_rules::NON_FINITE])?;
    let diagnosis =
        Diagnosis::new(&CAUSE, finding.place.as_str(), Sureness::Likely).because(finding_as_evidence(finding));
    Some(diagnosis.advise(Statement::new("overflow-in-curve")))
}
