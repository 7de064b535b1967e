//! Messages from one rank to another: `recv` returns what `send` was given on the rank that it names.

use std::collections::HashMap;

use crate::compare::dump::{self as compare, OperationComparison};
use crate::judge::dump::unit::UnitInput;
use crate::read::dump::name::{Direction, OpName};
use crate::read::dump::{LeafValue, Operation};

/// Errors of the messages of a step, by sender, receiver and their number among those between the two.
#[derive(Debug, Default)]
pub(super) struct Messages(HashMap<(u64, u64, usize), f64>);

impl Messages {
    /// Adds what a rank sent.
    pub(super) fn add_sent(&mut self, input: &UnitInput<'_>) {
        let Some(sender) = input.rank else { return };
        for (operation, comparison, receiver, nth) in messages(input, &["send", "isend"]) {
            self.0.insert((sender, receiver, nth), compare::input_error(operation, comparison));
        }
    }

    /// Error of the message that each receiving call of a rank got, by the call's name.
    pub(super) fn received(&self, input: &UnitInput<'_>) -> HashMap<String, f64> {
        let Some(receiver) = input.rank.filter(|_| !self.0.is_empty()) else { return HashMap::new() };
        let received = messages(input, &["recv", "irecv"]).into_iter();
        let error = |sender: u64, nth: usize| self.0.get(&(sender, receiver, nth)).copied();
        received
            .filter_map(|(operation, _, sender, nth)| Some((operation.name.to_owned(), error(sender, nth)?)))
            .collect()
    }
}

/// Calls of the given APIs, each with the other rank that it names and its number among the calls with that rank.
fn messages<'a>(input: &UnitInput<'a>, apis: &[&str]) -> Vec<(Operation<'a>, &'a OperationComparison, u64, usize)> {
    let mut counts: HashMap<u64, usize> = HashMap::new();
    let operations = input.comparison.operations.iter();
    let candidate = input.candidate;
    let called = operations.filter_map(|comparison| {
        let operation = candidate.operations.get(comparison.pair.candidate()?)?;
        let name = operation.name.starts_with("Distributed.").then(|| OpName::parse(operation.name))?;
        let is_message = apis.contains(&name.api()) && name.direction == Some(Direction::Forward);
        is_message.then_some((operation, comparison))
    });
    let mut numbered = |(operation, comparison)| {
        let other = peer(operation)?;
        let count = counts.entry(other).or_default();
        *count += 1;
        Some((operation, comparison, other, *count - 1))
    };
    called.filter_map(&mut numbered).collect()
}

/// The rank that a message goes to or comes from: the second argument, by place or by name.
fn peer(operation: Operation<'_>) -> Option<u64> {
    let is_peer = |row: &str| [".input.1", ".input.dst", ".input.src"].contains(&row);
    operation.leaves.iter().find_map(|leaf| match leaf.value {
        LeafValue::Plain { value, .. } if is_peer(leaf.row.below_operation()) => u64::try_from(value.as_i64()?).ok(),
        _ => None,
    })
}
