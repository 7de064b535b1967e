//! The check of evaluations: results of harnesses on both sides to a verdict per metric.

mod alone;
mod found;
mod required;
mod rollouts;
mod samples;

use std::collections::{BTreeSet, HashSet};

use super::discover::{Extent, Inventory, Recogniser, RecognitionEvidence};
use super::outcome::CheckOutcome;
use super::wiring::GateCheck;
use crate::fetch::progress::Progress;
use crate::judge::evaluation::generations::JudgedGenerations;
use crate::judge::evaluation::run::JudgedEvaluation;
use crate::judge::evaluation::{generations, rules, run};
use crate::judge::rule::artifacts::NOTHING_RECOGNISED;
use crate::judge::rule::policy::SELECTOR_UNUSED;
use crate::pair::evaluation::{self as pair, TextPair};
use crate::policy::Policy;
use crate::read::account::UnreadNumbers;
use crate::read::evaluation::{self as read, EvaluationRun, OpenFiles, TextPlace};
use crate::read::metric;
use crate::result::finding::{Fact, Finding};
use crate::result::observation::Observation;
use crate::result::unit::Unit;
use crate::verdict::{CheckId, Side};
use found::{SideEvaluations, read_evaluations};
use required::required_task_findings;

/// The check of evaluations.
pub(super) const CHECK: GateCheck = GateCheck {
    // A file of samples may be empty; its name and place still say what it would be.
    recogniser: Recogniser {
        check: ID,
        evidence: RecognitionEvidence::Place,
        extent: Extent::Content,
        recognise: found::recognise,
    },
    judge: |sides, _, shared| Ok(check(&sides.baseline, &sides.candidate, &shared.request.policy, shared.progress)),
    judge_alone: Some(alone::check),
    judge_samples: Some(samples::check),
    measure: None,
    judge_tree: None,
};

const ID: CheckId = CheckId::Evaluation;

/// Judges the evaluations of both sides.
pub(super) fn check(
    baseline: &Inventory,
    candidate: &Inventory,
    policy: &Policy,
    progress: &dyn Progress,
) -> CheckOutcome {
    let mut outcome = CheckOutcome::new(ID);
    let has = (baseline.has_files_of(ID), candidate.has_files_of(ID));
    if has == (false, false) {
        return outcome;
    }
    progress.begin("comparing evaluations", 0);
    let (baseline_found, candidate_found) = rayon::join(|| read_evaluations(baseline), || read_evaluations(candidate));
    // A side without any evaluation is reported elsewhere, as a check with artifacts on one side only.
    if has == (true, true) {
        let (baseline_files, candidate_files) =
            (OpenFiles::new(baseline.all_files()), OpenFiles::new(candidate.all_files()));
        let texts = |baseline_place: &TextPlace, candidate_place: &TextPlace| {
            let baseline = read::sample_texts(&baseline_files, baseline_place).ok()?;
            Some(TextPair { baseline, candidate: read::sample_texts(&candidate_files, candidate_place).ok()? })
        };
        judge_runs(&mut outcome, &baseline_found, &candidate_found, policy, &texts);
        judge_generations(&mut outcome, &baseline_found, &candidate_found, policy);
        rollouts::judge(&mut outcome, &baseline_found.rollouts, &candidate_found.rollouts, policy);
        let broken = broken(&outcome);
        outcome.judge_unread(accounts(&baseline_found), accounts(&candidate_found), &broken);
        let missing = required_task_findings(&outcome, policy);
        outcome.add_findings(missing);
        for (side, inventory, of_side) in
            [(Side::Baseline, baseline, &baseline_found), (Side::Candidate, candidate, &candidate_found)]
        {
            // Parts of evaluations without one that could be judged.
            if of_side.runs.is_empty() && of_side.generations.is_empty() && of_side.rollouts.is_empty() {
                let finding = Finding::new(&NOTHING_RECOGNISED, inventory.location()).of_check(ID);
                let finding = finding.with("side", side.as_str()).with("files", inventory.file_count());
                outcome.add_findings([finding]);
            }
        }
    }
    outcome
}

