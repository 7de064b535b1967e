//! Pairing of two dumps: operations by name where the names agree on both sides, else by their sequence.
//!
//! Call numbers count calls, so one extra call on one side shifts the names of all that follow, and pairing by
//! name then compares different calls. Where the two sides' names differ, forward operations are aligned as
//! sequences, first on everything a call shows (name without call number, shapes, dtypes, argument values,
//! module and stack), then, inside what is left, on less and less. Recorded values decide only between calls that are
//! alike in all of that. A backward operation follows its forward operation.

mod alike;
mod names;
mod prefix;
mod renaming;
mod sequence;
mod signature;

pub use names::DumpNames;
pub use prefix::{ModulePrefix, PrefixReading};
pub(crate) use renaming::rename_module;
pub use renaming::{NameTranslations, RenamedOperation, Renaming};
pub(crate) use signature::{argument_of, bind_arguments, takes_argument};

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::num::NonZeroU32;

use foldhash::quality::RandomState;
use rayon::prelude::*;

use crate::read::dump::name::{Direction, OpName};
use crate::read::dump::{Dump, Leaf, LeafValue, Operation};
use crate::read::frame::is_framework_frame;
use names::Translated;

/// Indices of an operation among those of its dump, or of a value among those of its operation, on either side or both.
///
/// One is kept per recorded value, so it has 8 bytes; a dump of 2^32 operations does not fit in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexPair([Option<NonZeroU32>; 2]);

impl IndexPair {
    /// The pair of an index on each side.
    pub fn new(baseline: Option<usize>, candidate: Option<usize>) -> Self {
        let kept = |index: usize| u32::try_from(index).ok()?.checked_add(1).and_then(NonZeroU32::new);
        Self([baseline, candidate].map(|index| index.and_then(kept)))
    }

    /// The baseline's index; `None` where only the candidate has one.
    pub fn baseline(self) -> Option<usize> {
        self.0[0].map(|index| index.get() as usize - 1)
    }

    /// The candidate's index; `None` where only the baseline has one.
    pub fn candidate(self) -> Option<usize> {
        self.0[1].map(|index| index.get() as usize - 1)
    }
}

/// Pairs the operations of two dumps, read by `names`.
///
/// Every operation of both sides is in the result exactly once, except a wrapper's own, in the candidate's execution order.
/// Operations of the baseline only stand where they would have run.
pub fn pair_operations(baseline: &Dump, candidate: &Dump, names: &DumpNames) -> Vec<IndexPair> {
    let (left, right) = rayon::join(|| Side::new(baseline, &names.baseline), || Side::new(candidate, &names.candidate));
    let is_of_tool = baseline.tool.is_some() || candidate.tool.is_some();
    if !is_of_tool && left.has_calls_of(&right) {
        return right.order.iter().map(|index| IndexPair::new(Some(*index), Some(*index))).collect();
    }
    let partner = left.by_name(&right).filter(|_| !is_of_tool).unwrap_or_else(|| {
        if is_of_tool {
            return left.by_name_alone(&right);
        }
        let mut partner = aligned(&left, &right);
        follow_forward(&left, &right, &mut partner);
        partner
    });
    let is_wrapper = |pair: &IndexPair| match (pair.baseline(), pair.candidate()) {
        (Some(index), None) => names.is_wrapper(false, index),
        (None, Some(index)) => names.is_wrapper(true, index),
        _ => false,
    };
    let mut pairs = in_execution_order(&left, &right, &partner);
    pairs.retain(|pair| !is_wrapper(pair));
    pairs
}

/// Pairs the values of two operations by their place in the call, which a rule for the operation may translate.
pub(crate) fn pair_values(
    baseline: Operation<'_>,
    candidate: Operation<'_>,
    rule: Option<&RenamedOperation>,
) -> Vec<IndexPair> {
    if rule.is_none() && are_alike(baseline, candidate) {
        return (0..candidate.leaves.len()).map(|index| IndexPair::new(Some(index), Some(index))).collect();
    }
    let partner = |leaf: Leaf<'_>| match rule {
        Some(rule) => rule.place(&place(leaf)),
        None => Some(place(leaf)),
    };
    let pairs = by_place(baseline, candidate, place, partner);
    let is_alone = |pair: &IndexPair| pair.baseline().is_none() || pair.candidate().is_none();
    if rule.is_none() && pairs.iter().any(is_alone) {
        // One side may pass an argument by position, the other by name.
        if let Some(signature) = signature::common_signature(baseline, candidate) {
            let named = |leaf: Leaf<'_>| signature.named(place(leaf));
            return by_place(baseline, candidate, named, |leaf| Some(named(leaf)));
        }
    }
    pairs
}

