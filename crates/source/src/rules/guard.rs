//! Guards: tests that a place stands behind, so that it runs only where it was meant to.

use super::file::File;
use crate::read::tree::Branch;
use crate::read::{Kind, NodeId};

/// Tests of one chain that are looked at: code that people write has a few.
const MOST_TESTS: usize = 200;

/// Whether a place stands behind a test that has one of `words`, or where its failure is handled.
///
/// A test is that of an `if`, `while`, `match` or conditional expression around it, an operand before it in `and` and `or`,
/// or an `if` before it in its function that leaves the function.
pub(super) fn is_guarded(file: &File<'_>, id: NodeId, words: &[&str]) -> bool {
    file.tree.enclosing(id).any(|(outer, inner)| match file.tree.kind(outer) {
        Kind::Try { has_handlers, .. } => *has_handlers,
        _ => is_behind(file, outer, inner, words),
    })
}

/// Whether a place stands behind a test that has one of `words`; handled failures do not count.
pub(super) fn is_tested(file: &File<'_>, id: NodeId, words: &[&str]) -> bool {
    file.tree.enclosing(id).any(|(outer, inner)| is_behind(file, outer, inner, words))
}

/// Whether a test of `outer` that decides whether its part `inner` runs has one of `words`.
fn is_behind(file: &File<'_>, outer: NodeId, inner: NodeId, words: &[&str]) -> bool {
    let first = || file.first_asking(outer, words, |outer| first_asking(file, outer, words));
    match file.tree.kind(outer) {
        Kind::Conditional { test, .. } | Kind::While { test, .. } => *test != inner && first().is_some(),
        Kind::Match { subject, .. } => *subject != inner && first().is_some(),
        Kind::If(_) | Kind::Logic(_) | Kind::Function { .. } => first().is_some_and(|test| test < inner),
        _ => false,
    }
}

/// The first test of a node, in the order of the text, that has one of `words`.
fn first_asking(file: &File<'_>, outer: NodeId, words: &[&str]) -> Option<NodeId> {
    let asks = |test: &NodeId| file.tree.mentions(*test, words);
    match file.tree.kind(outer) {
        Kind::If(branches) => branches.iter().filter_map(|branch| branch.test).find(asks),
        Kind::Conditional { test, .. } | Kind::While { test, .. } => Some(*test).filter(asks),
        Kind::Logic(operands) => operands.iter().copied().find(asks),
        Kind::Match { subject, cases } => {
            let is_pattern = |id: &NodeId| matches!(file.tree.kind(*id), Kind::Text(_) | Kind::Attribute { .. });
            std::iter::once(*subject).chain(cases.iter().copied().filter(is_pattern)).find(asks)
        }
        Kind::Function { .. } => file.leaving_tests(outer).iter().copied().find(asks),
        _ => None,
    }
}

/// Number of branches whose tests stand before a place.
fn tests_before(branches: &[Branch], place: NodeId) -> usize {
    branches.partition_point(|branch| branch.test.is_some_and(|test| test < place))
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
