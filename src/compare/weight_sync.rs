//! Comparison of the tensors of two stages of a weight synchronisation, bit by bit, with the causes of differences.
//!
//! Tensors are read in blocks that are dropped at once, so memory grows with the number of threads and not with the
//! model. Tensors that agree are read once. Those that differ are compared with earlier steps and with other tensors,
//! where the first bytes usually rule a match out, and are then read once more row by row.

mod digests;
mod elements;
mod outcome;
mod rows;

use std::collections::{BTreeMap, HashMap};

use rayon::prelude::*;

use crate::dtype::Dtype;
use crate::error::{Error, Result};
use crate::pair::weight_sync::{is_embedding, is_output};
use crate::read::checkpoint::CheckpointParameter;
use crate::read::tensor::TensorData;
use elements::{EqualBits, equal_bits, fingerprint, is_encodable, is_zero};
use rows::explain_by_rows;

pub(crate) use digests::sync_digests;
pub use outcome::{SyncChange, SyncComparison, SyncOutcome};

/// Most tensors with the same first and last bytes that one tensor is compared with.
const MOST_ALIKE: usize = 8;

/// A tensor of two stages.
#[derive(Clone, Copy, Debug)]
pub struct SyncPair<'a> {
    /// Its name in the earlier stage.
    pub name: &'a str,
    /// The tensor in the earlier stage.
    pub from: &'a CheckpointParameter,
    /// The tensor in the later stage.
    pub to: &'a CheckpointParameter,
}

/// Tensors of an earlier step by name, with the step.
pub(crate) type EarlierStep = (u64, BTreeMap<String, CheckpointParameter>);

/// A readable pair, in the form in which it is compared.
struct Work {
    from: TensorData,
    to: TensorData,
    /// Number of additional rows of zeros that one stage has.
    padding: u64,
}

/// State of a pair while its outcome is searched.
enum State {
    Known(SyncOutcome),
    Open(Box<Work>),
}

/// Compares the pairs and returns the outcomes in their order. `earlier` opens the earlier stage of previous steps, the
/// newest first, and is only called if something differs.
pub fn sync_tensors(
    pairs: &[SyncPair<'_>],
    earlier: &dyn Fn() -> Vec<EarlierStep>,
    done: &(dyn Fn() + Sync),
) -> Vec<SyncComparison> {
    let first = |pair: &SyncPair<'_>| {
        let state = opened(pair).and_then(compared).unwrap_or_else(|error| unread(&error));
        done();
        state
    };
    let mut states: Vec<State> = pairs.par_iter().with_max_len(1).map(first).collect();
    if states.iter().any(|state| matches!(state, State::Open(_))) {
        find_stale(&mut states, pairs, &earlier());
        find_swapped(&mut states, pairs);
        states.par_iter_mut().with_max_len(1).for_each(|state| {
            let State::Open(work) = state else { return };
            let change = explain_by_rows(&work.from, &work.to).map(SyncOutcome::Wrong);
            *state = State::Known(change.unwrap_or_else(|error| SyncOutcome::Unread { reason: error.to_string() }));
        });
    }
    let outcomes = states.into_iter().map(|state| match state {
        State::Known(outcome) => outcome,
        State::Open(_) => SyncOutcome::Wrong(SyncChange::Other),
    });
    let comparison = |(pair, outcome): (&SyncPair<'_>, SyncOutcome)| {
        let is_matrix = matches!(pair.from, CheckpointParameter::Tensor(tensor) if tensor.shape.len() > 1);
        SyncComparison { name: pair.name.to_owned(), is_matrix, outcome }
    };
    pairs.iter().zip(outcomes).map(comparison).collect()
}

/// Whether two tensors hold the same bits, in the same type and shape.
///
/// # Errors
/// Those of reading them.
pub(crate) fn is_same_tensor(one: &CheckpointParameter, other: &CheckpointParameter) -> Result<bool> {
    let (CheckpointParameter::Tensor(one), CheckpointParameter::Tensor(other)) = (one, other) else { return Ok(false) };
    Ok(one.dtype == other.dtype && one.shape == other.shape && equal_bits(one, other)?.is_some())
}

