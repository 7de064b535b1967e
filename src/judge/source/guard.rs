//! Guards: tests that a place stands behind, so that it runs only where it was meant to.

use super::file::File;
use crate::read::source::tree::Branch;
use crate::read::source::{Kind, NodeId};

/// Tests of one chain, function or operation that are looked at: those nearest to a place. Code that people write has a few.
const MOST_TESTS: usize = 200;

/// Whether a place stands behind a test that has one of `words`, or where its failure is handled.
///
/// A test is that of an `if`, `while`, `match` or conditional expression around it, an operand before it in `and` and `or`,
/// or an `if` before it in its function that leaves the function.
pub(super) fn is_guarded(file: &File<'_>, id: NodeId, words: &[&str]) -> bool {
    file.tree.enclosing(id).any(|(outer, inner)| match file.tree.kind(outer) {
        Kind::Try { has_handlers, .. } => *has_handlers,
        _ => tests_of(file, outer, inner).into_iter().any(|test| file.tree.mentions(test, words)),
    })
}

/// Whether a place stands behind a test that has one of `words`; handled failures do not count.
pub(super) fn is_tested(file: &File<'_>, id: NodeId, words: &[&str]) -> bool {
    file.tree
        .enclosing(id)
        .any(|(outer, inner)| tests_of(file, outer, inner).into_iter().any(|test| file.tree.mentions(test, words)))
}

/// Tests of `outer` that decide whether its part `inner` runs.
fn tests_of(file: &File<'_>, outer: NodeId, inner: NodeId) -> Vec<NodeId> {
    match file.tree.kind(outer) {
        Kind::If(branches) => {
            let before = branches.get(..tests_before(branches, inner)).unwrap_or_default();
            before.iter().rev().take(MOST_TESTS).filter_map(|branch| branch.test).collect()
        }
        Kind::Conditional { test, .. } | Kind::While { test, .. } if *test != inner => vec![*test],
        Kind::Logic(operands) => before(operands, inner).to_vec(),
        Kind::Match { subject, cases } if *subject != inner => {
            let is_pattern = |id: &NodeId| matches!(file.tree.kind(*id), Kind::Text(_) | Kind::Attribute { .. });
            let patterns = cases.iter().copied().take(MOST_TESTS).filter(is_pattern);
            std::iter::once(*subject).chain(patterns).collect()
        }
        Kind::Function { .. } => before(file.leaving_tests(outer), inner).to_vec(),
        _ => Vec::new(),
    }
}

/// Number of branches whose tests stand before a place.
fn tests_before(branches: &[Branch], place: NodeId) -> usize {
    branches.partition_point(|branch| branch.test.is_some_and(|test| test < place))
}

/// The nodes of a list, in the order of the text, that stand before a place: the nearest of them.
fn before(list: &[NodeId], place: NodeId) -> &[NodeId] {
    let end = list.partition_point(|node| *node < place);
    list.get(end.saturating_sub(MOST_TESTS)..end).unwrap_or_default()
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
            Kind::If(branches) if branch_of(branches, inner).is_some() => return outer,
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
            let tests = branches.iter().take(MOST_TESTS).filter_map(|branch| branch.test);
            tests.into_iter().any(|test| file.tree.mentions(test, words))
        }
        Kind::Conditional { test, .. } => file.tree.mentions(*test, words),
        _ => file.tree.mentions(whole, words),
    }
}

/// The branch whose test a node is.
fn branch_of(branches: &[Branch], test: NodeId) -> Option<&Branch> {
    branches.get(tests_before(branches, test)).filter(|branch| branch.test == Some(test))
}

/// Whether a node is in a test whose branch raises.
pub(super) fn is_raising_test(file: &File<'_>, id: NodeId) -> bool {
    let raises = |branch: &Branch| branch.body.last().is_some_and(|last| matches!(file.tree.kind(*last), Kind::Raise));
    file.tree.enclosing(id).any(|(outer, inner)| match file.tree.kind(outer) {
        Kind::If(branches) => branch_of(branches, inner).is_some_and(raises),
        Kind::Assert => true,
        _ => false,
    })
}
