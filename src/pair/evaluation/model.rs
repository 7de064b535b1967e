//! Pairing of models and tasks, and the settings that make a task incomparable.

use std::collections::{BTreeMap, BTreeSet};

use super::metric::{self, Join, PairedMetric};
use crate::read::evaluation::{EvaluationRun, EvaluationTask, Harness};
use crate::read::json::{self, Json};
use crate::verdict::Side;

/// One model of both sides.
pub struct PairedModel<'a> {
    /// The model's name on the candidate side.
    pub name: String,
    /// The baseline's run.
    pub baseline: &'a EvaluationRun,
    /// The candidate's run.
    pub candidate: &'a EvaluationRun,
    /// Settings of the model that differ.
    pub settings: Vec<SettingDifference>,
    /// Tasks of one side only, each with the side that lacks it.
    pub missing: Vec<(Side, String)>,
    /// Tasks of both sides, by name.
    pub tasks: Vec<PairedTask>,
}

/// A setting that differs; a side that does not have it holds `None`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingDifference {
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
    pub unequal: Vec<SettingDifference>,
    /// Whether answers are drawn at random on either side.
    pub is_sampled: bool,
    /// Numbers of documents asked on the baseline and on the candidate, where they differ.
    pub limits: Option<(u64, u64)>,
    /// Metrics of both sides, each under each filter.
    pub metrics: Vec<PairedMetric>,
    /// Metrics of one side only, as `metric` or `metric,filter`, each with the side that lacks it.
    pub metrics_missing: Vec<(Side, String)>,
}

/// Pairs the runs of each harness by the model's name; a single run on each side is always a pair. Also returns the models of
/// one side only.
pub fn pair_models<'a>(
    baseline: &'a [EvaluationRun],
    candidate: &'a [EvaluationRun],
) -> (Vec<PairedModel<'a>>, Vec<(Side, String)>) {
    let mut pairs = Vec::new();
    let mut alone = Vec::new();
    let harnesses: BTreeSet<Harness> = baseline.iter().chain(candidate).map(|run| run.harness).collect();
    for harness in harnesses {
        let of = |runs: &'a [EvaluationRun]| -> BTreeMap<&'a str, &'a EvaluationRun> {
            runs.iter().filter(|run| run.harness == harness).map(|run| (run.model.as_str(), run)).collect()
        };
        let (baseline_runs, mut candidate_runs) = (of(baseline), of(candidate));
        let is_one = baseline_runs.len() == 1 && candidate_runs.len() == 1;
        for (name, baseline) in baseline_runs {
            let found =
                if is_one { candidate_runs.pop_first().map(|(_, run)| run) } else { candidate_runs.remove(name) };
            match found {
                Some(candidate) => pairs.push(model(baseline, candidate)),
                None => alone.push((Side::Baseline, name.to_owned())),
            }
        }
        alone.extend(candidate_runs.into_keys().map(|name| (Side::Candidate, name.to_owned())));
    }
    (pairs, alone)
}

fn model<'a>(baseline: &'a EvaluationRun, candidate: &'a EvaluationRun) -> PairedModel<'a> {
    let mut missing = Vec::new();
    let mut tasks = Vec::new();
    for (name, baseline_task) in &baseline.tasks {
        match candidate.tasks.get(name) {
            Some(candidate_task) => tasks.push(task(baseline.harness, name, baseline_task, candidate_task)),
            None => missing.push((Side::Candidate, name.clone())),
        }
    }
    let only = candidate.tasks.keys().filter(|name| !baseline.tasks.contains_key(*name));
    missing.extend(only.map(|name| (Side::Baseline, name.clone())));
    // Missing or damaged results have no settings, which would look like differences.
    let are_known = !baseline.settings.is_empty() && !candidate.settings.is_empty();
    let settings = if are_known { differences(&baseline.settings, &candidate.settings) } else { Vec::new() };
    PairedModel { name: candidate.model.clone(), baseline, candidate, settings, missing, tasks }
}

/// Differences between two sets of settings, by name.
fn differences(baseline: &BTreeMap<String, String>, candidate: &BTreeMap<String, String>) -> Vec<SettingDifference> {
    let names: BTreeSet<&String> = baseline.keys().chain(candidate.keys()).collect();
    let differs = names.into_iter().filter(|name| baseline.get(*name) != candidate.get(*name));
    let difference = |name: &String| SettingDifference {
        name: name.clone(),
        baseline: baseline.get(name).cloned(),
        candidate: candidate.get(name).cloned(),
    };
    differs.map(difference).collect()
}

fn task(harness: Harness, name: &str, baseline: &EvaluationTask, candidate: &EvaluationTask) -> PairedTask {
    let mut unequal = Vec::new();
    for (name, baseline, candidate) in
        [("version", &baseline.version, &candidate.version), ("shots", &baseline.shots, &candidate.shots)]
    {
        if baseline.is_some() && candidate.is_some() && baseline != candidate {
            unequal.push(SettingDifference {
                name: name.to_owned(),
                baseline: baseline.clone(),
                candidate: candidate.clone(),
            });
        }
    }
    unequal.extend(generation(baseline, candidate));
    let limits = baseline.asked.zip(candidate.asked).filter(|(baseline, candidate)| baseline != candidate);
    let (metrics, metrics_missing) = metric::metrics(&Join { harness, limits }, baseline, candidate);
    PairedTask {
        name: name.to_owned(),
        unequal,
        is_sampled: baseline.is_sampled || candidate.is_sampled,
        limits,
        metrics,
        metrics_missing,
    }
}

/// The settings of generation that differ, in one text per side.
fn generation(baseline: &EvaluationTask, candidate: &EvaluationTask) -> Option<SettingDifference> {
    let (baseline, candidate) = (baseline.generation.as_ref()?, candidate.generation.as_ref()?);
    if baseline == candidate {
        return None;
    }
    let differing = differences(&entries(baseline), &entries(candidate));
    let text = |value: fn(&SettingDifference) -> Option<&String>| {
        let parts: Vec<String> = differing
            .iter()
            .filter_map(|difference| value(difference).map(|value| format!("{}: {value}", difference.name)))
            .collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    };
    Some(SettingDifference {
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
