//! Choices by platform: what code gives one name on the NPU, and what elsewhere.

use std::collections::HashMap;

use super::file::File;
use super::guard::leaves;
use super::words::NPU;
use crate::read::tree::Branch;
use crate::read::{Kind, NodeId};

/// Two values that the platform chooses between.
#[derive(Clone, Debug)]
pub(super) struct Choice {
    /// Place of a finding: the conditional expression, or the value of the first branch.
    pub(super) place: NodeId,
    /// Name that gets the value; empty for what is returned.
    pub(super) name: String,
    /// Value on the NPU.
    pub(super) on_npu: NodeId,
    /// Value elsewhere.
    pub(super) elsewhere: NodeId,
    /// Tests that decide between them.
    pub(super) tests: Vec<NodeId>,
}

impl Choice {
    /// All that makes the choice what it is.
    pub(super) fn parts(&self) -> impl Iterator<Item = NodeId> + '_ {
        [self.on_npu, self.elsewhere].into_iter().chain(self.tests.iter().copied())
    }
}

/// Words of tests for GPUs.
const OF_GPU: &[&str] = &["cuda", "gpu", "nvidia"];
/// Words of tests for hosts.
const OF_HOST: &[&str] = &["cpu", "mps"];

/// All choices by platform in a file.
pub(super) fn choices(file: &File<'_>) -> Vec<Choice> {
    let mut found = Vec::new();
    let swapped = |choice: Choice, is_negated: bool| match is_negated {
        true => Choice { on_npu: choice.elsewhere, elsewhere: choice.on_npu, ..choice },
        false => choice,
    };
    for id in file.tree.ids() {
        match file.tree.kind(id) {
            Kind::Conditional { test, body, otherwise } if names_npu(file, *test) => {
                let sides = [(Some(*test), *body)].into_iter().chain(chain(file, *otherwise)).collect::<Vec<_>>();
                if let Some((on_npu, elsewhere)) = pair(file, &sides, 0) {
                    let name = name_of(file, id).unwrap_or_default();
                    found.push(swapped(
                        Choice { place: id, name, on_npu, elsewhere, tests: Vec::new() },
                        is_negated(file, *test),
                    ));
                }
            }
            // An `elif` by another word: `a if cuda else b if npu else c`.
            Kind::Conditional { test, body, otherwise } => {
                let sides: Vec<_> = [(Some(*test), *body)].into_iter().chain(chain(file, *otherwise)).collect();
                let nth = sides.iter().position(|(test, _)| test.is_some_and(|test| names_npu(file, test)));
                let is_of_gpu = file.tree.mentions(*test, OF_GPU);
                if let (Some(nth), true) = (nth, is_of_gpu)
                    && let Some((_, on_npu)) = sides.get(nth)
                {
                    let name = name_of(file, id).unwrap_or_default();
                    found.push(Choice { place: id, name, on_npu: *on_npu, elsewhere: *body, tests: Vec::new() });
                }
            }
            Kind::If(branches) => {
                let test = branches.iter().filter_map(|branch| branch.test).find(|test| names_npu(file, *test));
                let is_negated = test.is_some_and(|test| is_negated(file, test));
                found.extend(by_statement(file, id, branches).into_iter().map(|choice| swapped(choice, is_negated)));
            }
            _ => {}
        }
    }
    found
}

/// Whether a test that names the NPU holds elsewhere: `not is_npu`, `device != "npu"`.
fn is_negated(file: &File<'_>, test: NodeId) -> bool {
    let code = file.source(test);
    match file.tree.kind(test) {
        Kind::Unary(_) => code.starts_with("not"),
        Kind::Compare { .. } => code.contains("!=") || code.contains(" not in "),
        _ => false,
    }
}

fn names_npu(file: &File<'_>, test: NodeId) -> bool {
    file.tree.mentions(test, NPU)
}