/// Pairs the values of two operations with equal places: `place` of a baseline's value, and `partner`, the place in the
/// baseline's call, of a candidate's value.
fn by_place(
    baseline: Operation<'_>,
    candidate: Operation<'_>,
    place: impl Fn(Leaf<'_>) -> String,
    partner: impl Fn(Leaf<'_>) -> Option<String>,
) -> Vec<IndexPair> {
    let mut of_baseline: HashMap<String, usize> =
        baseline.leaves.iter().enumerate().map(|(index, leaf)| (place(leaf), index)).collect();
    let mut pairs: Vec<IndexPair> = candidate
        .leaves
        .iter()
        .enumerate()
        .map(|(index, leaf)| IndexPair::new(partner(leaf).and_then(|place| of_baseline.remove(&place)), Some(index)))
        .collect();
    let mut left: Vec<usize> = of_baseline.into_values().collect();
    left.sort_unstable();
    pairs.extend(left.into_iter().map(|index| IndexPair::new(Some(index), None)));
    pairs
}

/// Whether both operations have the same few values in the same order, no two at one place.
fn are_alike(baseline: Operation<'_>, candidate: Operation<'_>) -> bool {
    const FEW: usize = 16;
    let len = candidate.leaves.len();
    if len != baseline.leaves.len() || len > FEW {
        return false;
    }
    let places: [Option<&str>; FEW] = std::array::from_fn(|index| plain_place(candidate, index));
    places.iter().enumerate().take(len).all(|(index, place)| {
        let is_new = || places.iter().take(index).all(|before| before != place);
        place.is_some() && *place == plain_place(baseline, index) && is_new()
    })
}

/// The place of a value whose row name needs no normalising; `None` for others.
fn plain_place(operation: Operation<'_>, index: usize) -> Option<&str> {
    let row = operation.leaves.row(index)?.below_operation();
    (row.starts_with('.') && !row.contains("kwargs")).then_some(row)
}

/// A row's place inside its operation: `input.0`. A saved keyword argument is called `kwargs` in its file name and
/// `input` elsewhere; both are the same place.
fn place(leaf: Leaf<'_>) -> String {
    let inner = leaf.row.below_operation().trim_start_matches(['.', '_']);
    match inner.strip_prefix("kwargs.") {
        Some(rest) => format!("input.{rest}"),
        None => inner.to_owned(),
    }
}

/// Positions in execution order. Dumps are written in that order but for two kinds of gradients: those saved by hand
/// are listed early and made after every forward value, and a module's parameter gradients may be listed before the
/// backward calls that make them.
fn execution_order(dump: &Dump, names: &[OpName<'_>]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..dump.operations.len()).collect();
    if dump.level == "debug" {
        let is_late = |index: usize| dump.operations.get(index).is_some_and(|one| is_saved_gradient(one.name));
        order.sort_by_key(|index| is_late(*index));
        return order;
    }
    let mut last_backward: HashMap<&str, usize> = HashMap::new();
    for (index, (operation, name)) in dump.operations.iter().zip(names).enumerate() {
        if name.direction == Some(Direction::Backward) {
            last_backward.insert(name.base, index);
            if let Some(parent) = dump.parents.get(operation.name) {
                last_backward.insert(OpName::parse(parent).base, index);
            }
        }
    }
    order.sort_by_key(|index| match names.get(*index) {
        Some(name) if name.direction == Some(Direction::ParametersGradient) => {
            (last_backward.get(name.base).map_or(*index, |last| *last.max(index)), true)
        }
        _ => (*index, false),
    });
    order
}

fn is_saved_gradient(name: &str) -> bool {
    name.split('.').next().is_some_and(|base| base.ends_with("_grad"))
}

struct Side<'a> {
    dump: &'a Dump,
    /// Translated names; `None` where the dump's own names are paired.
    translated: Option<&'a Translated>,
    names: Vec<OpName<'a>>,
    order: Vec<usize>,
    /// Hash of the code in each stack, without that of the framework.
    codes: Vec<u64>,
}

/// Base name, call number and direction.
type Parts<'a> = (&'a str, Option<u64>, Option<Direction>);

/// Partner in the baseline, by candidate index.
type Partners = HashMap<usize, usize, RandomState>;

impl<'a> Side<'a> {
    fn new(dump: &'a Dump, translated: &'a Option<Translated>) -> Self {
        let mut names: Vec<OpName<'a>> =
            dump.operations.iter().map(|operation| OpName::parse(operation.name)).collect();
        let order = execution_order(dump, &names);
        let translated = translated.as_ref();
        if let Some(translated) = translated {
            names = translated.names.iter().map(|name| OpName::parse(name)).collect();
        }
        let stacks = dump.stacks.as_ref().map_or(&[][..], |stacks| stacks.values());
        Self { dump, translated, names, order, codes: stacks.iter().map(|stack| code_hash(stack)).collect() }
    }

    /// Name of an operation as it is paired.
    fn name(&self, index: usize) -> Option<&'a str> {
        match self.translated {
            Some(translated) => translated.names.get(index).map(String::as_str),
            None => self.operation(index).map(|operation| operation.name),
        }
    }

    fn all_names(&self) -> impl Iterator<Item = (usize, &'a str)> {
        (0..self.dump.operations.len()).filter_map(|index| Some((index, self.name(index)?)))
    }

    /// Name of the module that an operation ran in, as it is paired.
    fn parent(&self, index: usize) -> Option<&'a str> {
        match self.translated {
            Some(translated) => translated.parents.get(index)?.as_deref(),
            None => self.dump.parent_of(index),
        }
    }

    fn operation(&self, index: usize) -> Option<Operation<'a>> {
        self.dump.operations.get(index)
    }

    fn index_by_name(&self) -> HashMap<&'a str, usize, RandomState> {
        self.all_names().map(|(index, name)| (name, index)).collect()
    }

    fn index_by_parts(&self) -> HashMap<Parts<'_>, usize> {
        self.names.iter().enumerate().map(|(index, name)| ((name.base, name.call, name.direction), index)).collect()
    }

    /// Whether both sides have the same names in the same order, each called from the same place.
    fn has_calls_of(&self, candidate: &Side<'_>) -> bool {
        let calls = self.dump.operations.len();
        if calls != candidate.dump.operations.len() {
            return false;
        }
        let has_translated_names = self.translated.is_some() || candidate.translated.is_some();
        let are_names_shared = !has_translated_names && self.dump.operations.has_names_of(&candidate.dump.operations);
        let are_origins_shared = !has_translated_names && self.has_origins_of(candidate);
        (0..calls).into_par_iter().all(|index| {
            (are_names_shared || self.name(index) == candidate.name(index))
                && (are_origins_shared || self.origin(index) == candidate.origin(index))
        })
    }

    /// Whether both sides recorded equal parents and stacks of the same names.
    fn has_origins_of(&self, candidate: &Side<'_>) -> bool {
        let has_same_stacks = match (&self.dump.stacks, &candidate.dump.stacks) {
            (Some(stacks), Some(others)) => stacks.has_names_of(others) && self.codes == candidate.codes,
            (None, None) => true,
            _ => false,
        };
        let (parents, others) = (&self.dump.parents, &candidate.dump.parents);
        has_same_stacks && parents.has_names_of(others) && parents.values() == others.values()
    }

    /// The partners of all calls by name; `None` unless both sides have the same names, each called from the same place.
    fn by_name(&self, candidate: &Side<'_>) -> Option<Partners> {
        let names = self.index_by_name();
        let calls = candidate.dump.operations.len();
        let partner = |index: usize| {
            let partner = *names.get(candidate.name(index)?)?;
            (self.origin(partner) == candidate.origin(index)).then_some((index, partner))
        };
        let partners: Option<Vec<(usize, usize)>> =
            if names.len() == calls { (0..calls).into_par_iter().map(partner).collect() } else { None };
        partners.map(|partners| partners.into_iter().collect())
    }

    /// The partners of a tool's records by name alone.
    fn by_name_alone(&self, candidate: &Side<'_>) -> Partners {
        let names = self.index_by_name();
        candidate.all_names().filter_map(|(index, name)| Some((index, *names.get(name)?))).collect()
    }

    /// Operations that are aligned as a sequence: all but those that follow a forward operation.
    fn sequence(&self) -> Vec<usize> {
        let in_sequence = |index: &usize| self.names.get(*index).is_some_and(leads);
        self.order.iter().copied().filter(in_sequence).collect()
    }

    fn alike(&self) -> alike::Sequence<'a> {
        let indices = self.sequence();
        let keys = indices.iter().map(|index| self.key(*index, Detail::VALUES.with_origin())).collect();
        alike::Sequence { operations: &self.dump.operations, indices, keys }
    }

    /// Module that called an operation, and the hash of the code of its stack.
    fn origin(&self, index: usize) -> (Option<&'a str>, u64) {
        let stack = |operation: Operation<'_>| self.dump.stacks.as_ref()?.index(operation.name);
        let code = self.operation(index).and_then(stack).and_then(|stack| self.codes.get(stack).copied());
        (self.parent(index), code.unwrap_or(0))
    }

    fn key(&self, index: usize, detail: Detail) -> u64 {
        let mut hash = DefaultHasher::new();
        let (Some(operation), Some(name)) = (self.operation(index), self.names.get(index)) else { return 0 };
        (name.base, name.direction).hash(&mut hash);
        if detail.shapes {
            operation.leaves.iter().for_each(|leaf| hash_leaf(leaf, detail, &mut hash));
        }
        if detail.origin {
            self.origin(index).hash(&mut hash);
        }
        hash.finish()
    }
}

