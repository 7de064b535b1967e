//! Same-value tracing: a tensor whose recorded statistics reappear in another operation is the same tensor.
//!
//! Views, transposes and reorderings keep a tensor's number of elements, largest and smallest value; so do operations
//! that were not dumped. A constant is not a fingerprint.

use std::cell::OnceCell;

use rayon::prelude::*;

use crate::compare::dump::OperationComparison;
use crate::judge::dump::unit::UnitInput;
use crate::kind::TensorKind;
use crate::pair::dump::IndexPair;
use crate::read::dump::{Leaf, Operation, Statistic, TensorRecord};
use crate::verdict::Side;

/// Elements, and the bits of the largest and the smallest value.
type Fingerprint = (u64, u64, u64);

/// A tensor's fingerprint; `None` for constants and where no statistics were recorded.
fn fingerprint(record: &TensorRecord<'_>) -> Option<Fingerprint> {
    let bits = |value: Statistic<'_>| value.as_f64().map(f64::to_bits);
    let (max, min) = (bits(record.max)?, bits(record.min)?);
    (max != min).then(|| (record.elements(), max, min))
}

/// The operation of one side of a pair.
pub(super) fn operation_of<'a>(input: &'a UnitInput<'_>, pair: &IndexPair, side: Side) -> Option<Operation<'a>> {
    match side {
        Side::Baseline => input.baseline.operations.get(pair.baseline()?),
        Side::Candidate => input.candidate.operations.get(pair.candidate()?),
    }
}

/// One appearance of a value.
#[derive(Clone, Copy)]
pub(super) struct Appearance<'a> {
    /// Position of the operation in the comparison.
    pub(super) order: usize,
    pub(super) operation: Operation<'a>,
    pub(super) leaf: Leaf<'a>,
}

/// Part of the hash of a value's fingerprint, position of the operation in the comparison, and index of the value in it: 12 bytes a
/// value.
type Place = (u32, u32, u32);

/// Stands, behind all places, for a value that cannot be traced.
const UNTRACED: Place = (u32::MAX, u32::MAX, u32::MAX);
/// Number of operations whose places are listed by one thread.
const AT_ONCE: usize = 1024;

/// The lower half of the hash of a fingerprint, which hardly any other one shares.
#[allow(clippy::cast_possible_truncation, reason = "half of the hash is wanted")]
fn hash_of(fingerprint: &Fingerprint) -> u32 {
    crate::hash::hash_of(fingerprint) as u32
}

/// Places of every traceable value of both sides, in rising order. Several causes ask for them, and most units for none.
#[derive(Default)]
pub struct TracedPlaces {
    baseline: OnceCell<Vec<Place>>,
    candidate: OnceCell<Vec<Place>>,
}

impl TracedPlaces {
    fn of(&self, input: &UnitInput<'_>, side: Side) -> &[Place] {
        let known = match side {
            Side::Baseline => &self.baseline,
            Side::Candidate => &self.candidate,
        };
        known.get_or_init(|| {
            let operations = &input.comparison.operations;
            let values =
                |one: &OperationComparison| operation_of(input, &one.pair, side).map_or(0, |one| one.leaves.len());
            let mut places = vec![UNTRACED; operations.iter().map(values).sum()];
            let mut rest = places.as_mut_slice();
            let mut parts = Vec::new();
            for (number, part) in operations.chunks(AT_ONCE).enumerate() {
                let (own, others) = std::mem::take(&mut rest).split_at_mut(part.iter().map(values).sum());
                parts.push((number * AT_ONCE, part, own));
                rest = others;
            }
            parts.into_par_iter().for_each(|(first, part, places)| {
                let traced = (first..).zip(part).flat_map(|(order, one)| traced_values(input, side, order, one));
                places.iter_mut().zip(traced).for_each(|(place, traced)| *place = traced);
            });
            places.par_sort_unstable();
            let traced = places.partition_point(|place| *place < UNTRACED);
            places.truncate(traced);
            places
        })
    }
}

/// Places of the values of an operation that can be traced.
fn traced_values(
    input: &UnitInput<'_>,
    side: Side,
    order: usize,
    comparison: &OperationComparison,
) -> impl Iterator<Item = Place> {
    let leaves = operation_of(input, &comparison.pair, side).into_iter().flat_map(|operation| operation.leaves.iter());
    (0_u32..).zip(leaves).filter_map(move |(index, leaf)| {
        let fingerprint = leaf.record().as_ref().and_then(fingerprint)?;
        Some((hash_of(&fingerprint), u32::try_from(order).ok()?, index))
    })
}

/// Appearances of every traceable value in one dump.
pub(super) struct Trace<'a> {
    input: &'a UnitInput<'a>,
    side: Side,
    places: &'a [Place],
}

