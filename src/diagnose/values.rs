//! A second, bounded look at the data of a culprit: the shape of its error, element by element.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use super::value_pair::ValuePair;
use crate::pair::unit::UnitPair;
use crate::read::dump::DumpFolder;

/// Elements looked at per tensor: whole tensors in most dumps, and 8 MiB a side as numbers in the worst case.
const MOST_ELEMENTS: u64 = 1 << 20;

/// Fewest elements whose error has a shape.
const FEWEST: usize = 8;

/// Elements of both sides in row-major order, as many as are looked at.
#[derive(Clone, Debug)]
pub(super) struct DataPair {
    pub(super) baseline: Vec<f64>,
    pub(super) candidate: Vec<f64>,
    /// Elements along the last axis; 1 for scalars.
    pub(super) width: usize,
    /// Root mean square of the baseline.
    rms: f64,
}

/// Data that a cause has looked at, for the next one that asks: by both files' names.
#[derive(Debug, Default)]
pub struct TensorCache(RefCell<HashMap<[String; 2], Option<Rc<DataPair>>>>);

impl TensorCache {
    /// The data of a value, where both sides saved it in one shape and it can be read.
    pub(super) fn data(&self, folders: UnitPair<'_>, both: &ValuePair<'_>) -> Option<Rc<DataPair>> {
        let (left, right) = both.records()?;
        let names = [both.baseline.data_name()?, both.candidate.data_name()?];
        let read = || {
            let (baseline, candidate) =
                rayon::join(|| elements(folders.baseline, &names[0]), || elements(folders.candidate, &names[1]));
            let (baseline, candidate) = (baseline?, candidate?);
            let width = left.shape.last().copied().and_then(|width| usize::try_from(width).ok()).unwrap_or(1).max(1);
            let is_paired = left.shape == right.shape && baseline.len() == candidate.len();
            is_paired.then(|| Rc::new(DataPair::new(baseline, candidate, width)))
        };
        self.0.borrow_mut().entry(names.clone()).or_insert_with(read).clone()
    }
}

fn elements(folder: &DumpFolder, name: &str) -> Option<Vec<f64>> {
    let tensor = folder.tensor(name).ok()?;
    crate::compare::values::first_values(&tensor, MOST_ELEMENTS).ok()
}

/// A box of the tensor seen as a matrix of its last axis, from the first to the last row and column, both inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Region {
    pub(super) rows: (usize, usize),
    pub(super) columns: (usize, usize),
    /// Places inside it that stand out.
    pub(super) places: usize,
    /// Places of the whole tensor.
    pub(super) of: usize,
}

impl DataPair {
    /// Data of two tensors of one shape.
    pub(super) fn new(baseline: Vec<f64>, candidate: Vec<f64>, width: usize) -> Self {
        let squares: f64 = baseline.iter().map(|b| b * b).sum();
        let rms = (squares / count_of(baseline.len())).sqrt();
        Self { baseline, candidate, width, rms }
    }

    /// Root mean square of the baseline.
    pub(super) fn rms(&self) -> f64 {
        self.rms
    }

    fn pairs(&self) -> impl Iterator<Item = (f64, f64)> {
        self.baseline.iter().copied().zip(self.candidate.iter().copied())
    }

    /// Both sides of each row of the last axis.
    fn rows(&self) -> impl Iterator<Item = (&[f64], &[f64])> {
        self.baseline.chunks(self.width).zip(self.candidate.chunks(self.width))
    }

    /// Whether the two sides were masked at random: as many zeros but at other places, and the same value wherever
    /// neither is zero, up to a few `limit`s of the scale.
    pub(super) fn is_masked_differently(&self, limit: f64) -> bool {
        let is_zero = |value: f64| value.abs() <= 0.0;
        let tolerance = 8.0 * limit.max(1e-6);
        let (mut only_baseline, mut only_candidate, mut kept, mut unequal) = (0_u32, 0_u32, 0_u32, 0_u32);
        // Without branches: where masks are drawn at random, a processor guesses every other one wrong.
        for (b, c) in self.pairs() {
            let (b_is_zero, c_is_zero) = (is_zero(b), is_zero(c));
            let is_kept = !b_is_zero & !c_is_zero;
            only_baseline += u32::from(b_is_zero & !c_is_zero);
            only_candidate += u32::from(!b_is_zero & c_is_zero);
            kept += u32::from(is_kept);
            unequal += u32::from(is_kept & ((c - b).abs() > tolerance * b.abs().max(self.rms)));
        }
        let moved = f64::from(only_baseline + only_candidate);
        // Two draws of as many zeros differ by their square root, times a few.
        let balanced = (f64::from(only_baseline) - f64::from(only_candidate)).abs() <= 4.0 * moved.sqrt();
        only_baseline > 0 && only_candidate > 0 && balanced && unequal * 100 <= kept
    }

