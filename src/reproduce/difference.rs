//! Differences between the inputs of an operation in both runs.

use super::call::{Call, Item, Tensor};
use crate::read::json::to_text;

/// All places where two calls have different inputs.
pub(crate) fn call_differences(baseline: &Call, candidate: &Call) -> Vec<CallDifference> {
    let mut found = Vec::new();
    let args = baseline.args.len().max(candidate.args.len());
    for index in 0..args {
        pair(&format!("input.{index}"), baseline.args.get(index), candidate.args.get(index), &mut found);
    }
    let named =
        |call: &Call, name: &str| call.kwargs.iter().find(|(known, _)| known == name).map(|(_, item)| item.clone());
    let mut names: Vec<&String> = baseline.kwargs.iter().chain(&candidate.kwargs).map(|(name, _)| name).collect();
    names.sort();
    names.dedup();
    for name in names {
        let (baseline_item, candidate_item) = (named(baseline, name), named(candidate, name));
        pair(&format!("input.{name}"), baseline_item.as_ref(), candidate_item.as_ref(), &mut found);
    }
    let of_both = |list: fn(&Call) -> Vec<&Tensor>, found: &mut Vec<CallDifference>| {
        for first in list(baseline) {
            if let Some(second) = list(candidate).into_iter().find(|second| second.place == first.place) {
                tensors(first, second, found);
            }
        }
    };
    of_both(|call| call.parameters.iter().map(|(_, tensor)| tensor).collect(), &mut found);
    of_both(|call| call.incoming_gradients.iter().flatten().flatten().collect(), &mut found);
    found
}

/// A place where two calls differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CallDifference {
    /// The place.
    pub place: String,
    /// The baseline's value in words.
    pub baseline: String,
    /// The candidate's.
    pub candidate: String,
}

fn pair(place: &str, baseline: Option<&Item>, candidate: Option<&Item>, found: &mut Vec<CallDifference>) {
    match (baseline, candidate) {
        (Some(Item::Tensor(baseline)), Some(Item::Tensor(candidate))) => tensors(baseline, candidate, found),
        (Some(Item::List(baseline)), Some(Item::List(candidate)))
        | (Some(Item::Tuple(baseline)), Some(Item::Tuple(candidate)))
            if baseline.len() == candidate.len() =>
        {
            for (index, (baseline, candidate)) in baseline.iter().zip(candidate).enumerate() {
                pair(&format!("{place}.{index}"), Some(baseline), Some(candidate), found);
            }
        }
        // The devices of the two runs always differ.
        (Some(Item::Device), Some(Item::Device)) => {}
        _ => add(place, baseline.map_or_else(absent, item_text), candidate.map_or_else(absent, item_text), found),
    }
}

fn add(place: &str, baseline: String, candidate: String, found: &mut Vec<CallDifference>) {
    if baseline != candidate {
        found.push(CallDifference { place: place.to_owned(), baseline, candidate });
    }
}

/// Adds the difference of two tensors in type, shape or elements. Where elements were not saved, max and min are compared: means and norms
/// are sums, which every device adds up in its own order.
fn tensors(baseline: &Tensor, candidate: &Tensor, found: &mut Vec<CallDifference>) {
    let words = |tensor: &Tensor| {
        let [max, min, ..] = &tensor.statistics;
        format!("{} {:?} from {} to {}", tensor.dtype, tensor.shape, to_text(min), to_text(max))
    };
    let is_equal = match (&baseline.stored, &candidate.stored) {
        (Some(one), Some(other)) => {
            one.sha256 == other.sha256 && baseline.shape == candidate.shape && baseline.dtype == candidate.dtype
        }
        _ => words(baseline) == words(candidate),
    };
    if !is_equal {
        found.push(CallDifference {
            place: baseline.place.clone(),
            baseline: words(baseline),
            candidate: words(candidate),
        });
    }
}

fn absent() -> String {
    "absent".to_owned()
}

/// An argument in words: type and shape of a tensor, else the value.
pub(crate) fn item_text(item: &Item) -> String {
    let list = |items: &[Item]| items.iter().map(item_text).collect::<Vec<_>>().join(", ");
    match item {
        Item::Tensor(tensor) => format!("{} {:?}", tensor.dtype, tensor.shape),
        Item::Value(value) => to_text(value),
        Item::List(items) => format!("[{}]", list(items)),
        Item::Tuple(items) => format!("({})", list(items)),
        Item::Dict(items) => {
            let items: Vec<String> = items.iter().map(|(key, item)| format!("{key}: {}", item_text(item))).collect();
            format!("{{{}}}", items.join(", "))
        }
        Item::Slice(parts) => format!("slice({})", parts.iter().map(to_text).collect::<Vec<_>>().join(", ")),
        Item::Ellipsis => "...".to_owned(),
        Item::Dtype(dtype) => format!("torch.{dtype}"),
        Item::Device => "device".to_owned(),
        Item::MemoryFormat(format) => format!("torch.{format}"),
    }
}
