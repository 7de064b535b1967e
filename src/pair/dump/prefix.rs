//! A prefix that all module names of one side carry: the trace of a wrapper such as `DistributedDataParallel`.
//!
//! A reading of the names leaves out consecutive parts at one place of the path: `module.` at the top, or `model.module.` for
//! `model.`. It is used where it alone explains the differing names; if several readings do, none is used.

use std::collections::{BTreeMap, BTreeSet};

/// Most differing module paths of a side for which a wrapper is searched.
const MOST_NAMES: usize = 1 << 17;
/// Parts of a path at which a wrapper is searched.
const MOST_PARTS: usize = 24;
/// Names from which readings are made; a wrapper's own record explains none.
const SAMPLES: usize = 3;
/// Readings that are tried on all names.
const MOST_READINGS: usize = 64;

/// A prefix of one side's module paths, and its replacement on the other side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrefixReading {
    /// Whether the candidate's names carry it, not the baseline's.
    pub is_of_candidate: bool,
    /// The prefix with its last dot: `model.module.`.
    pub from: String,
    /// Rest of it that stays: `model.`, or nothing.
    pub to: String,
    /// Module paths that it explains.
    pub count: usize,
    /// One of them, and the path of the other side.
    pub example: (String, String),
}

/// Prefixes that explain why the module names of two dumps differ.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ModulePrefix {
    /// None, or nothing to explain.
    #[default]
    None,
    /// One.
    Found(PrefixReading),
    /// Several that lead to different pairs.
    Ambiguous(Vec<PrefixReading>),
}

impl PrefixReading {
    /// A path with the prefix replaced; `None` where it does not begin with the prefix. The wrapper's own path becomes that of the
    /// module that it wraps, which is empty at the top.
    pub(super) fn cut(&self, path: &str) -> Option<String> {
        if path == self.from.trim_end_matches('.') {
            return Some(self.to.trim_end_matches('.').to_owned());
        }
        path.strip_prefix(&self.from).map(|rest| format!("{}{rest}", self.to))
    }
}

/// Finds the prefix by which the module paths of two sides differ.
pub(super) fn find(baseline: &BTreeSet<String>, candidate: &BTreeSet<String>) -> ModulePrefix {
    let only = |one: &BTreeSet<String>, other: &BTreeSet<String>| -> BTreeSet<String> {
        one.difference(other).cloned().collect()
    };
    let (left, right) = (only(baseline, candidate), only(candidate, baseline));
    if left.is_empty() || right.is_empty() || left.len().max(right.len()) > MOST_NAMES {
        return ModulePrefix::None;
    }
    let mut found: Vec<(PrefixReading, BTreeMap<String, String>)> = Vec::new();
    for (long, short, is_of_candidate) in [(&right, &left, true), (&left, &right, false)] {
        for (from, to) in candidates(long, short) {
            let mut reading =
                PrefixReading { is_of_candidate, from, to, count: 0, example: (String::new(), String::new()) };
            let pairs = explained(&reading, long, short);
            if !explains(&reading, &pairs, long, short) || found.iter().any(|(_, known)| *known == pairs) {
                continue;
            }
            reading.count = pairs.len();
            reading.example =
                pairs.iter().next().map(|(long, short)| (long.clone(), short.clone())).unwrap_or_default();
            found.push((reading, pairs));
        }
    }
    let mut readings: Vec<PrefixReading> = found.into_iter().map(|(reading, _)| reading).collect();
    match readings.len() {
        0 => ModulePrefix::None,
        1 => readings.pop().map_or(ModulePrefix::None, ModulePrefix::Found),
        _ => ModulePrefix::Ambiguous(readings),
    }
}

/// Readings by which one of a few names of one side becomes a name of the other.
fn candidates(long: &BTreeSet<String>, short: &BTreeSet<String>) -> BTreeSet<(String, String)> {
    let mut found = BTreeSet::new();
    for path in long.iter().take(SAMPLES) {
        let parts: Vec<&str> = path.split('.').take(MOST_PARTS).collect();
        for (start, end) in (0..parts.len()).flat_map(|start| (start + 1..parts.len()).map(move |end| (start, end))) {
            let reading = reading_of(&parts, start, end);
            let rest = path.strip_prefix(&reading.0).map(|rest| format!("{}{rest}", reading.1));
            if rest.is_some_and(|rest| short.contains(&rest)) {
                found.insert(reading);
            }
        }
    }
    for (wanted, path) in short.iter().take(SAMPLES).flat_map(|wanted| long.iter().map(move |path| (wanted, path))) {
        found.extend(between(path, wanted));
        if found.len() > MOST_READINGS {
            break;
        }
    }
    found
}

/// The readings by which `path` becomes `wanted`.
fn between(path: &str, wanted: &str) -> Vec<(String, String)> {
    if path.len() <= wanted.len() {
        return Vec::new();
    }
    let [path, wanted] = [path, wanted].map(|path| path.split('.').collect::<Vec<_>>());
    let left_out = path.len().saturating_sub(wanted.len());
    let equal = |pairs: &mut dyn Iterator<Item = (&&str, &&str)>| pairs.take_while(|(one, other)| one == other).count();
    let at_start = equal(&mut path.iter().zip(&wanted));
    let at_end = equal(&mut path.iter().rev().zip(wanted.iter().rev()));
    // The parts left out never include the last one.
    let starts = wanted.len().saturating_sub(at_end)..=at_start.min(wanted.len().saturating_sub(1));
    if left_out == 0 { Vec::new() } else { starts.map(|start| reading_of(&path, start, start + left_out)).collect() }
}

