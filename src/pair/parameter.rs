//! Parameters of a model, by name.

use std::collections::BTreeMap;

use crate::hash::{FastMap, FastSet};
use crate::read::pack::PackParameter;

/// Parameters of both sides, paired.
#[derive(Debug, Default)]
pub(crate) struct PairedParameters<'a> {
    /// Baseline and candidate, in the baseline's order.
    pub matched: Vec<(&'a PackParameter, &'a PackParameter)>,
    /// Names that only the baseline has.
    pub only_baseline: Vec<&'a str>,
    /// Names that only the candidate has.
    pub only_candidate: Vec<&'a str>,
}

/// Pairs by name, after prefixes are rewritten on both sides (`module.` to nothing).
pub(crate) fn pair_pack_parameters<'a>(
    baseline: &'a [PackParameter],
    candidate: &'a [PackParameter],
    prefixes: &BTreeMap<String, String>,
) -> PairedParameters<'a> {
    let mut by_name: FastMap<String, &PackParameter> = FastMap::default();
    for parameter in candidate {
        by_name.entry(rewritten(&parameter.name, prefixes)).or_insert(parameter);
    }
    let mut paired = PairedParameters::default();
    for parameter in baseline {
        match by_name.remove(&rewritten(&parameter.name, prefixes)) {
            Some(partner) => paired.matched.push((parameter, partner)),
            None => paired.only_baseline.push(&parameter.name),
        }
    }
    let matched: FastSet<&str> = paired.matched.iter().map(|(_, partner)| partner.name.as_str()).collect();
    paired.only_candidate =
        candidate.iter().map(|parameter| parameter.name.as_str()).filter(|name| !matched.contains(name)).collect();
    paired
}

/// The name with its longest matching prefix replaced, once.
pub(super) fn rewritten(name: &str, prefixes: &BTreeMap<String, String>) -> String {
    let longest =
        prefixes.iter().filter(|(from, _)| name.starts_with(from.as_str())).max_by_key(|(from, _)| from.len());
    match longest.and_then(|(from, to)| Some((name.strip_prefix(from.as_str())?, to))) {
        Some((rest, to)) => format!("{to}{rest}"),
        None => name.to_owned(),
    }
}

impl PairedParameters<'_> {
    /// A prefix that one side's left-over names carry and the other's do not, if it explains all of them.
    pub(crate) fn common_prefix(&self) -> Option<String> {
        prefix_of(&self.only_candidate, &self.only_baseline)
            .or_else(|| prefix_of(&self.only_baseline, &self.only_candidate))
    }
}

pub(super) fn prefix_of(long: &[&str], short: &[&str]) -> Option<String> {
    let first = short.first()?;
    let prefixes = long.iter().filter_map(|name| name.strip_suffix(first)).filter(|prefix| prefix.ends_with('.'));
    let known: FastSet<&str> = long.iter().copied().collect();
    let explains = |prefix: &&str| {
        long.len() == short.len() && short.iter().all(|name| known.contains(format!("{prefix}{name}").as_str()))
    };
    prefixes.into_iter().find(explains).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::pack::PackStatistics;

    fn parameters(names: &[&str]) -> Vec<PackParameter> {
        names
            .iter()
            .map(|name| PackParameter { name: (*name).into(), statistics: Ok(PackStatistics([0.0; 4])) })
            .collect()
    }

    #[test]
    fn a_prefix_is_found_and_mapped() {
        let (a, b) = (parameters(&["fc.weight", "fc.bias"]), parameters(&["module.fc.bias", "module.fc.weight"]));
        let none = BTreeMap::new();
        let paired = pair_pack_parameters(&a, &b, &none);
        assert!(paired.matched.is_empty());
        assert_eq!(paired.common_prefix().as_deref(), Some("module."));
        let mapped = BTreeMap::from([("module.".to_owned(), String::new())]);
        assert_eq!(pair_pack_parameters(&a, &b, &mapped).matched.len(), 2);
        assert_eq!(pair_pack_parameters(&b, &a, &mapped).only_candidate.len(), 0);
    }
}
