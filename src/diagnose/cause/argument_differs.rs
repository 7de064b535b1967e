//! An argument of the call differs, or its requirement of a gradient: the two programs make different calls.

use super::super::context::{DumpContext, Suspect};
use super::super::entry::Cause;
use super::super::value_pair::ValuePair;
use crate::judge::dump::rules as dump_rules;
use crate::kind::TensorKind;
use crate::read::dump::LeafValue;
use crate::read::json::Json;
use crate::result::diagnosis::{Diagnosis, Statement, Sureness};
use crate::verdict::Side;

pub(super) const CAUSE: Cause = Cause { in_dump, ..Cause::new("argument-differs") };

/// Parts of texts that name a device, a backend or an address, which differ between devices anyway.
const OF_DEVICES: [&str; 8] = ["cuda", "npu", "cpu", "nccl", "hccl", "gloo", "0x", "object at"];

fn in_dump(context: &DumpContext<'_>) -> Option<Diagnosis> {
    let suspect = context.suspect()?;
    let place = suspect.culprit.tensor.as_str();
    // A parameter is trainable or not, whatever the call.
    let is_parameter = suspect.value.kind == TensorKind::Parameter;
    let diagnosis = Diagnosis::new(&CAUSE, place, Sureness::Certain);
    if suspect.has_finding_of(&[&dump_rules::ARGUMENT_DIFFERS]) {
        let diagnosis = diagnosis.because(named(Statement::new("first-argument"), &suspect));
        let diagnosis = diagnosis.because_all(root_of_size(&suspect));
        // A module passes its own mode: no line of the model holds this argument.
        return Some(if suspect.culprit.argument == "training" {
            diagnosis.advise(Statement::new("mode-differs"))
        } else {
            let replaced = constant_for_tensor(&suspect);
            let diagnosis = diagnosis.because_all(replaced.clone());
            diagnosis.advise(advice(&suspect).or(replaced).or_else(|| left_out(&suspect)))
        });
    }
    if !is_parameter && suspect.has_finding_of(&[&dump_rules::REQUIRES_GRAD_DIFFERS]) {
        let is_trained = suspect.value.candidate.record().is_some_and(|record| record.requires_grad == Some(true));
        let side = if is_trained { Side::Candidate } else { Side::Baseline };
        let evidence = named(Statement::new("gradient-on-one-side").with("side", side.as_str()), &suspect);
        return Some(diagnosis.because(evidence).advise(requires_grad_advice(&suspect)));
    }
    let evidence = other_text(&suspect).filter(|_| {
        suspect.has_finding_of(&[
            &dump_rules::OUTPUT_DIVERGES,
            &dump_rules::OTHER_PRECISION,
            &dump_rules::INPUT_DIFFERS,
        ])
    })?;
    Some(Diagnosis::new(&CAUSE, place, Sureness::Certain).because(evidence))
}

/// A plain argument as text; `None` for a tensor and for a list.
fn constant(value: LeafValue<'_>) -> Option<String> {
    match value {
        LeafValue::Plain { value, .. } => match value {
            Json::Null => Some("None".to_owned()),
            Json::Bool(value) => Some(value.to_string()),
            Json::Int(value) => Some(value.to_string()),
            Json::Float(value) => Some(value.to_string()),
            Json::Text(value) => Some(value.clone()),
            _ => None,
        },
        _ => None,
    }
}

/// Advice about a tensor that needs a gradient on one side: of a weight it was frozen, of anything else the graph was cut.
fn requires_grad_advice(suspect: &Suspect<'_>) -> Statement {
    let advice = Statement::new("requires-grad-differs");
    let is_argument = ["weight", "bias"].contains(&suspect.culprit.argument.as_str());
    if is_argument { advice.with("weight", 1_u64) } else { advice }
}

/// States that one side passes a constant where the other passes a tensor.
fn constant_for_tensor(suspect: &Suspect<'_>) -> Option<Statement> {
    let (baseline, candidate) = (suspect.value.baseline, suspect.value.candidate);
    let (side, constant) = match (baseline.record(), candidate.record()) {
        (Some(_), None) => (Side::Candidate, constant(candidate.value)?),
        (None, Some(_)) => (Side::Baseline, constant(baseline.value)?),
        _ => return None,
    };
    let statement = named(Statement::new("constant-for-tensor"), suspect);
    Some(statement.with("side", side.as_str()).with("constant", constant))
}

/// Advice about a named argument that is a plain value on both sides.
fn advice(suspect: &Suspect<'_>) -> Option<Statement> {
    let is_of_optimizer = suspect.culprit.stack.iter().any(|frame| frame.contains("/optim/"));
    let code = if is_of_optimizer { "argument-of-optimizer" } else { "argument-value" };
    let named = name_of(&suspect.culprit.tensor).or(Some(suspect.culprit.argument.as_str()));
    let statement = Statement::new(code).with("named", named.filter(|name| !name.is_empty())?);
    Some(
        statement
            .with("value", constant(suspect.value.baseline.value)?)
            .with("other", constant(suspect.value.candidate.value)?),
    )
}

