//! Same-value tracing: a tensor whose recorded statistics reappear in another operation is the same tensor.
//!
//! Views, transposes and reorderings keep a tensor's number of elements, largest and smallest value; so do operations
//! that were not dumped. A constant is not a fingerprint.

use std::collections::HashMap;

use crate::judge::dump::unit::UnitInput;
use crate::read::dump::{Dump, Leaf, Operation, Statistic, TensorKind, TensorRecord};

/// Elements, and the bits of the largest and the smallest value.
type Fingerprint = (u64, u64, u64);

/// A tensor's fingerprint; `None` for constants and where no statistics were recorded.
fn fingerprint(record: &TensorRecord<'_>) -> Option<Fingerprint> {
    let bits = |value: Statistic<'_>| value.as_f64().map(f64::to_bits);
    let (max, min) = (bits(record.max)?, bits(record.min)?);
    (max != min).then(|| (record.elements(), max, min))
}

/// One appearance of a value.
#[derive(Clone, Copy)]
pub(super) struct Appearance<'a> {
    /// Position of the operation in the comparison.
    pub(super) order: usize,
    pub(super) operation: Operation<'a>,
    pub(super) leaf: Leaf<'a>,
}

/// Appearances of every traceable value in one dump, in the order of the comparison.
pub(super) struct Trace<'a> {
    appearances: HashMap<Fingerprint, Vec<Appearance<'a>>>,
}

impl<'a> Trace<'a> {
    /// The values of the baseline.
    pub(super) fn of_baseline(input: &UnitInput<'a>) -> Self {
        let indices = input.comparison.operations.iter().map(|comparison| comparison.pair.baseline());
        Self::new(input.baseline, indices)
    }

    fn new(dump: &'a Dump, indices: impl Iterator<Item = Option<usize>>) -> Self {
        let mut appearances: HashMap<Fingerprint, Vec<Appearance<'a>>> = HashMap::new();
        for (order, index) in indices.enumerate() {
            let Some(operation) = index.and_then(|index| dump.operations.get(index)) else { continue };
            for leaf in operation.leaves.iter() {
                if let Some(key) = leaf.record().as_ref().and_then(fingerprint) {
                    appearances.entry(key).or_default().push(Appearance { order, operation, leaf });
                }
            }
        }
        Self { appearances }
    }

    fn appearances(&self, record: &TensorRecord<'_>) -> &[Appearance<'a>] {
        fingerprint(record).and_then(|key| self.appearances.get(&key)).map_or(&[], Vec::as_slice)
    }

    /// The last operation before `order` that made this value; of a module and its last call, the call.
    pub(super) fn made_before(&self, record: &TensorRecord<'_>, order: usize) -> Option<Appearance<'a>> {
        let is_output = |appearance: &&Appearance<'a>| {
            appearance.order < order && matches!(appearance.leaf.kind, TensorKind::Output)
        };
        let is_module = |appearance: &&Appearance<'a>| {
            appearance.operation.name.starts_with("Module.") || appearance.operation.name.starts_with("Cell.")
        };
        let found = self.appearances(record).iter().filter(is_output);
        let call = found.clone().rfind(|appearance| !is_module(appearance));
        call.or_else(|| found.clone().next_back()).copied()
    }

    /// The last appearance before `order`, whatever its role.
    pub(super) fn last_before(&self, record: &TensorRecord<'_>, order: usize) -> Option<Appearance<'a>> {
        self.appearances(record).iter().rfind(|appearance| appearance.order < order).copied()
    }

    /// The first operation after `order` that was given this value.
    pub(super) fn used_after(&self, record: &TensorRecord<'_>, order: usize) -> Option<Appearance<'a>> {
        let used = |appearance: &&Appearance<'a>| {
            appearance.order > order && matches!(appearance.leaf.kind, TensorKind::Input)
        };
        self.appearances(record).iter().find(used).copied()
    }
}
