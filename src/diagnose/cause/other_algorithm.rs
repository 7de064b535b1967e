//! Another algorithm: the operation computes another formula, another constant, or the same formula in a way that
//! cancels.
//!
//! Inputs agree and arguments are equal, so the call is the same and the kernel is not. The strongest evidence is a
//! formula that fits the pair; then an error that is systematic (of one sign, or a function of the input); then an
//! error whose size no precision explains.

use super::super::context::is_weight;
use super::super::context::{DumpContext, Suspect};
use super::super::entry::{ACCURACY_NOTES, Cause};
use super::super::evidence::{MADE_BY_UNDUMPED, UNSEEN_ORDER};
use super::super::formula;
use super::super::order;
use super::super::pattern::{FEW_TOO_LARGE, OTHER_PLACES, OTHER_ROWS, SUM_LOST, patterns};
use super::super::rotary::{self, ROTARY_LAYOUT};
use super::super::updates::Updates;
use super::super::value_pair::{ValuePair, operations_of, values_of};
use super::super::values::{DataPair, count_of};
use super::input_differs::{advice_of_undumped, call_before, is_in_graph};
use super::missing_operations::{explains, replaced_operation};
use super::optimizer_differs::is_of_most;
use super::reduced_precision::operands;
use super::wrong_weights_or_data::unseen_indices;
use crate::dtype::Dtype;
use crate::judge::dump::limits::band_of_dtype;
use crate::judge::dump::rules as dump_rules;
use crate::judge::operators::arguments::formula_arguments;
use crate::kind::TensorKind;
use crate::pair::dump::argument_of;
use crate::result::diagnosis::{Diagnosis, Statement, Sureness};
use crate::result::finding::Fact;
use crate::result::number::Number;

/// Advice about complex inputs, of which statistics show magnitudes alone; what it advises leads even where the cause is merely possible.
pub(crate) const PHASE_UNSEEN: &str = "phase-unseen";

pub(super) const CAUSE: Cause =
    Cause { in_dump, is_last_resort: true, links: &[ACCURACY_NOTES], ..Cause::new("other-algorithm") };

/// Error of a batch norm from which its running statistics explain more than another constant does.
const OF_MODE: f64 = 0.05;

/// Share of errors with the same sign from which on they are not rounding.
const ONE_SIDED: f64 = 0.9;

