//! The call that an operation stands for on a line of code with several: `self.gate_proj(x)` of
//! `self.down_proj(self.act(self.gate_proj(x)) * self.up_proj(x))`.
//!
//! Python ends the calls of a line in the order of their closing brackets, and operations are recorded as they end. Where a pass over
//! the line recorded as many operations as the line has calls, the n-th operation is that of the n-th call. Methods that no dump
//! records (views, conversions) and operators count on neither side.

use std::sync::Arc;

use crate::read::dump::Dump;
use crate::read::dump::name::{Direction, OpName, is_module};
use crate::read::frame::{StackFrame, calling_frame};

/// Methods and functions that are no recorded operation by themselves.
const UNRECORDED: [&str; 28] = [
    "chunk",
    "contiguous",
    "dim",
    "expand",
    "expand_as",
    "flatten",
    "float",
    "getattr",
    "half",
    "int",
    "isinstance",
    "len",
    "list",
    "narrow",
    "permute",
    "range",
    "reshape",
    "size",
    "split",
    "squeeze",
    "t",
    "to",
    "transpose",
    "type_as",
    "unbind",
    "unflatten",
    "unsqueeze",
    "view",
];

/// Most operations before and after one that a pass over a line makes: no line has so many calls.
const MOST_CALLS: usize = 16;
/// Most characters of a call; of a longer one its function is named.
const MOST_CODE: usize = 40;

/// The path of the module that runs an operation, such as `layers.2.mlp.down_proj`; `None` where the dump records no modules, for a module
/// and for what the model runs outside of all others.
pub(super) fn module_of(dump: &Dump, operation: &str) -> Option<String> {
    let name = OpName::parse(operation);
    let forward = || name.forward_names().into_iter().find_map(|name| dump.parents.get(&name));
    let parent = dump.parents.get(operation).or_else(forward).filter(|_| !is_module(operation))?;
    OpName::parse(parent).module_path().map(str::to_owned)
}

/// The number of an operation among the calls of its function with the same stack, from 1, and how many there are, as of a layer that a model
/// runs several times; `None` where it is the only one, and where modules tell more.
pub(super) fn nth_of_line(dump: &Dump, operation: &str) -> Option<[usize; 2]> {
    if is_module(operation) || !dump.parents.is_empty() {
        return None;
    }
    let name = OpName::parse(operation);
    let stacks = dump.stacks.as_ref()?;
    let forward = match name.direction? {
        Direction::Forward => operation.to_owned(),
        _ => name.forward_names().into_iter().find(|name| stacks.get(name).is_some())?,
    };
    let stack = stacks.get(&forward)?;
    let is_alike = |other: &&str| {
        let is_same = || stacks.get(other).is_some_and(|other| Arc::ptr_eq(other, stack) || other == stack);
        other.starts_with(name.base) && OpName::parse(other).direction == Some(Direction::Forward) && is_same()
    };
    let calls: Vec<&str> = dump.operations.iter().map(|operation| operation.name).filter(is_alike).collect();
    let place = calls.iter().position(|call| *call == forward)?;
    (calls.len() > 1).then_some([place + 1, calls.len()])
}

/// The call of its line that an operation of a dump stands for; `None` where the line has one call alone, or where that is not certain.
pub(super) fn call_in_line(dump: &Dump, operation: &str) -> Option<String> {
    let name = OpName::parse(operation);
    let forward = match name.direction {
        Some(Direction::Forward) => operation.to_owned(),
        Some(Direction::Backward) => name.forward_names().into_iter().find(|name| line_of(dump, name).is_some())?,
        _ => return None,
    };
    let line = line_of(dump, &forward)?;
    let index = dump.operations.iter().position(|one| one.name == forward)?;
    let frame = |name: &str| line_of(dump, name).filter(|other| *other == line);
    // A module that is called there has lines of its own; its calls stand for one.
    let passes = |index: &usize| {
        let stack = dump.operations.get(*index).and_then(|one| dump.stacks.as_ref()?.get(one.name));
        stack.is_some_and(|stack| stack.iter().any(|text| StackFrame::parse(text).is_some_and(|other| other == line)))
    };
    let before = (0..index).rev().take(MOST_CALLS).take_while(passes).count();
    let after = (index + 1..dump.operations.len()).take(MOST_CALLS).take_while(passes).count();
    if before.max(after) == MOST_CALLS {
        return None;
    }
    let mut recorded: Vec<(bool, String)> = Vec::new();
    let mut is_inside = false;
    for one in (index - before..=index + after).filter_map(|index| dump.operations.get(index)) {
        let name = OpName::parse(one.name);
        if name.direction != Some(Direction::Forward) || is_module(one.name) {
            continue;
        }
        if frame(one.name).is_none() {
            if !std::mem::replace(&mut is_inside, true) {
                recorded.push((false, String::new()));
            }
        } else if !name.api().starts_with("__") {
            is_inside = false;
            recorded.push((one.name == forward, name.api().to_owned()));
        }
    }
    let own = recorded.iter().position(|(is_own, _)| *is_own)?;
    let apis: Vec<&str> = recorded.iter().map(|(_, api)| api.as_str()).collect();
    let (callee, call) = nth_call(&line.code, &apis, own)?;
    Some(if call.chars().count() <= MOST_CODE { call.to_owned() } else { format!("{callee}(…)") })
}

