//! The same values in another order: transposed, rolled, heads or halves exchanged, rows permuted.
//!
//! With data, the sorted values are equal while the values in their places are not. Without data, a checksum tells that the
//! order differs where all four statistics agree.

use ndarray::{ArrayView, ArrayViewD, Axis, IxDyn};

use super::super::context::{DumpContext, Suspect, is_weight};
use super::super::entry::Cause;
use super::super::fingerprint::{has_same_values, is_distinctive};
use super::super::order::joined_in_other_order;
use super::super::values::{DataPair, count_of};
use crate::judge::dump::rules as dump_rules;
use crate::result::diagnosis::{Diagnosis, Statement, Sureness};
use crate::result::finding::Fact;

pub(super) const CAUSE: Cause = Cause { in_dump, ..Cause::new("permuted") };

/// Statement of rows that are rolled.
const ROLLED_ROWS: &str = "order-rolled-rows";

/// Least number of elements that do not have the same values by chance.
const FEWEST: usize = 8;

fn in_dump(context: &DumpContext<'_>) -> Option<Diagnosis> {
    let suspect = context.suspect()?;
    let rules = [
        &dump_rules::INPUT_DIFFERS,
        &dump_rules::OUTPUT_DIVERGES,
        &dump_rules::OTHER_PRECISION,
        &dump_rules::INTEGER_DIFFERS,
        &dump_rules::CHECKSUM_DIFFERS,
    ];
    let (baseline, candidate) = suspect.value.records().filter(|_| suspect.has_finding_of(&rules))?;
    let place = suspect.culprit.tensor.as_str();
    if let Some(data) = context.data(&suspect.value) {
        let tolerance = tolerance_of(&suspect, &data);
        if !is_permuted(&data, tolerance) {
            return None;
        }
        let evidence =
            Statement::new("values-in-other-order").with("tensor", place).with("elements", data.baseline.len());
        let diagnosis = Diagnosis::new(&CAUSE, place, Sureness::Certain).because(evidence);
        let order = transposed(&data, baseline.shape, tolerance)
            .or_else(|| order_of(&data, tolerance))
            .or_else(|| exchanged(&data, baseline.shape, tolerance));
        let is_gathered = order.as_ref().is_some_and(|order| is_rolled_by_ranks(context, order));
        let exchange = order.clone().filter(|order| order.is_any(&["order-exchanged"]));
        let is_transposed = order.as_ref().is_some_and(|order| order.is_any(&["order-transposed"]));
        let diagnosis = diagnosis.because_all(order);
        return Some(match (is_gathered, suspect.is_result()) {
            (true, _) => diagnosis.advise(Statement::new("gather-order")),
            (false, true) => diagnosis.advise(Statement::new("result-in-other-order")),
            (false, false) => match exchange {
                Some(exchange) => diagnosis.advise(exchange.with("op", suspect.culprit.op.as_str())),
                None if is_transposed && is_weight(&suspect) => {
                    diagnosis.advise(Statement::new("permuted").with("transposed_weight", 1_u64))
                }
                None => diagnosis,
            },
        });
    }
    if let Some(evidence) = of_attention(context, &suspect) {
        let diagnosis = Diagnosis::new(&CAUSE, place, Sureness::Likely).because(evidence);
        return Some(diagnosis.advise(Statement::new("attention-order")));
    }
    if let Some(joined) = joined_in_other_order(context, &suspect).filter(|_| suspect.is_result()) {
        let diagnosis = Diagnosis::new(&CAUSE, place, Sureness::Likely).because(joined.clone());
        return Some(diagnosis.advise(joined));
    }
    let is_other = matches!((baseline.checksum, candidate.checksum), (Some(b), Some(c)) if b != c);
    if !is_other || !is_distinctive(&baseline) || !has_same_values(&baseline, &candidate) || suspect.is_result() {
        return None;
    }
    let evidence = Statement::new("statistics-in-other-order").with("tensor", place);
    Some(Diagnosis::new(&CAUSE, place, Sureness::Likely).because(evidence))
}

/// Whether rows are rolled by the part of the sequence that a rank holds, or by several of them.
fn is_rolled_by_ranks(context: &DumpContext<'_>, order: &Statement) -> bool {
    let sides = [context.input.baseline, context.input.candidate];
    let layouts = sides.into_iter().filter_map(|dump| dump.parts.as_deref()).map(|parts| &parts.layout);
    let ranks = layouts.flat_map(|layout| [if layout.sp { layout.tp } else { 1 }, layout.cp]).max().unwrap_or(1);
    let ranks = u64::from(ranks);
    let (Some(Fact::Count(count)), Some(Fact::Count(of))) = (order.facts.get("count"), order.facts.get("of")) else {
        return false;
    };
    order.code == ROLLED_ROWS && ranks > 1 && of.is_multiple_of(ranks) && count.is_multiple_of(of / ranks)
}