impl<'a> Trace<'a> {
    /// The appearances of the values of one side.
    pub(super) fn of(input: &'a UnitInput<'a>, side: Side, traced: &'a TracedPlaces) -> Self {
        Self { input, side, places: traced.of(input, side) }
    }

    /// Appearances of a value, in the order of the comparison.
    fn appearances(&self, record: &TensorRecord<'_>) -> impl DoubleEndedIterator<Item = Appearance<'a>> + Clone + '_ {
        let wanted = fingerprint(record);
        let hash = wanted.as_ref().map_or(0, hash_of);
        let from = self.places.partition_point(|(known, ..)| *known < hash);
        let to = self.places.partition_point(|(known, ..)| *known <= hash);
        let places = self.places.get(from..to).filter(|_| wanted.is_some()).unwrap_or_default();
        let is_wanted = move |one: &Appearance<'_>| one.leaf.record().as_ref().and_then(fingerprint) == wanted;
        places.iter().filter_map(|(_, order, leaf)| self.appearance(*order as usize, *leaf as usize)).filter(is_wanted)
    }

    fn appearance(&self, order: usize, leaf: usize) -> Option<Appearance<'a>> {
        let pair = &self.input.comparison.operations.get(order)?.pair;
        let operation = operation_of(self.input, pair, self.side)?;
        Some(Appearance { order, operation, leaf: operation.leaves.get(leaf)? })
    }

    /// The last operation before `order` that made this value; of a module and its last call, the call.
    pub(super) fn made_before(&self, record: &TensorRecord<'_>, order: usize) -> Option<Appearance<'a>> {
        let is_output = |appearance: &Appearance<'a>| {
            appearance.order < order && matches!(appearance.leaf.kind, TensorKind::Output)
        };
        let is_module = |appearance: &Appearance<'a>| {
            appearance.operation.name.starts_with("Module.") || appearance.operation.name.starts_with("Cell.")
        };
        let found = self.appearances(record).filter(is_output);
        let call = found.clone().rfind(|appearance| !is_module(appearance));
        call.or_else(|| found.clone().next_back())
    }

    /// The last operation before `order` that made this value, whatever it is.
    pub(super) fn last_made(&self, record: &TensorRecord<'_>, order: usize) -> Option<Appearance<'a>> {
        let is_output = |one: &Appearance<'a>| one.order < order && matches!(one.leaf.kind, TensorKind::Output);
        self.appearances(record).rfind(is_output)
    }

    /// The last call before `order` whose result may hold this value as a part: of a small multiple of its elements, and with the same
    /// largest or smallest value.
    pub(super) fn whole_made(&self, record: &TensorRecord<'_>, order: usize) -> Option<Appearance<'a>> {
        /// Parts that a result may be cut into, and calls that are searched for it.
        const PARTS: std::ops::RangeInclusive<u64> = 2..=8;
        const REACH: usize = 128;
        let (elements, max, min) = fingerprint(record)?;
        let holds = |leaf: &Leaf<'_>| {
            let whole = leaf.record().as_ref().and_then(fingerprint);
            whole.is_some_and(|(all, largest, smallest)| {
                elements > 0
                    && all.is_multiple_of(elements)
                    && PARTS.contains(&(all / elements))
                    && (largest == max || smallest == min)
            })
        };
        let orders = (order.saturating_sub(REACH)..order).rev();
        orders.into_iter().find_map(|order| {
            let pair = &self.input.comparison.operations.get(order)?.pair;
            let operation = operation_of(self.input, pair, self.side)?;
            let leaf = operation.leaves.iter().find(|leaf| leaf.kind == TensorKind::Output && holds(leaf))?;
            Some(Appearance { order, operation, leaf })
        })
    }

    /// The first operation before `order` that made this value, which later ones only handed on.
    pub(super) fn first_made(&self, record: &TensorRecord<'_>, order: usize) -> Option<Appearance<'a>> {
        let is_output = |one: &Appearance<'a>| one.order < order && matches!(one.leaf.kind, TensorKind::Output);
        self.appearances(record).find(is_output)
    }

    /// The last appearance before `order`, whatever its role.
    pub(super) fn last_before(&self, record: &TensorRecord<'_>, order: usize) -> Option<Appearance<'a>> {
        self.appearances(record).rfind(|appearance| appearance.order < order)
    }

    /// The first operation after `order` that was given this value.
    pub(super) fn used_after(&self, record: &TensorRecord<'_>, order: usize) -> Option<Appearance<'a>> {
        let used =
            |appearance: &Appearance<'a>| appearance.order > order && matches!(appearance.leaf.kind, TensorKind::Input);
        self.appearances(record).find(used)
    }
}
