//! Parameters from one step to the next.
//!
//! A step starts from the parameters that the optimizer left. An optimizer that scales by the gradient's own size (Adam) turns a
//! gradient of pure noise into a full-sized update of either sign, so two healthy runs may differ by twice an update anywhere. But
//! in healthy runs most parameters move alike, and none stays where it is while the other side's moves.

use std::collections::HashSet;

use rayon::prelude::*;

use super::input::UnitInput;
use super::item::{Item, is_input, item};
use super::limits::AMPLIFICATION;
use crate::compare::dump::bounds_of_sums;
use crate::dtype::Dtype;
use crate::hash::{ByHash, hash_of};
use crate::kind::TensorKind;
use crate::read::dump::name::OpName;

/// Maximum, minimum, mean and norm of a value, on each side.
type Both = [[f64; 4]; 2];

/// Trained leaf inputs of a step by the name of their row.
#[derive(Clone, Debug, Default)]
pub struct StepParameters(ByHash<Both>);

/// Whether a value is trained on either side.
pub(super) fn is_trained(item: &Item<'_>) -> bool {
    item.records().iter().flatten().any(|record| record.requires_grad == Some(true))
}

/// Parts of the names of calls that take their weight and bias after their input.
const WEIGHTED: [&str; 9] = ["linear", "conv", "embedding", "norm", "addmm", "prelu", "bilinear", "lstm", "gru"];

/// Whether a call, by its name, takes weights after the tensor that it is applied to.
pub(crate) fn takes_weights(api: &str) -> bool {
    let api = api.to_ascii_lowercase();
    WEIGHTED.iter().any(|name| api.contains(name))
}

/// Whether an input is a weight by its place: trained, and either a vector or an argument of a layer other than its input.
pub(super) fn is_weight(item: &Item<'_>, name: &OpName<'_>) -> bool {
    let row = item.row_below_operation();
    let is_applied_to = row.ends_with(".input.0") || row.ends_with("_input.0") || row.ends_with(".input.input");
    let is_vector = item.records().iter().flatten().all(|record| record.shape.len() <= 1);
    is_trained(item) && (is_vector || takes_weights(name.api()) && !is_applied_to)
}

/// Whether an input is the bias of a layer: a trained vector that is added last and enters no gradient of the other inputs.
pub(super) fn is_bias(item: &Item<'_>, name: &OpName<'_>) -> bool {
    let is_vector = || item.records().iter().flatten().all(|record| record.shape.len() == 1);
    is_input(item.kind) && is_trained(item) && is_layer(name) && is_vector()
}

/// Whether a call is a product with a weight, to which a bias is added.
pub(crate) fn is_layer(name: &OpName<'_>) -> bool {
    let api = name.api().as_bytes();
    let holds = |word: &[u8]| api.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word));
    holds(b"linear") || holds(b"conv")
}

/// Least size of an update, in roundings of the parameter, whose size is compared.
const TELLING: f64 = 64.0;

/// Least number of elements of a parameter that must move; fewer elements may stay as they are.
const FEWEST: u64 = 16;

/// Copies of trained inputs on the ranks of a step.
#[derive(Debug, Default)]
pub(crate) struct RankCopies {
    /// Records of both sides of each input, once for all ranks that agree, by hash of the row.
    known: ByHash<Vec<RankCopy>>,
    /// Hashes of the rows whose copies are equal over the ranks of the baseline and differ over those of the candidate.
    parted: HashSet<u64>,
}

/// Records of the copy of one rank.
#[derive(Clone, Copy, Debug)]
struct RankCopy {
    sides: Both,
    /// Differences of mean and norm that equal data may show, on each side.
    bounds: [[f64; 2]; 2],
}

impl RankCopy {
    /// The records of an input; `None` for a constant, which may be equal by chance.
    fn from_item(item: &Item<'_>) -> Option<Self> {
        let sides = both(item).filter(|[baseline, _]| baseline[0] > baseline[1])?;
        let bounds = item.records().map(|record| {
            let [_, _, mean, norm] =
                record.map_or([0.0; 4], |record| bounds_of_sums(record, record, record.elements()));
            [mean, norm]
        });
        Some(Self { sides, bounds })
    }

    /// Whether a side holds the same data as on another rank: the same extremes, and sums that agree within rounding.
    fn is_same(&self, other: &Self, side: usize) -> bool {
        let place = |copy: &Self| Some((*copy.sides.get(side)?, *copy.bounds.get(side)?));
        let (Some((own, bounds)), Some((others, _))) = (place(self), place(other)) else { return false };
        let [max, min, mean, norm] = own;
        let [other_max, other_min, other_mean, other_norm] = others;
        max.to_bits() == other_max.to_bits()
            && min.to_bits() == other_min.to_bits()
            && (mean - other_mean).abs() <= bounds[0]
            && (norm - other_norm).abs() <= bounds[1]
    }
}

impl RankCopies {
    /// Adds the trained inputs of a rank.
    pub(crate) fn add(&mut self, input: &UnitInput<'_>) {
        let copies = input.comparison.operations.par_iter().flat_map_iter(|comparison| {
            let (baseline, candidate) = comparison.operations(input.baseline, input.candidate);
            let sides = baseline.zip(candidate).into_iter();
            let items =
                sides.flat_map(|(left, right)| comparison.leaves.iter().map(move |leaf| item(leaf, left, right)));
            let trained = items.filter(|item| is_input(item.kind) && is_trained(item));
            trained.filter_map(|item| Some((hash_of(&item.row()), RankCopy::from_item(&item)?)))
        });
        copies.collect::<Vec<_>>().into_iter().for_each(|(key, copy)| self.add_copy(key, copy));
    }

