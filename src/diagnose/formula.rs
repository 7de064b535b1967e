//! Search for the formula that fits a pair: the different computation that would give the candidate's result.
//!
//! Every formula is tested on what was recorded: on data where it was saved, else on the four statistics. A formula
//! that fits is named; none is proposed for want of a better one.

use super::context::{DumpContext, Suspect, element_count};
use super::factor;
use super::value_pair::{ValuePair, operations_of, values_of};
use super::values::DataPair;
use crate::kind::TensorKind;
use crate::read::dump::TensorRecord;
use crate::read::dump::name::OpName;
use crate::read::json::Json;
use crate::result::diagnosis::Statement;

/// A normalisation with another constant than its argument says.
pub(super) const EPSILON: &str = "formula-epsilon";
/// Evidence that an argument of a call is applied twice.
pub(super) const FACTOR_TWICE: &str = "formula-factor-twice";

/// Most of an error that may remain where a formula explains it.
const LEFT_OVER: f64 = 0.1;

/// The first formula that fits the culprit.
pub(super) fn fitting_formula(
    context: &DumpContext<'_>,
    suspect: &Suspect<'_>,
    data: Option<&DataPair>,
) -> Option<Statement> {
    other_epsilon(context, suspect)
        .or_else(|| scaled(suspect, data))
        .or_else(|| without_bias(context, suspect, data))
        .or_else(|| data.and_then(|data| other_activation(context, suspect, data)))
}

/// `candidate = s · baseline`: a factor applied twice, left out, or another one.
fn scaled(suspect: &Suspect<'_>, data: Option<&DataPair>) -> Option<Statement> {
    let wide = (4.0 * suspect.limit()).clamp(1e-4, 0.05);
    // A factor near 1 shows only where the statistics share it within the rounding of their type and the error that came in.
    let close = suspect.unit_roundoff().map_or(wide, |unit| (4.0 * unit).max(2.0 * suspect.received()).max(1e-4));
    let found = |tolerance: f64| {
        let factor = match data {
            Some(data) => factor::factor_of_data(data, LEFT_OVER)?,
            None => factor::factor_of_statistics(&suspect.value, tolerance)?,
        };
        ((factor - 1.0).abs() > 5.0 * tolerance).then_some((factor, tolerance))
    };
    let (factor, tolerance) = found(wide).or_else(|| found(close.min(wide)).filter(|_| data.is_none()))?;
    let near = |value: f64| (value / factor - 1.0).abs() <= tolerance.max(0.01);
    let statement = Statement::new("formula-scaled").with("factor", factor);
    let argument = suspect.numbers().find(|(_, value)| (value.abs() - 1.0).abs() > 1e-9 && near(*value));
    let inverse = suspect.numbers().find(|(_, value)| (value.abs() - 1.0).abs() > 1e-9 && near(1.0 / value));
    Some(match (argument, inverse) {
        (Some((name, value)), _) => {
            Statement::new(FACTOR_TWICE).with("factor", factor).with("argument", name).with("value", value)
        }
        (None, Some((name, value))) => {
            Statement::new("formula-factor-left-out").with("factor", factor).with("argument", name).with("value", value)
        }
        (None, None) => statement,
    })
}

/// `candidate = baseline − bias`, or the other way round.
fn without_bias(context: &DumpContext<'_>, suspect: &Suspect<'_>, data: Option<&DataPair>) -> Option<Statement> {
    if suspect.is_backward() || !suspect.is_result() {
        return None;
    }
    let bias = suspect.inputs().find(|both| is_bias(both, &suspect.value))?;
    let side = match data {
        Some(data) => bias_of_data(data, &context.data(&bias)?.baseline, suspect)?,
        None => bias_of_statistics(suspect, &bias.baseline.record()?)?,
    };
    Some(Statement::new("formula-bias-left-out").with("side", side).with("argument", bias.candidate.row.to_string()))
}

/// Whether an input is the bias: a vector with one element per output channel, in a call that also has a matrix or
/// kernel.
fn is_bias(both: &ValuePair<'_>, output: &ValuePair<'_>) -> bool {
    let (Some(bias), Some(output)) = (both.baseline.record(), output.baseline.record()) else { return false };
    let place = both.baseline.row.last_part();
    // The third argument of a linear or convolution, the first of a sum of matrices.
    let is_named = matches!(place, "bias" | "2" | "0");
    let [len] = bias.shape else { return false };
    is_named && *len > 1 && (output.shape.last() == Some(len) || output.shape.get(1) == Some(len))
}

