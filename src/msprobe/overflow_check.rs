//! Operations that msprobe's `overflow_check` names (26.2.0), from the same dumps.
//!
//! An operation is named where NaN, inf or -inf stands among the largest and smallest values of its results and not among
//! those of its inputs; -inf counts, so a causal mask is named. Up to the first communication the first such operation of every rank
//! is named; without one, the earliest that a communication hands on; without that, the first one after the last communication of
//! every rank. Ranks are taken to communicate in the same order, which msprobe finds out from their arguments.

use std::collections::BTreeMap;

use crate::read::dump::{Dump, Leaf, Operation, Statistic};
use crate::read::json::Json;

/// Framework whose dumps `overflow_check` takes.
const FRAMEWORK: &str = "pytorch";
/// Parts of names of communication operations; the longer names of msprobe's list hold one of these.
const COMMUNICATION: [&str; 6] = ["send", "recv", "broadcast", "reduce", "gather", "all_to_all"];
/// Parts of names of operations that are left out.
const LEFT_OUT: [&str; 2] = ["Torch.empty", "Torch.fill"];

/// Everything of a rank that the answer depends on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RankOverflow {
    /// The first operation named before any communication.
    first: Option<String>,
    communications: Vec<Communication>,
    /// The first operation named after the last communication.
    last: Option<String>,
}

/// A communication of a rank.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Communication {
    name: String,
    receives: bool,
    is_named: bool,
    /// Operations named since the communication before, with their place among those.
    before: Vec<(u64, String)>,
    /// Number of operations since the communication before.
    place: u64,
}

/// Looks at a rank as `overflow_check` does; `None` for a dump that it refuses.
pub(crate) fn rank_overflow(dump: &Dump) -> Option<RankOverflow> {
    if dump.framework != FRAMEWORK {
        return None;
    }
    let mut rank = RankOverflow::default();
    let (mut named, mut place) = (Vec::new(), 0);
    for operation in dump.operations.iter() {
        if is_communication(operation.name) {
            rank.communications.push(Communication {
                name: operation.name.to_owned(),
                receives: has_overflow(operation, "input."),
                is_named: is_named(operation),
                before: std::mem::take(&mut named),
                place: std::mem::take(&mut place),
            });
            continue;
        }
        if is_left_out(operation.name) {
            continue;
        }
        if is_named(operation) {
            named.push((place, operation.name.to_owned()));
        }
        place += 1;
    }
    let last = named.into_iter().next().map(|(_, name)| name);
    match rank.communications.first() {
        None => rank.first = last,
        Some(first) => {
            rank.first = first.before.first().map(|(_, name)| name.clone());
            rank.last = last;
        }
    }
    Some(rank)
}

/// The names that `overflow_check` gives for the ranks of a step; a rank without one has an empty list.
pub(crate) fn named_operations(ranks: &BTreeMap<Option<u64>, RankOverflow>) -> BTreeMap<Option<u64>, Vec<String>> {
    let of_each = |name: fn(&RankOverflow) -> &Option<String>| -> BTreeMap<Option<u64>, Vec<String>> {
        ranks.iter().map(|(number, rank)| (*number, name(rank).iter().cloned().collect())).collect()
    };
    let first = of_each(|rank| &rank.first);
    if first.values().any(|names| !names.is_empty()) {
        return first;
    }
    match handed_on(ranks) {
        Some((number, name)) => {
            let named = |of: &Option<u64>| if *of == number { vec![name.clone()] } else { Vec::new() };
            ranks.keys().map(|of| (*of, named(of))).collect()
        }
        None => of_each(|rank| &rank.last),
    }
}

/// The earliest operation whose overflow a communication receives or makes, with its rank.
fn handed_on(ranks: &BTreeMap<Option<u64>, RankOverflow>) -> Option<(Option<u64>, String)> {
    let most = ranks.values().map(|rank| rank.communications.len()).max()?;
    (0..most).find_map(|layer| {
        let of_layer = ranks.iter().filter_map(|(number, rank)| Some((*number, rank.communications.get(layer)?)));
        let named = of_layer.flat_map(|(number, one)| {
            let before = one.before.iter().filter(|_| one.receives).cloned();
            let own = one.is_named.then(|| (one.place, one.name.clone()));
            before.chain(own).map(move |(place, name)| (place, number, name))
        });
        named.min_by_key(|(place, number, _)| (*place, *number)).map(|(_, number, name)| (number, name))
    })
}

fn is_communication(name: &str) -> bool {
    name.starts_with("Distributed.")
        && (COMMUNICATION.iter().any(|part| name.contains(part)) || name.contains("scatter"))
}

fn is_left_out(name: &str) -> bool {
    LEFT_OUT.iter().any(|part| name.contains(part))
}

fn is_named(operation: Operation<'_>) -> bool {
    !is_left_out(operation.name) && !has_overflow(operation, "input.") && has_overflow(operation, "output.")
}

/// Whether a tensor of the operation overflows; those in nested lists are not looked at.
fn has_overflow(operation: Operation<'_>, part: &str) -> bool {
    let overflows = |leaf: Leaf<'_>| {
        let place = leaf.row.below_operation().trim_start_matches('.').strip_prefix(part);
        let is_shallow = place.is_some_and(|place| !place.contains('.'));
        is_shallow && leaf.record().is_some_and(|record| [record.max, record.min].into_iter().any(is_overflow))
    };
    operation.leaves.iter().any(overflows)
}

fn is_overflow(value: Statistic<'_>) -> bool {
    match value {
        Statistic::Float(value) => !value.is_finite(),
        Statistic::Other(Json::Text(text)) => ["nan", "inf", "-inf"].contains(&text.to_ascii_lowercase().as_str()),
        _ => false,
    }
}
