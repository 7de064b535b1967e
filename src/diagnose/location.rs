//! The place of a culprit's error within its tensor: which heads, tokens, channels, rows, columns or tiles hold it.
//!
//! Every axis is examined. Tensors with slices at other indices, and tensors that are off by a factor, are recognised
//! first, since their error is everywhere. Then come blocks of wrong elements that fill some indices of the axes, and
//! finally indices that hold most of the error.

use super::context::{DumpContext, Suspect};
use crate::compare::field::{AlongAxis, ErrorField, error_field};
use crate::result::number::Number;
use crate::result::unit::{ErrorAxis, ErrorLocation, ErrorMap, ErrorPattern};

/// Most cells of the map.
const ROWS: usize = 48;
const COLUMNS: usize = 96;
/// Least share of the squared error that the named indices of an axis hold.
const MOST: f64 = 0.9;
/// Most of a scaled tensor's squared error that its factor may leave; rounding of the result is a thousandth of it or
/// less.
const LEFT: f64 = 0.01;
/// Most runs of indices that still form a pattern rather than places scattered over an axis.
const FEW_RUNS: usize = 4;

/// Locates the error in the whole data of the unit's culprit; `None` where a side has no data of it, or their shapes
/// differ.
pub fn location(context: &DumpContext<'_>) -> Option<ErrorLocation> {
    let suspect = context.suspect()?;
    let (baseline, candidate) = (&suspect.value.baseline, &suspect.value.candidate);
    let baseline_tensor = context.folders.baseline.tensor(&baseline.data_name()?).ok()?;
    let candidate_tensor = context.folders.candidate.tensor(&candidate.data_name()?).ok()?;
    let limit = suspect.limit().max(f64::EPSILON);
    // Data that cannot be read was reported when it was compared.
    let field = error_field(&baseline_tensor, &candidate_tensor, limit).ok().flatten()?;
    let names = (0..field.shape.len()).map(|axis| axis_name(&suspect, &field.shape, axis).to_owned());
    let names: Vec<String> = names.collect();
    Some(ErrorLocation { names, ..located(&field, limit)? })
}

fn located(field: &ErrorField, limit: f64) -> Option<ErrorLocation> {
    if field.shape.is_empty() || field.squared_error() <= 0.0 {
        return None;
    }
    let of_axes = |found: Vec<(usize, Standing)>| found.into_iter().map(|(axis, at)| at.into_axis(field, axis));
    let (pattern, factor, axes) = if let Some(moved) = moved(field, limit) {
        (ErrorPattern::Moved, None, of_axes(vec![moved]).collect())
    } else if let Some(factor) = factor(field, limit) {
        (ErrorPattern::Scaled, Some(Number(factor)), Vec::new())
    } else if let Some(axes) = block(field) {
        (ErrorPattern::Block, None, of_axes(axes).collect())
    } else {
        let axes: Vec<ErrorAxis> = of_axes(concentrated(field)).collect();
        let pattern = if axes.is_empty() { ErrorPattern::Spread } else { ErrorPattern::Concentrated };
        (pattern, None, axes)
    };
    let map = map(field, &axes);
    let shape = field.shape.iter().map(|len| *len as u64).collect();
    let names = Vec::new();
    Some(ErrorLocation { shape, names, wrong: field.wrong, elements: field.elements, pattern, factor, axes, map })
}

/// Indices of an axis, as they are counted along it.
struct Standing {
    indices: Vec<usize>,
    rolled: Option<usize>,
}

impl Standing {
    fn at(indices: Vec<usize>) -> Self {
        Self { indices, rolled: None }
    }

    fn into_axis(self, field: &ErrorField, axis: usize) -> ErrorAxis {
        let len = field.shape.get(axis).copied().unwrap_or(1);
        let along = field.along.get(axis);
        let step = along.map_or(1, |along| along.step);
        let total = field.squared_error();
        let squares: f64 = self.indices.iter().filter_map(|index| along?.squares.get(*index)).sum();
        let runs = runs_of(&self.indices);
        let span = |(first, last): &(usize, usize)| ((first * step) as u64, (len.min((last + 1) * step) - 1) as u64);
        ErrorAxis {
            axis: axis as u64,
            len: len as u64,
            count: len.min(self.indices.len() * step) as u64,
            runs: runs.iter().take(ErrorAxis::RUNS).map(span).collect(),
            every: every(&self.indices).map_or(0, |every| (every * step) as u64),
            rolled: self.rolled.map(|by| (by * step) as u64),
            share: Number(if total > 0.0 { squares / total } else { 0.0 }),
        }
    }
}

