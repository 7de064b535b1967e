//! Patterns of wrong codes of a quantised weight: rows that hold other rows, zeros or a multiple, and codes read with another zero point.
//!
//! Rows are read once more, and the baseline a second time where rows may have moved. Only a few rows are held at once.

use super::quantised::{
    CodesChange, CodesPattern, DEVIATIONS, NOISE, QuantisedSide, QuantisedStats, RowPair, for_each_row,
};
use crate::compare::tensor::PairStats;
use crate::dtype::Dtype;
use crate::error::Result;

/// Wrong rows that are looked for among the baseline's.
const MOST: usize = 8;
/// Share of a row's elements that may not fit a multiple, as they saturate.
const MISFITS: f64 = 0.01;
/// Least distance of a multiple from 1.
const LEAST_FACTOR: f64 = 0.01;
/// Ratio of the largest to the smallest multiple of rows that share one.
const SHARED: f64 = 1.05;
/// Codes that two roundings of one number are apart.
const NEIGHBOURS: f64 = 2.0;
/// Codes of a byte, and half of them.
const CODES: (f64, f64) = (256.0, 128.0);

/// Fits of all wrong rows to the patterns.
#[derive(Default)]
struct Fits {
    change_rows: Vec<KeptRow>,
    wrong: u64,
    zero: bool,
    sign: bool,
    saturated: bool,
    shift: Option<Option<f64>>,
    scaled: Option<Option<[f64; 2]>>,
    dot: f64,
    squares: f64,
}

/// A wrong row of the candidate.
struct KeptRow {
    row: u64,
    numbers: Vec<f32>,
    steps: Vec<f32>,
    source: Option<u64>,
}

/// Looks for the pattern of the wrong codes that `found` counts; `all` tells that every row is changed. `None` where rows are too
/// long to be held.
pub(super) fn codes_change(
    baseline: QuantisedSide<'_>,
    candidate: QuantisedSide<'_>,
    (stats, all): (&PairStats, bool),
) -> Result<Option<CodesChange>> {
    #[allow(clippy::cast_precision_loss, reason = "element counts are far below 2^53")]
    let rms = (stats.sum_sq_baseline / (stats.elements.max(1) as f64)).sqrt();
    let is_whole = |side: QuantisedSide<'_>| matches!(side.tensor.dtype, Dtype::I8 | Dtype::U8);
    let has_integers = is_whole(candidate) || is_whole(baseline);
    let mut fits = Fits { zero: true, sign: has_integers, saturated: true, ..Fits::default() };
    let mut of = 0;
    let is_held = for_each_row(baseline, candidate, &mut |row, pair| {
        of += 1;
        let mut own = QuantisedStats::default();
        let is_changed = own.take_row(pair, rms).is_changed();
        if all || is_changed || own.beyond > 0 {
            fits.add(row, pair, rms, is_whole(candidate));
        }
    })?;
    if !is_held || fits.wrong == 0 {
        return Ok(None);
    }
    let mut pattern = fits.pattern(has_integers);
    if pattern.is_none() {
        fits.find_sources(baseline, rms)?;
        let sources: Option<Vec<u64>> = fits.change_rows.iter().map(|kept| kept.source).collect();
        pattern = sources.map(CodesPattern::Rows);
    }
    let rows = fits.change_rows.iter().map(|kept| kept.row).collect();
    Ok(Some(CodesChange { wrong: fits.wrong, of, rows, pattern }))
}