/// The prefix that ends before part `end`, and its replacement without the parts from `start` on.
fn reading_of(parts: &[&str], start: usize, end: usize) -> (String, String) {
    let join = |end: usize| parts.iter().take(end).map(|part| format!("{part}.")).collect::<String>();
    (join(end), join(start))
}

/// The names that a reading explains, with the names of the other side.
fn explained(reading: &PrefixReading, long: &BTreeSet<String>, short: &BTreeSet<String>) -> BTreeMap<String, String> {
    let pair = |path: &String| Some((path.clone(), reading.cut(path).filter(|rest| short.contains(rest))?));
    long.iter().filter_map(pair).collect()
}

/// Whether a reading explains all long names except the wrapper's own, or all short names. A single name is enough only where
/// each side has no other name and the prefix is at the top.
fn explains(
    reading: &PrefixReading,
    pairs: &BTreeMap<String, String>,
    long: &BTreeSet<String>,
    short: &BTreeSet<String>,
) -> bool {
    let own = reading.from.trim_end_matches('.');
    let carries = long.iter().filter(|path| *path != own).all(|path| pairs.contains_key(path));
    let covers = pairs.values().collect::<BTreeSet<_>>().len() == short.len();
    let is_single = reading.to.is_empty() && carries && covers;
    !pairs.is_empty() && (carries || covers) && (pairs.len() > 1 || is_single)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn prefix(baseline: &[&str], candidate: &[&str]) -> Option<(bool, String, String)> {
        match find(&paths(baseline), &paths(candidate)) {
            ModulePrefix::Found(reading) => Some((reading.is_of_candidate, reading.from, reading.to)),
            ModulePrefix::None => None,
            ModulePrefix::Ambiguous(readings) => panic!("{readings:?}"),
        }
    }

    fn readings(baseline: &[&str], candidate: &[&str]) -> Vec<String> {
        match find(&paths(baseline), &paths(candidate)) {
            ModulePrefix::Ambiguous(readings) => readings.into_iter().map(|reading| reading.from).collect(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_wrapper_is_found_at_the_top_and_inside_on_either_side() {
        let plain = ["fc1", "layers.0", "layers.0.fc"];
        let wrapped = ["module", "module.fc1", "module.layers.0", "module.layers.0.fc"];
        assert_eq!(prefix(&plain, &wrapped), Some((true, "module.".into(), String::new())));
        assert_eq!(prefix(&wrapped, &plain), Some((false, "module.".into(), String::new())));
        let inner = ["model", "model.module", "model.module.a", "model.module.b", "head"];
        assert_eq!(
            prefix(&["model", "model.a", "model.b", "head"], &inner),
            Some((true, "model.module.".into(), "model.".into()))
        );
        assert_eq!(prefix(&["fc"], &["module.fc"]), Some((true, "module.".into(), String::new())));
        assert_eq!(prefix(&["a", "b"], &["x.y.a", "x.y.b"]), Some((true, "x.y.".into(), String::new())));
    }

    #[test]
    fn a_module_that_is_missing_does_not_hide_the_wrapper() {
        let found = Some((true, "module.".into(), String::new()));
        assert_eq!(prefix(&["a", "b", "c"], &["module.a", "module.b"]), found);
        assert_eq!(prefix(&["a", "b"], &["module.a", "module.b", "module.c"]), found);
    }

    #[test]
    fn names_that_agree_or_have_nothing_in_common_have_no_prefix() {
        for (baseline, candidate) in [
            (&["a", "b"][..], &["a", "b"][..]),
            (&["a", "b"], &["a"]),
            (&["a", "b"], &["c", "d"]),
            (&["encoder.fc", "decoder.fc"], &["encoder.fc", "decoder.attn.fc"]),
            (&[], &["module.a"]),
        ] {
            assert_eq!(prefix(baseline, candidate), None, "{baseline:?} {candidate:?}");
        }
    }

    #[test]
    fn several_readings_are_named_and_none_is_taken() {
        let twice = readings(&["fc1", "fc2", "module.fc1", "module.fc2"], &["module.module.fc1", "module.module.fc2"]);
        assert_eq!(twice, ["module.", "module.module."]);
        let copies = ["student.a", "student.b", "teacher.a", "teacher.b"];
        assert_eq!(readings(&["a", "b"], &copies), ["student.", "teacher."]);
        assert_eq!(readings(&copies, &["a", "b"]), ["student.", "teacher."]);
    }

    proptest::proptest! {
        #[test]
        fn any_names_give_an_answer(
            baseline in proptest::collection::btree_set("[ab.]{0,9}", 0..9),
            candidate in proptest::collection::btree_set("[ab.]{0,9}", 0..9),
        ) {
            let _found = find(&baseline, &candidate);
        }
    }
}
