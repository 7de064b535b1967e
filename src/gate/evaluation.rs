//! The check of evaluations: results of harnesses on both sides to a verdict per metric.

mod found;

use std::collections::HashSet;

use super::checks::GateCheck;
use super::discover::{Evidence, Extent, Inventory, Recogniser};
use super::{CheckOutcome, Progress};
use crate::judge::apply_policy::apply_policy;
use crate::judge::evaluation::generations::JudgedGenerations;
use crate::judge::evaluation::run::Judged;
use crate::judge::evaluation::{generations, rules, run};
use crate::judge::rule::artifacts::NOTHING_RECOGNISED;
use crate::judge::rule::policy::SELECTOR_UNUSED;
use crate::pair::evaluation::{self as pair, TextPair};
use crate::policy::Policy;
use crate::read::evaluation::{self as read, KeptOpen, Run, TextPlace};
use crate::result::finding::{Finding, verdict_of};
use crate::result::unit::Unit;
use crate::verdict::{CheckId, Side, Verdict};
use found::{Found, found};

/// The check of evaluations.
pub(super) const CHECK: GateCheck = GateCheck {
    // A file of samples may be empty; its name and place still say what it would be.
    recogniser: Recogniser { check: ID, by: Evidence::Place, extent: Extent::Content, look: found::recognise },
    judge: |sides, _, shared| Ok(check(&sides.baseline, &sides.candidate, &shared.request.policy, shared.progress)),
    health: None,
    measure: None,
    of_tree: None,
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
    let has = (baseline.has(ID), candidate.has(ID));
    if has == (false, false) {
        return outcome;
    }
    progress.begin("comparing evaluations", 0);
    let (ours, theirs) = rayon::join(|| found(baseline), || found(candidate));
    // A side without any evaluation is told as such.
    if has == (true, true) {
        let (our_files, their_files) = (KeptOpen::new(baseline.all_files()), KeptOpen::new(candidate.all_files()));
        let texts = |ours: &TextPlace, theirs: &TextPlace| {
            let baseline = read::texts(&our_files, ours).ok()?;
            Some(TextPair { baseline, candidate: read::texts(&their_files, theirs).ok()? })
        };
        judge_runs(&mut outcome, &ours, &theirs, policy, &texts);
        judge_generations(&mut outcome, &ours, &theirs, policy);
        let missing = required(&outcome, policy);
        take(&mut outcome, missing, policy);
        for (side, inventory, of_side) in [(Side::Baseline, baseline, &ours), (Side::Candidate, candidate, &theirs)] {
            // Parts of evaluations without one that could be judged.
            if of_side.runs.is_empty() && of_side.generations.is_empty() {
                let finding = Finding::new(&NOTHING_RECOGNISED, inventory.location()).of_check(ID);
                let finding = finding.with("side", side.as_str()).with("files", inventory.files());
                take(&mut outcome, vec![finding], policy);
            }
        }
    }
    outcome
}

fn judge_runs<'a>(
    outcome: &mut CheckOutcome,
    ours: &'a Found,
    theirs: &'a Found,
    policy: &Policy,
    texts: &run::Texts<'_>,
) {
    let (models, _) = pair::models(&ours.runs, &theirs.runs);
    let paired: HashSet<*const Run> =
        models.iter().flat_map(|model| [model.baseline, model.candidate]).map(std::ptr::from_ref).collect();
    // Whatever found no partner is told, for whichever reason.
    let of_side = |side: Side, runs: &'a [Run]| {
        runs.iter()
            .filter(|run| !paired.contains(&std::ptr::from_ref(*run)))
            .map(move |run| (side, run))
            .collect::<Vec<_>>()
    };
    let lonely = [of_side(Side::Baseline, &ours.runs), of_side(Side::Candidate, &theirs.runs)].concat();
    let judged = run::judge(&models, &lonely, policy, texts);
    let unused = unused(&judged, policy);
    add(outcome, judged, policy);
    if !outcome.check.units.is_empty() {
        take(outcome, unused, policy);
    }
}

/// Findings about tasks that the policy names and of which nothing was judged.
fn required(outcome: &CheckOutcome, policy: &Policy) -> Vec<Finding> {
    let task = |unit: &Unit| match unit {
        Unit::Evaluation(unit) => Some((unit.task.clone(), unit.test.is_some())),
        Unit::Generation(unit) => Some((unit.task.clone(), unit.compared > 0)),
        _ => None,
    };
    let tasks: Vec<(String, bool)> = outcome.check.units.iter().filter_map(task).collect();
    let tasks: Vec<(&str, bool)> = tasks.iter().map(|(task, is_tested)| (task.as_str(), *is_tested)).collect();
    run::required(&tasks, &policy.evaluation)
}

/// Keys of margins that fitted no unit.
fn unused(judged: &Judged, policy: &Policy) -> Vec<Finding> {
    let keys = policy.evaluation.margin.named.keys();
    keys.filter(|key| !judged.used.contains(*key)).map(|key| Finding::new(&SELECTOR_UNUSED, key)).collect()
}

/// Takes judged units over, each with the verdict of its own findings and its task's.
fn add(outcome: &mut CheckOutcome, judged: Judged, policy: &Policy) {
    let Judged { units, tasks, rest, .. } = judged;
    let mut verdicts = Vec::new();
    for findings in tasks {
        verdicts.push(take(outcome, findings, policy));
    }
    for run::JudgedUnit { mut unit, findings, task } in units {
        let own = take(outcome, findings, policy);
        let of_task = task.and_then(|task| verdicts.get(task).copied()).unwrap_or(Verdict::Pass);
        unit.verdict = run::verdict(&unit, own.max(of_task));
        outcome.check.verdict = outcome.check.verdict.max(unit.verdict);
        outcome.check.units.push(Unit::Evaluation(Box::new(unit)));
    }
    take(outcome, rest, policy);
}

/// Findings after the policy; gives the verdict that they lead to.
fn take(outcome: &mut CheckOutcome, findings: Vec<Finding>, policy: &Policy) -> Verdict {
    let applied = apply_policy(findings, policy);
    let verdict = verdict_of(&applied.findings);
    outcome.findings.extend(applied.findings);
    outcome.waived.extend(applied.waived);
    if verdict > Verdict::Pass {
        outcome.check.verdict = outcome.check.verdict.max(verdict);
    }
    verdict
}

fn judge_generations(outcome: &mut CheckOutcome, ours: &Found, theirs: &Found, policy: &Policy) {
    let is_judged = |task: &str| policy.evaluation.judges(task);
    let (paired, names) = pair::generations(&ours.generations, &theirs.generations);
    for paired in paired.iter().filter(|paired| is_judged(&paired.candidate.task)) {
        let JudgedGenerations { mut unit, findings } = generations::judge(paired, policy);
        let verdict = take(outcome, findings, policy);
        // What was not compared never passes.
        unit.verdict = if verdict == Verdict::Pass && unit.compared == 0 { Verdict::Skipped } else { verdict };
        outcome.check.verdict = outcome.check.verdict.max(unit.verdict);
        outcome.check.units.push(Unit::Generation(Box::new(unit)));
    }
    for (side, task) in names.iter().filter(|(_, task)| is_judged(task)) {
        let lacking = if *side == Side::Baseline { Side::Candidate } else { Side::Baseline };
        let finding = Finding::new(&rules::TASK_MISSING, task).with("side", lacking.as_str());
        take(outcome, vec![finding.with("task", task.as_str())], policy);
    }
}
