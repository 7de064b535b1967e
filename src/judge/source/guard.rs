//! Guards: tests that a place stands behind, so that it runs only where it was meant to.

use super::file::File;
use crate::read::source::tree::Branch;
use crate::read::source::{Kind, NodeId};

/// Whether a place stands behind a test that has one of `words`, or where its failure is handled.
///
/// A test is that of an `if`, `while`, `match` or conditional expression around it, an operand before it in `and` and `or`,
/// or an `if` before it in its function that leaves the function.
pub(super) fn is_guarded(file: &File<'_>, id: NodeId, words: &[&str]) -> bool {
    file.tree.around(id).any(|(outer, inner)| match file.tree.kind(outer) {
        Kind::Try { has_handlers, .. } => *has_handlers,
        _ => tests_of(file, outer, inner).into_iter().any(|test| file.tree.mentions(test, words)),
    })
}

/// Whether a place stands behind a test that has one of `words`; handled failures do not count.
pub(super) fn is_tested(file: &File<'_>, id: NodeId, words: &[&str]) -> bool {
    file.tree.around(id).any(|(outer, inner)| {
        tests_of(file, outer, inner).into_iter().any(|test| file.tree.mentions(test, words))
    })
}

/// Tests of `outer` that decide whether its part `inner` runs.
fn tests_of(file: &File<'_>, outer: NodeId, inner: NodeId) -> Vec<NodeId> {
    match file.tree.kind(outer) {
        Kind::If(branches) => {
            branches.iter().filter_map(|branch| branch.test).take_while(|test| *test < inner).collect()
        }
        Kind::Conditional { test, .. } | Kind::While { test, .. } if *test != inner => vec![*test],
        Kind::Logic(operands) => operands.iter().copied().take_while(|operand| *operand != inner).collect(),
        Kind::Match { subject, cases } if *subject != inner => {
            let is_pattern = |id: &NodeId| matches!(file.tree.kind(*id), Kind::Text(_) | Kind::Attribute { .. });
            std::iter::once(*subject).chain(cases.iter().copied().filter(is_pattern)).collect()
        }
        Kind::Function { body, .. } => {
            let before = body.iter().take_while(|statement| **statement < inner);
            before.flat_map(|statement| leaving_tests(file, *statement)).collect()
        }
        _ => Vec::new(),
    }
}

/// Tests of an `if` that leave the function.
fn leaving_tests(file: &File<'_>, statement: NodeId) -> Vec<NodeId> {
    match file.tree.kind(statement) {
        Kind::If(branches) => {
            let leaving = branches.iter().filter(|branch| leaves(file, &branch.body));
            leaving.filter_map(|branch| branch.test).collect()
        }
        _ => Vec::new(),
    }
}

/// Whether statements end by leaving the function.
pub(super) fn leaves(file: &File<'_>, body: &[NodeId]) -> bool {
    body.last().is_some_and(|last| matches!(file.tree.kind(*last), Kind::Return(_) | Kind::Raise))
}

/// The outermost `if`, conditional expression or operation around a test that holds a node: all that is asked with it.
pub(super) fn whole_test(file: &File<'_>, id: NodeId) -> NodeId {
    let mut whole = id;
    for (outer, inner) in file.tree.around(id) {
        match file.tree.kind(outer) {
            Kind::Logic(_) | Kind::Unary(_) | Kind::Compare { .. } => whole = outer,
            Kind::Conditional { test, .. } if *test == inner => return outer,
            Kind::If(branches) if branches.iter().any(|branch| branch.test == Some(inner)) => return outer,
            _ => break,
        }
    }
    whole
}

/// Whether one of `words` is in a test around a node: in what is asked with it, or in the rest of its `elif` chain.
pub(super) fn asks(file: &File<'_>, id: NodeId, words: &[&str]) -> bool {
    let whole = whole_test(file, id);
    match file.tree.kind(whole) {
        Kind::If(branches) => {
            branches.iter().filter_map(|branch| branch.test).any(|test| file.tree.mentions(test, words))
        }
        Kind::Conditional { test, .. } => file.tree.mentions(*test, words),
        _ => file.tree.mentions(whole, words),
    }
}

/// Whether a node is in a test whose branch raises.
pub(super) fn is_raising_test(file: &File<'_>, id: NodeId) -> bool {
    file.tree.around(id).any(|(outer, inner)| match file.tree.kind(outer) {
        Kind::If(branches) => {
            let raises = |branch: &&Branch| {
                branch.body.last().is_some_and(|last| matches!(file.tree.kind(*last), Kind::Raise))
            };
            branches.iter().filter(|branch| branch.test == Some(inner)).any(|branch| raises(&branch))
        }
        Kind::Assert => true,
        _ => false,
    })
}
