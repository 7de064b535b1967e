//! Models and tasks: which belong together, and what makes another question of a task.

use std::collections::{BTreeMap, BTreeSet};

use super::metric::{self, Join, PairedMetric};
use crate::read::evaluation::{Harness, Run, Task};
use crate::read::json::{self, Json};
use crate::verdict::Side;

/// One model of both sides.
pub struct PairedModel<'a> {
    /// The model's name on the candidate side.
    pub name: String,
    /// The baseline's run.
    pub baseline: &'a Run,
    /// The candidate's run.
    pub candidate: &'a Run,
    /// Settings of the model that differ.
    pub settings: Vec<Difference>,
    /// Tasks of one side only, each with the side that lacks it.
    pub missing: Vec<(Side, String)>,
    /// Tasks of both sides, by name.
    pub tasks: Vec<PairedTask>,
}

/// A setting that differs; a side that does not have it holds `None`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The setting.
    pub name: String,
    /// The baseline's value.
    pub baseline: Option<String>,
    /// The candidate's value.
    pub candidate: Option<String>,
}

/// A task of both sides.
pub struct PairedTask {
    /// Its name.
    pub name: String,
    /// Differences that make another question out of it, so that nothing of it is tested: `version`, `shots`, and
    /// `generation` with the settings that differ.
    pub unequal: Vec<Difference>,
    /// Whether answers are drawn at random on either side.
    pub is_sampled: bool,
    /// Numbers of documents asked on the baseline and on the candidate, where they differ.
    pub limits: Option<(u64, u64)>,
    /// Metrics of both sides, each under each filter.
    pub metrics: Vec<PairedMetric>,
    /// Metrics of one side only, as `metric` or `metric,filter`, each with the side that lacks it.
    pub metrics_missing: Vec<(Side, String)>,
}

/// Pairs the runs of both sides: of one harness by the model's name, and one on each side whatever its name. With them the
/// models of one side only.
pub fn models<'a>(baseline: &'a [Run], candidate: &'a [Run]) -> (Vec<PairedModel<'a>>, Vec<(Side, String)>) {
    let mut pairs = Vec::new();
    let mut alone = Vec::new();
    let harnesses: BTreeSet<Harness> = baseline.iter().chain(candidate).map(|run| run.harness).collect();
    for harness in harnesses {
        let of = |runs: &'a [Run]| -> BTreeMap<&'a str, &'a Run> {
            runs.iter().filter(|run| run.harness == harness).map(|run| (run.model.as_str(), run)).collect()
        };
        let (ours, mut theirs) = (of(baseline), of(candidate));
        let is_one = ours.len() == 1 && theirs.len() == 1;
        for (name, baseline) in ours {
            let found = if is_one { theirs.pop_first().map(|(_, run)| run) } else { theirs.remove(name) };
            match found {
                Some(candidate) => pairs.push(model(baseline, candidate)),
                None => alone.push((Side::Baseline, name.to_owned())),
            }
        }
        alone.extend(theirs.into_keys().map(|name| (Side::Candidate, name.to_owned())));
    }
    (pairs, alone)
}

fn model<'a>(baseline: &'a Run, candidate: &'a Run) -> PairedModel<'a> {
    let mut missing = Vec::new();
    let mut tasks = Vec::new();
    for (name, ours) in &baseline.tasks {
        match candidate.tasks.get(name) {
            Some(theirs) => tasks.push(task(baseline.harness, name, ours, theirs)),
            None => missing.push((Side::Candidate, name.clone())),
        }
    }
    let only = candidate.tasks.keys().filter(|name| !baseline.tasks.contains_key(*name));
    missing.extend(only.map(|name| (Side::Baseline, name.clone())));
    // Results that are missing or damaged tell no setting at all.
    let are_known = !baseline.settings.is_empty() && !candidate.settings.is_empty();
    let settings = if are_known { differences(&baseline.settings, &candidate.settings) } else { Vec::new() };
    PairedModel { name: candidate.model.clone(), baseline, candidate, settings, missing, tasks }
}

/// Differences between two sets of settings, by name.
fn differences(ours: &BTreeMap<String, String>, theirs: &BTreeMap<String, String>) -> Vec<Difference> {
    let names: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
    let differs = names.into_iter().filter(|name| ours.get(*name) != theirs.get(*name));
    let difference = |name: &String| Difference {
        name: name.clone(),
        baseline: ours.get(name).cloned(),
        candidate: theirs.get(name).cloned(),
    };
    differs.map(difference).collect()
}

fn task(harness: Harness, name: &str, ours: &Task, theirs: &Task) -> PairedTask {
    let mut unequal = Vec::new();
    for (name, ours, theirs) in [("version", &ours.version, &theirs.version), ("shots", &ours.shots, &theirs.shots)] {
        if ours.is_some() && theirs.is_some() && ours != theirs {
            unequal.push(Difference { name: name.to_owned(), baseline: ours.clone(), candidate: theirs.clone() });
        }
    }
    unequal.extend(generation(ours, theirs));
    let limits = ours.asked.zip(theirs.asked).filter(|(ours, theirs)| ours != theirs);
    let (metrics, metrics_missing) = metric::metrics(&Join { harness, limits }, ours, theirs);
    PairedTask {
        name: name.to_owned(),
        unequal,
        is_sampled: ours.is_sampled || theirs.is_sampled,
        limits,
        metrics,
        metrics_missing,
    }
}

/// The settings of generation that differ, in one text per side.
fn generation(ours: &Task, theirs: &Task) -> Option<Difference> {
    let (ours, theirs) = (ours.generation.as_ref()?, theirs.generation.as_ref()?);
    if ours == theirs {
        return None;
    }
    let differing = differences(&entries(ours), &entries(theirs));
    let text = |value: fn(&Difference) -> Option<&String>| {
        let parts: Vec<String> = differing
            .iter()
            .filter_map(|difference| value(difference).map(|value| format!("{}: {value}", difference.name)))
            .collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    };
    Some(Difference {
        name: "generation".to_owned(),
        baseline: text(|difference| difference.baseline.as_ref()),
        candidate: text(|difference| difference.candidate.as_ref()),
    })
}

/// The entries of a canonical text of settings.
fn entries(text: &str) -> BTreeMap<String, String> {
    let settings = json::parse_bytes("settings", text.as_bytes()).unwrap_or(Json::Null);
    let entries = settings.as_object().unwrap_or_default();
    entries.iter().map(|(key, value)| (key.clone(), json::to_text(value))).collect()
}
