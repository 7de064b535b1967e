//! Detection of dropout masks that ranks share although each rank should draw masks for its own heads.

use std::collections::HashMap;

use super::content::{Dump, SharedMask};
use super::records::{Leaf, Statistic, TensorRecord};
use crate::kind::TensorKind;

/// Fewest elements of a mask. Smaller masks can have equal numbers of zeros by chance.
const FEWEST: u64 = 64;

/// First mask that is the same on all ranks although the values that it is multiplied by differ.
pub(super) fn shared_mask(dumps: &[Dump], ranks: &[u64]) -> Option<SharedMask> {
    let (first, others) = dumps.split_first()?;
    let masks: HashMap<&str, [Leaf<'_>; 2]> = first
        .operations
        .iter()
        .filter_map(|operation| {
            let product = product(operation.leaves.iter())?;
            (!operation.name.starts_with("Module.")).then_some((operation.name, product))
        })
        .collect();
    if masks.is_empty() || others.is_empty() {
        return None;
    }
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for operation in others.iter().flat_map(|dump| dump.operations.iter()) {
        let Some(([mask, values], [own_mask, own_values])) =
            masks.get(operation.name).copied().zip(product(operation.leaves.iter()))
        else {
            continue;
        };
        if are_same(mask, own_mask) && !are_same(values, own_values) {
            *counts.entry(operation.name).or_default() += 1;
        }
    }
    let is_of_all = |name: &str| counts.get(name) == Some(&others.len());
    let name = first.operations.iter().map(|operation| operation.name).find(|name| is_of_all(name))?;
    let [mask, _] = masks.get(name)?;
    Some(SharedMask { row: mask.row.to_string(), ranks: ranks.to_vec() })
}

/// Mask of a product, and the values that it is multiplied by. Both inputs have the same shape, and the mask holds only 0 and one
/// positive number.
fn product<'d>(leaves: impl Iterator<Item = Leaf<'d>>) -> Option<[Leaf<'d>; 2]> {
    let inputs: Vec<Leaf<'d>> =
        leaves.filter(|leaf| leaf.kind == TensorKind::Input && leaf.record().is_some()).collect();
    let [one, other] = inputs.as_slice() else { return None };
    let (left, right) = (one.record()?, other.record()?);
    if left.shape != right.shape || left.elements() < FEWEST {
        return None;
    }
    match (is_mask(&left), is_mask(&right)) {
        (false, true) => Some([*other, *one]),
        (true, false) => Some([*one, *other]),
        _ => None,
    }
}

/// Whether the statistics fit a tensor of zeros and one positive number: the squared norm equals the sum times that number.
#[allow(clippy::cast_precision_loss, reason = "a count of elements weighs a mean")]
fn is_mask(record: &TensorRecord<'_>) -> bool {
    let [Some(max), Some(min), Some(mean), Some(norm)] = record.statistics().map(Statistic::as_f64) else {
        return false;
    };
    let sum = mean * record.elements() as f64;
    min.abs() <= 0.0 && max > 0.0 && mean > 0.0 && mean < max && (norm * norm - sum * max).abs() <= 1e-3 * norm * norm
}

/// Whether two values have the same statistics.
fn are_same(one: Leaf<'_>, other: Leaf<'_>) -> bool {
    let bits = |leaf: Leaf<'_>| {
        leaf.record().map(|record| record.statistics().map(|statistic| statistic.as_f64().map(f64::to_bits)))
    };
    bits(one) == bits(other)
}