/// Attention over heads of several ranks is wrong although all inputs agree by statistics, which do not depend on
/// order: the order of heads, of parts of the sequence, or of the ranks' own draws differs.
fn of_attention(context: &DumpContext<'_>, suspect: &Suspect<'_>) -> Option<Statement> {
    let parts = context.input.candidate.parts.as_deref()?;
    let is_cut = parts.layout.tp > 1 || parts.layout.cp > 1;
    let is_attention = suspect.is_module() && suspect.name.base.contains(".core_attention.");
    (is_cut && is_attention && !suspect.is_backward())
        .then(|| Statement::new("order-unseen").with("op", suspect.culprit.op.as_str()))
}

/// Largest difference of two values that count as the same: zero for inputs, rounding for results.
fn tolerance_of(suspect: &Suspect<'_>, data: &DataPair) -> f64 {
    let relative = if suspect.is_result() { 4.0 * suspect.limit() } else { 1e-6 };
    // Sorted values of two draws from one distribution are about this close; closer ones are of the same draw.
    let chance = 0.1 / count_of(data.baseline.len()).sqrt();
    relative.min(chance) * data.rms()
}

/// Whether both sides hold the same values, many of them at other places.
fn is_permuted(data: &DataPair, tolerance: f64) -> bool {
    let sorted = |values: &[f64]| {
        let mut values = values.to_vec();
        values.sort_unstable_by(f64::total_cmp);
        values
    };
    let count = data.baseline.len();
    let is_off = |(a, b): (&f64, &f64)| (a - b).abs() > tolerance || a.is_nan() || b.is_nan();
    let moved = data.baseline.iter().zip(&data.candidate).filter(|pair| is_off(*pair)).count();
    // A single exchange of two values is not another order, and with few distinct values any change looks like a
    // permutation.
    if count < FEWEST || moved < 3 || moved * 50 < count {
        return false;
    }
    let (baseline, candidate) = (sorted(&data.baseline), sorted(&data.candidate));
    let distinct = baseline.iter().zip(baseline.iter().skip(1)).filter(|(a, b)| (*b - *a).abs() > 0.0).count();
    distinct * 4 > count && baseline.iter().zip(&candidate).all(|pair| !is_off(pair))
}

/// States that the last two axes are exchanged, in each matrix of a batch; of a matrix with other sides, that its memory holds the
/// transposed one.
fn transposed(data: &DataPair, shape: &[u64], tolerance: f64) -> Option<Statement> {
    let [.., rows, columns] = *shape else { return None };
    let (rows, columns) = (usize::try_from(rows).ok()?, usize::try_from(columns).ok()?);
    let matrix = rows.checked_mul(columns).filter(|matrix| *matrix > 0 && rows > 1 && columns > 1)?;
    let is_moved = |(place, value): (usize, &f64)| {
        let (first, within) = (place / matrix * matrix, place % matrix);
        let source = first + within % rows * columns + within / rows;
        data.baseline.get(source).is_some_and(|expected| (expected - value).abs() <= tolerance)
    };
    let is_transposed = data.candidate.iter().enumerate().all(is_moved);
    is_transposed.then(|| Statement::new("order-transposed").with("rows", rows).with("columns", columns))
}

/// The order in words, where it is a common one.
fn order_of(data: &DataPair, tolerance: f64) -> Option<Statement> {
    let (count, width) = (data.baseline.len(), data.width);
    let height = count / width.max(1);
    let matches = |source: &dyn Fn(usize) -> usize| {
        data.candidate.iter().enumerate().all(|(place, value)| {
            data.baseline.get(source(place)).is_some_and(|expected| (expected - value).abs() <= tolerance)
        })
    };
    let first = *data.candidate.first()?;
    let starts = data.baseline.iter().enumerate().filter(|(_, value)| (*value - first).abs() <= tolerance);
    for start in starts.map(|(place, _)| place).take(8) {
        let (row, column) = (start / width, start % width);
        if column == 0 && matches(&|place| (place + start) % count) {
            return Some(Statement::new(ROLLED_ROWS).with("count", height - row).with("of", height));
        }
        if row == 0 && matches(&|place| place / width * width + (place % width + column) % width) {
            return Some(Statement::new("order-rolled-columns").with("count", width - column).with("of", width));
        }
    }
    None
}