fn unread(error: &Error) -> State {
    State::Known(SyncOutcome::Unread { reason: error.to_string() })
}

/// The tensors of a pair, cut to the rows that both have, or the reason why they cannot be compared.
fn opened(pair: &SyncPair<'_>) -> Result<State> {
    let (from, to) = match (pair.from, pair.to) {
        (CheckpointParameter::Tensor(from), CheckpointParameter::Tensor(to)) => (from, to),
        (CheckpointParameter::Unread(reason), _) | (_, CheckpointParameter::Unread(reason)) => {
            return Ok(State::Known(SyncOutcome::Unread { reason: reason.clone() }));
        }
        _ => {
            let reason = "the pieces of its ranks were not put together".to_owned();
            return Ok(State::Known(SyncOutcome::Unread { reason }));
        }
    };
    if from.dtype != to.dtype && !is_encodable(from.dtype, to.dtype) {
        let (from, to) = (from.dtype.to_string(), to.dtype.to_string());
        return Ok(State::Known(SyncOutcome::Incomparable { from, to }));
    }
    if from.shape == to.shape {
        return Ok(State::Open(Box::new(Work { from: from.new_handle(), to: to.new_handle(), padding: 0 })));
    }
    match padded(pair.name, from, to)? {
        Some(work) => Ok(State::Open(Box::new(work))),
        None => {
            let shapes = SyncChange::Shapes { from: from.shape.clone(), to: to.shape.clone() };
            Ok(State::Known(SyncOutcome::Wrong(shapes)))
        }
    }
}

/// The pair without padding, where one tensor has additional rows of zeros at its end, as vocabulary tables do; `None`
/// otherwise.
fn padded(name: &str, from: &TensorData, to: &TensorData) -> Result<Option<Work>> {
    let (Some((from_rows, rest)), Some((to_rows, others))) = (from.shape.split_first(), to.shape.split_first()) else {
        return Ok(None);
    };
    if rest != others || rest.is_empty() || !(is_embedding(name) || is_output(name)) {
        return Ok(None);
    }
    let rows = (*from_rows).min(*to_rows);
    let padding = from_rows.abs_diff(*to_rows);
    let longer = if from_rows > to_rows { from } else { to };
    if !is_zero(&longer.narrowed(0, rows, padding)?)? {
        return Ok(None);
    }
    Ok(Some(Work { from: from.narrowed(0, 0, rows)?, to: to.narrowed(0, 0, rows)?, padding }))
}

/// The outcome of a pair that agrees; a pair that differs stays open.
fn compared(state: State) -> Result<State> {
    let State::Open(work) = state else { return Ok(state) };
    let Some(agreement) = equal_bits(&work.from, &work.to)? else { return Ok(State::Open(work)) };
    let EqualBits { nan, is_constant } = agreement;
    Ok(State::Known(if nan > 0 {
        SyncOutcome::Wrong(SyncChange::NonFinite { count: nan })
    } else if work.from.dtype != work.to.dtype {
        SyncOutcome::Cast { from: work.from.dtype.to_string(), to: work.to.dtype.to_string() }
    } else if work.padding > 0 {
        SyncOutcome::Padded { rows: work.padding }
    } else {
        SyncOutcome::Equal { is_trivial: is_constant && work.to.elements() > 1 }
    }))
}

