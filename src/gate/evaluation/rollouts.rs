//! Rollouts of both sides: the scores of their prompts are tested as those of a harness are, and their answers counted.

use crate::gate::outcome::CheckOutcome;
use crate::judge::evaluation::answers::{Tally, of_two};
use crate::pair::evaluation::PairedModel;
use crate::policy::Policy;
use crate::read::evaluation::Harness;
use crate::result::observation::Observation;
use crate::result::unit::Unit;
use crate::verdict::CheckId;

const ID: CheckId = CheckId::Evaluation;

/// Answers of rollouts by the place of their run.
pub(super) type Tallies = Vec<(String, Tally)>;

/// Says which answers of the candidate's rollouts are wrong by themselves; of each task with its unit.
pub(super) fn say(
    outcome: &mut CheckOutcome,
    models: &[PairedModel<'_>],
    policy: &Policy,
    [ours, theirs]: [&Tallies; 2],
) {
    let of = |tallies: &'_ Tallies, path: &str| tallies.iter().position(|(run, _)| run == path);
    for model in models.iter().filter(|model| model.candidate.harness == Harness::Verl) {
        let places = of(ours, &model.baseline.path).zip(of(theirs, &model.candidate.path));
        let Some(((_, ours), (_, theirs))) = places.and_then(|(our, their)| ours.get(our).zip(theirs.get(their)))
        else {
            continue;
        };
        for task in model.tasks.iter().filter(|task| policy.evaluation.judges(&task.name)) {
            let is_of_task = |unit: &Unit| match unit {
                Unit::Evaluation(unit) => unit.model == model.name && unit.task == task.name,
                _ => false,
            };
            let units = outcome.check.units.iter().enumerate().filter(|(_, unit)| is_of_task(unit));
            let units: Vec<usize> = units.map(|(place, _)| place).collect();
            let about = |finding| Observation { units: units.clone(), ..Observation::of_check(ID, finding) };
            let findings = of_two(&task.name, ours, theirs);
            outcome.observations.extend(findings.into_iter().map(about));
        }
    }
}