/// Sides of a conditional expression that continues in its last part.
fn chain(file: &File<'_>, id: NodeId) -> Vec<(Option<NodeId>, NodeId)> {
    let mut sides = Vec::new();
    let mut rest = id;
    while let Kind::Conditional { test, body, otherwise } = file.tree.kind(rest) {
        sides.push((Some(*test), *body));
        rest = *otherwise;
    }
    sides.push((None, rest));
    sides
}

/// The side of the NPU and the one to hold it against: a GPU's where one is named, else the next that is no host's.
fn pair<T: Copy>(file: &File<'_>, sides: &[(Option<NodeId>, T)], nth: usize) -> Option<(T, T)> {
    let (_, on_npu) = sides.get(nth)?;
    let tests = |words: &'static [&'static str]| {
        move |side: &&(Option<NodeId>, T)| {
            side.0.is_some_and(|test| file.tree.mentions(test, words) && !names_npu(file, test))
        }
    };
    let of_gpu = sides.iter().find(tests(OF_GPU));
    let mut later = sides.iter().skip(nth + 1);
    let other = of_gpu.or_else(|| later.find(|side| !tests(OF_HOST)(side)));
    Some((*on_npu, other?.1))
}

/// Choices that an `if` statement makes: what its branches assign, pass by keyword and return.
fn by_statement(file: &File<'_>, id: NodeId, branches: &[Branch]) -> Vec<Choice> {
    let Some(nth) = branches.iter().position(|branch| branch.test.is_some_and(|test| names_npu(file, test))) else {
        return Vec::new();
    };
    let mut sides: Vec<(Option<NodeId>, Vec<NodeId>)> =
        branches.iter().map(|branch| (branch.test, branch.body.clone())).collect();
    let has_else = branches.last().is_some_and(|branch| branch.test.is_none());
    let npu_leaves = branches.get(nth).is_some_and(|branch| leaves(file, &branch.body));
    if !has_else && npu_leaves {
        sides.push((None, following(file, id)));
    }
    let given: Vec<(Option<NodeId>, usize)> = sides.iter().enumerate().map(|(place, side)| (side.0, place)).collect();
    let Some((ours, theirs)) = pair(file, &given, nth) else { return overridden(file, id, branches, nth) };
    let of = |place: usize| sides.get(place).map(|side| gives(file, &side.1)).unwrap_or_default();
    let (on_npu, elsewhere) = (of(ours), of(theirs));
    let tests: Vec<NodeId> = [ours, theirs].iter().filter_map(|place| sides.get(*place)?.0).collect();
    let (counted, others) = (by_name(&on_npu), by_name(&elsewhere));
    let mut found = Vec::new();
    for (name, value) in &on_npu {
        let is_only = counted.get(name).is_some_and(|(_, count)| *count == 1);
        if let (Some((other, 1)), true) = (others.get(name), is_only) {
            let (place, tests) = (*value.min(other), tests.clone());
            found.push(Choice { place, name: name.last_part(), on_npu: *value, elsewhere: *other, tests });
        }
    }
    found
}

/// The first value of each name, and how many it has.
fn by_name(given: &[(Given, NodeId)]) -> HashMap<&Given, (NodeId, usize)> {
    let mut by_name: HashMap<&Given, (NodeId, usize)> = HashMap::new();
    for (name, value) in given {
        by_name.entry(name).or_insert((*value, 0)).1 += 1;
    }
    by_name
}

/// Choices of an `if` without another branch: what it assigns in place of the value right before it.
fn overridden(file: &File<'_>, id: NodeId, branches: &[Branch], nth: usize) -> Vec<Choice> {
    let [_] = branches else { return Vec::new() };
    let Some(branch) = branches.get(nth) else { return Vec::new() };
    let Some(before) = preceding(file, id) else { return Vec::new() };
    let defaults = gives(file, &[before]);
    let defaults = by_name(&defaults);
    gives(file, &branch.body)
        .into_iter()
        .filter_map(|(name, value)| {
            let (other, _) = defaults.get(&name).filter(|_| matches!(name, Given::Assigned(_)))?;
            let tests = branch.test.into_iter().collect();
            Some(Choice { place: value, name: name.last_part(), on_npu: value, elsewhere: *other, tests })
        })
        .collect()
}