/// The side that left out the bias, where the difference of both sides is the bias in every row.
fn bias_of_data(data: &DataPair, bias: &[f64], suspect: &Suspect<'_>) -> Option<&'static str> {
    let shape = suspect.value.baseline.record()?.shape;
    let along_last = shape.last().copied() == Some(bias.len() as u64);
    // Channels of a convolution are on the second axis.
    let inner = if along_last { 1 } else { element_count(shape.get(2..)?) };
    let inner = usize::try_from(inner).ok()?.max(1);
    let (mut error, mut without_candidate, mut without_baseline) = (0.0, 0.0, 0.0);
    let channels = data.baseline.chunks(inner).zip(data.candidate.chunks(inner));
    for ((baseline, candidate), bias) in channels.zip(bias.iter().cycle()) {
        for difference in baseline.iter().zip(candidate).map(|(b, c)| c - b) {
            error += difference * difference;
            without_candidate += (difference + bias) * (difference + bias);
            without_baseline += (difference - bias) * (difference - bias);
        }
    }
    side_that_explains(error, without_candidate, without_baseline)
}

/// The same from statistics: leaving out a bias shifts the mean by the bias' mean.
fn bias_of_statistics(suspect: &Suspect<'_>, bias: &TensorRecord<'_>) -> Option<&'static str> {
    let (baseline, candidate) = suspect.value.records()?;
    let (b, c, bias) = (baseline.mean.as_f64()?, candidate.mean.as_f64()?, bias.mean.as_f64()?);
    let rms = suspect.value.details().rms?;
    if bias.abs() <= 10.0 * suspect.limit() * rms {
        return None;
    }
    let square = |value: f64| value * value;
    side_that_explains(square(c - b), square(c - b + bias), square(c - b - bias))
}

fn side_that_explains(error: f64, without_candidate: f64, without_baseline: f64) -> Option<&'static str> {
    let enough = LEFT_OVER * LEFT_OVER * error;
    match (without_candidate <= enough, without_baseline <= enough) {
        _ if error <= 0.0 => None,
        (true, _) => Some("candidate"),
        (_, true) => Some("baseline"),
        _ => None,
    }
}

/// A normalisation whose output is too large or too small as a whole, as another epsilon makes it: with the variance
/// `v` of its input, outputs scale by `sqrt((v + eps) / (v + eps'))`.
fn other_epsilon(context: &DumpContext<'_>, suspect: &Suspect<'_>) -> Option<Statement> {
    let api = suspect.api().to_ascii_lowercase();
    if !api.contains("norm") || suspect.is_backward() || !suspect.is_result() {
        return None;
    }
    let (baseline, candidate) = suspect.value.records()?;
    let ratio = candidate.norm.as_f64()? / baseline.norm.as_f64()?;
    let input = suspect.inputs().find(|both| both.kind == TensorKind::Input).and_then(|both| both.baseline.record())?;
    let variance = variance(&input, api.contains("rms"))?;
    let asked = suspect.argument("eps", Some(4)).and_then(Json::as_f64).unwrap_or(1e-5);
    let fits = (variance + asked) / (ratio * ratio) - variance;
    let rounded = 10_f64.powf(fits.log10().round());
    let is_power = fits.is_finite() && fits > 0.0 && (fits / rounded).ln().abs() < 0.5;
    let matters = (ratio - 1.0).abs() > 5.0 * suspect.limit();
    (is_power && matters && (rounded / asked).ln().abs() > 1.0).then(|| {
        let statement = Statement::new(EPSILON).with("asked", asked).with("fits", rounded).with("variance", variance);
        let others = same_misfit(context, suspect);
        if others.is_empty() { statement } else { statement.with("others", others) }
    })
}