/// First and last of each run of neighbours.
fn runs_of(indices: &[usize]) -> Vec<(usize, usize)> {
    indices.chunk_by(|a, b| a + 1 == *b).filter_map(|run| Some((*run.first()?, *run.last()?))).collect()
}

/// Distance between indices that are evenly spaced by at least two; `None` for others and for fewer than three.
fn every(indices: &[usize]) -> Option<usize> {
    let [first, second, _, ..] = indices else { return None };
    let every = second - first;
    let equal = indices.iter().zip(indices.iter().skip(1)).all(|(a, b)| b - a == every);
    (equal && every > 1).then_some(every)
}

/// An axis whose slices hold each other's content: the sums of squares of its slices are those of the baseline at other indices.
fn moved(field: &ErrorField, limit: f64) -> Option<(usize, Standing)> {
    let axes = field.along.iter().enumerate().filter(|(_, along)| along.step == 1 && along.baseline.len() > 1);
    axes.filter_map(|(axis, along)| Some((axis, moved_along(along, limit)?))).min_by_key(|(_, at)| at.indices.len())
}

fn moved_along(along: &AlongAxis, limit: f64) -> Option<Standing> {
    /// Relative difference up to which two slices are the same; slices agree less well by chance, and rounding averages
    /// out over a slice.
    const SAME: f64 = 1e-3;
    let (baseline, candidate) = (&along.baseline, &along.candidate);
    let size = baseline.iter().copied().fold(0.0, f64::max);
    let tolerance = (2.0 * limit).min(SAME) * size;
    let same = |a: f64, b: f64| (a - b).abs() <= tolerance;
    let off: Vec<usize> = (0..baseline.len())
        .filter(|at| matches!((baseline.get(*at), candidate.get(*at)), (Some(a), Some(b)) if !same(*a, *b)))
        .collect();
    // Where all slices are alike, their sums show no order.
    if off.len() < 2 || size <= 0.0 {
        return None;
    }
    let sorted = |values: &[f64]| {
        let mut values = values.to_vec();
        values.sort_unstable_by(f64::total_cmp);
        values
    };
    let is_order = sorted(baseline).iter().zip(sorted(candidate)).all(|(a, b)| same(*a, b));
    let holds_error =
        off.iter().filter_map(|at| along.squares.get(*at)).sum::<f64>() >= MOST * along.squares.iter().sum::<f64>();
    (is_order && holds_error).then(|| Standing { rolled: rolled(baseline, candidate, &same), indices: off })
}

/// Distance by which all slices were rolled, where they were.
fn rolled(baseline: &[f64], candidate: &[f64], same: &dyn Fn(f64, f64) -> bool) -> Option<usize> {
    let first = *baseline.first()?;
    let starts = (1..candidate.len()).filter(|by| candidate.get(*by).is_some_and(|value| same(first, *value)));
    let mut tried = starts.take(FEW_RUNS);
    tried.find(|by| candidate.iter().cycle().skip(*by).zip(baseline).all(|(value, expected)| same(*expected, *value)))
}

/// The factor that explains the error of the whole tensor.
fn factor(field: &ErrorField, limit: f64) -> Option<f64> {
    let sums = field.products;
    let factor = sums.dot / sums.baseline;
    let left = sums.candidate - factor * sums.dot;
    let is_whole = field.elements > 1 && field.wrong * 2 > field.elements;
    (is_whole && factor.is_finite() && (factor - 1.0).abs() > limit && left <= LEFT * sums.difference).then_some(factor)
}

/// The wrong indices of each axis, where most elements in the block that they span are wrong, or where the block is a
/// small part of the tensor in which only some elements came out right.
#[allow(clippy::cast_precision_loss, reason = "element counts are far below 2^53")]
fn block(field: &ErrorField) -> Option<Vec<(usize, Standing)>> {
    /// Least share of wrong elements in the block.
    const MOSTLY: f64 = 0.6;
    /// The same for a block of at most a quarter of the tensor.
    const IN_A_PART: f64 = 0.2;
    let mut axes = Vec::new();
    let mut spanned = 1.0;
    for (axis, along) in field.along.iter().enumerate() {
        let wrong = along.wrong.iter().enumerate().filter(|(_, wrong)| **wrong > 0).map(|(at, _)| at).collect();
        let wrong = without_gaps(wrong);
        spanned *= (wrong.len() * along.step) as f64;
        if wrong.len() < along.wrong.len() {
            axes.push((axis, Standing::at(wrong)));
        }
    }
    let (wrong, elements) = (field.wrong as f64, field.elements as f64);
    let is_block = wrong >= MOSTLY * spanned || wrong >= IN_A_PART * spanned && spanned * 4.0 <= elements;
    (!axes.is_empty() && is_block).then_some(axes)
}

