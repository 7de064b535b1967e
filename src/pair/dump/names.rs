//! Translation of the candidate's names into the baseline's, before anything is paired.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::prefix::{self, ModulePrefix, PrefixReading};
use super::renaming::{Explicit, ModuleName, Renaming};
use crate::read::dump::Dump;
use crate::read::dump::name::OpName;

/// Names of two dumps as they are paired.
#[derive(Clone, Debug, Default)]
pub struct DumpNames {
    /// A prefix that was found without a rule for it.
    pub prefix: ModulePrefix,
    pub(super) baseline: Option<Translated>,
    pub(super) candidate: Option<Translated>,
}

/// Translated names of one side's operations, and of the modules that they ran in.
#[derive(Clone, Debug)]
pub(super) struct Translated {
    pub(super) names: Vec<String>,
    pub(super) parents: Vec<Option<String>>,
    /// Indices of the wrapper's own records, which the other side lacks; a wrapper computes nothing itself.
    pub(super) wrappers: HashSet<usize>,
}

impl DumpNames {
    /// Translates the names of two dumps by rules, and by a prefix, where one alone explains the remaining differences.
    pub fn from_dumps(baseline: &Dump, candidate: &Dump, renaming: &Renaming) -> Self {
        let is_mindspore = |dump: &Dump| dump.framework == "mindspore";
        let across = is_mindspore(baseline) != is_mindspore(candidate);
        let is_translated = across || !renaming.is_empty();
        let side = |dump: &Dump, is_candidate: bool| {
            let side = Side::new(dump, renaming, is_candidate, across);
            let paths = side.paths();
            (side, paths)
        };
        let ((mut left, own), (mut right, others)) = rayon::join(|| side(baseline, false), || side(candidate, true));
        let prefix = prefix::find(&own, &others);
        if let ModulePrefix::Found(reading) = &prefix {
            if reading.is_of_candidate { right.cut(reading) } else { left.cut(reading) }
        } else if !is_translated {
            return Self { prefix, ..Self::default() };
        }
        if is_translated {
            right.adopt_classes(&left);
        }
        Self { prefix, baseline: Some(left.translated(baseline)), candidate: Some(right.translated(candidate)) }
    }

    /// Whether an operation of either side is a wrapper's own, which is not paired.
    pub(super) fn is_wrapper(&self, is_candidate: bool, index: usize) -> bool {
        let side = if is_candidate { &self.candidate } else { &self.baseline };
        side.as_ref().is_some_and(|side| side.wrappers.contains(&index))
    }

    /// Number of operations of wrappers that are left out.
    pub(crate) fn wrapper_count(&self) -> usize {
        [&self.baseline, &self.candidate].into_iter().flatten().map(|side| side.wrappers.len()).sum()
    }
}

/// The bases of one side's names (`Module.fc.Linear`), translated.
struct Side {
    bases: HashMap<String, String>,
    wrapper: Option<String>,
    /// Names of single calls by rule.
    calls: HashMap<String, String>,
}

impl Side {
    fn new(dump: &Dump, renaming: &Renaming, is_candidate: bool, is_across_frameworks: bool) -> Self {
        let has_rules = is_candidate && !renaming.operations.is_empty();
        let is_translated = |name: &str| has_rules || name.starts_with("Module.") || name.starts_with("Cell.");
        let names = dump.operations.iter().map(|operation| operation.name).filter(|name| is_translated(name));
        let bases: HashSet<&str> = names.map(|name| OpName::parse(name).base).collect();
        let classes = bases.iter().filter_map(|base| ModuleName::parse(base));
        let classes = classes.map(|name| (name.path.to_owned(), name.class.to_owned())).collect();
        let explicit = Explicit { renaming, is_candidate, is_across_frameworks, classes };
        let calls = renaming.operations.iter().filter(|_| is_candidate);
        let calls = calls.map(|rule| (rule.from.clone(), rule.to.clone())).collect();
        let bases = bases.into_iter().map(|base| (explicit.base(base).into_owned(), base.to_owned()));
        Self { bases: bases.map(|(to, from)| (from, to)).collect(), wrapper: None, calls }
    }

    fn paths(&self) -> BTreeSet<String> {
        let modules = self.bases.values().filter_map(|base| ModuleName::parse(base));
        modules.map(|name| name.path).filter(|path| !path.is_empty()).map(str::to_owned).collect()
    }

    /// Removes a prefix from all paths, except where the shorter path already exists.
    fn cut(&mut self, reading: &PrefixReading) {
        let known = self.paths();
        let own = reading.from.trim_end_matches('.');
        let wrapped = reading.to.trim_end_matches('.').to_owned();
        for base in self.bases.values_mut() {
            let Some(name) = ModuleName::parse(base) else { continue };
            let Some(path) = reading.cut(name.path) else { continue };
            if name.path == own && path.is_empty() {
                self.wrapper = Some(base.clone());
            } else if name.path == own || !known.contains(&path) {
                *base = format!("{}.{path}.{}", name.kind, name.class);
            }
        }
        if !wrapped.is_empty() {
            // The wrapper of an inner module has the path that the wrapped module gets here.
            let of_wrapper = |(from, to): &(&String, &String)| {
                from == to && ModuleName::parse(to).is_some_and(|name| name.path == wrapped)
            };
            self.wrapper = self.bases.iter().find(of_wrapper).map(|(_, base)| base.clone());
        }
    }

    /// Gives modules the class that the baseline has at the same path, because renamed modules may have renamed classes.
    fn adopt_classes(&mut self, baseline: &Self) {
        let mut classes: HashMap<String, Option<String>> = HashMap::new();
        for name in baseline.bases.values().filter_map(|base| ModuleName::parse(base)) {
            let class = Some(name.class.to_owned());
            classes.entry(name.path.to_owned()).and_modify(|known| *known = None).or_insert(class);
        }
        for base in self.bases.values_mut() {
            let Some(name) = ModuleName::parse(base) else { continue };
            if let Some(Some(class)) = classes.get(name.path).filter(|_| !name.path.is_empty()) {
                *base = format!("{}.{}.{class}", name.kind, name.path);
            }
        }
    }

    fn name(&self, name: &str) -> String {
        if let Some(call) = self.calls.get(name) {
            return call.clone();
        }
        let base = OpName::parse(name).base;
        let rest = name.strip_prefix(base).unwrap_or_default();
        self.bases.get(base).map_or_else(|| name.to_owned(), |base| format!("{base}{rest}"))
    }

    fn translated(&self, dump: &Dump) -> Translated {
        let names: Vec<String> = dump.operations.iter().map(|operation| self.name(operation.name)).collect();
        let parents =
            dump.operations.iter().map(|operation| dump.parents.get(operation.name).map(|one| self.name(one)));
        let is_wrapper = |name: &String| self.wrapper.as_deref() == Some(OpName::parse(name).base);
        let wrappers = names.iter().enumerate().filter(|(_, name)| is_wrapper(name)).map(|(index, _)| index).collect();
        Translated { parents: parents.collect(), wrappers, names }
    }
}