impl Fits {
    fn add(&mut self, row: u64, pair: RowPair<'_>, rms: f64, is_candidate_whole: bool) {
        let RowPair { baseline, candidate, own, other } = pair;
        self.wrong += 1;
        if self.change_rows.len() < MOST {
            let (numbers, steps) = (candidate.to_vec(), other.to_vec());
            self.change_rows.push(KeptRow { row, numbers, steps, source: None });
        }
        self.zero &= candidate.iter().all(|value| value.abs() <= 0.0);
        let noise = DEVIATIONS * NOISE * rms;
        let largest = candidate.iter().map(|value| value.abs()).filter(|value| value.is_finite()).fold(0.0, f32::max);
        let (mut dot, mut squares) = (0.0, 0.0);
        let (mut shift, mut is_shifted) = (None, true);
        for (((b, c), own), other) in baseline.iter().zip(candidate).zip(own).zip(other) {
            let [b, c, own, other] = [b, c, own, other].map(|value| f64::from(*value));
            if !(b.is_finite() && c.is_finite()) {
                continue;
            }
            (dot, squares) = (dot + b * c, squares + b * b);
            let is_beyond = (c - b).abs() > own + other + noise;
            self.saturated &= !is_beyond || (c.abs() >= f64::from(largest) && b.abs() > c.abs());
            let step = if is_candidate_whole { other } else { own };
            let codes = (c - b) / step;
            let most = NEIGHBOURS + noise / step;
            let near = |distance: f64| (codes.abs() - distance).abs() <= most;
            self.sign &= near(0.0) || near(CODES.0);
            // A shift of half of the codes wraps around at the end of the range.
            let distance = if near(CODES.1) { CODES.1 } else { codes.round() };
            let first = *shift.get_or_insert(distance);
            is_shifted &= (distance - first).abs() <= 2.0 * most;
        }
        let shift = shift.filter(|_| is_shifted);
        let known = self.shift.get_or_insert(shift);
        *known =
            known.zip(shift).filter(|(known, shift)| (known - shift).abs() <= 2.0 * NEIGHBOURS).map(|(known, _)| known);
        let factor = multiple(pair, dot / squares, noise).filter(|_| squares > 0.0);
        let known = self.scaled.get_or_insert(factor.map(|factor| [factor; 2]));
        *known = known.zip(factor).map(|([least, most], factor)| [least.min(factor), most.max(factor)]);
        (self.dot, self.squares) = (self.dot + dot, self.squares + squares);
    }

    /// The pattern of all wrong rows that does not need another look at the baseline.
    fn pattern(&self, has_integers: bool) -> Option<CodesPattern> {
        if self.zero {
            return Some(CodesPattern::Zero);
        }
        if self.sign && has_integers {
            return Some(CodesPattern::Sign);
        }
        let shift = self.shift.flatten().filter(|shift| has_integers && shift.abs() > 2.0 * NEIGHBOURS);
        if let Some(shift) = shift {
            return Some(CodesPattern::Shifted(shift));
        }
        let is_shared = |[least, most]: &[f64; 2]| (1.0 / SHARED..SHARED).contains(&(most / least));
        if self.scaled.flatten().is_some_and(|factors| is_shared(&factors)) {
            return Some(CodesPattern::Scaled(self.dot / self.squares));
        }
        self.saturated.then_some(CodesPattern::Saturated)
    }

    /// Looks for the baseline's row that each kept row holds.
    fn find_sources(&mut self, baseline: QuantisedSide<'_>, rms: f64) -> Result<()> {
        let noise = DEVIATIONS * NOISE * rms;
        for_each_row(baseline, baseline, &mut |row, pair| {
            let holds = |kept: &KeptRow| {
                let numbers = kept.numbers.iter().zip(pair.baseline).zip(kept.steps.iter().zip(pair.own));
                numbers.into_iter().all(|((c, b), (other, own))| {
                    let [b, c, own, other] = [b, c, own, other].map(|value| f64::from(*value));
                    (c - b).abs() <= own + other + noise
                })
            };
            let is_telling = pair.baseline.iter().any(|value| value.abs() > 0.0);
            for kept in self.change_rows.iter_mut().filter(|kept| kept.source.is_none() && kept.row != row) {
                if is_telling && holds(kept) {
                    kept.source = Some(row);
                }
            }
        })?;
        Ok(())
    }
}

