//! Decides whether two profiles of a rank can be compared at all.

use crate::compare::performance::run::{ProfileRun, TimeSource};
use crate::judge::performance::rules;
use crate::policy::Policy;
use crate::read::performance::{ProfileDevice, ProfilerSettings};
use crate::result::finding::Finding;
use crate::verdict::Side;

/// Most settings that a finding names.
const SHOWN: usize = 6;

/// Findings about files that cannot be read to their end.
pub(super) fn damage(place: &str, runs: [&ProfileRun; 2]) -> Vec<Finding> {
    let sides = [Side::Baseline, Side::Candidate].into_iter().zip(runs);
    let of_side = |(side, run): (Side, &ProfileRun)| {
        let finding = |damage: &crate::read::performance::ProfileDamage| {
            Finding::new(&rules::FILE_DAMAGED, damage.path.as_str())
                .with("unit", place)
                .with("side", side.as_str())
                .with("reason", damage.reason.as_str())
                .with("help", damage.help.as_str())
        };
        run.damage().map(finding).collect::<Vec<_>>()
    };
    sides.flat_map(of_side).collect()
}

/// The source of step times that both sides have; otherwise findings about the missing one.
pub(super) fn source(place: &str, runs: [&ProfileRun; 2]) -> Result<TimeSource, Vec<Finding>> {
    let sides = || [Side::Baseline, Side::Candidate].into_iter().zip(runs);
    let blind: Vec<Finding> = sides()
        .filter(|(_, run)| !run.has_device())
        .map(|(side, run)| {
            let files: Vec<String> = run.recordings.iter().map(|recording| recording.profile.place.clone()).collect();
            Finding::new(&rules::NO_DEVICE, place).with("side", side.as_str()).with("files", files)
        })
        .collect();
    // A damaged file explains what is missing, and has a finding of its own.
    let is_whole = |run: &ProfileRun| run.damage().next().is_none();
    if blind.iter().len() > 0 {
        let is_damaged = |finding: &Finding| {
            sides().any(|(side, run)| finding.facts.get("side") == Some(&side.as_str().into()) && !is_whole(run))
        };
        return Err(blind.into_iter().filter(|finding| !is_damaged(finding)).collect());
    }
    if let Some(twice) = ambiguous(place, sides()) {
        return Err(vec![twice]);
    }
    if runs.iter().all(|run| run.has_kernel_steps()) {
        return Ok(TimeSource::Kernels);
    }
    let [baseline, candidate] = runs;
    let counts_alike = baseline.counts_pauses() == candidate.counts_pauses();
    if runs.iter().all(|run| run.has_step_table()) && counts_alike {
        return Ok(TimeSource::StepTable);
    }
    let lacks = |run: &ProfileRun| match (run.has_kernel_steps(), run.has_step_table()) {
        (true, _) => None,
        (false, true) => Some("kernels"),
        (false, false) => Some("both"),
    };
    let missing = sides().filter(|(_, run)| is_whole(run)).filter_map(|(side, run)| {
        let finding = Finding::new(&rules::FILE_MISSING, place).with("side", side.as_str());
        Some(finding.with("what", lacks(run)?).with("is_trace", word(run.device() == ProfileDevice::Gpu)))
    });
    Err(missing.collect())
}

fn word(is_so: bool) -> &'static str {
    if is_so { "yes" } else { "" }
}

fn ambiguous<'a>(place: &str, mut sides: impl Iterator<Item = (Side, &'a ProfileRun)>) -> Option<Finding> {
    sides.find_map(|(side, run)| {
        let [first, second] = run.places_of_same_step()?;
        let finding = Finding::new(&rules::STEPS_TWICE, place).with("side", side.as_str());
        Some(finding.with("first", first).with("second", second))
    })
}

/// Finding about settings of the profiler that differ.
pub(super) fn settings(place: &str, [baseline, candidate]: [&ProfileRun; 2]) -> Option<Finding> {
    if baseline.device() != candidate.device() {
        return None;
    }
    let (ProfilerSettings(baseline_values), ProfilerSettings(candidate_values)) =
        (baseline.settings()?, candidate.settings()?);
    let names = baseline_values.keys().filter(|name| {
        candidate_values.contains_key(*name) && candidate_values.get(*name) != baseline_values.get(*name)
    });
    let differing = names
        .filter_map(|name| Some(format!("{name} ({}, {})", baseline_values.get(name)?, candidate_values.get(name)?)));
    let differing: Vec<String> = differing.take(SHOWN).collect();
    let is_same = differing.is_empty();
    (!is_same).then(|| {
        Finding::new(&rules::SETTINGS_DIFFER, place).with("count", differing.len()).with("settings", differing)
    })
}

/// Finding about different hardware, from devices, their names and declared labels; `None` where it is equal.
pub(super) fn other_hardware(place: &str, runs: [&ProfileRun; 2], policy: &Policy) -> Option<Finding> {
    let [baseline_device, candidate_device] = runs.map(device);
    let labels = [&policy.baseline.label, &policy.candidate.label];
    let hardware = [&policy.loss.hardware.baseline, &policy.loss.hardware.candidate];
    let differ = |[left, right]: [&String; 2]| !left.is_empty() && !right.is_empty() && left != right;
    let finding = |[left, right]: [&str; 2]| {
        Finding::new(&rules::OTHER_HARDWARE, place).with("baseline", left).with("candidate", right)
    };
    let [baseline, candidate] = runs;
    let names_differ =
        matches!((baseline.device_name(), candidate.device_name()), (Some(left), Some(right)) if left != right);
    if baseline.device() != candidate.device() || names_differ {
        Some(finding([&baseline_device, &candidate_device]))
    } else if differ(hardware) {
        Some(finding(hardware.map(String::as_str)))
    } else if differ(labels) {
        Some(finding(labels.map(String::as_str)))
    } else {
        None
    }
}

/// The device of a run under its usual name.
pub(super) fn device(run: &ProfileRun) -> String {
    let kind = if run.device() == ProfileDevice::Gpu { "GPU" } else { "Ascend NPU" };
    run.device_name().unwrap_or(kind).to_owned()
}