    /// The region that an error is confined to: it stands out by far there, and everything else agrees within `limit`
    /// of the root mean square. `None` where the error is spread over the tensor; whole rows or columns count for a
    /// matrix product, which makes all of them alike (`is_product`), and not elsewhere, where single tokens and
    /// channels may differ by their nature.
    pub(super) fn confined_error(&self, limit: f64, is_product: bool) -> Option<Region> {
        let count = self.baseline.len();
        let height = count.div_ceil(self.width);
        let mut region: Option<Region> = None;
        let (mut inside, mut outside) = (0.0, 0.0);
        for (row, (baseline, candidate)) in self.rows().enumerate() {
            for (column, (b, c)) in baseline.iter().zip(candidate).enumerate() {
                let square = (c - b) * (c - b);
                let is_out = (c - b).abs() > limit * b.abs().max(self.rms);
                if !square.is_finite() || is_out && (b.abs() <= 0.0) != (c.abs() <= 0.0) {
                    return None;
                }
                if is_out {
                    inside += square;
                    region = Some(grown(region, row, column, count));
                } else {
                    outside += square;
                }
            }
            if region.is_some_and(|region| region.is_spread(height, self.width)) {
                return None;
            }
        }
        let region = region.filter(|_| inside > 0.0 && outside < inside / 10.0)?;
        region.is_small(height, self.width, is_product).then_some(region)
    }

    /// The share of the total difference that goes one way: 1 where every difference has the same sign. `None` where
    /// too few elements differ by more than `limit` of the root mean square to say.
    pub(super) fn one_sidedness(&self, limit: f64) -> Option<f64> {
        let least = limit / 10.0 * self.rms;
        let (mut telling, mut total, mut balance) = (0_usize, 0.0, 0.0);
        for difference in self.pairs().map(|(b, c)| c - b).filter(|difference| difference.abs() > least) {
            telling += 1;
            total += difference.abs();
            balance += difference;
        }
        (telling >= FEWEST && total > 0.0 && total.is_finite()).then(|| balance.abs() / total)
    }

    /// Whether the error is a smooth function of `input`, element by element: neighbours by input have nearly equal
    /// errors (von Neumann's ratio, 2 for independent errors).
    pub(super) fn is_function_of(&self, input: &[f64]) -> bool {
        /// Fewer neighbours say nothing.
        const FEWEST_NEIGHBOURS: usize = 64;
        /// More are not needed, and take long to sort; of larger tensors every so many elements are taken, an odd number,
        /// so that each column has its turn.
        const MOST_NEIGHBOURS: usize = 1 << 16;
        if input.len() != self.baseline.len() || input.len() < FEWEST_NEIGHBOURS {
            return false;
        }
        let every = input.len().div_ceil(MOST_NEIGHBOURS) | 1;
        let mut errors: Vec<(f64, f64)> =
            input.iter().copied().zip(self.pairs()).step_by(every).map(|(x, (b, c))| (x, c - b)).collect();
        errors.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mean = errors.iter().map(|(_, error)| error).sum::<f64>() / count_of(errors.len());
        let spread: f64 = errors.iter().map(|(_, error)| (error - mean) * (error - mean)).sum();
        let steps = errors.iter().zip(errors.iter().skip(1));
        let jumps: f64 = steps.map(|((_, a), (_, b))| (b - a) * (b - a)).sum();
        spread > 0.0 && spread.is_finite() && jumps / spread < 0.5
    }
}