/// Parts of a call that its key holds beside the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Detail {
    /// Module and stack it was called from.
    origin: bool,
    /// Shapes and dtypes of its values.
    shapes: bool,
    /// Values of its plain arguments.
    values: bool,
}

impl Detail {
    const NAME: Self = Self { origin: false, shapes: false, values: false };
    const SHAPES: Self = Self { shapes: true, ..Self::NAME };
    const VALUES: Self = Self { values: true, ..Self::SHAPES };

    const fn with_origin(self) -> Self {
        Self { origin: true, ..self }
    }
}

fn hash_leaf(leaf: Leaf<'_>, detail: Detail, hash: &mut DefaultHasher) {
    leaf.kind.hash(hash);
    match &leaf.value {
        LeafValue::Null => 0.hash(hash),
        LeafValue::Damaged => 3.hash(hash),
        LeafValue::Tensor(tensor) => (1, tensor.dtype, tensor.shape).hash(hash),
        LeafValue::Plain { type_name, value, .. } => {
            (2, type_name).hash(hash);
            if detail.values {
                format!("{value:?}").hash(hash);
            }
        }
    }
}

/// A hash of the code in a stack, without that of the framework; that of no stack is 0.
fn code_hash(stack: &[String]) -> u64 {
    let frames = stack.iter().filter(|frame| !is_framework_frame(frame));
    let codes: Vec<&str> = frames.map(|frame| code_of(frame)).collect();
    if codes.is_empty() { 0 } else { crate::hash::hash_of(&codes) }
}