/// All indices from the first to the last, where most of them are given and they are not evenly spaced; else the
/// indices as given.
fn without_gaps(indices: Vec<usize>) -> Vec<usize> {
    let (Some(first), Some(last)) = (indices.first().copied(), indices.last().copied()) else { return indices };
    let is_dense = indices.len() > 2 && indices.len() * 2 > last - first + 1 && every(&indices).is_none();
    if is_dense { (first..=last).collect() } else { indices }
}

/// Axes of which a few indices hold most of the error.
fn concentrated(field: &ErrorField) -> Vec<(usize, Standing)> {
    let mut axes = Vec::new();
    for (axis, along) in field.along.iter().enumerate() {
        let indices = heaviest(along, field.squared_error());
        let len = along.squares.len();
        let is_pattern = runs_of(&indices).len() <= FEW_RUNS || every(&indices).is_some();
        if len > 1 && (indices.len() * 4 <= len || indices.len() * 2 <= len && is_pattern) {
            axes.push((axis, Standing::at(indices)));
        }
    }
    axes
}

/// The smallest set of indices that holds most of the error, in rising order.
fn heaviest(along: &AlongAxis, total: f64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..along.squares.len()).collect();
    let square = |at: &usize| along.squares.get(*at).copied().unwrap_or_default();
    order.sort_by(|a, b| square(b).total_cmp(&square(a)).then(a.cmp(b)));
    let mut sum = 0.0;
    let mut found: Vec<usize> = Vec::new();
    for at in order {
        if sum >= MOST * total {
            break;
        }
        sum += square(&at);
        found.push(at);
    }
    found.sort_unstable();
    found
}

/// The error over the two most informative axes: those that were named, the most confined first, else the last ones.
fn map(field: &ErrorField, axes: &[ErrorAxis]) -> ErrorMap {
    let mut telling: Vec<&ErrorAxis> = axes.iter().collect();
    telling.sort_by(|a, b| (a.count * b.len).cmp(&(b.count * a.len)));
    let mut chosen: Vec<usize> = telling.iter().filter_map(|axis| usize::try_from(axis.axis).ok()).take(2).collect();
    let others = (0..field.shape.len()).rev().filter(|axis| field.shape.get(*axis).is_some_and(|len| *len > 1));
    for axis in others.chain((0..field.shape.len()).rev()) {
        if chosen.len() < 2 && !chosen.contains(&axis) {
            chosen.push(axis);
        }
    }
    chosen.sort_unstable();
    let horizontal = chosen.pop().unwrap_or_default();
    let vertical = chosen.pop();
    let cells = field.error_over_axes(vertical, horizontal, ROWS, COLUMNS);
    let cells = cells.rows().into_iter().map(|row| row.iter().map(|value| Number(*value)).collect()).collect();
    ErrorMap { vertical: vertical.map(|axis| axis as u64), horizontal: horizontal as u64, cells }
}

