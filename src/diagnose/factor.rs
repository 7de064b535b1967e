//! Factors: whether one side is the other one times a constant, and what that constant equals.

use super::context::{DumpContext, Suspect};
use super::value_pair::ValuePair;
use super::values::DataPair;
use crate::read::dump::Statistic;
use crate::read::dump::name::OpName;
use crate::result::diagnosis::Statement;

/// The factor of all elements, by least squares, where the residual is small compared with the error.
pub(super) fn factor_of_data(data: &DataPair, left_over: f64) -> Option<f64> {
    let pairs = || data.baseline.iter().zip(&data.candidate);
    let (mut squares, mut products, mut error) = (0.0, 0.0, 0.0);
    for (b, c) in pairs() {
        squares += b * b;
        products += b * c;
        error += (c - b) * (c - b);
    }
    let factor = products / squares;
    let left: f64 = pairs().map(|(b, c)| (c - factor * b) * (c - factor * b)).sum();
    let is_many = data.baseline.len() > 1;
    (is_many && factor.is_finite() && error > 0.0 && left <= left_over * left_over * error).then_some(factor)
}

/// The factor on which max, min, mean and norm agree; for one element or a constant there is none, since any factor
/// fits.
pub(super) fn factor_of_statistics(both: &ValuePair<'_>, tolerance: f64) -> Option<f64> {
    let records = both.records()?;
    let Some(numbers) = both.finite_statistics() else { return factor_without_norm(both, tolerance) };
    let [[max, min, mean, norm], [other_max, other_min, other_mean, other_norm]] = numbers;
    if records.0.elements() < 2 || max <= min || norm <= 0.0 {
        return None;
    }
    let size = other_norm / norm;
    let scale = max.abs().max(min.abs());
    let rms = norm / super::values::count_of(usize::try_from(records.0.elements()).ok()?).sqrt();
    let fits = |factor: f64| {
        let (upper, lower) = if factor < 0.0 { (min, max) } else { (max, min) };
        let near = |expected: f64, found: f64, unit: f64| (expected - found).abs() <= tolerance * size * unit;
        near(factor * upper, other_max, scale)
            && near(factor * lower, other_min, scale)
            && near(factor * mean, other_mean, rms)
    };
    [size, -size].into_iter().find(|factor| factor.is_finite() && *factor != 0.0 && fits(*factor))
}

/// The factor on which max, min and mean agree, where no norm was recorded, as of complex numbers.
fn factor_without_norm(both: &ValuePair<'_>, tolerance: f64) -> Option<f64> {
    let (baseline, candidate) = both.records()?;
    let of = |[one, other]: [Statistic<'_>; 2]| {
        let (one, other) = one.as_f64().zip(other.as_f64())?;
        let factor = other / one;
        (factor.is_finite() && factor.abs() > 0.0).then_some(factor)
    };
    if baseline.elements() < 2 || baseline.max.as_f64()? <= baseline.min.as_f64()? || baseline.norm.as_f64().is_some() {
        return None;
    }
    let factor = of([baseline.mean, candidate.mean])?;
    let ends = [of([baseline.max, candidate.max])?, of([baseline.min, candidate.min])?];
    ends.into_iter().all(|end| (end / factor - 1.0).abs() <= tolerance).then_some(factor)
}

/// The factor of a value, from its data where it was saved.
pub(super) fn factor_of_value(context: &DumpContext<'_>, both: &ValuePair<'_>, tolerance: f64) -> Option<f64> {
    let factor = match context.data(both) {
        Some(data) => factor_of_data(&data, 0.1)?,
        None => factor_of_statistics(both, tolerance)?,
    };
    ((factor - 1.0).abs() > 5.0 * tolerance).then_some(factor)
}

/// Meaning of a factor: the number of ranks, a power of two, a root or a multiple of a length of the tensor.
pub(super) fn factor_meaning(factor: f64, context: &DumpContext<'_>, suspect: &Suspect<'_>) -> Option<Statement> {
    let size = factor.abs();
    let ranks = context.peers.len() + 1;
    let near = |value: f64| (size / value - 1.0).abs() <= 2e-3;
    let count = super::values::count_of(ranks);
    if ranks > 1 && (near(count) || near(1.0 / count)) {
        return Some(Statement::new("factor-is-ranks").with("factor", factor).with("ranks", ranks));
    }
    let calls = calls_like(context, suspect);
    let batches = super::values::count_of(calls);
    if suspect.is_backward() && calls > 1 && (near(batches) || near(1.0 / batches)) {
        return Some(Statement::new("factor-is-calls").with("factor", factor).with("calls", calls));
    }
    let power = size.log2().round();
    if near(power.exp2()) && power.abs() <= 2.0 {
        return None;
    }
    let lengths = suspect.inputs().chain([suspect.value]).filter_map(|both| both.records());
    let mut lengths: Vec<u64> =
        lengths.flat_map(|(record, _)| record.shape.iter().copied()).filter(|len| *len > 2).collect();
    lengths.sort_unstable();
    lengths.dedup();
    let named = |len: u64| {
        let value = super::values::count_of(usize::try_from(len).ok()?);
        let forms = [
            (value, format!("{len}")),
            (1.0 / value, format!("1/{len}")),
            (value.sqrt(), format!("√{len}")),
            (1.0 / value.sqrt(), format!("1/√{len}")),
        ];
        forms.into_iter().find(|(value, _)| near(*value)).map(|(_, text)| text)
    };
    let text = lengths.into_iter().find_map(named).or_else(|| near(power.exp2()).then(|| simple(power)))?;
    Some(Statement::new("factor-equals").with("factor", factor).with("equals", text))
}

/// Number of calls of the suspect's operation in the step; for a loss, the number of micro-batches.
fn calls_like(context: &DumpContext<'_>, suspect: &Suspect<'_>) -> usize {
    let names = context.input.candidate.operations.iter().map(|operation| OpName::parse(operation.name));
    names.filter(|name| name.base == suspect.name.base && name.direction == suspect.name.direction).count()
}

/// A power of two as text, as people write it.
fn simple(power: f64) -> String {
    if power < 0.0 { format!("1/{}", (-power).exp2()) } else { format!("{}", power.exp2()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_factor_of_many_elements_is_found_and_one_of_a_scalar_is_not() {
        let baseline: Vec<f64> = (0..50).map(|x| f64::from(x) - 20.0).collect();
        let times = |factor: f64| DataPair::new(baseline.clone(), baseline.iter().map(|b| b * factor).collect(), 5);
        assert!(factor_of_data(&times(0.25), 0.1).is_some_and(|factor| (factor - 0.25).abs() < 1e-12));
        assert!(factor_of_data(&times(-1.0), 0.1).is_some_and(|factor| (factor + 1.0).abs() < 1e-12));
        assert_eq!(factor_of_data(&DataPair::new(vec![2.0], vec![3.0], 1), 0.1), None);
        let shifted = DataPair::new(baseline.clone(), baseline.iter().map(|b| b + 1.0).collect(), 5);
        assert_eq!(factor_of_data(&shifted, 0.1), None);
    }

    #[test]
    fn powers_of_two_are_written_as_people_do() {
        assert_eq!([simple(1.0), simple(-1.0), simple(16.0)], ["2", "1/2", "65536"].map(str::to_owned));
    }
}
