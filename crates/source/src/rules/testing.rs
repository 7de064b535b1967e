//! Rules on a file of their own, for tests.

use std::collections::BTreeSet;

use super::FINDERS;
use super::context::{Context, flags_of};
use super::file::File;
use super::hit::placed;
use crate::read::Module;

/// Lines on which a rule is broken in a tree of one file, in order, each once.
pub(super) fn lines(code: &str, source: &str) -> Vec<u64> {
    let module = Module::parse("train.py", source.as_bytes().to_vec()).expect("Python");
    let file = File::new(&module);
    let context = Context { flags: flags_of(&file), packages: BTreeSet::new() };
    let mut hits = Vec::new();
    FINDERS.iter().for_each(|find| find(&file, &mut hits));
    let placed = placed(&file, hits);
    let of_rule = placed.iter().filter(|hit| hit.rule.rule.code == code && hit.holds(&context));
    let lines: BTreeSet<u64> = of_rule.map(|hit| hit.line).collect();
    lines.into_iter().collect()
}
