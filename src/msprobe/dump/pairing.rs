//! Pairs of rows to compare (`docs/formats/msprobe-tables.md`, Pairing and Mapping files).

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use super::pair::{DumpPair, RowPair, ValuePlace};
use super::row_pairs::RowPairs;
use crate::pair::dump::rename_module;
use crate::read::dump::name::{Direction, OpName};
use crate::read::dump::{Dump, DumpFormat, Operation};

/// Pairs rows: one per candidate value, in dump order.
pub(super) fn pair<'a>(pair: &DumpPair<'a>) -> RowPairs<'a> {
    let debug = pair.format == DumpFormat::MsprobeDebug;
    let matching = pair.matching;
    if !matching.fuzzy && matching.modules.is_none() && matching.rows.is_empty() && have_same_rows(pair) {
        return RowPairs::of_like_rows(*pair, compared_operations(pair.candidate, debug));
    }
    let candidate = Side::new(pair.candidate, debug, matching.modules.as_deref());
    let baseline = Side::new(pair.baseline, debug, None);
    let partners = if matching.fuzzy && !debug {
        in_order(&candidate.fuzzy_keys(), &baseline.fuzzy_keys())
    } else {
        by_key(&candidate.keys(debug), &baseline.keys(debug))
    };
    let mapped: HashMap<&str, &str> = matching.rows.iter().map(|(from, to)| (from.as_str(), to.as_str())).collect();
    let by_name: HashMap<String, usize> = match mapped.is_empty() {
        true => HashMap::new(),
        false => baseline.names().enumerate().map(|(row, name)| (name, row)).collect(),
    };
    let translated = |row: &Row| {
        if mapped.is_empty() {
            None
        } else {
            mapped.get(candidate.name(row).as_str()).map(|to| by_name.get(*to).copied())
        }
    };
    let rows = candidate.rows.iter().enumerate();
    let pairs = rows.map(|(index, row)| {
        let partner = translated(row).unwrap_or_else(|| partners.get(index).copied().flatten());
        let baseline = partner.and_then(|partner| baseline.rows.get(partner)).map(|row| row.place);
        RowPair::new(pair, row.place, baseline)
    });
    RowPairs::of_list(pairs.collect())
}

/// Whether both dumps have the same operations with the same rows in the same order: then each row pairs with its like.
fn have_same_rows(pair: &DumpPair<'_>) -> bool {
    let [candidate, baseline] = [&pair.candidate.operations, &pair.baseline.operations];
    let are_names_shared = candidate.has_names_of(baseline);
    let are_alike = |(one, other): (Operation<'_>, Operation<'_>)| {
        let same_row = |leaf: usize| {
            let [row, like] = [one, other].map(|operation| operation.leaves.row(leaf));
            row.map(|row| row.below_operation()) == like.map(|row| row.below_operation())
        };
        (are_names_shared || one.name == other.name)
            && one.leaves.len() == other.leaves.len()
            && (0..one.leaves.len()).all(same_row)
    };
    candidate.len() == baseline.len() && candidate.iter().zip(baseline.iter()).all(are_alike)
}

/// The operations that have rows, with their indices: those with names outside the grammar have none, except in `debug.json`.
fn compared_operations(dump: &Dump, debug: bool) -> impl Iterator<Item = (usize, Operation<'_>)> {
    let operations = dump.operations.iter().enumerate();
    operations.filter(move |(_, operation)| debug || is_compared(operation.name))
}

/// The rows of one side.
struct Side<'a> {
    dump: &'a Dump,
    operations: Vec<Op<'a>>,
    rows: Vec<Row>,
}

struct Op<'a> {
    name: &'a str,
    renamed: Cow<'a, str>,
}

struct Row {
    place: ValuePlace,
    /// Index in `Side::operations`.
    op: u32,
}

impl<'a> Side<'a> {
    /// Lists the rows.
    fn new(dump: &'a Dump, debug: bool, modules: Option<&[(String, String)]>) -> Self {
        let mut side = Self { dump, operations: Vec::new(), rows: Vec::new() };
        compared_operations(dump, debug).for_each(|(index, operation)| side.add(index, operation, modules));
        side
    }

    fn add(&mut self, index: usize, operation: Operation<'a>, modules: Option<&[(String, String)]>) {
        let op = u32::try_from(self.operations.len()).unwrap_or(u32::MAX);
        self.rows.extend((0..operation.leaves.len()).map(|leaf| Row { place: ValuePlace::new(index, leaf), op }));
        let name = operation.name;
        self.operations.push(Op { name, renamed: modules.map_or(Cow::Borrowed(name), |map| rename(name, map)) });
    }

    fn names(&self) -> impl Iterator<Item = String> {
        self.rows.iter().map(|row| self.name(row))
    }

    fn name(&self, row: &Row) -> String {
        row.place.value_in(self.dump).map_or_else(String::new, |leaf| leaf.row.to_string())
    }

