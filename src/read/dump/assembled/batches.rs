//! Completeness of the calls of modules, one for each part that a batch is cut into.

use std::collections::BTreeSet;

use super::global::{Globals, Module};
use crate::layout::placement::ModuleKind;
use crate::layout::{Coordinates, Layout};
use crate::read::dump::content::Dump;
use crate::read::dump::merge::Piece;
use crate::read::dump::name::Direction;
use crate::read::dump::plan::AssemblyPlan;

/// Parts of a batch whose calls are merged.
#[derive(Default)]
pub(super) struct Batches {
    parts: usize,
    /// Paths of the modules that gradients pass through.
    trained: BTreeSet<String>,
}

impl Batches {
    /// Collects the parts from the ranks' records; empty if calls are not merged.
    pub(super) fn new(
        plan: AssemblyPlan,
        layout: &Layout,
        (dumps, places): (&[Dump], &[Coordinates]),
        globals: &Globals<'_>,
    ) -> Self {
        if !plan.merges_calls {
            return Self::default();
        }
        let mut trained = BTreeSet::new();
        for (dump, place) in dumps.iter().zip(places) {
            let modules = dump.operations.iter().filter_map(|operation| globals.module(operation.name, *place));
            let backward = modules.filter(|module| module.direction == Direction::Backward);
            trained.extend(backward.filter(is_container).map(|module| module.path));
        }
        Self { parts: usize::try_from(layout.micro_batches).unwrap_or(usize::MAX), trained }
    }

    /// Whether a value of a module was recorded in the calls of all parts. A container without a gradient, for example for
    /// positions or masks, does not depend on the batch and may be called only once.
    pub(super) fn has_all_calls(&self, module: &Module, pieces: &[Piece<'_>]) -> bool {
        let calls: BTreeSet<u64> = pieces.iter().map(|piece| piece.call).collect();
        let is_called_once = is_container(module) && !self.trained.contains(&module.path);
        is_called_once || calls.len().is_multiple_of(self.parts.max(1))
    }
}

fn is_container(module: &Module) -> bool {
    ModuleKind::from_path(&module.path, &module.class) == ModuleKind::Container
}
