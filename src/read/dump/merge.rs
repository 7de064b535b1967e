//! Merging of the values of ranks into one value of the whole model.

use std::borrow::Cow;

use super::content::COPIES;
use super::elements::Elements;
use super::name::Direction;
use super::plan::AssemblyPlan;
use super::records::{Statistic, TensorRecord};
use crate::dtype::Dtype;
use crate::layout::placement::{CutAxis, ModuleKind, Placement, ValueRole};
use crate::layout::{Coordinates, Layout};
use crate::read::json::Json;

/// Ranks whose copies differ, and the largest relative difference.
type Apart = (Vec<u64>, f64);

/// Error of values that cannot be merged.
#[derive(Debug)]
pub(super) struct Unmerged;

/// The value of one rank and call.
#[derive(Clone)]
pub(super) struct Piece<'d> {
    pub(super) place: Coordinates,
    pub(super) rank: u64,
    pub(super) call: u64,
    pub(super) chunk: u32,
    pub(super) record: TensorRecord<'d>,
    /// Name of the file that it was saved to, if its elements are joined too.
    pub(super) file: Option<String>,
}

/// Properties of a value to merge, and of the layout of its pieces.
pub(super) struct MergeContext<'a> {
    pub(super) kind: ModuleKind,
    pub(super) role: ValueRole<'a>,
    pub(super) direction: Direction,
    pub(super) layout: &'a Layout,
    pub(super) plan: &'a AssemblyPlan,
    /// Number of tensors that each rank's part is fused of; `None` if their order is not known.
    pub(super) fused: Option<u64>,
}

/// A value of the whole model.
pub(super) struct Merged<'d> {
    pub(super) dtype: &'d str,
    pub(super) shape: Vec<u64>,
    /// Largest value, smallest value, mean and 2-norm.
    pub(super) statistics: [Json; 4],
    pub(super) checksum: Option<&'d str>,
    /// Ranks whose copies differ, and the largest relative difference.
    pub(super) differing: Option<Apart>,
    /// Its elements in the files of its ranks; `None` if they were not saved, or their order is not known.
    pub(super) elements: Option<Elements>,
}

/// Shape and statistics of a part of a value.
#[derive(Clone, Debug)]
struct Part<'d> {
    shape: Cow<'d, [u64]>,
    /// Largest and smallest value, mean and norm.
    numbers: [Option<f64>; 4],
    ranks: Vec<u64>,
    stored: Option<Elements>,
}

impl<'d> Part<'d> {
    fn of(piece: &Piece<'d>) -> Self {
        Self { ranks: vec![piece.rank], stored: piece.elements(), ..Self::of_record(&piece.record) }
    }

    fn of_record(record: &TensorRecord<'d>) -> Self {
        let number = |statistic: Statistic<'_>| {
            statistic.as_f64().or_else(|| statistic.as_bool().map(|value| if value { 1.0 } else { 0.0 }))
        };
        let shape = Cow::Borrowed(record.shape);
        Self { shape, numbers: record.statistics().map(number), ranks: Vec::new(), stored: None }
    }

    #[allow(clippy::cast_precision_loss, reason = "a count of elements weighs a mean")]
    fn elements(&self) -> f64 {
        self.shape.iter().fold(1_u64, |product, len| product.saturating_mul(*len)) as f64
    }
}

impl Piece<'_> {
    fn elements(&self) -> Option<Elements> {
        Some(Elements::File { rank: self.rank, name: self.file.clone()? })
    }
}

