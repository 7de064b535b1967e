//! The way in which a value is off, from the statistics of both sides: one number everywhere, a shift, values of one end that are gone,
//! other rows of a table.

use super::context::Suspect;
use super::value_pair::ValuePair;
use super::values::count_of;
use crate::dtype::Dtype;
use crate::read::dump::TensorRecord;
use crate::result::diagnosis::Statement;
use crate::verdict::Side;

/// A few values that are far too large among right ones.
pub(super) const FEW_TOO_LARGE: &str = "few-too-large";

/// The same magnitudes, moved or with other signs.
const SAME_MAGNITUDES: &str = "same-magnitudes";

/// A lookup that returns other elements of its table than the baseline's.
pub(super) const OTHER_ROWS: &str = "other-rows";

/// A sum over an index of which one side lost a part.
pub(super) const SUM_LOST: &str = "sum-lost";
/// Values that are added at other places than on the baseline.
pub(super) const OTHER_PLACES: &str = "other-places";

/// Operations that add their values to the places that an index names; the backward of a lookup is one, too.
const ADDING: [&str; 4] = ["index_add", "index_add_", "scatter_add", "scatter_add_"];
/// Relative difference up to which two sums are one.
const KEPT: f64 = 1e-3;
/// Least sum that shows anything, in parts of the largest that values of one sign would have.
const SHOWN: f64 = 1e-3;

/// Least difference of two statistics that is not rounding, in parts of the tensor's scale.
const APART: f64 = 0.01;

/// Operations whose results are elements of their first floating-point input.
const LOOKUPS: [&str; 7] = ["embedding", "gather", "index_select", "take", "take_along_dim", "__getitem__", "index"];

/// Parts of the names of functions whose results have a natural bound, which says nothing about values that are gone.
const BOUNDED: [&str; 11] = ["relu", "elu", "silu", "swish", "mish", "soft", "sigmoid", "tanh", "exp", "abs", "square"];

/// Statements that say how the value of `suspect` is off; empty where the statistics show no pattern.
pub(super) fn patterns(suspect: &Suspect<'_>) -> Vec<Statement> {
    let Some(ends) = Ends::from_value(&suspect.value, suspect.limit()) else { return Vec::new() };
    if let Some(one) = ends.one_number() {
        return vec![one];
    }
    if let Some(shift) = ends.shift() {
        return vec![shift];
    }
    if let Some(same) = same_magnitudes(suspect) {
        return vec![same];
    }
    let api = suspect.api().to_ascii_lowercase();
    if let Some(sum) = sum_of_parts(suspect, &api) {
        return vec![sum];
    }
    let rows = other_rows(suspect, &api);
    let is_bounded = BOUNDED.iter().any(|part| api.contains(part));
    let gone = if is_bounded && suspect.is_result() { None } else { ends.gone(rows.is_some()) };
    let inner = || inner_part(suspect, &ends);
    let found: Vec<Statement> = rows.into_iter().chain(gone).collect();
    if found.is_empty() { inner().or_else(|| few_too_large(suspect)).into_iter().collect() } else { found }
}

/// An input whose norm and largest magnitude agree while its mean does not: the same magnitudes in another order or with other signs, as
/// where a rotary embedding exchanges halves on one side and neighbours on the other.
pub(super) fn same_magnitudes(suspect: &Suspect<'_>) -> Option<Statement> {
    let [baseline, candidate] = suspect.value.finite_statistics().filter(|_| !suspect.is_result())?;
    let [[max, min, mean, norm], [other_max, other_min, other_mean, other_norm]] = [baseline, candidate];
    let (one, other) = (max.abs().max(min.abs()), other_max.abs().max(other_min.abs()));
    let near = |one: f64, other: f64| (one - other).abs() <= 4.0 * suspect.limit() * one.abs().max(other.abs());
    let is_same = norm > 0.0 && near(norm, other_norm) && near(one, other) && 4.0 * suspect.limit() <= KEPT;
    let is_apart = (mean - other_mean).abs() > suspect.limit() * one;
    (is_same && is_apart).then(|| Statement::new(SAME_MAGNITUDES).with("largest", one))
}

