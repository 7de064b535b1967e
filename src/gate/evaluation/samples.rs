//! Judging the scores of several evaluations per side: a verdict per task and metric.

use std::collections::BTreeMap;

use super::found::read_evaluations;
use crate::error::Result;
use crate::gate::discover::Inventory;
use crate::gate::outcome::CheckOutcome;
use crate::gate::sides::Sides;
use crate::gate::surroundings::Shared;
use crate::judge::samples::decide::SampleSetting;
use crate::judge::samples::scores::{RunScores, judge};
use crate::pair::evaluation::higher_is_better;
use crate::result::unit::Unit;
use crate::verdict::{CheckId, PerSide, Side};

const ID: CheckId = CheckId::Evaluation;

/// Task, metric and filter of a score.
type Key = (String, String, Option<String>);

/// Scores of a run with the direction that its harness says is better.
type OfRun = BTreeMap<Key, (f64, Option<bool>)>;

/// Judges the scores of all runs together.
pub(super) fn check(sides: &mut Sides, shared: &Shared<'_>, tests: &mut usize) -> Result<CheckOutcome> {
    let mut outcome = CheckOutcome::new(ID);
    let policy = &shared.request.policy;
    let Some(sampled) = &sides.samples else { return Ok(outcome) };
    let runs = |side: Side| {
        let first = if side == Side::Baseline { &sides.baseline } else { &sides.candidate };
        [first].into_iter().chain(&sampled.further_runs[side])
    };
    if !Side::BOTH.into_iter().any(|side| runs(side).any(|run| run.has_files_of(ID))) {
        return Ok(outcome);
    }
    let of_sides = PerSide::of(|side| runs(side).map(scores).collect::<Vec<OfRun>>());
    let mut keys: BTreeMap<Key, Option<bool>> = BTreeMap::new();
    for (key, (_, higher)) in of_sides.each().flatten().flatten() {
        let known = keys.entry(key.clone()).or_default();
        *known = known.or(*higher);
    }
    let of = |(key, higher): (&Key, &Option<bool>)| {
        let (task, metric, filter) = key.clone();
        let value = |run: &OfRun| run.get(key).map(|(value, _)| *value);
        RunScores {
            of_runs: PerSide::of(|side| of_sides[side].iter().map(value).collect()),
            higher_is_better: higher.or_else(|| higher_is_better(&metric)),
            task,
            metric,
            filter,
        }
    };
    let scores: Vec<RunScores> = keys.iter().map(of).collect();
    let setting = SampleSetting { policy: &policy.samples, profile: policy.profile };
    let (judged, count) = judge(&scores, &sampled.runs, &policy.evaluation.margin, setting);
    *tests += count;
    for one in judged {
        outcome.add_unit(Unit::Sample(Box::new(one.unit)), one.findings);
    }
    Ok(outcome)
}

/// Finite scores of a run, with their direction where the harness says it.
fn scores(run: &Inventory) -> OfRun {
    let mut scores = OfRun::new();
    let found = read_evaluations(run);
    let rollouts = found.rollouts.into_iter().map(|(rollouts, _)| rollouts.run);
    for run in found.runs.into_iter().chain(rollouts) {
        for (task, of_task) in run.tasks {
            for (name, score) in of_task.scores.into_iter().filter(|(_, score)| score.value.is_finite()) {
                scores.insert((task.clone(), name.metric, name.filter), (score.value, score.higher_is_better));
            }
        }
    }
    scores
}
