//! Rules on a file of their own, for tests.

use std::collections::BTreeSet;

use super::context::Context;
use super::file::File;
use crate::read::source::Module;

/// Lines on which a rule is broken in a tree of one file, in order, each once.
pub(super) fn lines(code: &str, source: &str) -> Vec<u64> {
    let module = Module::parse("train.py", source.as_bytes().to_vec()).expect("Python");
    let file = File::new(&module);
    let context = Context { flags: file.flags(), packages: BTreeSet::new() };
    let rule = super::find(code).expect("a rule");
    let mut hits = Vec::new();
    if let Some(find) = rule.find {
        find(&file, &mut hits);
    }
    let lines: BTreeSet<u64> = hits.iter().filter(|hit| hit.holds(&context)).map(|hit| hit.line).collect();
    lines.into_iter().collect()
}