/// Merges the pieces of a value.
pub(super) fn merge<'d>(of: &MergeContext<'_>, pieces: &[Piece<'d>]) -> Result<Merged<'d>, Unmerged> {
    let first = pieces.first().ok_or(Unmerged)?.record;
    let scale = if of.is_backward() { of.plan.backward_scale } else { 1.0 };
    if let ([alone], true) = (pieces, scale.total_cmp(&1.0).is_eq()) {
        return Ok(Merged {
            dtype: first.dtype,
            shape: first.shape.to_vec(),
            statistics: first.statistics().map(Statistic::json),
            checksum: first.checksum,
            differing: None,
            elements: alone.elements().filter(|_| of.fused.is_some()),
        });
    }
    if pieces.iter().any(|piece| piece.record.checksum.is_some()) && pieces.len() > 1 {
        return Err(Unmerged);
    }
    let is_number = first.element.is_some_and(Dtype::is_float);
    let mut differing = None;
    let mut note = |found: Option<Apart>| differing = differing.take().or(found);
    // Merge within each tensor-parallel group, then over the parts of the sequence, then over samples.
    let mut groups: std::collections::BTreeMap<(u64, u32, u32), Vec<&Piece<'_>>> = std::collections::BTreeMap::new();
    for piece in pieces {
        groups.entry((piece.call, piece.place.dp, piece.place.cp)).or_default().push(piece);
    }
    let placement =
        if is_number && of.plan.has_placement { of.kind.place(of.role, of.layout.sp) } else { Placement::Whole };
    let axes = Axes { of, rank: first.shape.len(), is_number };
    let mut samples: std::collections::BTreeMap<(u64, u32), Vec<Part<'_>>> = std::collections::BTreeMap::new();
    for ((call, dp, _), mut group) in groups {
        group.sort_by_key(|piece| piece.place.tp);
        let parts: Vec<Part<'_>> = group.into_iter().map(Part::of).collect();
        let merged = match (placement, parts.len()) {
            (_, 1) => parts.into_iter().next().ok_or(Unmerged)?,
            (Placement::Partial, _) => return Err(Unmerged),
            (Placement::Sharded(cut), _) => concatenated(parts, axes.of_cut(cut), of.fused)?,
            (Placement::Whole, _) => {
                let (one, found) = copies(parts, tolerance(of.role, first.element))?;
                note(found);
                one
            }
        };
        samples.entry((call, dp)).or_default().push(merged);
    }
    let is_parameter = matches!(of.role, ValueRole::Parameter(_));
    let is_gradient = matches!(of.role, ValueRole::Gradient(_));
    let parts = samples.len() * samples.values().map(Vec::len).max().unwrap_or(1);
    if is_gradient && parts > 1 {
        return Err(Unmerged);
    }
    let mut whole = Vec::new();
    for sequence in samples.into_values() {
        let one = if sequence.len() == 1 {
            sequence.into_iter().next().ok_or(Unmerged)?
        } else if is_parameter || axes.is_gathered(&sequence) {
            if of.is_backward() && !is_parameter {
                return Err(Unmerged);
            }
            let (one, found) = copies(sequence, tolerance(of.role, first.element))?;
            note(found);
            one
        } else {
            concatenated(sequence, axes.of_cut(CutAxis::Sequence), None)?
        };
        whole.push(one);
    }
    let whole = match whole.len() {
        1 => whole.into_iter().next().ok_or(Unmerged)?,
        _ if is_parameter => {
            let (one, found) = copies(whole, tolerance(of.role, first.element))?;
            note(found);
            one
        }
        _ => concatenated(whole, axes.samples(), None)?,
    };
    let [max, min, mean, norm] = whole.numbers.map(|number| number.map(|number| number / scale));
    Ok(Merged {
        dtype: first.dtype,
        shape: whole.shape.into_owned(),
        statistics: statistics([max, min, mean, norm], &first),
        checksum: None,
        differing,
        elements: whole.stored.filter(|_| of.fused.is_some() && scale.total_cmp(&1.0).is_eq()),
    })
}

impl MergeContext<'_> {
    fn is_backward(&self) -> bool {
        self.direction != Direction::Forward
    }
}

/// Meaning of the axes of values of one kind.
struct Axes<'a> {
    of: &'a MergeContext<'a>,
    /// Number of axes.
    rank: usize,
    is_number: bool,
}