/// Finds tensors that are those of an earlier step.
fn find_stale(states: &mut [State], pairs: &[SyncPair<'_>], earlier: &[EarlierStep]) {
    states.par_iter_mut().zip(pairs).with_max_len(1).for_each(|(state, pair)| {
        let State::Open(work) = state else { return };
        let is_of = |tensors: &BTreeMap<String, CheckpointParameter>| {
            let Some(CheckpointParameter::Tensor(before)) = tensors.get(pair.name) else { return false };
            cut_like(before, &work.to).is_some_and(|before| {
                is_encodable(before.dtype, work.to.dtype) && matches!(equal_bits(&before, &work.to), Ok(Some(_)))
            })
        };
        if let Some((step, _)) = earlier.iter().find(|(_, tensors)| is_of(tensors)) {
            *state = State::Known(SyncOutcome::Wrong(SyncChange::Stale { step: *step }));
        }
    });
}

/// A tensor of an earlier step, cut to the shape that is compared; `None` where its shape does not allow that.
fn cut_like(before: &TensorData, to: &TensorData) -> Option<TensorData> {
    if before.shape == to.shape {
        return Some(before.new_handle());
    }
    let rows = *to.shape.first()?;
    let is_longer = before.shape.get(1..) == to.shape.get(1..) && before.shape.first().is_some_and(|all| *all > rows);
    if is_longer { before.narrowed(0, 0, rows).ok() } else { None }
}

/// Finds tensors whose values belong to another name. Constant tensors match anywhere and prove nothing.
fn find_swapped(states: &mut [State], pairs: &[SyncPair<'_>]) {
    let mut wanted: HashMap<(Dtype, Vec<u64>), Vec<usize>> = HashMap::new();
    for (place, state) in states.iter().enumerate() {
        let State::Open(work) = state else { continue };
        wanted.entry((work.to.dtype, work.to.shape.clone())).or_default().push(place);
    }
    let mut holds: HashMap<usize, usize> = HashMap::new();
    for ((dtype, shape), suspects) in wanted {
        let alike = alike(pairs, dtype, &shape);
        let found: Vec<(usize, usize)> = suspects
            .par_iter()
            .with_max_len(1)
            .filter_map(|suspect| Some((*suspect, holder(states.get(*suspect)?, *suspect, pairs, &alike)?)))
            .collect();
        holds.extend(found);
    }
    let elsewhere: std::collections::HashSet<usize> = holds.values().copied().collect();
    for (suspect, other) in &holds {
        let (Some(state), Some(pair)) = (states.get_mut(*suspect), pairs.get(*other)) else { continue };
        let with = pair.name.to_owned();
        // Also true for a ring of three, where each tensor's values are found under another name.
        let is_swapped = elsewhere.contains(suspect);
        let change = if is_swapped { SyncChange::Swapped { with } } else { SyncChange::Copied { of: with } };
        *state = State::Known(SyncOutcome::Wrong(change));
    }
}

/// Places of the earlier stage's tensors with a shape, by fingerprint in an element type.
fn alike(pairs: &[SyncPair<'_>], dtype: Dtype, shape: &[u64]) -> HashMap<u64, Vec<usize>> {
    let prints: Vec<(u64, usize)> = pairs
        .par_iter()
        .enumerate()
        .filter_map(|(place, pair)| match pair.from {
            CheckpointParameter::Tensor(from) if from.shape == shape && is_encodable(from.dtype, dtype) => {
                Some((fingerprint(from, dtype).ok()?, place))
            }
            _ => None,
        })
        .collect();
    let mut alike: HashMap<u64, Vec<usize>> = HashMap::new();
    prints.into_iter().for_each(|(print, place)| alike.entry(print).or_default().push(place));
    alike
}

/// The place of the tensor whose values an open pair has.
fn holder(state: &State, own: usize, pairs: &[SyncPair<'_>], alike: &HashMap<u64, Vec<usize>>) -> Option<usize> {
    let State::Open(work) = state else { return None };
    let places = alike.get(&fingerprint(&work.to, work.to.dtype).ok()?)?;
    let is_of = |place: &&usize| {
        let Some(CheckpointParameter::Tensor(other)) = pairs.get(**place).map(|pair| pair.from) else { return false };
        matches!(equal_bits(other, &work.to), Ok(Some(agreement)) if !agreement.is_constant)
    };
    places.iter().filter(|place| **place != own).take(MOST_ALIKE).find(is_of).copied()
}

#[cfg(test)]
mod tests;