/// A result whose largest magnitude grows far more than its norm: few of its values are wrong, such as a part that no kernel wrote.
fn few_too_large(suspect: &Suspect<'_>) -> Option<Statement> {
    /// Least growth of the largest magnitude, and the most that the norm grows for it.
    const LARGER: f64 = 1.5;
    const SHARE: f64 = 0.25;
    let [[max, min, _, norm], [other_max, other_min, _, other_norm]] = suspect.value.finite_statistics()?;
    let (one, other) = (max.abs().max(min.abs()), other_max.abs().max(other_min.abs()));
    let (grown, norm_grown) = (other / one, other_norm / norm);
    let is_few = suspect.is_result()
        && !suspect.is_backward()
        && grown >= LARGER
        && grown.is_finite()
        && norm_grown >= 1.0
        && norm_grown - 1.0 <= SHARE * (grown - 1.0);
    is_few.then(|| {
        let statement = Statement::new(FEW_TOO_LARGE).with("from", one).with("to", other);
        statement.with("grown", grown).with("norm_grown", norm_grown)
    })
}

/// A norm that falls while both ends agree: as if a part of the elements were zero, with the share of the squares that is gone.
fn inner_part(suspect: &Suspect<'_>, ends: &Ends) -> Option<Statement> {
    let [[.., norm], [.., other_norm]] = suspect.value.finite_statistics()?;
    let ([max, min, _], [other_max, other_min, _]) = (ends.baseline, ends.candidate);
    let agree = ends.is_same(max, other_max) && ends.is_same(min, other_min);
    let is_lower = norm > 0.0 && other_norm < norm * (1.0 - 4.0 * suspect.limit());
    (agree && is_lower && suspect.is_result())
        .then(|| Statement::new("inner-part-gone").with("share", 1.0 - (other_norm / norm).powi(2)))
}

/// Largest and smallest value and mean of both sides, and how far rounding takes them apart.
struct Ends {
    baseline: [f64; 3],
    candidate: [f64; 3],
    scale: f64,
    rounding: f64,
}

impl Ends {
    fn from_value(both: &ValuePair<'_>, limit: f64) -> Option<Self> {
        let (left, right) = both.records()?;
        let of = |record: &TensorRecord<'_>| {
            let [max, min, mean] = [record.max, record.min, record.mean].map(|value| value.as_f64());
            let all = [max?, min?, mean?];
            all.iter().all(|value| value.is_finite()).then_some(all)
        };
        let (baseline, candidate) = (of(&left)?, of(&right)?);
        let scale = baseline.iter().chain(&candidate).fold(0.0, |scale: f64, value| scale.max(value.abs()));
        let is_float = Dtype::parse(left.dtype).is_some_and(|dtype| dtype.is_float() || dtype.is_complex());
        let is_many = left.elements() > 1 && left.shape == right.shape;
        (is_float && is_many && scale > 0.0).then_some(Self {
            baseline,
            candidate,
            scale,
            rounding: 4.0 * limit * scale,
        })
    }

    fn is_same(&self, one: f64, other: f64) -> bool {
        (one - other).abs() <= self.rounding
    }

    fn is_apart(&self, one: f64, other: f64) -> bool {
        (one - other).abs() > self.rounding.max(APART * self.scale)
    }

    /// One side whose elements are all one number, while those of the other are not.
    fn one_number(&self) -> Option<Statement> {
        let is_one = |[max, min, _]: [f64; 3]| max <= min;
        let (side, number) = match (is_one(self.baseline), is_one(self.candidate)) {
            (false, true) => (Side::Candidate, self.candidate[0]),
            (true, false) => (Side::Baseline, self.baseline[0]),
            _ => return None,
        };
        let statement = Statement::new("one-number").with("side", side.as_str()).with("number", number);
        let narrow = [("float16", 65504.0), ("bfloat16", f64::from(half::bf16::MAX))];
        let limit = narrow.into_iter().find(|(_, largest)| (number.abs() - largest).abs() <= 1e-6 * largest);
        Some(match limit {
            Some((name, _)) => statement.with("largest_of", name),
            None => statement,
        })
    }

    /// Both ends and the mean moved by the same distance.
    fn shift(&self) -> Option<Statement> {
        let ([max, min, mean], [other_max, other_min, other_mean]) = (self.baseline, self.candidate);
        let [max, min, mean] = [other_max - max, other_min - min, other_mean - mean];
        let is_shift = self.is_apart(max, 0.0) && self.is_same(max, min) && self.is_same(max, mean);
        is_shift.then(|| Statement::new("values-shifted").with("shift", mean))
    }

    /// One end lies further inside on the candidate while the other end agrees. Where values were cut the mean follows; among
    /// other rows of a table it may not.
    fn gone(&self, are_other_rows: bool) -> Option<Statement> {
        let ([max, min, mean], [other_max, other_min, other_mean]) = (self.baseline, self.candidate);
        let is_cut_above = self.is_apart(max, other_max) && other_max < max && self.is_same(min, other_min);
        let is_cut_below = self.is_apart(min, other_min) && other_min > min && self.is_same(max, other_max);
        let is_zero = |end: f64| end.abs() <= 0.0;
        let told = |code: &str, from: f64, to: f64| Some(Statement::new(code).with("from", from).with("to", to));
        if is_cut_above && !is_zero(min) && (are_other_rows || other_mean < mean) {
            told("largest-gone", max, other_max)
        } else if is_cut_below && !is_zero(max) && (are_other_rows || other_mean > mean) {
            told("smallest-gone", min, other_min)
        } else {
            None
        }
    }
}

