//! Judging evaluations without a baseline: answers are judged by themselves, scores need another run.

use super::required::required;
use crate::fetch::progress::Progress;
use crate::gate::discover::Inventory;
use crate::gate::outcome::CheckOutcome;
use crate::judge::evaluation::alone;
use crate::judge::evaluation::answers::{Tally, measured};
use crate::judge::rule::artifacts::NEEDS_BASELINE;
use crate::policy::Policy;
use crate::read::evaluation::{self as read, EvaluationFile, FileKind};
use crate::result::finding::Finding;
use crate::result::unit::Unit;
use crate::verdict::CheckId;

const ID: CheckId = CheckId::Evaluation;

/// Judges the candidate's answers.
pub(in crate::gate) fn check(candidate: &Inventory, policy: &Policy, progress: &dyn Progress) -> CheckOutcome {
    let mut outcome = CheckOutcome::new(ID);
    if !candidate.has(ID) {
        return outcome;
    }
    progress.begin("looking through answers", 0);
    let files = candidate.all::<EvaluationFile>();
    let answered = read::answers(candidate.all_files(), files, measured, Tally::add);
    if answered.is_empty() || files.iter().any(|file| is_of_harness(file.kind)) {
        let finding = Finding::new(&NEEDS_BASELINE, ID.as_str()).of_check(ID).with("check", ID.as_str());
        outcome.say([finding]);
    }
    let answered: Vec<_> = answered.into_iter().filter(|(file, _)| policy.evaluation.judges(&file.task)).collect();
    let judged: Vec<_> = answered.iter().map(|(file, tally)| alone::judge(file, tally)).collect();
    let tallies: Vec<&Tally> = answered.iter().map(|(_, tally)| tally).collect();
    outcome.looked.extend(alone::looked(&judged, &tallies));
    for one in judged {
        outcome.add_unit(Unit::Generation(Box::new(one.unit)), one.findings);
    }
    let missing = required(&outcome, policy);
    outcome.say(missing);
    outcome
}

/// Whether a file comes from a harness, whose scores mean nothing without those of another run.
fn is_of_harness(kind: FileKind) -> bool {
    !matches!(kind, FileKind::Generations | FileKind::Rollouts | FileKind::GenerationSettings)
}