/// The function and source text of a frame, without its path and line: the two sides may be two checkouts.
fn code_of(frame: &str) -> &str {
    frame.split_once(", in ").map_or(frame, |(_, code)| code)
}

/// Aligns calls by their recorded properties and by where they were called from. If that fails for most calls, because the
/// two sides run different code or recorded no stacks, the properties alone are used. Otherwise two calls of different origin
/// are never the same call.
fn aligned(baseline: &Side<'_>, candidate: &Side<'_>) -> Partners {
    const ALONE: [Detail; 3] = [Detail::VALUES, Detail::SHAPES, Detail::NAME];
    let (left, right) = (baseline.sequence(), candidate.sequence());
    let mut partners = Partners::default();
    align(baseline, candidate, &left, &right, &ALONE.map(Detail::with_origin), &mut partners);
    if partners.len() * 2 < left.len().min(right.len()) {
        partners.clear();
        align(baseline, candidate, &left, &right, &ALONE, &mut partners);
    }
    pair_leftover_names(baseline, candidate, &mut partners);
    pair_within_gaps(baseline, candidate, &mut partners);
    move_gaps(baseline, candidate, partners)
}

/// Moves gaps among alike calls to the call that is really missing, which the recorded values show: first where the candidate
/// has more calls, then where the baseline has.
fn move_gaps(baseline: &Side<'_>, candidate: &Side<'_>, mut partners: Partners) -> Partners {
    alike::slide(&candidate.alike(), &baseline.dump.operations, &mut partners);
    let mut reverse: Partners = partners.into_iter().map(|(candidate, baseline)| (baseline, candidate)).collect();
    alike::slide(&baseline.alike(), &candidate.dump.operations, &mut reverse);
    reverse.into_iter().map(|(baseline, candidate)| (candidate, baseline)).collect()
}