fn judge_runs<'a>(
    outcome: &mut CheckOutcome,
    baseline: &'a SideEvaluations,
    candidate: &'a SideEvaluations,
    policy: &Policy,
    texts: &run::TextReader<'_>,
) {
    let (models, _) = pair::pair_models(&baseline.runs, &candidate.runs);
    let paired: HashSet<*const EvaluationRun> =
        models.iter().flat_map(|model| [model.baseline, model.candidate]).map(std::ptr::from_ref).collect();
    // Every run without a partner is reported, whatever the reason.
    let of_side = |side: Side, runs: &'a [EvaluationRun]| {
        runs.iter()
            .filter(|run| !paired.contains(&std::ptr::from_ref(*run)))
            .map(move |run| (side, run))
            .collect::<Vec<_>>()
    };
    let lonely = [of_side(Side::Baseline, &baseline.runs), of_side(Side::Candidate, &candidate.runs)].concat();
    let judged = run::judge(&models, &lonely, policy, texts);
    let unused = unused(&judged, policy);
    add(outcome, judged);
    if !outcome.check.units.is_empty() {
        outcome.add_findings(unused);
    }
}

/// Accounts of the runs of a side.
fn accounts(side: &SideEvaluations) -> impl Iterator<Item = &UnreadNumbers> {
    side.runs.iter().map(|run| &run.account).chain(rollouts::accounts(&side.rollouts))
}

/// Canonical names of the metrics that a finding already reports as not finite.
fn broken(outcome: &CheckOutcome) -> BTreeSet<String> {
    let told = outcome.observations.iter().map(|said| &said.finding).filter(|finding| finding.is(&rules::NON_FINITE));
    let metric = |finding: &Finding| match finding.facts.get("metric") {
        Some(Fact::Text(metric)) => Some(metric::canonical(metric).into_owned()),
        _ => None,
    };
    told.filter_map(metric).collect()
}

/// Keys of margins that fitted no unit.
fn unused(judged: &JudgedEvaluation, policy: &Policy) -> Vec<Finding> {
    let keys = policy.evaluation.margin.named.keys();
    keys.filter(|key| !judged.used.contains(*key)).map(|key| Finding::new(&SELECTOR_UNUSED, key)).collect()
}

/// Adds judged units to the outcome; a finding about a task is attached to each unit of the task.
fn add(outcome: &mut CheckOutcome, judged: JudgedEvaluation) {
    let JudgedEvaluation { units, tasks, rest, .. } = judged;
    let first = outcome.check.units.len();
    let mut of_tasks: Vec<Vec<usize>> = vec![Vec::new(); tasks.len()];
    for (place, unit) in units.iter().enumerate() {
        if let Some(places) = unit.task.and_then(|nth| of_tasks.get_mut(nth)) {
            places.push(first + place);
        }
    }
    for (findings, places) in tasks.into_iter().zip(of_tasks) {
        let about = |finding| Observation { units: places.clone(), ..Observation::of_check(ID, finding) };
        outcome.observations.extend(findings.into_iter().map(about));
    }
    for run::JudgedEvaluationUnit { unit, findings, .. } in units {
        outcome.add_unit(Unit::Evaluation(Box::new(unit)), findings);
    }
    outcome.add_findings(rest);
}

fn judge_generations(
    outcome: &mut CheckOutcome,
    baseline: &SideEvaluations,
    candidate: &SideEvaluations,
    policy: &Policy,
) {
    let is_judged = |task: &str| policy.evaluation.judges(task);
    let (paired, names) = pair::pair_generations(&baseline.generations, &candidate.generations);
    for paired in paired.iter().filter(|paired| is_judged(&paired.candidate.task)) {
        let JudgedGenerations { unit, findings } = generations::judge(paired, policy);
        outcome.add_unit(Unit::Generation(Box::new(unit)), findings);
    }
    for (side, task) in names.iter().filter(|(_, task)| is_judged(task)) {
        let lacking = if *side == Side::Baseline { Side::Candidate } else { Side::Baseline };
        let finding = Finding::new(&rules::TASK_MISSING, task).with("side", lacking.as_str());
        outcome.add_findings([finding.with("task", task.as_str())]);
    }
}