    fn add_copy(&mut self, key: u64, copy: RankCopy) {
        let known = self.known.entry(key).or_default();
        if known.iter().any(|other| copy.is_same(other, 0) && !copy.is_same(other, 1)) {
            self.parted.insert(key);
        }
        if !known.iter().any(|other| copy.is_same(other, 0) && copy.is_same(other, 1)) {
            known.push(copy);
        }
    }

    /// Hashes of the rows of inputs whose copies are equal over the ranks of the baseline and differ over those of the candidate.
    pub(crate) fn into_parted_rows(self) -> HashSet<u64> {
        self.parted
    }
}

impl StepParameters {
    /// Largest, smallest and mean value and norm of the input of this row, for the baseline and the candidate; `None` if the step had
    /// no such input.
    pub(crate) fn statistics_of(&self, row: &str) -> Option<&[[f64; 4]; 2]> {
        self.0.get(&hash_of(&row))
    }

    /// Whether no input is known.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Remembers a leaf input for the next step.
    pub(super) fn remember(&mut self, item: &Item<'_>) {
        if !is_trained(item) {
            return;
        }
        if let Some(both) = both(item) {
            self.0.insert(hash_of(&item.row()), both);
        }
    }

    /// Remembers the value of a module's parameter at this call, for the next call of the module in the same step.
    pub(super) fn remember_use(&mut self, item: &Item<'_>, name: &OpName<'_>) {
        if let Some(both) = is_module_parameter(item).then(|| both(item)).flatten() {
            self.0.insert(module_parameter_key(item, name), both);
        }
    }

    /// Movement of a module's parameter since the previous call of the module: an optimizer may run between two calls.
    pub(super) fn movement_of_use(&self, item: &Item<'_>, name: &OpName<'_>) -> Option<Movement> {
        if is_module_parameter(item) { self.movement_since(module_parameter_key(item, name), item) } else { None }
    }

    /// Movement of an input since the step of these parameters; `None` if that step did not have it.
    pub(super) fn movement(&self, item: &Item<'_>) -> Option<Movement> {
        if self.is_empty() { None } else { self.movement_since(hash_of(&item.row()), item) }
    }

    fn movement_since(&self, key: u64, item: &Item<'_>) -> Option<Movement> {
        let now = both(item)?;
        let [before, was] = self.0.get(&key)?;
        let magnitude = now[0][0].abs().max(now[0][1].abs());
        Some(Movement {
            baseline: moved(before, &now[0]),
            candidate: moved(was, &now[1]),
            magnitude,
            rounding: item.dtype().unwrap_or(Dtype::F32).unit_roundoff() * magnitude,
        })
    }
}

fn is_module_parameter(item: &Item<'_>) -> bool {
    item.kind == TensorKind::Parameter && is_trained(item)
}

/// Key of a module's parameter, the same for all calls of the module.
fn module_parameter_key(item: &Item<'_>, name: &OpName<'_>) -> u64 {
    hash_of(&(name.base, item.row_below_operation()))
}

/// Movement of one parameter since the step before: of its maximum, minimum, mean and norm.
pub(super) struct Movement {
    baseline: [f64; 4],
    candidate: [f64; 4],
    /// The largest magnitude of the baseline's extremes now.
    magnitude: f64,
    /// One rounding of that magnitude.
    rounding: f64,
}

impl Movement {
    /// The largest movement of an extreme, on either side.
    pub(super) fn distance(&self) -> f64 {
        largest(&self.baseline).max(largest(&self.candidate))
    }

    /// The distance relative to the parameter's scale.
    pub(super) fn relative_size(&self, item: &Item<'_>) -> f64 {
        let scale = item.rms().unwrap_or(self.magnitude);
        if scale > 0.0 { self.distance() / scale } else { 0.0 }
    }

    /// Whether the sides moved differently, by more than rounding, noise and the error of their gradients explain; `None` if neither
    /// moved enough to decide.
    pub(super) fn moved_differently(&self, noise: f64, gradients: f64) -> Option<bool> {
        let telling = |place: usize| {
            let (left, right) = (self.baseline.get(place)?, self.candidate.get(place)?);
            let larger = left.abs().max(right.abs());
            let explained = AMPLIFICATION.mul_add(gradients, noise) * larger + AMPLIFICATION * self.rounding;
            (larger > TELLING * self.rounding).then(|| (left - right).abs() > explained)
        };
        match (telling(0), telling(1)) {
            (Some(max), Some(min)) => Some(max && min),
            (one, other) => one.or(other),
        }
    }

    /// Whether only one side moved, and the other one kept all its values.
    pub(super) fn only_one_moved(&self, item: &Item<'_>) -> bool {
        let stayed = |side: &[f64; 4]| side.iter().all(|moved| *moved == 0.0);
        let went = |side: &[f64; 4]| largest(side) > AMPLIFICATION * self.rounding && side[3] != 0.0;
        let (baseline, candidate) = (&self.baseline, &self.candidate);
        let is_many = item.records().iter().flatten().all(|record| record.elements() >= FEWEST);
        is_many && (stayed(baseline) && went(candidate) || went(baseline) && stayed(candidate))
    }
}

fn largest([max, min, ..]: &[f64; 4]) -> f64 {
    max.abs().max(min.abs())
}

fn moved(before: &[f64; 4], now: &[f64; 4]) -> [f64; 4] {
    let mut moved = *now;
    moved.iter_mut().zip(before).for_each(|(now, before)| *now -= before);
    moved
}

fn both(item: &Item<'_>) -> Option<Both> {
    let [baseline, candidate] = item.records();
    Some([baseline?.finite_statistics()?, candidate?.finite_statistics()?])
}