/// Aligns two stretches on the first level of detail, and the unequal parts on the next level.
fn align(
    baseline: &Side<'_>,
    candidate: &Side<'_>,
    left: &[usize],
    right: &[usize],
    details: &[Detail],
    partners: &mut Partners,
) {
    let Some((detail, weaker)) = details.split_first() else { return };
    if left.is_empty() || right.is_empty() {
        return;
    }
    if weaker.is_empty() {
        return pair_equal_counts(baseline, candidate, left, right, *detail, partners);
    }
    let keys = |side: &Side<'_>, indices: &[usize]| -> Vec<u64> {
        indices.iter().map(|index| side.key(*index, *detail)).collect()
    };
    for stretch in sequence::align(&keys(baseline, left), &keys(candidate, right)) {
        let old = left.get(stretch.left).unwrap_or_default();
        let new = right.get(stretch.right).unwrap_or_default();
        if stretch.is_equal {
            partners.extend(new.iter().copied().zip(old.iter().copied()));
        } else {
            align(baseline, candidate, old, new, weaker, partners);
        }
    }
}

/// Pairs calls of one name in order, inside a stretch where nothing else agrees and both sides have the same number of them.
/// With different numbers, the pairs would be a guess.
fn pair_equal_counts(
    baseline: &Side<'_>,
    candidate: &Side<'_>,
    left: &[usize],
    right: &[usize],
    detail: Detail,
    partners: &mut Partners,
) {
    let by_name = |side: &Side<'_>, indices: &[usize]| {
        let mut calls: HashMap<u64, Vec<usize>> = HashMap::new();
        indices.iter().for_each(|index| calls.entry(side.key(*index, detail)).or_default().push(*index));
        calls
    };
    let of_baseline = by_name(baseline, left);
    for (name, calls) in by_name(candidate, right) {
        if let Some(others) = of_baseline.get(&name).filter(|others| others.len() == calls.len()) {
            partners.extend(calls.into_iter().zip(others.iter().copied()));
        }
    }
}

/// Pairs the operations that alignment left over by name, where origin, shapes and dtypes are the same as well: modules
/// and hooks may run in another order.
fn pair_leftover_names(baseline: &Side<'_>, candidate: &Side<'_>, partners: &mut Partners) {
    let taken: std::collections::HashSet<usize> = partners.values().copied().collect();
    let names = baseline.index_by_name();
    for index in candidate.sequence() {
        let Some(name) = candidate.name(index).filter(|_| !partners.contains_key(&index)) else { continue };
        let Some(other) = names.get(name).filter(|other| !taken.contains(other)) else { continue };
        if baseline.key(*other, Detail::SHAPES.with_origin()) == candidate.key(index, Detail::SHAPES.with_origin()) {
            partners.insert(index, *other);
        }
    }
}

/// Pairs unpaired calls between two paired ones by their own properties: the same call in the same neighbourhood, which another
/// function calls now, or with other arguments or shapes.
fn pair_within_gaps(baseline: &Side<'_>, candidate: &Side<'_>, partners: &mut Partners) {
    let taken: std::collections::HashSet<usize> = partners.values().copied().collect();
    let mut gaps: HashMap<Option<usize>, (Vec<usize>, Vec<usize>)> = HashMap::new();
    let mut before = None;
    for index in baseline.sequence() {
        if taken.contains(&index) {
            before = Some(index);
        } else {
            gaps.entry(before).or_default().0.push(index);
        }
    }
    before = None;
    for index in candidate.sequence() {
        match partners.get(&index) {
            Some(partner) => before = Some(*partner),
            None => gaps.entry(before).or_default().1.push(index),
        }
    }
    for (left, right) in gaps.into_values() {
        align(baseline, candidate, &left, &right, &[Detail::VALUES, Detail::SHAPES, Detail::NAME], partners);
        pair_modules(baseline, candidate, &left, &right, partners);
    }
}