/// The line of the model that calls an operation.
fn line_of(dump: &Dump, operation: &str) -> Option<StackFrame> {
    calling_frame(dump.stacks.as_ref()?.get(operation)?)
}

/// The call of `code`, as callee and whole text, that the operation at `own` stands for, among those that one pass over the line
/// recorded.
fn nth_call<'a>(code: &'a str, apis: &[&str], own: usize) -> Option<(&'a str, &'a str)> {
    let calls = calls(code)?;
    let is_counted = |callee: &str| {
        let last = last_part(callee);
        apis.contains(&last) || !UNRECORDED.contains(&last)
    };
    let calls: Vec<(&str, &str)> = calls.into_iter().filter(|(callee, _)| is_counted(callee)).collect();
    // A function under its own name has to stand where its operation does.
    let fits = calls
        .iter()
        .zip(apis)
        .all(|((callee, _), api)| !apis.contains(&last_part(callee)) || last_part(callee) == *api);
    if calls.len() != apis.len() || calls.len() < 2 || !fits {
        return None;
    }
    calls.get(own).copied()
}

fn last_part(callee: &str) -> &str {
    callee.rsplit('.').next().unwrap_or(callee)
}

/// The calls of a line, as callee and whole text, in the order in which they end; `None` where brackets do not close.
fn calls(code: &str) -> Option<Vec<(&str, &str)>> {
    let is_of_name = |sign: char| sign.is_alphanumeric() || matches!(sign, '_' | '.');
    let (mut open, mut found): (Vec<(usize, usize)>, _) = (Vec::new(), Vec::new());
    for (at, sign) in code.char_indices() {
        match sign {
            '(' => {
                let before = code.get(..at)?;
                let start = before.len()
                    - before.chars().rev().take_while(|sign| is_of_name(*sign)).map(char::len_utf8).sum::<usize>();
                open.push((start, at));
            }
            ')' => {
                let (start, bracket) = open.pop()?;
                let callee = code.get(start..bracket)?;
                if !callee.is_empty() {
                    found.push((callee, code.get(start..=at)?));
                }
            }
            '\'' | '"' | '#' => return None,
            _ => {}
        }
    }
    open.is_empty().then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_of_a_line_are_its_calls_in_the_order_in_which_they_end() {
        let line = "down_proj = self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))";
        let apis = ["linear", "silu", "linear", "linear"];
        let found: Vec<_> = (0..4).map(|own| nth_call(line, &apis, own).expect("a call").1).collect();
        let whole = "self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))";
        assert_eq!(found, ["self.gate_proj(x)", "self.act_fn(self.gate_proj(x))", "self.up_proj(x)", whole]);
        let line = "return F.softmax(self.q(x).view(2, -1) @ self.k(x).transpose(0, 1), dim=-1)";
        assert_eq!(nth_call(line, &["linear", "linear", "softmax"], 1), Some(("self.k", "self.k(x)")));
    }

    #[test]
    fn what_is_not_certain_is_not_said() {
        let line = "y = self.b(self.a(x))";
        assert_eq!(nth_call(line, &["linear", "linear", "linear"], 0), None, "a call that records two operations");
        assert_eq!(nth_call("y = F.gelu(self.a(x))", &["gelu", "linear"], 0), None, "another order");
        assert_eq!(nth_call("y = self.a(x)", &["linear"], 0), None, "the whole line says it");
        assert_eq!(nth_call("y = self.a(self.b(", &["linear", "linear"], 0), None, "a line that goes on");
    }
}
