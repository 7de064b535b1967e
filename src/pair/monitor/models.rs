//! Distinction between several models that one process monitors and several starts of one model.
//!
//! Each monitor writes its own folder, and so does each start. Two folders of one rank are two models where they record the same
//! steps and differ in shapes, or where both sides have the same number of such folders: a restart repeats only a few steps.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::kind::{MonitorKind, Statistic};
use crate::read::monitor::{MonitorRow, RankTables};
use crate::verdict::{PerSide, Side};

/// Most folders of a rank that may be different models; more are taken for starts.
const MOST: usize = 16;

/// A folder, as its first step shows it.
struct Folder {
    name: String,
    steps: BTreeSet<i64>,
    shapes: BTreeMap<(MonitorKind, Arc<str>), Option<Arc<str>>>,
    /// Tensors with their ends before anything was updated, which are equal on both sides.
    ends: BTreeSet<(MonitorKind, Arc<str>, [Option<u64>; 2])>,
}

impl Folder {
    fn of(tables: &RankTables, name: &str, steps: BTreeSet<i64>) -> Self {
        let rows = steps.first().map(|first| tables.folder_rows(name, *first)).unwrap_or_default();
        let ends =
            |row: &MonitorRow| [Statistic::Min, Statistic::Max].map(|end| row.statistics.get(end).map(f64::to_bits));
        Self {
            name: name.to_owned(),
            steps,
            ends: rows.iter().map(|row| (row.kind, row.canonical.clone(), ends(row))).collect(),
            shapes: rows.into_iter().map(|row| ((row.kind, row.canonical), row.shape)).collect(),
        }
    }

    /// Whether both folders share at least half of the steps of the shorter one.
    fn overlaps(&self, other: &Self) -> bool {
        let shared = self.steps.intersection(&other.steps).count();
        shared > 0 && 2 * shared >= self.steps.len().min(other.steps.len())
    }

    /// Whether a tensor of the same name has another shape.
    fn contradicts(&self, other: &Self) -> bool {
        let differs = |(name, shape): (&(MonitorKind, Arc<str>), &Option<Arc<str>>)| {
            let other = other.shapes.get(name).and_then(Option::as_ref);
            name.0 != MonitorKind::Comm && shape.as_ref().zip(other).is_some_and(|(left, right)| left != right)
        };
        self.shapes.iter().any(differs)
    }

    /// Likeness to a folder of the other side: equal tensors, then shapes.
    fn likeness(&self, other: &Self) -> (usize, usize) {
        let shapes = self.shapes.iter().filter(|(name, shape)| other.shapes.get(*name) == Some(*shape)).count();
        (self.ends.intersection(&other.ends).count(), shapes)
    }
}

/// Models of each folder of both sides, by number; empty where the folders are starts of one model.
pub(crate) fn models_of_both_sides(sides: &PerSide<&RankTables>) -> PerSide<BTreeMap<String, u64>> {
    if Side::BOTH.into_iter().all(|side| sides[side].folders().len() < 2) {
        return PerSide::of(|_| BTreeMap::new());
    }
    let folders = PerSide::of(|side| folders(sides[side]));
    let all_overlap = |side: Side| {
        let folders: &[Folder] = &folders[side];
        folders.iter().skip(1).all(|folder| folders.first().is_some_and(|first| folder.overlaps(first)))
    };
    let as_many = folders.baseline.len() > 1 && folders.baseline.len() == folders.candidate.len();
    let are_models = as_many && Side::BOTH.into_iter().all(all_overlap)
        || Side::BOTH.into_iter().any(|side| are_models(&folders[side]));
    if !are_models {
        return PerSide::of(|_| BTreeMap::new());
    }
    let baseline = numbered(&folders.baseline);
    let candidate = matched(&folders.baseline, &folders.candidate, &baseline);
    PerSide { baseline, candidate }
}

/// Models of each folder of a run alone.
pub(crate) fn models_of_one_run(tables: &RankTables) -> BTreeMap<String, u64> {
    if tables.folders().len() < 2 {
        return BTreeMap::new();
    }
    let folders = folders(tables);
    if are_models(&folders) { numbered(&folders) } else { BTreeMap::new() }
}

fn folders(tables: &RankTables) -> Vec<Folder> {
    let all = tables.folders().into_iter().filter(|(_, steps)| !steps.is_empty());
    let folders: Vec<(&str, BTreeSet<i64>)> = all.collect();
    if folders.len() > MOST {
        return Vec::new();
    }
    folders.into_iter().map(|(name, steps)| Folder::of(tables, name, steps)).collect()
}

/// Whether folders that record the same steps contradict each other in shapes.
fn are_models(folders: &[Folder]) -> bool {
    let pairs =
        folders.iter().enumerate().flat_map(|(nth, one)| folders.iter().skip(nth + 1).map(move |other| (one, other)));
    pairs.into_iter().any(|(one, other)| one.overlaps(other) && one.contradicts(other))
}

/// Numbers the models: each folder is one, except later starts, which record other steps with the same shapes.
fn numbered(folders: &[Folder]) -> BTreeMap<String, u64> {
    let mut models: Vec<&Folder> = Vec::new();
    let mut numbers = BTreeMap::new();
    for folder in folders {
        let known = models.iter().position(|model| !model.overlaps(folder) && !model.contradicts(folder));
        let number = known.unwrap_or(models.len());
        if known.is_none() {
            models.push(folder);
        }
        numbers.insert(folder.name.clone(), number as u64);
    }
    numbers
}

/// Numbers of the candidate's folders: that of the most similar folder of the baseline, else a new one.
fn matched(baseline: &[Folder], candidate: &[Folder], numbers: &BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    let mut free: Vec<&Folder> = baseline.iter().collect();
    let mut next = numbers.values().max().map_or(0, |most| most + 1);
    let mut found = BTreeMap::new();
    for folder in candidate {
        let like = |one: &&Folder| one.likeness(folder);
        let best = free.iter().enumerate().rev().max_by_key(|(_, one)| like(one)).map(|(place, _)| place);
        let number = best.map(|place| free.remove(place)).and_then(|one| numbers.get(&one.name).copied());
        found.insert(folder.name.clone(), number.unwrap_or(next));
        next += u64::from(number.is_none());
    }
    found
}