/// Pairs calls of modules by their full name, which is their place in the model, whatever calls them.
fn pair_modules(baseline: &Side<'_>, candidate: &Side<'_>, left: &[usize], right: &[usize], partners: &mut Partners) {
    let taken: std::collections::HashSet<usize> = partners.values().copied().collect();
    let name = |side: &Side<'_>, index: usize| side.name(index).map(str::to_owned);
    let is_module = |name: &String| name.starts_with("Module.") || name.starts_with("Cell.");
    let free = left.iter().copied().filter(|index| !taken.contains(index));
    let names: HashMap<String, usize> = free.filter_map(|index| Some((name(baseline, index)?, index))).collect();
    for index in right.iter().copied() {
        let other = name(candidate, index).filter(is_module).and_then(|name| names.get(&name));
        if let Some(other) = other.filter(|_| !partners.contains_key(&index)) {
            partners.insert(index, *other);
        }
    }
}

/// Whether an operation is aligned by itself, instead of following its forward operation.
fn leads(name: &OpName<'_>) -> bool {
    !matches!(name.direction, Some(Direction::Backward | Direction::ParametersGradient))
}

/// A backward operation carries its forward operation's call number: its partner is the backward operation of the
/// forward partner. Where neither side dumped the forward operation, the name decides.
fn follow_forward(baseline: &Side<'_>, candidate: &Side<'_>, partners: &mut Partners) {
    let (of_baseline, of_candidate) = (baseline.index_by_parts(), candidate.index_by_parts());
    for (index, name) in candidate.names.iter().enumerate() {
        if leads(name) || partners.contains_key(&index) {
            continue;
        }
        let forward = (name.base, name.call, Some(Direction::Forward));
        let partner = match of_candidate.get(&forward).and_then(|forward| partners.get(forward)) {
            Some(partner) => baseline
                .names
                .get(*partner)
                .and_then(|partner| of_baseline.get(&(partner.base, partner.call, name.direction))),
            None if of_candidate.contains_key(&forward) || of_baseline.contains_key(&forward) => None,
            None => of_baseline.get(&(name.base, name.call, name.direction)),
        };
        if let Some(partner) = partner {
            partners.insert(index, *partner);
        }
    }
}

fn in_execution_order(baseline: &Side<'_>, candidate: &Side<'_>, partners: &Partners) -> Vec<IndexPair> {
    // By index of the baseline: when it ran, and whether it has a partner.
    let mut position = vec![0; baseline.order.len()];
    for (at, index) in baseline.order.iter().enumerate() {
        position.get_mut(*index).into_iter().for_each(|position| *position = at);
    }
    let mut paired = vec![false; position.len()];
    for partner in partners.values() {
        paired.get_mut(*partner).into_iter().for_each(|paired| *paired = true);
    }
    let is_paired = |index: usize| paired.get(index) == Some(&true);
    let mut waiting = baseline.order.iter().copied().peekable();
    let mut pairs = Vec::with_capacity(candidate.order.len());
    let mut reached = 0;
    for index in candidate.order.iter().copied() {
        let partner = partners.get(&index).copied();
        // Baseline-only operations go before the first candidate operation whose partner ran after them.
        if let Some(at) = partner.and_then(|partner| position.get(partner)).filter(|at| **at >= reached) {
            while let Some(missed) = waiting.next_if(|other| position.get(*other).is_some_and(|other| other < at)) {
                if !is_paired(missed) {
                    pairs.push(IndexPair::new(Some(missed), None));
                }
            }
            reached = *at;
        }
        pairs.push(IndexPair::new(partner, Some(index)));
    }
    let rest = waiting.filter(|index| !is_paired(*index));
    pairs.extend(rest.map(|index| IndexPair::new(Some(index), None)));
    pairs
}