/// The factor by which a row is larger, where all but a few of its elements are that multiple.
fn multiple(pair: RowPair<'_>, factor: f64, noise: f64) -> Option<f64> {
    let RowPair { baseline, candidate, own, other } = pair;
    if !factor.is_finite() || (factor - 1.0).abs() < LEAST_FACTOR || factor.abs() < LEAST_FACTOR {
        return None;
    }
    let fits = |((b, c), (own, other)): ((&f32, &f32), (&f32, &f32))| {
        let [b, c, own, other] = [b, c, own, other].map(|value| f64::from(*value));
        !(b.is_finite() && c.is_finite()) || (c - factor * b).abs() <= (own + noise) * factor.abs() + other
    };
    let elements = baseline.iter().zip(candidate).zip(own.iter().zip(other));
    let misfits = elements.filter(|element| !fits(*element)).count();
    #[allow(clippy::cast_precision_loss, reason = "a row is short")]
    let most = MISFITS * baseline.len() as f64;
    #[allow(clippy::cast_precision_loss, reason = "a row is short")]
    let is_fit = misfits as f64 <= most;
    is_fit.then_some(factor)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::compare::checkpoint::quantised::measure_quantised;
    use crate::compare::tensor::compare_sample;
    use crate::fetch::MemorySource;
    use crate::read::tensor::{ByteOrder, ElementPlacement, TensorData};

    const WIDTH: u8 = 64;

    fn tensor(rows: &[Vec<i32>]) -> TensorData {
        let bytes: Vec<u8> =
            rows.iter().flatten().map(|code| u8::try_from(code.rem_euclid(256)).expect("a byte")).collect();
        let placement =
            ElementPlacement { offset: 0, len: bytes.len() as u64, strides: None, order: ByteOrder::Little };
        let shape = vec![rows.len() as u64, u64::from(WIDTH)];
        TensorData::new(Arc::new(MemorySource::new("t", bytes)), Dtype::I8, shape, placement).expect("a tensor")
    }

    /// Three rows of codes, none like another.
    fn rows() -> Vec<Vec<i32>> {
        let code = |row: i32, column: i32| (row * 37 + column * column * 29 + column * 11) % 81 - 40;
        (0..3).map(|row| (0..i32::from(WIDTH)).map(|column| code(row, column)).collect()).collect()
    }

    fn found(change: impl Fn(&mut Vec<Vec<i32>>)) -> CodesChange {
        let (baseline, mut candidate) = (rows(), rows());
        change(&mut candidate);
        let [baseline, candidate] = [tensor(&baseline), tensor(&candidate)];
        let side = |tensor| QuantisedSide { tensor, scale: None };
        let stats = compare_sample(&baseline, &candidate, None).expect("comparable");
        let (_, all) = measure_quantised(side(&baseline), side(&candidate), &stats).expect("measured");
        let change = codes_change(side(&baseline), side(&candidate), (&stats, all)).expect("read");
        change.expect("a change")
    }

    #[test]
    fn wrong_rows_say_where_they_come_from() {
        let copied = found(|rows| rows[0] = rows[1].clone());
        assert_eq!((copied.wrong, copied.of, copied.rows), (1, 3, vec![0]));
        assert_eq!(copied.pattern, Some(CodesPattern::Rows(vec![1])));
        let exchanged = found(|rows| rows.swap(0, 2));
        assert_eq!(exchanged.pattern, Some(CodesPattern::Rows(vec![2, 0])));
        assert_eq!(found(|rows| rows[2].fill(0)).pattern, Some(CodesPattern::Zero));
        let shifted = found(|rows| rows.iter_mut().flatten().for_each(|code| *code += 20));
        assert_eq!((shifted.wrong, shifted.pattern), (3, Some(CodesPattern::Shifted(20.0))));
        let wrapped = found(|rows| rows.iter_mut().flatten().for_each(|code| *code += 128));
        assert_eq!(wrapped.pattern, Some(CodesPattern::Shifted(128.0)));
        let larger = found(|rows| rows[1].iter_mut().for_each(|code| *code = *code * 3 / 2));
        assert!(
            matches!(larger.pattern, Some(CodesPattern::Scaled(factor)) if (factor - 1.5).abs() < 0.02),
            "{larger:?}"
        );
        let mixed = found(|rows| rows[1].iter_mut().step_by(3).for_each(|code| *code = 40 - *code));
        assert_eq!((mixed.wrong, mixed.pattern), (1, None));
    }
}