/// Meaning of an axis, where the operation defines it; else empty.
fn axis_name(suspect: &Suspect<'_>, shape: &[usize], axis: usize) -> &'static str {
    const ATTENTION: [&str; 4] = ["batch", "head", "token", "channel"];
    const SCORES: [&str; 4] = ["batch", "head", "token", ""];
    const IMAGE: [&str; 4] = ["batch", "channel", "row", "column"];
    const SEQUENCE: [&str; 3] = ["batch", "token", "channel"];
    const MATRIX: [&str; 2] = ["row", "column"];
    let api = suspect.api().to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| api.contains(word));
    let names: &[&'static str] = match shape.len() {
        4 if has(&["attention", "sdpa", "flash"]) => &ATTENTION,
        4 if has(&["matmul", "softmax"]) => &SCORES,
        4 if has(&["conv", "pool", "batch_norm", "batchnorm", "group_norm", "groupnorm", "interpolate"]) => &IMAGE,
        3 if has(&["linear", "norm", "gelu", "silu", "relu", "dropout", "embedding"]) => &SEQUENCE,
        2 => &MATRIX,
        _ => &[],
    };
    names.get(axis).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::dtype::Dtype;
    use crate::fetch::MemorySource;
    use crate::read::tensor::{ByteOrder, ElementPlacement, TensorData};

    /// A tensor of four heads, ten tokens and twelve channels, with an error that `change` makes of a place and its value.
    fn find(change: impl Fn([usize; 3], f32, &dyn Fn([usize; 3]) -> f32) -> f32) -> ErrorLocation {
        let shape = [4_u64, 10, 12];
        let value = |at: [usize; 3]| {
            let place = (at[0] * 10 + at[1]) * 12 + at[2];
            ((place * 7919 % 1009) as f32 / 504.5 - 1.0) * (1.0 + at[0] as f32 / 3.0 + at[1] as f32 / 50.0)
        };
        let places = (0..4).flat_map(|h| (0..10).flat_map(move |t| (0..12).map(move |c| [h, t, c])));
        let baseline: Vec<f32> = places.clone().map(value).collect();
        let candidate: Vec<f32> = places.map(|at| change(at, value(at), &value)).collect();
        let tensor = |values: &[f32]| {
            let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
            let placement =
                ElementPlacement { offset: 0, len: bytes.len() as u64, strides: None, order: ByteOrder::Little };
            let source = Arc::new(MemorySource::new("tensor", bytes));
            TensorData::new(source, Dtype::F32, shape.to_vec(), placement).expect("a tensor")
        };
        let field =
            error_field(&tensor(&baseline), &tensor(&candidate), 1e-4).expect("readable").expect("of one shape");
        located(&field, 1e-4).expect("an error")
    }

    fn axes(location: &ErrorLocation) -> Vec<(u64, Vec<(u64, u64)>)> {
        location.axes.iter().map(|axis| (axis.axis, axis.runs.clone())).collect()
    }

    #[test]
    fn a_head_a_tile_and_the_last_token_are_blocks() {
        let head = find(|at, value, _| if at[0] == 2 { value * 1.3 } else { value });
        assert_eq!((head.pattern, axes(&head)), (ErrorPattern::Block, vec![(0, vec![(2, 2)])]));
        let tile = find(|at, value, _| if at[1] < 4 && at[2] > 7 { value + 1.0 } else { value });
        assert_eq!((tile.pattern, axes(&tile)), (ErrorPattern::Block, vec![(1, vec![(0, 3)]), (2, vec![(8, 11)])]));
        assert_eq!((tile.wrong, tile.elements), (64, 480));
        let token = find(|at, value, _| if at[1] == 9 { 0.0 } else { value });
        assert_eq!(axes(&token), [(1, vec![(9, 9)])]);
        assert_eq!((token.map.vertical, token.map.horizontal), (Some(1), 2));
    }

    #[test]
    fn an_error_beside_rounding_is_found_where_most_of_it_lies() {
        let channels = find(|at, value, _| if at[2] % 2 == 1 { value + 0.5 } else { value * 1.001 });
        assert_eq!(channels.pattern, ErrorPattern::Concentrated);
        assert_eq!((channels.axes[0].axis, channels.axes[0].every, channels.axes[0].count), (2, 2, 6));
        let spread = find(|at, value, _| value + 0.3 * ((at[0] * 131 + at[1] * 17 + at[2] * 7) as f32).sin());
        assert_eq!((spread.pattern, spread.axes.len()), (ErrorPattern::Spread, 0));
    }

    #[test]
    fn a_roll_an_exchange_and_a_factor_are_told_as_such() {
        let roll = find(|[h, t, c], _, value| value([h, (t + 9) % 10, c]));
        assert_eq!((roll.pattern, roll.axes[0].axis, roll.axes[0].rolled), (ErrorPattern::Moved, 1, Some(1)));
        let exchange = find(|[h, t, c], _, value| value([[0, 3, 2, 1][h], t, c]));
        assert_eq!((exchange.pattern, axes(&exchange)), (ErrorPattern::Moved, vec![(0, vec![(1, 1), (3, 3)])]));
        assert_eq!(exchange.axes[0].rolled, None);
        let scaled = find(|_, value, _| value * 1.5);
        assert_eq!(scaled.pattern, ErrorPattern::Scaled);
        assert!(scaled.factor.is_some_and(|factor| (factor.0 - 1.5).abs() < 1e-6));
    }

    #[test]
    fn places_that_are_not_finite_are_off() {
        let nan = find(|at, value, _| if at == [3, 9, 11] { f32::NAN } else { value });
        assert_eq!((nan.wrong, axes(&nan)), (1, vec![(0, vec![(3, 3)]), (1, vec![(9, 9)]), (2, vec![(11, 11)])]));
    }
}
