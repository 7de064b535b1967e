//! Values and calls that appear more than once in a unit. The states of all others are never asked for, so they are not remembered.

use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use super::super::item::{ValueKey, item};
use crate::compare::dump::UnitComparison;
use crate::hash::hash_of;
use crate::read::dump::Dump;
use crate::read::dump::name::OpName;

/// Bits for each key. With eight, of which each sets two, a key in fifty is taken for one that appears again, which costs its memory and
/// nothing else.
const BITS: usize = 8;

/// Key of a call, the same for its forward and its backward operation.
pub(super) fn call_key(name: &OpName<'_>) -> u64 {
    hash_of(&(name.base, name.call))
}

/// Keys of values and calls that appear more than once, and some others.
pub(super) struct Recurring {
    once: Bits,
    again: Bits,
}

impl Recurring {
    /// Looks for the values and calls of the operations that both sides have.
    pub(super) fn of(unit: &UnitComparison, baseline: &Dump, candidate: &Dump) -> Self {
        let keys: usize = unit.operations.iter().map(|operation| 1 + 2 * operation.leaves.len()).sum();
        let recurring = Self::for_keys(keys);
        unit.operations.par_iter().for_each(|comparison| {
            if let (Some(left), Some(right)) = comparison.operations(baseline, candidate) {
                let items = comparison.leaves.iter().map(|leaf| item(leaf, left, right));
                items.for_each(|item| item.keys().for_each(|key| recurring.add(key)));
                recurring.add(call_key(&OpName::parse(right.name)));
            }
        });
        recurring
    }

    fn for_keys(keys: usize) -> Self {
        Self { once: Bits::for_keys(keys), again: Bits::for_keys(keys) }
    }

    fn add(&self, key: ValueKey) {
        if self.once.set(key) {
            self.again.set(key);
        }
    }

    /// Whether a value or a call may appear more than once.
    pub(super) fn has(&self, key: ValueKey) -> bool {
        self.again.has(key)
    }
}

/// A power of two of bits, of which each key has two in one word.
struct Bits(Vec<AtomicU64>);

impl Bits {
    fn for_keys(keys: usize) -> Self {
        let words = (keys * BITS).div_ceil(64).next_power_of_two();
        Self((0..words).map(|_| AtomicU64::new(0)).collect())
    }

    /// The word of a key, and its bits there. Keys are hashes, so that any bits of them are evenly spread.
    #[allow(clippy::cast_possible_truncation, reason = "only the lower bits count")]
    fn place(&self, key: ValueKey) -> (Option<&AtomicU64>, u64) {
        let bits = 1 << (key & 63) | 1 << (key >> 58);
        (self.0.get((key >> 6) as usize & (self.0.len() - 1)), bits)
    }

    /// Sets the bits of a key, and returns whether they were set before.
    fn set(&self, key: ValueKey) -> bool {
        let (word, bits) = self.place(key);
        word.is_some_and(|word| word.fetch_or(bits, Ordering::Relaxed) & bits == bits)
    }

    fn has(&self, key: ValueKey) -> bool {
        let (word, bits) = self.place(key);
        word.is_some_and(|word| word.load(Ordering::Relaxed) & bits == bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn a_key_that_came_twice_is_known(keys in proptest::collection::vec(0_u64..40, 0..100)) {
            // Hashes, as keys are.
            let keys: Vec<ValueKey> = keys.iter().map(hash_of).collect();
            let recurring = Recurring::for_keys(keys.len());
            keys.iter().for_each(|key| recurring.add(*key));
            for key in &keys {
                let count = keys.iter().filter(|other| *other == key).count();
                proptest::prop_assert!(count == 1 || recurring.has(*key));
            }
        }

        #[test]
        fn few_keys_that_came_once_are_known(first: u64) {
            let keys: Vec<ValueKey> = (0..1000).map(|key: u64| hash_of(&(first, key))).collect();
            let recurring = Recurring::for_keys(keys.len());
            keys.iter().for_each(|key| recurring.add(*key));
            proptest::prop_assert!(keys.iter().filter(|key| recurring.has(**key)).count() < 100);
        }
    }
}
