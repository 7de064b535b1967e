//! Seeds that a job takes from its environment: variables with the word `SEED` in their name.
//!
//! Seeds among the settings are compared with the other settings. `PYTHONHASHSEED` is on the watch list.

use std::collections::BTreeSet;

use super::context::PackContext;
use super::rules::SEED_DIFFERS;
use crate::read::pack::Pack;
use crate::result::finding::Finding;

pub(super) fn judge(context: &PackContext<'_>) -> Vec<Finding> {
    let names = |pack: &'_ Pack| -> BTreeSet<String> {
        pack.variables().map(|(name, _)| name.to_owned()).filter(|name| is_seed(name)).collect()
    };
    if context.baseline.variables().next().is_none() || context.candidate.variables().next().is_none() {
        return Vec::new();
    }
    let all: BTreeSet<String> = names(context.baseline).union(&names(context.candidate)).cloned().collect();
    let differing = all.into_iter().filter_map(|name| {
        let (a, b) = (context.baseline.variable(&name), context.candidate.variable(&name));
        let text = |value: Option<&str>| {
            value.map_or_else(|| "unset".to_owned(), |value| context.redactor.setting(&name, value))
        };
        (a.map(str::trim) != b.map(str::trim))
            .then(|| Finding::new(&SEED_DIFFERS, &name).with("baseline", text(a)).with("candidate", text(b)))
    });
    differing.collect()
}

fn is_seed(name: &str) -> bool {
    name.split('_').any(|word| word.eq_ignore_ascii_case("seed"))
}