    /// The name without its operation's name.
    fn suffix(&self, row: &Row) -> &'a str {
        row.place.value_in(self.dump).map_or("", |leaf| leaf.row.below_operation())
    }

    /// The key of every row: its name, with the calls of backward operations numbered by order of appearance.
    fn keys(&self, debug: bool) -> Vec<Key> {
        let mut order: HashMap<&str, u64> = HashMap::new();
        let keys: Vec<Option<String>> = self
            .operations
            .iter()
            .map(|op| {
                let name = OpName::parse(&op.renamed);
                let backward = !debug && name.direction == Some(Direction::Backward) && name.call.is_some();
                backward.then(|| {
                    let call = order.entry(name.base).or_default();
                    let key = format!("{}.{call}.backward", name.base);
                    *call += 1;
                    key
                })
            })
            .collect();
        self.rows.iter().map(|row| self.key(row, keys.get(row.op as usize).and_then(Option::as_deref))).collect()
    }

    fn key(&self, row: &Row, numbered: Option<&str>) -> Key {
        let op = self.operations.get(row.op as usize);
        match (numbered, op) {
            (Some(numbered), _) => key_of(&format!("{numbered}{}", self.suffix(row))),
            (None, Some(op)) if op.renamed != op.name => key_of(&format!("{}{}", op.renamed, self.suffix(row))),
            _ => key_of(&self.name(row)),
        }
    }

    /// The key of every row without call numbers.
    fn fuzzy_keys(&self) -> Vec<String> {
        let stems: Vec<String> = self.operations.iter().map(|op| without_call(&op.renamed)).collect();
        self.rows
            .iter()
            .map(|row| format!("{}{}", stems.get(row.op as usize).map_or("", String::as_str), self.suffix(row)))
            .collect()
    }
}

/// An operation's name without its call number; a module's without its class, which may differ between frameworks.
pub(super) fn without_call(operation: &str) -> String {
    let name = OpName::parse(operation);
    let is_module = operation.starts_with("Module.") || operation.starts_with("Cell.");
    let path = name.base.rsplit_once('.').map(|(path, _)| path).filter(|_| is_module);
    format!("{} {:?}", path.unwrap_or(name.base), name.direction)
}

/// Whether msprobe compares an operation: one of the last two parts of its name is a direction, and a name stands
/// before them.
fn is_compared(name: &str) -> bool {
    let parts: Vec<&str> = name.rsplitn(3, '.').collect();
    let is = |word: &str| parts.iter().take(2).any(|part| *part == word);
    match parts.len() {
        3 => is("forward") || is("backward") || is("parameters_grad"),
        2 => is("parameters_grad"),
        _ => false,
    }
}

/// Applies a module mapping to the name of an operation: `Cell` counts as `Module`, an exact `path.Class` comes
/// first, otherwise every known part is replaced once.
fn rename<'a>(name: &'a str, modules: &[(String, String)]) -> Cow<'a, str> {
    let name = match name.split_once("Cell") {
        Some((before, after)) => Cow::Owned(format!("{before}Module{after}")),
        None => Cow::Borrowed(name),
    };
    let Some((prefix, rest)) = name.split_once('.') else { return name };
    let end = [".forward", ".backward", ".parameters_grad"].iter().filter_map(|word| rest.find(word)).min();
    let (module, call) = rest.split_at(end.unwrap_or(rest.len()));
    let renamed = rename_module(module, modules);
    if renamed == module { name } else { Cow::Owned(format!("{prefix}.{renamed}{call}")) }
}

/// Stands for a text: 128 bits that no two of a dump's texts share by chance, instead of hundreds.
type Key = [u64; 2];

fn key_of(text: &str) -> Key {
    std::array::from_fn(|seed| {
        let mut hash = DefaultHasher::new();
        (seed, text).hash(&mut hash);
        hash.finish()
    })
}

/// For every candidate key, the baseline row with the same key. Rows that share a key pair in order.
fn by_key(candidate: &[Key], baseline: &[Key]) -> Vec<Option<usize>> {
    let in_order = |keys: &[Key]| {
        let mut rows: Vec<(Key, usize)> = keys.iter().copied().zip(0..).collect();
        rows.sort_unstable();
        rows
    };
    let mut partners = vec![None; candidate.len()];
    let mut waiting = in_order(baseline).into_iter().peekable();
    for (key, row) in in_order(candidate) {
        while waiting.next_if(|(other, _)| *other < key).is_some() {}
        if let Some(partner) = partners.get_mut(row) {
            *partner = waiting.next_if(|(other, _)| *other == key).map(|(_, row)| row);
        }
    }
    partners
}

/// Matches keys in order of appearance: two queues grow in step; the newest candidate takes the oldest waiting
/// baseline row with its key, else the newest baseline row goes to the oldest waiting candidate with its key. A
/// match ends the wait of everything before it on both sides.
pub(super) fn in_order(candidate: &[String], baseline: &[String]) -> Vec<Option<usize>> {
    let mut partners = vec![None; candidate.len()];
    let (mut npu, mut bench) = (Queue::default(), Queue::default());
    for step in 0..candidate.len().max(baseline.len()) {
        npu.push(candidate, step);
        bench.push(baseline, step);
        let newest = npu.newest(candidate).and_then(|(row, key)| Some((row, bench.oldest(key)?)));
        let found = newest.or_else(|| bench.newest(baseline).and_then(|(row, key)| Some((npu.oldest(key)?, row))));
        if let Some((row, partner)) = found {
            if let Some(slot) = partners.get_mut(row) {
                *slot = Some(partner);
            }
            npu.start = row + 1;
            bench.start = partner + 1;
        }
    }
    partners
}

/// Rows that wait for a partner.
#[derive(Default)]
struct Queue<'a> {
    by_key: HashMap<&'a str, VecDeque<usize>>,
    /// Everything before this row has been dealt with.
    start: usize,
    len: usize,
}

impl<'a> Queue<'a> {
    fn push(&mut self, keys: &'a [String], row: usize) {
        if let Some(key) = keys.get(row) {
            self.by_key.entry(key).or_default().push_back(row);
            self.len = row + 1;
        }
    }

    fn newest(&self, keys: &'a [String]) -> Option<(usize, &'a str)> {
        let row = self.len.checked_sub(1).filter(|row| *row >= self.start)?;
        Some((row, keys.get(row)?))
    }

    fn oldest(&mut self, key: &str) -> Option<usize> {
        let rows = self.by_key.get_mut(key)?;
        while rows.front().is_some_and(|row| *row < self.start) {
            rows.pop_front();
        }
        rows.front().copied()
    }
}
