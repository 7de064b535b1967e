//! Another precision: the operation ran with narrower operands, or stored its result in a narrower type.
//!
//! Operands rounded to `p` bits leave an error of about `2^−p` of the scale in a matrix product, whatever its size, so
//! the size tells the type: 2^-11 for fp16, TF32 and HF32, 2^-8 for bf16, 2^-24 for fp32 instead of fp64. Any
//! operation that stored its result in a narrower type leaves numbers that this type holds exactly.

use super::super::entry::{ACCURACY_NOTES, Cause};
use half::{bf16, f16};

use super::super::context::{DumpContext, Suspect};
use super::super::formula;
use super::super::value_pair::ValuePair;
use super::super::values::DataPair;
use crate::compare::dump::Basis;
use crate::dtype::Dtype;
use crate::judge::config::rules as config_rules;
use crate::judge::dump::rules as dump_rules;
use crate::kind::TensorKind;
use crate::read::dump::name::{Direction, OpName};
use crate::read::dump::{Dump, Leaf, Operation, Statistic, TensorRecord};
use crate::result::diagnosis::{Diagnosis, Statement, Sureness};

pub(super) const CAUSE: Cause = Cause {
    in_dump,
    supported_by: &[
        &config_rules::ENV_PAIR_DIFFERS,
        &config_rules::ENV_WATCHED_DIFFERS,
        &config_rules::WEIGHTS_PRECISION,
    ],
    links: &[ACCURACY_NOTES, "https://docs.pytorch.org/docs/stable/notes/cuda.html"],
    ..Cause::new("reduced-precision")
};

/// Matrix products and operations built from them; names in lower case, as APIs and as module classes.
const PRODUCTS: [&str; 13] = [
    "linear",
    "matmul",
    "addmm",
    "addbmm",
    "baddbmm",
    "bmm",
    "einsum",
    "conv",
    "attention",
    "bilinear",
    "tensordot",
    "lstm",
    "gru",
];
/// Names that only mean a product as a whole.
const WHOLE_PRODUCTS: [&str; 4] = ["mm", "mv", "dot", "__rmatmul__"];

fn in_dump(context: &DumpContext<'_>) -> Option<Diagnosis> {
    let suspect = context.suspect()?;
    let place = suspect.culprit.tensor.as_str();
    let (wide, narrow) = suspect.value.dtypes()?;
    if suspect.has_finding_of(&[&dump_rules::DTYPE_DIFFERS]) {
        let evidence =
            Statement::new("narrower-type").with("baseline", wide.to_string()).with("candidate", narrow.to_string());
        let is_narrower = narrow.is_float() && wide.is_float() && narrow.unit_roundoff() > wide.unit_roundoff();
        return is_narrower.then(|| Diagnosis::new(&CAUSE, place, Sureness::Likely).because(evidence));
    }
    if suspect.is_backward() && !suspect.is_result() {
        return of_gradient(&suspect, wide, narrow);
    }
    if !suspect.is_result()
        || !suspect.has_finding_of(&[&dump_rules::OUTPUT_DIVERGES, &dump_rules::OTHER_PRECISION])
        || wide != narrow
    {
        return None;
    }
    let data = context.data(&suspect.value);
    if let Some(stored) = stored_in(&suspect.value, data.as_deref()) {
        let evidence =
            Statement::new("stored-narrower").with("type", stored.to_string()).with("error", suspect.error());
        let diagnosis = Diagnosis::new(&CAUSE, place, Sureness::Certain).because(evidence);
        // The switches of matrix products change nothing about another operation.
        let advice = Statement::new("stored-narrower").with("op", suspect.culprit.op.as_str());
        let advice = advice.with("type", stored.to_string());
        return Some(if is_product(&suspect) { diagnosis } else { diagnosis.advise(advice) });
    }
    let (types, unit) = operands(&suspect)?;
    let is_confined = data.as_deref().is_some_and(|data| data.confined_error(suspect.limit(), true).is_some());
    // Reduced precision causes errors everywhere, which follow no formula.
    if is_confined || formula::fitting_formula(context, &suspect, data.as_deref()).is_some() {
        return None;
    }
    let one_sided = data.and_then(|data| data.one_sidedness(suspect.limit()));
    let sureness = match one_sided {
        Some(share) if share > 0.9 => return None,
        _ if unit > 0.0 => Sureness::Likely,
        _ => Sureness::Possible,
    };
    let op = suspect.culprit.op.as_str();
    let stored = type_of_gradients(context, &suspect).map(name_of).filter(|name| types.contains(name));
    let types: Vec<String> = match stored {
        Some(name) => vec![name.to_owned()],
        None => types.iter().map(|name| (*name).to_owned()).collect(),
    };
    let evidence = Statement::new("error-fits-type")
        .with("op", op)
        .with("error", suspect.error())
        .with("types", types)
        .with("unit", unit);
    let diagnosis = Diagnosis::new(&CAUSE, place, sureness).because(evidence);
    Some(match stored {
        Some(name) => diagnosis
            .because(Statement::new("gradients-narrower").with("type", name))
            .advise(Statement::new("operands-cast").with("op", op).with("type", name)),
        None => diagnosis,
    })
}

