//! Differences between what the two runs gave to an operation.

use super::call::{Call, Item, Tensor};
use crate::read::json::to_text;

/// Places where two calls were given something else, each with both values, the baseline's first.
pub fn differing(baseline: &Call, candidate: &Call) -> Vec<Difference> {
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
        let (ours, theirs) = (named(baseline, name), named(candidate, name));
        pair(&format!("input.{name}"), ours.as_ref(), theirs.as_ref(), &mut found);
    }
    let of_both = |list: fn(&Call) -> Vec<&Tensor>, found: &mut Vec<Difference>| {
        for ours in list(baseline) {
            if let Some(theirs) = list(candidate).into_iter().find(|theirs| theirs.place == ours.place) {
                tensors(ours, theirs, found);
            }
        }
    };
    of_both(|call| call.parameters.iter().map(|(_, tensor)| tensor).collect(), &mut found);
    of_both(|call| call.arriving.iter().flatten().flatten().collect(), &mut found);
    found
}

/// A place where two calls differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The place.
    pub place: String,
    /// The baseline's value in words.
    pub baseline: String,
    /// The candidate's.
    pub candidate: String,
}

fn pair(place: &str, ours: Option<&Item>, theirs: Option<&Item>, found: &mut Vec<Difference>) {
    match (ours, theirs) {
        (Some(Item::Tensor(ours)), Some(Item::Tensor(theirs))) => tensors(ours, theirs, found),
        (Some(Item::List(ours)), Some(Item::List(theirs))) | (Some(Item::Tuple(ours)), Some(Item::Tuple(theirs)))
            if ours.len() == theirs.len() =>
        {
            for (index, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
                pair(&format!("{place}.{index}"), Some(ours), Some(theirs), found);
            }
        }
        // A device differs in every pair.
        (Some(Item::Device), Some(Item::Device)) => {}
        _ => add(place, ours.map_or_else(absent, shown), theirs.map_or_else(absent, shown), found),
    }
}

fn add(place: &str, baseline: String, candidate: String, found: &mut Vec<Difference>) {
    if baseline != candidate {
        found.push(Difference { place: place.to_owned(), baseline, candidate });
    }
}

/// Tensors differ in type, shape, elements, or, where those were not saved, in the largest or smallest of them: means and
/// norms are sums that every device adds up in its own order.
fn tensors(ours: &Tensor, theirs: &Tensor, found: &mut Vec<Difference>) {
    let words = |tensor: &Tensor| {
        let [max, min, ..] = &tensor.statistics;
        format!("{} {:?} from {} to {}", tensor.dtype, tensor.shape, to_text(min), to_text(max))
    };
    let is_equal = match (&ours.stored, &theirs.stored) {
        (Some(one), Some(other)) => {
            one.sha256 == other.sha256 && ours.shape == theirs.shape && ours.dtype == theirs.dtype
        }
        _ => words(ours) == words(theirs),
    };
    if !is_equal {
        found.push(Difference { place: ours.place.clone(), baseline: words(ours), candidate: words(theirs) });
    }
}

fn absent() -> String {
    "absent".to_owned()
}

/// An argument in words: a type and a shape of a tensor, else its value.
pub fn shown(item: &Item) -> String {
    let list = |items: &[Item]| items.iter().map(shown).collect::<Vec<_>>().join(", ");
    match item {
        Item::Tensor(tensor) => format!("{} {:?}", tensor.dtype, tensor.shape),
        Item::Value(value) => to_text(value),
        Item::List(items) => format!("[{}]", list(items)),
        Item::Tuple(items) => format!("({})", list(items)),
        Item::Dict(items) => {
            let items: Vec<String> = items.iter().map(|(key, item)| format!("{key}: {}", shown(item))).collect();
            format!("{{{}}}", items.join(", "))
        }
        Item::Slice(parts) => format!("slice({})", parts.iter().map(to_text).collect::<Vec<_>>().join(", ")),
        Item::Ellipsis => "...".to_owned(),
        Item::Dtype(dtype) => format!("torch.{dtype}"),
        Item::Device => "device".to_owned(),
        Item::MemoryFormat(format) => format!("torch.{format}"),
    }
}