impl Axes<'_> {
    fn of_cut(&self, cut: CutAxis) -> Option<usize> {
        match cut {
            CutAxis::First => Some(0),
            CutAxis::Last => self.rank.checked_sub(1),
            CutAxis::Heads if self.rank == 4 => Some(2),
            CutAxis::Heads => self.rank.checked_sub(1),
            // A mask applies to all heads and has no axis of heads to cut.
            CutAxis::Second if self.rank == 4 => Some(1),
            CutAxis::Second => None,
            // Token ids have the axes batch and sequence; activations have sequence and batch.
            CutAxis::Sequence if self.rank == 0 => None,
            CutAxis::Sequence => Some(usize::from(!self.is_number && self.rank == 2)),
        }
    }

    fn samples(&self) -> Option<usize> {
        match (self.rank, self.is_number) {
            (0, _) => None,
            (1 | 2, _) => Some(0),
            _ => Some(1),
        }
    }

    /// Whether each part already holds the whole sequence, gathered from all parts.
    fn is_gathered(&self, parts: &[Part<'_>]) -> bool {
        let Some([_, tokens]) = self.of.plan.tokens else { return false };
        let own = self.of_cut(CutAxis::Sequence).and_then(|axis| parts.first()?.shape.get(axis)).copied();
        self.rank >= 3 && own == Some(tokens.saturating_mul(u64::from(self.of.layout.cp)))
    }
}

/// Relative difference up to which copies count as equal. Parameters must be nearly identical; other values may differ by the
/// rounding of sums in another order.
fn tolerance(role: ValueRole<'_>, element: Option<Dtype>) -> f64 {
    let rounding = element.map_or(0.0, Dtype::unit_roundoff);
    if matches!(role, ValueRole::Parameter(_)) { COPIES } else { (64.0 * rounding).clamp(1e-5, 0.1) }
}

/// Picks one of several copies, and returns the ranks and the relative difference if the copies differ.
fn copies<'d>(parts: Vec<Part<'d>>, tolerance: f64) -> Result<(Part<'d>, Option<Apart>), Unmerged> {
    let first = parts.first().ok_or(Unmerged)?;
    if parts.iter().any(|part| part.shape != first.shape) {
        return Err(Unmerged);
    }
    let apart = parts.iter().map(|part| difference(first, part)).enumerate();
    let (far, error) = apart.max_by(|(_, a), (_, b)| a.total_cmp(b)).ok_or(Unmerged)?;
    let ranks: Vec<u64> = parts.iter().flat_map(|part| part.ranks.iter().copied()).collect();
    let is_equal = error <= tolerance;
    // The copy that is farthest from the first is used, so that the comparison with the other side shows the difference too.
    let one = parts.into_iter().nth(if is_equal { 0 } else { far }).ok_or(Unmerged)?;
    let found = (!is_equal).then(|| (ranks.clone(), error));
    Ok((Part { ranks, ..one }, found))
}

/// Merges the value of a call of which each rank holds a copy or a part, by its shape in the whole model. Summands of a sum have
/// the shape of the sum but are not copies, so different values are not merged.
pub(super) fn merge_calls<'d>(
    records: &[TensorRecord<'d>],
    ranks: &[u64],
    whole: &[u64],
) -> Result<Merged<'d>, Unmerged> {
    let first = *records.first().ok_or(Unmerged)?;
    let part = |(record, rank): (&TensorRecord<'d>, &u64)| Part { ranks: vec![*rank], ..Part::of_record(record) };
    let parts: Vec<Part<'_>> = records.iter().zip(ranks).map(part).collect();
    let merged = if first.shape == whole {
        match copies(parts, tolerance(ValueRole::Input, first.element))? {
            (one, None) => one,
            (_, Some(_)) => return Err(Unmerged),
        }
    } else {
        let differs = |axis: &usize| first.shape.get(*axis) != whole.get(*axis);
        let merged = concatenated(parts, (0..whole.len()).find(differs), None)?;
        if merged.shape != whole {
            return Err(Unmerged);
        }
        merged
    };
    Ok(Merged {
        dtype: first.dtype,
        shape: merged.shape.into_owned(),
        statistics: statistics(merged.numbers, &first),
        checksum: None,
        differing: None,
        elements: None,
    })
}

/// Largest relative difference between the statistics of two tensors.
pub(super) fn largest_difference(one: &TensorRecord<'_>, other: &TensorRecord<'_>) -> f64 {
    difference(&Part::of_record(one), &Part::of_record(other))
}