/// A type as advice writes it.
fn name_of(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::F16 => "fp16",
        Dtype::BF16 => "bf16",
        _ => "fp32",
    }
}

/// The narrower type that holds the ends of a gradient which the candidate's call returned, and not those of the baseline's: the
/// call's operands were cast to it.
fn type_of_gradients(context: &DumpContext<'_>, suspect: &Suspect<'_>) -> Option<Dtype> {
    if suspect.is_backward() {
        return None;
    }
    let gradients = |dump: &'_ Dump| -> Vec<Vec<f64>> {
        let is_it = |operation: &Operation<'_>| {
            let name = OpName::parse(operation.name);
            let is_backward = name.direction == Some(Direction::Backward);
            is_backward && name.base == suspect.name.base && name.call == suspect.name.call
        };
        let calls = dump.operations.iter().filter(is_it);
        let leaves = calls.flat_map(|operation| operation.leaves.iter()).filter(|leaf| leaf.kind == TensorKind::Output);
        let wide = leaves.filter_map(Leaf::record).filter(|record| Dtype::parse(record.dtype) == Some(Dtype::F32));
        wide.map(|record| ends(&record)).filter(|ends| ends.len() == 2).collect()
    };
    let baseline: Vec<f64> = gradients(context.input.baseline).concat();
    if baseline.is_empty() {
        return None;
    }
    let candidate = gradients(context.input.candidate);
    let is_uncommon = |ends: &&Vec<f64>| ends.iter().all(|value| is_uncommon(*value));
    candidate.iter().filter(is_uncommon).find_map(|ends| narrower(Dtype::F32, &baseline, ends))
}

/// The largest and the smallest value of a record.
fn ends(record: &TensorRecord<'_>) -> Vec<f64> {
    [record.max, record.min].into_iter().filter_map(Statistic::as_f64).collect()
}

/// A gradient that a backward call receives, made by one that was not dumped: the error's size is all that is known.
fn of_gradient(suspect: &Suspect<'_>, wide: Dtype, narrow: Dtype) -> Option<Diagnosis> {
    if !suspect.has_finding_of(&[&dump_rules::INPUT_DIFFERS]) || wide != narrow || wide != Dtype::F32 {
        return None;
    }
    let types = [("fp16", 2f64.powi(-11)), ("bf16", 2f64.powi(-8))];
    let fitting = types.into_iter().filter(|(_, unit)| fits(*unit, suspect.error()));
    let types: Vec<String> = fitting.map(|(name, _)| name.to_owned()).collect();
    let evidence = Statement::new("gradient-error-fits-type")
        .with("op", suspect.culprit.op.as_str())
        .with("error", suspect.error())
        .with("types", types.clone());
    let place = suspect.culprit.tensor.as_str();
    (!types.is_empty()).then(|| Diagnosis::new(&CAUSE, place, Sureness::Possible).because(evidence))
}