fn in_dump(context: &DumpContext<'_>) -> Option<Diagnosis> {
    if let Some(other) = replaced_operation(context) {
        let culprit = context.unit.culprit.as_ref()?;
        let evidence = Statement::new("operation-replaced").with("op", culprit.op.as_str()).with("other", other);
        let diagnosis = Diagnosis::new(&CAUSE, culprit.tensor.as_str(), Sureness::Likely).because(evidence);
        return Some(diagnosis.advise(Statement::new("operations-behind-gap")));
    }
    let suspect = context.suspect()?;
    if !suspect.is_result() {
        return of_undumped(context, &suspect);
    }
    if !suspect.has_finding_of(&[&dump_rules::OUTPUT_DIVERGES, &dump_rules::OTHER_PRECISION])
        || !suspect.error().is_finite()
    {
        return None;
    }
    let data = context.data(&suspect.value);
    let place = suspect.culprit.tensor.as_str();
    // A value saved by hand has no inputs of its own.
    let code = if suspect.value.kind == TensorKind::Value { "saved-value" } else { "same-call" };
    let agree = Statement::new(code).with("op", suspect.culprit.op.as_str()).with("error", suspect.error());
    let agree = if data.is_none() { agree.with("statistics", 1_u64) } else { agree };
    // Statistics of complex numbers are those of their magnitudes.
    let is_complex =
        |both: ValuePair<'_>| both.candidate.record().and_then(|record| record.element).is_some_and(Dtype::is_complex);
    let is_half_seen = data.is_none() && suspect.inputs().any(is_complex);
    let agree = if is_half_seen { agree.with("complex", 1_u64) } else { agree };
    let api = suspect.name.base.to_ascii_lowercase();
    let is_batch_norm = api.contains("batch_norm") || api.contains("batchnorm");
    if is_batch_norm && suspect.error() > OF_MODE && !suspect.is_backward() {
        let diagnosis = Diagnosis::new(&CAUSE, place, Sureness::Possible).because(agree);
        return Some(diagnosis.advise(Statement::new("batch-norm-mode-first").with("op", suspect.culprit.op.as_str())));
    }
    if let Some(formula) = formula::fitting_formula(context, &suspect, data.as_deref()) {
        // What the call gives already cannot be given.
        let operations = &context.input.candidate.operations;
        let given = suspect.candidate.leaves.iter().filter_map(|leaf| argument_of(suspect.candidate, leaf, operations));
        let given: Vec<String> = given.collect();
        let mut arguments = formula_arguments(&suspect.culprit.op);
        arguments.retain(|argument| given.iter().all(|given| given != argument));
        let action = Statement::new("other-formula").with("op", suspect.culprit.op.as_str());
        let action = if arguments.is_empty() { action } else { action.with("arguments", arguments) };
        let action = if formula.is_any(&[formula::FACTOR_TWICE]) {
            Statement { facts: formula.facts.clone(), ..Statement::new("factor-applied-twice") }
                .with("op", suspect.culprit.op.as_str())
        } else {
            action
        };
        // A constant fitted to a few statistics is only one guess among many.
        let is_guess = data.is_none() && formula.code == formula::EPSILON;
        let sureness = if is_guess { Sureness::Possible } else { Sureness::Certain };
        // A parameter's gradient is the sum of a backward pass that it does not record.
        if suspect.value.kind == TensorKind::ParameterGradient {
            let action = parameter_gradient_advice(context, &suspect, &formula);
            return Some(Diagnosis::new(&CAUSE, place, sureness).because(formula).advise(action));
        }
        let diagnosis = Diagnosis::new(&CAUSE, place, sureness).because(agree).because(formula);
        return Some(diagnosis.advise(action));
    }
    if let Some(ratio) = cancelling(&suspect) {
        let evidence = Statement::new("variance-cancels").with("ratio", ratio);
        let diagnosis = Diagnosis::new(&CAUSE, place, Sureness::Likely).because(agree).because(evidence);
        return Some(diagnosis.advise(Statement::new("cancelling-variance")));
    }
    if let Some(evidence) = systematic(context, &suspect, data.as_deref()) {
        let diagnosis = Diagnosis::new(&CAUSE, place, Sureness::Likely).because(agree).because(evidence);
        let is_saved = suspect.value.kind == TensorKind::Value;
        return Some(if is_saved { diagnosis.advise(Statement::new("saved-value")) } else { diagnosis });
    }
    if operands(&suspect).is_some() {
        return None;
    }
    // A parameter's gradient has no call of its own whose inputs could be compared.
    if suspect.value.kind == TensorKind::ParameterGradient || explains(context, &suspect) {
        return None;
    }
    let is_sum = suspect.value.records().is_some_and(|(record, _)| record.elements() == 1);
    let is_unseen = is_sum && unseen_indices(context, &suspect).is_some();
    let is_plain = suspect.has_finding_of(&[&dump_rules::OUTPUT_DIVERGES]) && !is_unseen && !is_half_seen;
    let sureness = if is_plain { Sureness::Likely } else { Sureness::Possible };
    let patterns = patterns(&suspect);
    if let Some(order) = order::unseen_order(context, &suspect).filter(|_| patterns.is_empty()) {
        let action = Statement { facts: order.facts.clone(), ..Statement::new(UNSEEN_ORDER) };
        return Some(Diagnosis::new(&CAUSE, place, sureness).because(agree).because(order).advise(action));
    }
    let is_cut = |pattern: &&Statement| pattern.facts.contains_key("largest_of");
    let advised =
        patterns.iter().find(|pattern| pattern.is_any(&[OTHER_ROWS, OTHER_PLACES, SUM_LOST, FEW_TOO_LARGE])).cloned();
    let cut = patterns
        .iter()
        .find(is_cut)
        .map(|cut| Statement { facts: cut.facts.clone(), ..Statement::new("cut-at-largest") });
    let advised = advised.or(cut);
    let unseen = is_half_seen.then(|| Statement::new(PHASE_UNSEEN).with("op", suspect.culprit.op.as_str()));
    let diagnosis = Diagnosis::new(&CAUSE, place, sureness).because(agree).because_all(patterns);
    Some(diagnosis.advise(advised.or(unseen)))
}

/// Advice about a parameter's gradient that is off by a factor: where one over it is the length of an axis of what enters the module, that
/// axis, and whether the gradients of the module's other parameters agree.
fn parameter_gradient_advice(context: &DumpContext<'_>, suspect: &Suspect<'_>, formula: &Statement) -> Statement {
    /// Largest relative distance of one over the factor from a whole number.
    const NEAR: f64 = 0.01;
    let advice = Statement::new("parameter-gradient-formula").with("tensor", suspect.culprit.tensor.as_str());
    let Some(Fact::Number(Number(factor))) = formula.facts.get("factor") else { return advice };
    let forward = format!("{}.forward", suspect.name.base);
    let module = context.input.candidate.operations.iter().find(|operation| operation.name.starts_with(&forward));
    let input = module.and_then(|module| module.leaves.iter().find(|leaf| leaf.kind == TensorKind::Input)?.record());
    let Some(shape) = input.map(|record| record.shape.to_vec()) else { return advice };
    let is_near = |len: usize| len > 1 && (count_of(len) * factor - 1.0).abs() <= NEAR;
    let is_length = |len: &u64| usize::try_from(*len).is_ok_and(is_near);
    // The last axis is that of the features, over which a bias is not summed.
    let summed = shape.split_last().map_or(&[][..], |(_, rest)| rest);
    let Some(axis) = summed.iter().position(is_length) else { return advice };
    let agrees = |both: ValuePair<'_>| both.measured().is_some_and(|measured| measured.error <= suspect.limit());
    let others: Vec<bool> =
        suspect.values().filter(|both| both.candidate.row != *suspect.culprit.tensor).map(agrees).collect();
    let told: Vec<String> = shape.iter().map(u64::to_string).collect();
    let advice =
        advice.with("axis", axis).with("length", *summed.get(axis).unwrap_or(&1)).with("input_shape", told.join("×"));
    if !others.is_empty() && others.iter().all(|agrees| *agrees) { advice.with("others", others.len()) } else { advice }
}