/// Later calls of the same kind that are as wrong although their inputs agree, such as the same norm of other layers: names of modules, or
/// of calls.
fn same_misfit(context: &DumpContext<'_>, suspect: &Suspect<'_>) -> Vec<String> {
    /// Calls that are named.
    const MOST: usize = 3;
    /// Share of the suspect's error from which on a call is as wrong.
    const ALIKE: f64 = 0.25;
    let kind = |name: &OpName<'_>| {
        let last = name.base.rsplit('.').nth(1).filter(|_| name.base.split('.').count() > 3).map(str::to_owned);
        (name.function().to_owned(), last)
    };
    let own = kind(&suspect.name);
    let later = context.input.comparison.operations.iter().skip(suspect.order + 1);
    let alike = later.filter_map(|comparison| {
        let (baseline, candidate) = operations_of(context.input, comparison)?;
        let name = OpName::parse(candidate.name);
        let is_kind = name.direction == suspect.name.direction && kind(&name) == own;
        let error = |is_output: bool| {
            let values = values_of(comparison, baseline, candidate);
            let of_kind = values.filter(move |both| (both.kind == TensorKind::Output) == is_output);
            of_kind.filter_map(|both| Some(both.measured()?.error)).fold(0.0, f64::max)
        };
        let is_alike = is_kind && error(false) <= suspect.limit() && error(true) >= ALIKE * suspect.error();
        is_alike.then(|| name.module_path().unwrap_or(candidate.name).to_owned())
    });
    alike.take(MOST).collect()
}

/// Variance of a tensor from its statistics (mean square for a root-mean-square norm); `None` where cancellation leaves
/// no digits.
fn variance(record: &TensorRecord<'_>, of_square: bool) -> Option<f64> {
    let elements = super::values::count_of(usize::try_from(record.elements()).ok()?);
    let norm = record.norm.as_f64()?;
    let square = norm * norm / elements;
    let mean = record.mean.as_f64()?;
    let variance = if of_square { square } else { square - mean * mean };
    (variance.is_finite() && variance > square * 1e-3).then_some(variance)
}

/// Part of a call's name, a formula in words, and the formula.
type Activation = (&'static str, &'static str, fn(f64) -> f64);

/// Ways to compute an activation that frameworks offer beside the exact one.
const ACTIVATIONS: [Activation; 6] = [
    ("gelu", "0.5·x·(1 + tanh(√(2/π)·(x + 0.044715·x³)))", gelu_tanh),
    ("gelu", "x·sigmoid(1.702·x)", |x| x * sigmoid(1.702 * x)),
    ("silu", "x·relu6(x + 3)/6", hard_swish),
    ("sigmoid", "relu6(x + 3)/6", hard_sigmoid),
    ("relu", "max(x, 0.01·x)", |x| x.max(0.01 * x)),
    ("gelu", "max(x, 0)", |x| x.max(0.0)),
];

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

fn hard_sigmoid(x: f64) -> f64 {
    (x + 3.0).clamp(0.0, 6.0) / 6.0
}

fn hard_swish(x: f64) -> f64 {
    x * hard_sigmoid(x)
}

fn gelu_tanh(x: f64) -> f64 {
    0.5 * x * (1.0 + (std::f64::consts::FRAC_2_PI.sqrt() * (x + 0.044_715 * x * x * x)).tanh())
}

/// An activation that one side computes by another formula than the other.
fn other_activation(context: &DumpContext<'_>, suspect: &Suspect<'_>, data: &DataPair) -> Option<Statement> {
    let api = suspect.api().to_ascii_lowercase();
    let input = suspect.inputs().find(|both| both.kind == TensorKind::Input)?;
    let input = context.data(&input)?;
    if input.baseline.len() != data.baseline.len() || suspect.is_backward() {
        return None;
    }
    let fits = |inputs: &[f64], outputs: &[f64], formula: fn(f64) -> f64| {
        let error: f64 = inputs.iter().zip(outputs).map(|(x, y)| (y - formula(*x)).powi(2)).sum();
        let square: f64 = outputs.iter().map(|y| y * y).sum();
        error.sqrt() <= LEFT_OVER * suspect.error() * square.sqrt()
    };
    ACTIVATIONS.into_iter().filter(|(name, ..)| api.contains(name)).find_map(|(_, text, formula)| {
        let (baseline, candidate) =
            (fits(&input.baseline, &data.baseline, formula), fits(&input.candidate, &data.candidate, formula));
        let side = match (baseline, candidate) {
            (false, true) => "candidate",
            (true, false) => "baseline",
            _ => return None,
        };
        Some(Statement::new("formula-activation").with("side", side).with("formula", text))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tanh_form_of_gelu_is_close_to_the_exact_one() {
        // Exact values of x·Φ(x).
        for (x, exact) in [(0.0, 0.0), (1.0, 0.841_344_7), (-1.0, -0.158_655_3), (2.0, 1.954_499_7)] {
            assert!((gelu_tanh(x) - exact).abs() < 5e-4, "{x}");
        }
    }
}
