//! Pairing of generation records: files by name, records by keys that both sides share, or by line.

use std::collections::{BTreeMap, BTreeSet};

use crate::read::evaluation::{Generation, Generations};
use crate::verdict::Side;

/// Generation records of both sides.
pub struct PairedGenerations<'a> {
    /// The baseline's file.
    pub baseline: &'a Generations,
    /// The candidate's file.
    pub candidate: &'a Generations,
    /// Records of both sides with equal prompts, by their places in the files, in the baseline's order.
    pub pairs: Vec<(usize, usize)>,
    /// Names of the pairs: the shared key, or the line.
    pub names: Vec<String>,
    /// Records whose prompts differ.
    pub prompts: u64,
    /// Records of the baseline only.
    pub only_baseline: u64,
    /// Records of the candidate only.
    pub only_candidate: u64,
    /// Records with a key that another one of the side has, with another answer.
    pub contradictory: u64,
    /// Records of failed requests.
    pub failed: u64,
}

/// Pairs files of both sides by path, then by name; a single file on each side is always a pair. Also returns the files of one
/// side only.
pub fn pair_generations<'a>(
    baseline: &'a [Generations],
    candidate: &'a [Generations],
) -> (Vec<PairedGenerations<'a>>, Vec<(Side, String)>) {
    let mut baseline_files: Vec<&Generations> = baseline.iter().collect();
    let mut candidate_files: Vec<&Generations> = candidate.iter().collect();
    let mut pairs = Vec::new();
    let by_path = |file: &Generations| file.path.clone();
    let by_task = |file: &Generations| file.task.clone();
    take(&mut baseline_files, &mut candidate_files, by_path, &mut pairs);
    take(&mut baseline_files, &mut candidate_files, by_task, &mut pairs);
    if let ([our], [their], true) = (baseline_files.as_slice(), candidate_files.as_slice(), pairs.is_empty()) {
        pairs.push((*our, *their));
        (baseline_files, candidate_files) = (Vec::new(), Vec::new());
    }
    pairs.sort_by(|(one, _), (other, _)| one.path.cmp(&other.path));
    let alone = |files: Vec<&Generations>, side| -> Vec<(Side, String)> {
        files.into_iter().map(|file| (side, file.task.clone())).collect()
    };
    let mut missing = alone(baseline_files, Side::Baseline);
    missing.extend(alone(candidate_files, Side::Candidate));
    (pairs.into_iter().map(|(baseline, candidate)| records(baseline, candidate)).collect(), missing)
}

/// Moves files whose names are unique on both sides to the pairs.
fn take<'a>(
    baseline: &mut Vec<&'a Generations>,
    candidate: &mut Vec<&'a Generations>,
    name: impl Fn(&Generations) -> String,
    pairs: &mut Vec<(&'a Generations, &'a Generations)>,
) {
    let unique = |files: &[&'a Generations]| {
        let mut by_name: BTreeMap<String, Vec<&'a Generations>> = BTreeMap::new();
        for file in files {
            by_name.entry(name(file)).or_default().push(file);
        }
        by_name
    };
    let other = unique(candidate);
    let mut taken = BTreeSet::new();
    for (name, files) in unique(baseline) {
        if let ([our], Some([their])) = (files.as_slice(), other.get(&name).map(Vec::as_slice)) {
            pairs.push((our, their));
            taken.insert(name);
        }
    }
    baseline.retain(|file| !taken.contains(&name(file)));
    candidate.retain(|file| !taken.contains(&name(file)));
}

/// Identity of a record within its file.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Key<'a> {
    Name(&'a str),
    Line(u64),
}

/// Records of a side by key, and those that contradict another one.
struct Keyed<'a> {
    /// Places in the file; `None` where records of the key contradict each other.
    places: BTreeMap<Key<'a>, Option<usize>>,
    contradictory: u64,
}

fn records<'a>(baseline: &'a Generations, candidate: &'a Generations) -> PairedGenerations<'a> {
    let names = |file: &'a Generations| -> BTreeSet<&'a str> {
        file.records.iter().filter_map(|record| record.key.as_deref()).collect()
    };
    let (our_names, their_names) = (names(baseline), names(candidate));
    // An id that most records share does not identify them.
    let are_many = |file: &Generations, names: &BTreeSet<&str>| 2 * names.len() > file.records.len();
    let is_shared =
        !our_names.is_disjoint(&their_names) && are_many(baseline, &our_names) && are_many(candidate, &their_names);
    let (baseline_keyed, candidate_keyed) = (keyed(baseline, is_shared), keyed(candidate, is_shared));
    let mut paired = PairedGenerations {
        baseline,
        candidate,
        pairs: Vec::new(),
        names: Vec::new(),
        prompts: 0,
        only_baseline: 0,
        only_candidate: candidate_keyed.places.keys().filter(|key| !baseline_keyed.places.contains_key(key)).count()
            as u64,
        contradictory: baseline_keyed.contradictory + candidate_keyed.contradictory,
        failed: 0,
    };
    let mut found = Vec::new();
    for (key, our) in &baseline_keyed.places {
        match (our, candidate_keyed.places.get(key)) {
            (Some(our), Some(Some(their))) => found.push((*our, *their, key)),
            (_, None) => paired.only_baseline += 1,
            _ => {}
        }
    }
    found.sort_by_key(|(our, _, _)| *our);
    for (our, their, key) in found {
        let (Some(one), Some(other)) = (baseline.records.get(our), candidate.records.get(their)) else { continue };
        if one.prompt.as_ref().zip(other.prompt.as_ref()).is_some_and(|(one, other)| one != other) {
            paired.prompts += 1;
        } else if one.is_failed || other.is_failed {
            paired.failed += 1;
        } else {
            paired.pairs.push((our, their));
            paired.names.push(match key {
                Key::Name(name) => (*name).to_owned(),
                Key::Line(line) => line.to_string(),
            });
        }
    }
    paired
}

fn keyed(file: &Generations, is_shared: bool) -> Keyed<'_> {
    let mut keyed = Keyed { places: BTreeMap::new(), contradictory: 0 };
    let mut firsts: BTreeMap<Key<'_>, &Generation> = BTreeMap::new();
    for (place, record) in file.records.iter().enumerate() {
        let name = record.key.as_deref().filter(|_| is_shared);
        let key = name.map_or(Key::Line(record.line), Key::Name);
        match firsts.get(&key) {
            None => {
                firsts.insert(key.clone(), record);
                keyed.places.insert(key, Some(place));
            }
            // A request that failed and was sent again.
            Some(first) if first.is_failed && !record.is_failed => {
                firsts.insert(key.clone(), record);
                keyed.places.insert(key, Some(place));
            }
            Some(first) if !record.is_failed && (first.text != record.text || first.prompt != record.prompt) => {
                keyed.contradictory += 1;
                keyed.places.insert(key, None);
            }
            Some(_) => {}
        }
    }
    keyed
}