/// Largest difference of a statistic, relative to the largest magnitude; for norms relative to the norm.
fn difference(one: &Part<'_>, other: &Part<'_>) -> f64 {
    let of = |part: &Part<'_>, at: usize| part.numbers.get(at).copied().flatten();
    let scale = [0, 1].into_iter().filter_map(|at| of(one, at)).map(f64::abs).fold(0.0, f64::max);
    let norm = of(one, 3).map_or(0.0, f64::abs);
    let mut largest = 0.0_f64;
    for at in 0..4 {
        let apart = match (of(one, at), of(other, at)) {
            (Some(a), Some(b)) if a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan() => 0.0,
            (Some(a), Some(b)) => {
                let scale = if at == 3 { norm } else { scale };
                if scale > 0.0 { (a - b).abs() / scale } else { f64::INFINITY }
            }
            (None, None) => 0.0,
            _ => f64::INFINITY,
        };
        largest = largest.max(if apart.is_nan() { f64::INFINITY } else { apart });
    }
    largest
}

/// Concatenates parts along an axis. Each part is `fused` of that number of tensors; `None` if their order is not known.
fn concatenated<'d>(mut parts: Vec<Part<'d>>, axis: Option<usize>, fused: Option<u64>) -> Result<Part<'d>, Unmerged> {
    let axis = axis.ok_or(Unmerged)?;
    let mut shape = parts.first().ok_or(Unmerged)?.shape.to_vec();
    let len = parts.iter().map(|part| part.shape.get(axis).copied()).try_fold(0_u64, |sum, len| sum.checked_add(len?));
    *shape.get_mut(axis).ok_or(Unmerged)? = len.ok_or(Unmerged)?;
    let is_alike = |part: &Part<'_>| {
        part.shape.len() == shape.len()
            && part.shape.iter().zip(&shape).enumerate().all(|(at, (own, all))| at == axis || own == all)
    };
    if !parts.iter().all(is_alike) {
        return Err(Unmerged);
    }
    let numbers =
        |at: usize| parts.iter().map(|part| part.numbers.get(at).copied().flatten()).collect::<Option<Vec<f64>>>();
    let fold = |values: Vec<f64>, of: fn(f64, f64) -> f64| {
        let is_nan = values.iter().any(|value| value.is_nan());
        if is_nan { Some(f64::NAN) } else { values.into_iter().reduce(of) }
    };
    let elements: f64 = parts.iter().map(Part::elements).sum();
    let max = numbers(0).and_then(|values| fold(values, f64::max));
    let min = numbers(1).and_then(|values| fold(values, f64::min));
    let mean = numbers(2).map(|values| {
        values.iter().zip(&parts).map(|(mean, part)| mean * part.elements()).sum::<f64>() / elements.max(1.0)
    });
    let norm = numbers(3).map(|values| values.iter().map(|norm| norm * norm).sum::<f64>().sqrt());
    let ranks = parts.iter().flat_map(|part| part.ranks.iter().copied()).collect();
    let own = |part: &mut Part<'_>| part.shape.get(axis).copied().zip(part.stored.take());
    let stored = parts.iter_mut().map(own).collect::<Option<Vec<_>>>();
    let stored = stored.zip(fused).map(|(parts, fused)| Elements::Joined { axis, fused, parts });
    Ok(Part { shape: Cow::Owned(shape), numbers: [max, min, mean, norm], ranks, stored })
}

/// Statistics in the types that the dump uses: integers and booleans stay such.
fn statistics(numbers: [Option<f64>; 4], like: &TensorRecord<'_>) -> [Json; 4] {
    let mut like = like.statistics().into_iter();
    numbers.map(|number| {
        let written = like.next().unwrap_or(Statistic::Null);
        match (number, written) {
            (None, _) => Json::Null,
            (Some(number), Statistic::Bool(_)) => Json::Bool(number > 0.0),
            #[allow(clippy::cast_possible_truncation, reason = "an integer that was read as one")]
            (Some(number), Statistic::Int(_)) if number.fract() == 0.0 && number.abs() < 9e15 => {
                Json::Int(number as i64)
            }
            (Some(number), _) => Json::Float(number),
        }
    })
}