/// Two indices of an axis whose elements are exchanged, at all or some of the places along the other axes.
fn exchanged(data: &DataPair, shape: &[u64], tolerance: f64) -> Option<Statement> {
    let lens: Vec<usize> = shape.iter().map(|len| usize::try_from(*len).unwrap_or(usize::MAX)).collect();
    let [baseline, candidate] =
        [&data.baseline, &data.candidate].map(|values| ArrayView::from_shape(IxDyn(&lens), values).ok());
    let (baseline, candidate) = (baseline?, candidate?);
    let is_off = |one: &f64, other: &f64| (one - other).abs() > tolerance;
    (0..lens.len()).find_map(|number| {
        let axis = Axis(number);
        let own = baseline.axis_iter(axis).zip(candidate.axis_iter(axis)).enumerate();
        let moved = own.filter(|(_, (b, c))| b.iter().zip(c).any(|(b, c)| is_off(b, c))).map(|(index, _)| index);
        let moved: Vec<usize> = moved.take(3).collect();
        let [first, second] = *moved.as_slice() else { return None };
        let at = |array: &ArrayViewD<'_, f64>, index: usize| {
            array.index_axis(axis, index).iter().copied().collect::<Vec<f64>>()
        };
        let [b, c] = [&baseline, &candidate].map(|array| [at(array, first), at(array, second)]);
        let places = b[0].iter().zip(&b[1]).zip(c[0].iter().zip(&c[1]));
        let is_exchange = |((b_one, b_two), (c_one, c_two)): ((&f64, &f64), (&f64, &f64))| {
            !is_off(b_one, c_two) && !is_off(b_two, c_one) || !is_off(b_one, c_one) && !is_off(b_two, c_two)
        };
        places.into_iter().all(is_exchange).then(|| {
            let statement = Statement::new("order-exchanged").with("first", first).with("second", second);
            statement.with("axis", number).with("len", lens.get(number).copied().unwrap_or_default())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wave(count: u32) -> Vec<f64> {
        (0..count).map(|place| (f64::from(place + 1) * 0.7).sin() + 0.01).collect()
    }

    fn moved(width: usize, count: u32, source: impl Fn(usize) -> usize) -> DataPair {
        let baseline = wave(count);
        let candidate = (0..baseline.len()).map(|place| baseline[source(place)]).collect();
        DataPair::new(baseline, candidate, width)
    }

    #[test]
    fn a_transposed_and_a_rolled_matrix_are_named() {
        let code = |data: &DataPair| {
            assert!(is_permuted(data, 1e-9));
            let order = transposed(data, &[6, 6], 1e-9).or_else(|| order_of(data, 1e-9));
            order.map(|statement| statement.code).unwrap_or_default()
        };
        assert_eq!(code(&moved(6, 36, |place| place % 6 * 6 + place / 6)), "order-transposed");
        assert_eq!(code(&moved(6, 36, |place| (place + 6) % 36)), "order-rolled-rows");
        assert_eq!(code(&moved(6, 36, |place| place / 6 * 6 + (place + 1) % 6)), "order-rolled-columns");
        assert_eq!(code(&moved(6, 36, |place| 35 - place)), "");
    }

    #[test]
    fn transposed_matrices_of_a_batch_are_named() {
        // Two matrices of 3 × 4, each read by columns.
        let by_columns = moved(4, 24, |place| place / 12 * 12 + place % 12 % 3 * 4 + place % 12 / 3);
        assert!(transposed(&by_columns, &[2, 3, 4], 1e-9).is_some());
        assert!(transposed(&by_columns, &[2, 4, 3], 1e-9).is_none());
        assert!(transposed(&moved(4, 24, |place| 23 - place), &[2, 3, 4], 1e-9).is_none());
    }

    #[test]
    fn an_exchange_of_two_heads_is_named() {
        // Shape (2, 4, 6): heads 1 and 2 are exchanged in the first batch.
        let source = |place: usize| match place / 6 {
            1 => place + 6,
            2 => place - 6,
            _ => place,
        };
        let data = moved(6, 48, source);
        let found = exchanged(&data, &[2, 4, 6], 1e-9).expect("an exchange");
        let of = |name: &str| found.facts.get(name).cloned();
        assert_eq!([of("first"), of("second"), of("axis"), of("len")], [1_u64, 2, 1, 4].map(|n| Some(n.into())));
        assert!(exchanged(&moved(6, 48, |place| 47 - place), &[2, 4, 6], 1e-9).is_none());
    }

    #[test]
    fn other_values_and_single_exchanges_are_no_other_order() {
        let baseline = wave(64);
        let scaled = DataPair::new(baseline.clone(), baseline.iter().map(|b| b * 1.01).collect(), 8);
        assert!(!is_permuted(&scaled, 1e-9));
        assert!(!is_permuted(&moved(8, 64, |place| place), 1e-9));
        let exchange = |place: usize| match place {
            3 => 9,
            9 => 3,
            _ => place,
        };
        assert!(!is_permuted(&moved(8, 64, exchange), 1e-9));
    }
}