impl Region {
    /// Rows and columns of the box.
    pub(super) fn size(&self) -> (usize, usize) {
        (self.rows.1 - self.rows.0 + 1, self.columns.1 - self.columns.0 + 1)
    }

    /// Whether it covers too much of the tensor to be [small](Self::is_small), however it grows.
    fn is_spread(&self, height: usize, width: usize) -> bool {
        let (rows, columns) = self.size();
        self.places > 2 && rows * columns * 2 > height * width
    }

    /// A tile that is small beside the tensor and filled to a good part, or one or two elements.
    fn is_small(&self, height: usize, width: usize, is_product: bool) -> bool {
        let (rows, columns) = self.size();
        let area = rows * columns;
        let is_filled = self.places > 2 && self.places * 5 >= area;
        let is_tile = rows > 1 && rows < height && columns > 1 && columns < width && area * 4 <= height * width;
        let is_block = is_product && area * 2 <= height * width;
        is_filled && (is_tile || is_block) || self.places <= 2 && self.of >= 64
    }
}

fn grown(region: Option<Region>, row: usize, column: usize, of: usize) -> Region {
    let Some(Region { rows, columns, places, of }) = region else {
        return Region { rows: (row, row), columns: (column, column), places: 1, of };
    };
    Region {
        rows: (rows.0.min(row), rows.1.max(row)),
        columns: (columns.0.min(column), columns.1.max(column)),
        places: places + 1,
        of,
    }
}

#[allow(clippy::cast_precision_loss, reason = "element counts are far below 2^53")]
pub(super) fn count_of(elements: usize) -> f64 {
    elements.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(width: usize, baseline: Vec<f64>, change: impl Fn(usize, f64) -> f64) -> DataPair {
        let candidate = baseline.iter().enumerate().map(|(place, value)| change(place, *value)).collect();
        DataPair::new(baseline, candidate, width)
    }

    fn wave(count: usize) -> Vec<f64> {
        (0..count).map(|place| (count_of(place + 1) * 0.7).sin() + 0.01).collect()
    }

    #[test]
    fn an_error_in_a_tile_is_confined_and_an_error_in_a_row_is_not() {
        let in_tile = |place: usize| (2..6).contains(&(place / 20)) && (4..8).contains(&(place % 20));
        let tile = data(20, wave(400), |place, value| if in_tile(place) { value + 0.5 } else { value });
        let region = tile.confined_error(1e-3, false).expect("a tile");
        assert_eq!((region.rows, region.columns, region.places), ((2, 5), (4, 7), 16));
        let row = data(20, wave(400), |place, value| if place / 20 == 3 { value + 0.5 } else { value });
        assert_eq!(row.confined_error(1e-3, false), None);
        assert!(row.confined_error(1e-3, true).is_some_and(|region| region.size() == (1, 20)), "a product's row");
        let all = data(20, wave(400), |_, value| value * 1.1);
        assert_eq!(all.confined_error(1e-3, true), None);
    }

    #[test]
    fn zeros_at_other_places_are_a_mask() {
        let kept = |place: usize, salt: usize| !(place * 7 + salt).is_multiple_of(9);
        let baseline: Vec<f64> =
            wave(300).into_iter().enumerate().map(|(p, v)| if kept(p, 0) { v } else { 0.0 }).collect();
        let candidate = wave(300).into_iter().enumerate().map(|(p, v)| if kept(p, 4) { v } else { 0.0 }).collect();
        let other = DataPair::new(baseline.clone(), candidate, 30);
        assert!(other.is_masked_differently(1e-5));
        let same = data(30, baseline.clone(), |_, value| value);
        assert!(!same.is_masked_differently(1e-5));
        let scaled = data(30, baseline, |_, value| value * 1.01);
        assert!(!scaled.is_masked_differently(1e-5));
    }

    #[test]
    fn an_error_that_follows_the_input_is_told_from_noise() {
        let input = wave(500);
        let smooth = data(20, wave(500), |_, value| value + 1e-3 * value * value);
        assert!(smooth.is_function_of(&input));
        let noise = data(20, wave(500), |place, value| value + if (place * 7919) % 13 < 6 { 1e-3 } else { -1e-3 });
        assert!(!noise.is_function_of(&input));
    }
}