/// Advice about an argument that is given on one side and `None` on the other.
fn left_out(suspect: &Suspect<'_>) -> Option<Statement> {
    let side = match (suspect.value.baseline.value, suspect.value.candidate.value) {
        (LeafValue::Null, LeafValue::Null) => return None,
        (_, LeafValue::Null) => Side::Candidate,
        (LeafValue::Null, _) => Side::Baseline,
        _ => return None,
    };
    let advice = named(Statement::new("argument-left-out").with("side", side.as_str()), suspect);
    advice.facts.contains_key("named").then_some(advice)
}

/// States that an argument is one over the root of a size on one side, as the scale of attention is, and what it is on the other.
fn root_of_size(suspect: &Suspect<'_>) -> Option<Statement> {
    let number = |value: LeafValue<'_>| match value {
        LeafValue::Plain { value: Json::Float(number), .. } => Some(*number),
        #[allow(clippy::cast_precision_loss, reason = "held against the inverse of a small root")]
        LeafValue::Plain { value: Json::Int(number), .. } => Some(*number as f64),
        _ => None,
    };
    let values = [number(suspect.value.baseline.value)?, number(suspect.value.candidate.value)?];
    let [baseline, candidate] = values.map(root_under_one);
    let size = baseline.or(candidate).filter(|_| baseline != candidate)?;
    let form = |value: f64, root: Option<u32>| match root {
        Some(root) => format!("1/√{root}"),
        None if (value * f64::from(size) - 1.0).abs() < CLOSE => format!("1/{size}"),
        None => value.to_string(),
    };
    let statement = Statement::new("root-of-size").with("size", u64::from(size));
    Some(statement.with("baseline_form", form(values[0], baseline)).with("candidate_form", form(values[1], candidate)))
}

/// Relative error of a number that was computed in double or single precision.
const CLOSE: f64 = 1e-6;

/// The whole number, of those that are dimensions, that a value is one over the root of.
fn root_under_one(value: f64) -> Option<u32> {
    (4..=4096_u32).find(|size| (value * value * f64::from(*size) - 1.0).abs() < CLOSE && !is_plain_decimal(value))
}

/// Whether a value is written with few digits, so that it was not computed: 0.5, 0.1.
fn is_plain_decimal(value: f64) -> bool {
    value.to_string().len() <= 5
}

/// Evidence about the culprit's call, with the argument's name where it is known.
fn named(evidence: Statement, suspect: &Suspect<'_>) -> Statement {
    let evidence = evidence.with("op", suspect.culprit.op.as_str());
    let signature = Some(suspect.culprit.argument.as_str()).filter(|name| !name.is_empty());
    match name_of(&suspect.culprit.tensor).or(signature) {
        Some(name) => evidence.with("named", name),
        None => evidence,
    }
}

/// A text or number among the call's arguments that differs, as further evidence for a result or an input that differs.
fn other_text(suspect: &Suspect<'_>) -> Option<Statement> {
    let found = suspect.values().filter(|both| both.kind == TensorKind::Input).find_map(|both| {
        let (baseline, candidate) = plain(&both)?;
        let is_of_device = |text: &str| OF_DEVICES.iter().any(|part| text.to_ascii_lowercase().contains(part));
        let differs = baseline != candidate && !is_of_device(&baseline) && !is_of_device(&candidate);
        differs.then(|| (both.candidate.row.to_string(), baseline, candidate))
    });
    let (argument, baseline, candidate) = found?;
    let statement = match name_of(&argument) {
        Some(name) => Statement::new("argument-beside").with("named", name),
        None => Statement::new("argument-beside"),
    };
    Some(
        statement
            .with("op", suspect.culprit.op.as_str())
            .with("argument", argument.as_str())
            .with("baseline", baseline)
            .with("candidate", candidate),
    )
}

/// The keyword of a row's argument; `None` for a positional one.
fn name_of(row: &str) -> Option<&str> {
    let (_, argument) = row.rsplit_once(".input.").or_else(|| row.rsplit_once(".input_kwargs."))?;
    argument.starts_with(|letter: char| letter.is_alphabetic() || letter == '_').then_some(argument)
}

/// The texts of a plain argument on both sides.
fn plain(both: &ValuePair<'_>) -> Option<(String, String)> {
    let text = |value: LeafValue<'_>| match value {
        LeafValue::Plain { value: Json::Text(text), .. } => Some(text.clone()),
        _ => None,
    };
    text(both.baseline.value).zip(text(both.candidate.value))
}
