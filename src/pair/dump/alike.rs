//! Calls that are alike in everything but their values: `q * cos` and `rotated * sin` of one line.
//!
//! At the edge of a gap, alignment cannot tell which of several such calls is the missing one. Their recorded
//! statistics can: the pair that is closer is the right one.

use std::collections::HashMap;

use foldhash::quality::RandomState;

use crate::read::dump::{LeafValue, Operation, Operations, TensorRecord};

/// One side's sequence: operation index and key, in order, and the operations themselves.
pub(super) struct Sequence<'a> {
    pub(super) operations: &'a Operations,
    pub(super) indices: Vec<usize>,
    pub(super) keys: Vec<u64>,
}

/// Distance within which alike calls are searched; the edge of a gap is near.
const REACH: usize = 64;

/// Moves gaps among alike calls to where the recorded values fit best. `partners` maps this side's indices to the other
/// side's.
pub(super) fn slide(side: &Sequence<'_>, other: &Operations, partners: &mut HashMap<usize, usize, RandomState>) {
    for position in 0..side.indices.len() {
        for forward in [true, false] {
            slide_from(side, other, partners, position, forward);
        }
    }
}

fn slide_from(
    side: &Sequence<'_>,
    other: &Operations,
    partners: &mut HashMap<usize, usize, RandomState>,
    mut position: usize,
    forward: bool,
) {
    while let Some(here) = side.indices.get(position).filter(|here| !partners.contains_key(*here)) {
        let Some(next) = like_call(side, position, forward) else { return };
        let Some(there) = side.indices.get(next) else { return };
        let Some(partner) = partners.get(there).copied() else { return };
        let distance = |index: usize| {
            side.operations.get(index).zip(other.get(partner)).map_or(f64::INFINITY, |(a, b)| distance(a, b))
        };
        // A healthy run moves statistics by far less than another call's differ.
        if distance(*here) >= 0.5 * distance(*there) {
            return;
        }
        partners.remove(there);
        partners.insert(*here, partner);
        position = next;
    }
}

/// The nearest call with the same key.
fn like_call(side: &Sequence<'_>, position: usize, forward: bool) -> Option<usize> {
    let key = side.keys.get(position)?;
    let is_like = |candidate: &usize| side.keys.get(*candidate) == Some(key);
    if forward {
        (position + 1..(position + REACH).min(side.keys.len())).find(is_like)
    } else {
        (position.saturating_sub(REACH)..position).rev().find(is_like)
    }
}

/// Mean distance of the recorded extremes of two calls' tensors: 0 where all are equal, 1 where none has to do with
/// the other.
#[allow(clippy::cast_precision_loss, reason = "a call has few values")]
fn distance(a: Operation<'_>, b: Operation<'_>) -> f64 {
    let tensors = a.leaves.iter().zip(b.leaves.iter()).filter_map(|(a, b)| match (a.value, b.value) {
        (LeafValue::Tensor(a), LeafValue::Tensor(b)) => Some(tensor_distance(&a, &b)),
        _ => None,
    });
    let (sum, count) = tensors.fold((0.0, 0_u32), |(sum, count), distance| (sum + distance, count + 1));
    if count == 0 { 0.0 } else { sum / f64::from(count) }
}

fn tensor_distance(a: &TensorRecord<'_>, b: &TensorRecord<'_>) -> f64 {
    if let (Some(a), Some(b)) = (&a.checksum, &b.checksum) {
        return f64::from(a != b);
    }
    let extremes =
        |record: &TensorRecord<'_>| [record.max, record.min, record.norm].map(|value| value.as_f64().unwrap_or(0.0));
    let (a, b) = (extremes(a), extremes(b));
    let scale = a.iter().chain(&b).map(|value| value.abs()).fold(0.0, f64::max);
    let difference = a.iter().zip(&b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    if difference == 0.0 { 0.0 } else { (difference / scale).min(1.0) }
}