/// The sum of an operation that adds values to the places that an index names, held against that of what goes in.
fn sum_of_parts(suspect: &Suspect<'_>, api: &str) -> Option<Statement> {
    let adds = if suspect.is_backward() { LOOKUPS.contains(&api) } else { ADDING.contains(&api) };
    let sum = |record: &TensorRecord<'_>| {
        let count = count_of(usize::try_from(record.elements()).ok()?);
        // Terms of either sign cancel, and their rounding does not.
        Some((record.mean.as_f64()? * count, record.norm.as_f64()? * count.sqrt()))
    };
    let floats = suspect.inputs().filter(|both| both.dtypes().is_some_and(|(dtype, _)| dtype.is_float()));
    let records: Vec<_> = floats.filter_map(|both| both.records()).collect();
    let (baseline, candidate) =
        suspect.value.records().filter(|_| adds && suspect.is_result() && !records.is_empty())?;
    let share = |out: &TensorRecord<'_>, is_candidate: bool| {
        let of_side = |(one, other): &(TensorRecord<'_>, TensorRecord<'_>)| sum(if is_candidate { other } else { one });
        let parts: Vec<(f64, f64)> = records.iter().filter_map(of_side).collect();
        let (received, terms) = parts.iter().fold((0.0, 0.0), |all, part| (all.0 + part.0, all.1 + part.1));
        let (given, _) = sum(out)?;
        // A sum near zero shows nothing.
        (received.abs() > SHOWN * terms).then_some(given / received)
    };
    let [own, other] = [share(&baseline, false)?, share(&candidate, true)?];
    let keeps = |share: f64| (share - 1.0).abs() <= KEPT;
    let statement =
        |side: Side, share: f64| Some(Statement::new(SUM_LOST).with("side", side.as_str()).with("share", share));
    match (keeps(own), keeps(other)) {
        (true, true) => Some(Statement::new(OTHER_PLACES).with("op", suspect.culprit.op.as_str())),
        (true, false) => statement(Side::Candidate, other),
        (false, true) => statement(Side::Baseline, own),
        (false, false) => None,
    }
}

/// A lookup whose table and indices agree, and whose result lies within its table: it reads other elements of it.
fn other_rows(suspect: &Suspect<'_>, api: &str) -> Option<Statement> {
    if !LOOKUPS.contains(&api) || suspect.is_backward() || !suspect.is_result() {
        return None;
    }
    let is_float = |both: &ValuePair<'_>| both.dtypes().is_some_and(|(dtype, _)| dtype.is_float());
    let (table, result) = (suspect.inputs().find(is_float)?.candidate.record()?, suspect.value.candidate.record()?);
    let ends = |record: &TensorRecord<'_>| Some([record.max.as_f64()?, record.min.as_f64()?]);
    let ([max, min], [result_max, result_min]) = (ends(&table)?, ends(&result)?);
    let is_within = result_max <= max && result_min >= min && table.dtype == result.dtype;
    is_within.then(|| Statement::new(OTHER_ROWS).with("op", suspect.culprit.op.as_str()))
}