/// Receiver of a value in a branch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Given {
    /// A name or attribute, as it is written.
    Assigned(String),
    /// A keyword of a call: the function and the keyword.
    Passed(String, String),
    /// The caller of the function.
    Returned,
}

impl Given {
    /// The name that says what the value is for.
    fn last_part(&self) -> String {
        match self {
            Self::Assigned(name) => name.rsplit('.').next().unwrap_or(name).to_owned(),
            Self::Passed(_, keyword) => keyword.clone(),
            Self::Returned => String::new(),
        }
    }
}

/// Receivers and values of statements, directly in them.
fn gives(file: &File<'_>, body: &[NodeId]) -> Vec<(Given, NodeId)> {
    let mut given = Vec::new();
    for statement in body {
        for (_, target, value) in file.assignments_of(*statement) {
            given.push((Given::Assigned(file.source(target).to_owned()), value));
        }
        if let Kind::Return(Some(value)) = file.tree.kind(*statement) {
            given.push((Given::Returned, *value));
        }
        let is_simple =
            matches!(file.tree.kind(*statement), Kind::Assign { .. } | Kind::Return(_) | Kind::Expression(_));
        let calls = file.tree.within(*statement).filter(|_| is_simple).filter_map(|id| file.call(id));
        for (function, arguments) in calls {
            for argument in arguments {
                if let Some(keyword) = &argument.name {
                    given.push((Given::Passed(file.source(function).to_owned(), keyword.to_string()), argument.value));
                }
            }
        }
    }
    given
}

/// Statements beside a statement.
fn siblings<'a>(file: &'a File<'_>, id: NodeId) -> &'a [NodeId] {
    let parent = file.tree.node(id).parent;
    match file.tree.kind(parent) {
        Kind::If(branches) => branches
            .iter()
            .find(|branch| branch.body.binary_search(&id).is_ok())
            .map_or(&[], |branch| branch.body.as_slice()),
        _ => file.tree.body(parent),
    }
}

/// Statements behind one that leaves the function: the other way out is not far.
const MOST_FOLLOWING: usize = 20;

/// Statements behind a statement.
fn following(file: &File<'_>, id: NodeId) -> Vec<NodeId> {
    let siblings = siblings(file, id);
    let start = siblings.partition_point(|statement| *statement <= id);
    siblings.iter().copied().skip(start).take(MOST_FOLLOWING).collect()
}

/// The statement right before a statement.
fn preceding(file: &File<'_>, id: NodeId) -> Option<NodeId> {
    let siblings = siblings(file, id);
    let end = siblings.partition_point(|statement| *statement < id);
    siblings.get(end.checked_sub(1)?).copied()
}

/// The name that a conditional expression gives a value: of an assignment, keyword, key or parameter.
fn name_of(file: &File<'_>, id: NodeId) -> Option<String> {
    let parent = file.tree.node(id).parent;
    match file.tree.kind(parent) {
        Kind::Assign { .. } | Kind::Named { .. } | Kind::Tuple(_) => {
            let pairs = file.assignments_of(parent);
            let (_, target, _) = pairs.into_iter().find(|(_, _, value)| *value == id)?;
            super::random::target_name(file, target).map(str::to_owned)
        }
        Kind::Call { arguments, .. } => {
            let argument = arguments.iter().find(|argument| argument.value == id)?;
            argument.name.as_ref().map(ToString::to_string)
        }
        Kind::Dict(items) => {
            let (key, _) = items.iter().find(|(_, value)| *value == id)?;
            file.text_of((*key)?).map(str::to_owned)
        }
        _ => None,
    }
}
