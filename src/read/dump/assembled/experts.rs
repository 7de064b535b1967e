//! Ranks whose tokens each expert received.

use std::collections::{BTreeMap, BTreeSet};

use super::global::{Globals, Module, expert_path};
use crate::layout::Coordinates;
use crate::read::dump::content::Dump;
use crate::read::dump::merge::Piece;
use crate::read::dump::name::Direction;

/// Coordinates of a rank, and the number of the call.
type Call = (Coordinates, u64);

/// Calls of each expert, by the expert's path and whether they are backward. A rank whose tokens an expert received has records
/// of all modules of that expert.
#[derive(Default)]
pub(super) struct Experts(BTreeMap<(String, bool), BTreeSet<Call>>);

impl Experts {
    pub(super) fn of(dumps: &[Dump], places: &[Coordinates], globals: &Globals<'_>) -> Self {
        let mut experts = Self::default();
        for (dump, place) in dumps.iter().zip(places) {
            let names = dump.operations.iter().filter(|operation| operation.name.contains("expert"));
            for module in names.filter_map(|operation| globals.module(operation.name, *place)) {
                let Some(key) = key(&module) else { continue };
                experts.0.entry(key).or_default().insert((*place, module.call));
            }
        }
        experts
    }

    /// Whether a module of an expert has the values of all ranks and calls that the expert has.
    pub(super) fn have_all(&self, module: &Module, pieces: &[Piece<'_>]) -> bool {
        let Some(calls) = key(module).and_then(|key| self.0.get(&key)) else { return true };
        let own: BTreeSet<Call> = pieces.iter().map(|piece| (piece.place, piece.call)).collect();
        calls.iter().all(|call| own.contains(call))
    }
}

fn key(module: &Module) -> Option<(String, bool)> {
    let is_backward = match module.direction {
        Direction::Forward => false,
        Direction::Backward => true,
        Direction::ParametersGradient | Direction::Debug => return None,
    };
    Some((expert_path(&module.path)?.to_owned(), is_backward))
}