/// Whether an error is of the size that rounding to `unit` makes: a result smaller than its terms shows their rounding
/// enlarged; a long sum of roundings of either sign, and statistics instead of elements, reduced.
fn fits(unit: f64, error: f64) -> bool {
    (unit / 32.0..=unit * 4.0).contains(&error)
}

/// The narrower type of a product's operands that the error's size fits, and that type's unit; the unit is 0 where
/// the values are 16 bits wide and only the accumulation can be narrower.
pub(super) fn operands(suspect: &Suspect<'_>) -> Option<(&'static [&'static str], f64)> {
    let (baseline, candidate) = suspect.value.dtypes()?;
    let wide = if baseline.unit_roundoff() >= candidate.unit_roundoff() { baseline } else { candidate };
    let error = suspect.error();
    let fits = |unit: f64| fits(unit, error);
    let (fp16, of_bf16, of_f32) = (2f64.powi(-11), 2f64.powi(-8), 2f64.powi(-24));
    if !is_product(suspect) || has_equal_ends(suspect) {
        return None;
    }
    // Statistics see the ends of a tensor, where errors vary too much to tell these types apart.
    let by_data = suspect.value.measured().is_some_and(|measured| measured.basis == Basis::Data);
    match wide {
        Dtype::F32 | Dtype::C64 if !by_data && fits(fp16) && fits(of_bf16) => {
            Some((&["fp16", "HF32", "TF32", "bf16"], fp16))
        }
        Dtype::F32 | Dtype::C64 if fits(fp16) => Some((&["fp16", "HF32", "TF32"], fp16)),
        Dtype::F32 | Dtype::C64 if fits(of_bf16) => Some((&["bf16"], of_bf16)),
        Dtype::F64 | Dtype::C128 if fits(of_f32) => Some((&["fp32"], of_f32)),
        Dtype::F16 | Dtype::BF16 if suspect.has_finding_of(&[&dump_rules::OTHER_PRECISION]) => {
            Some((&["fp16", "bf16"], 0.0))
        }
        _ => None,
    }
}

/// Whether only sums differ while max and min agree: rounding shows in max and min first, since sums average it out.
fn has_equal_ends(suspect: &Suspect<'_>) -> bool {
    let of = |name: &str| suspect.culprit.metrics.get(name).map(|number| number.0);
    let Some((max, min)) = of("max_difference").zip(of("min_difference")) else { return false };
    max.abs() <= suspect.limit() && min.abs() <= suspect.limit() && suspect.error() > suspect.limit()
}

/// Whether the operation is a matrix product or holds one; the name of a value saved by hand says nothing.
pub(super) fn is_product(suspect: &Suspect<'_>) -> bool {
    let api = suspect.api().to_ascii_lowercase();
    if suspect.value.kind == TensorKind::Value {
        return false;
    }
    WHOLE_PRODUCTS.contains(&api.as_str()) || PRODUCTS.iter().any(|product| api.contains(product))
}

/// The narrower type the candidate's value was stored in; the ends of its range stand for data that was not saved.
fn stored_in(both: &ValuePair<'_>, data: Option<&DataPair>) -> Option<Dtype> {
    let (wide, _) = both.dtypes().filter(|(wide, _)| matches!(wide, Dtype::F32 | Dtype::F64))?;
    if let Some(data) = data {
        return narrower(wide, &data.baseline, &data.candidate);
    }
    let (baseline, candidate) = both.records()?;
    narrower(wide, &ends(&baseline), &ends(&candidate))
}

/// The type narrower than `wide` that holds every number of the candidate exactly, and not those of the baseline. Nearly every
/// number of bf16 is one of fp16, too, so that fp16 takes errors of at most its own rounding.
fn narrower(wide: Dtype, baseline: &[f64], candidate: &[f64]) -> Option<Dtype> {
    let is_rounded_to_f16 = |(b, c): (&f64, &f64)| (b - c).abs() <= b.abs() * 2f64.powi(-11);
    let types = if baseline.iter().zip(candidate).all(is_rounded_to_f16) {
        [Dtype::F16, Dtype::BF16, Dtype::F32]
    } else {
        [Dtype::BF16, Dtype::F16, Dtype::F32]
    };
    types.into_iter().filter(|dtype| *dtype != wide).find(|dtype| {
        let holds_all = |values: &[f64]| values.iter().all(|value| holds(*dtype, *value));
        let is_uncommon = || candidate.iter().any(|value| is_uncommon(*value));
        !candidate.is_empty() && !holds_all(baseline) && holds_all(candidate) && is_uncommon()
    })
}

/// Whether a type holds a number exactly.
fn holds(dtype: Dtype, value: f64) -> bool {
    let (digits, normal) = match dtype {
        Dtype::F16 => (f16::MANTISSA_DIGITS, f16::MIN_POSITIVE.to_f64()..=f16::MAX.to_f64()),
        Dtype::BF16 => (bf16::MANTISSA_DIGITS, bf16::MIN_POSITIVE.to_f64()..=bf16::MAX.to_f64()),
        _ => (f32::MANTISSA_DIGITS, f64::from(f32::MIN_POSITIVE)..=f64::from(f32::MAX)),
    };
    if normal.contains(&value.abs()) {
        return value.to_bits().trailing_zeros() >= f64::MANTISSA_DIGITS - digits;
    }
    rounded(dtype, value).total_cmp(&value).is_eq()
}

/// The nearest number that a type can hold.
fn rounded(dtype: Dtype, value: f64) -> f64 {
    match dtype {
        Dtype::F16 => f16::from_f64(value).to_f64(),
        Dtype::BF16 => bf16::from_f64(value).to_f64(),
        #[allow(clippy::cast_possible_truncation, reason = "rounding is what is asked for")]
        _ => f64::from(value as f32),
    }
}

/// Whether a number is not one that every type holds, as zeros, halves and small integers are.
fn is_uncommon(value: f64) -> bool {
    (value * 16.0).fract().abs() > 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_hold_what_they_can_represent() {
        assert!(holds(Dtype::F16, 0.099_975_585_937_5));
        assert!(!holds(Dtype::F16, 0.1));
        assert!(holds(Dtype::BF16, 3.015_625));
        assert!(!holds(Dtype::BF16, 3.0156));
        assert!(holds(Dtype::F32, f64::from(0.1_f32)) && !holds(Dtype::F32, 0.1));
        let edges =
            [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 65504.0, 65505.0, 1e38, 3.4e38, 1e39, 1e300];
        let halvings = (0..1100).map(|exponent| 1.5 * 2f64.powi(80 - exponent));
        for value in edges.into_iter().chain(halvings).flat_map(|value| [value, -value, value * (1.0 + 2f64.powi(-9))])
        {
            for dtype in [Dtype::F16, Dtype::BF16, Dtype::F32] {
                let is_itself = rounded(dtype, value).total_cmp(&value).is_eq();
                assert_eq!(holds(dtype, value), is_itself, "{value:e} as {dtype}");
            }
        }
        let (recorded, in_bf16, in_f16) =
            ([2.775_393, -0.169_5], [2.781_25, -0.169_921_875], [2.775_390_625, -0.169_555_664_062_5]);
        assert_eq!(narrower(Dtype::F32, &recorded, &in_bf16), Some(Dtype::BF16));
        assert_eq!(narrower(Dtype::F32, &recorded, &in_f16), Some(Dtype::F16));
        assert!(!is_uncommon(0.5) && !is_uncommon(-3.0) && is_uncommon(0.1));
    }
}