/// An input that is part of the graph, is no weight and was made by no dumped operation: code between two dumped calls
/// computes something else.
fn of_undumped(context: &DumpContext<'_>, suspect: &Suspect<'_>) -> Option<Diagnosis> {
    let rules = [&dump_rules::INPUT_DIFFERS];
    if !suspect.has_finding_of(&rules)
        || suspect.is_backward()
        || is_weight(suspect)
        || !is_in_graph(suspect)
        || explains(context, suspect)
    {
        return None;
    }
    if Updates::from_suspect(context, suspect).is_some_and(|updates| is_of_most(&updates)) {
        return None;
    }
    let op = suspect.culprit.op.as_str();
    let before = call_before(context, suspect)?;
    let evidence = Statement::new(MADE_BY_UNDUMPED).with("before", before).with("op", op);
    let agree = Statement::new("before-agrees").with("op", op).with("error", suspect.error());
    let diagnosis = Diagnosis::new(&CAUSE, suspect.culprit.tensor.as_str(), Sureness::Likely);
    let layout = rotary_layouts(context, suspect);
    let advice = advice_of_undumped(suspect);
    if let Some(layout) = layout {
        let advice = Statement { facts: advice.facts, ..Statement::new(ROTARY_LAYOUT) };
        let diagnosis = Diagnosis { sureness: Sureness::Certain, ..diagnosis };
        return Some(diagnosis.because(layout).because(evidence).advise(advice));
    }
    let diagnosis = diagnosis.because(agree).because(evidence).because_all(patterns(suspect));
    Some(diagnosis.advise(advice))
}

/// The layouts of a rotary embedding of which the call before multiplies the tensor as it is, and this one the rotated tensor.
fn rotary_layouts(context: &DumpContext<'_>, suspect: &Suspect<'_>) -> Option<Statement> {
    let data = context.data(&suspect.value)?;
    let before = context.input.comparison.operations.get(suspect.order.checked_sub(1)?)?;
    let (baseline, candidate) = operations_of(context.input, before)?;
    let mut inputs = values_of(before, baseline, candidate).filter(|both| both.kind == TensorKind::Input);
    inputs.find_map(|both| rotary::layouts(&data, &context.data(&both)?.baseline, 4.0 * suspect.limit()))
}

/// Error of one sign, or one that follows the input.
fn systematic(context: &DumpContext<'_>, suspect: &Suspect<'_>, data: Option<&DataPair>) -> Option<Statement> {
    let data = data?;
    if let Some(share) = data.one_sidedness(suspect.limit()).filter(|share| *share >= ONE_SIDED) {
        return Some(Statement::new("one-sign").with("share", share));
    }
    let input = suspect.inputs().find(|both| both.kind == TensorKind::Input)?;
    data.is_function_of(&context.data(&input)?.baseline).then(|| Statement::new("follows-input"))
}

/// Ratio of mean to spread of a normalisation's input, where `E[x²] − E[x]²` loses the digits that the error shows:
/// rounding of `x²` is that ratio squared times larger in the variance. `None` where it loses none of note, or the
/// operation takes no variance.
fn cancelling(suspect: &Suspect<'_>) -> Option<f64> {
    let api = suspect.api().to_ascii_lowercase();
    let is_variance = api.contains("norm") || matches!(api.as_str(), "var" | "std" | "var_mean" | "std_mean");
    let input = suspect.inputs().find(|both| both.kind == TensorKind::Input).filter(|_| is_variance)?;
    let record = input.baseline.record()?;
    let (max, min, mean) = (record.max.as_f64()?, record.min.as_f64()?, record.mean.as_f64()?);
    // A range spans about four standard deviations.
    let ratio = mean.abs() / ((max - min) / 4.0);
    let dtype = Dtype::parse(record.dtype)?;
    let lost = ratio * ratio * dtype.unit_roundoff();
    (ratio.is_finite() && lost > band_of_dtype(Some(dtype)).noise).then_some(ratio)
}
