//! Judging evaluations without a baseline: answers are judged by themselves, scores need another run.

use super::required::required_task_findings;
use crate::fetch::progress::Progress;
use crate::gate::discover::Inventory;
use crate::gate::outcome::CheckOutcome;
use crate::judge::evaluation::alone;
use crate::judge::evaluation::answers::{AnswerTally, measure_answer};
use crate::judge::rule::artifacts::NEEDS_BASELINE;
use crate::policy::Policy;
use crate::read::evaluation::{self as read, EvaluationFile, EvaluationFileKind};
use crate::result::finding::Finding;
use crate::result::unit::Unit;
use crate::verdict::CheckId;

const ID: CheckId = CheckId::Evaluation;

/// Judges the candidate's answers.
pub(in crate::gate) fn check(candidate: &Inventory, policy: &Policy, progress: &dyn Progress) -> CheckOutcome {
    let mut outcome = CheckOutcome::new(ID);
    if !candidate.has_files_of(ID) {
        return outcome;
    }
    progress.begin("looking through answers", 0);
    let files = candidate.artifacts::<EvaluationFile>();
    let answered = read::measure_answers(candidate.all_files(), files, measure_answer, AnswerTally::add);
    if answered.is_empty() || files.iter().any(|file| is_of_harness(file.kind)) {
        let finding = Finding::new(&NEEDS_BASELINE, ID.as_str()).of_check(ID).with("check", ID.as_str());
        outcome.add_findings([finding]);
    }
    let answered: Vec<_> = answered.into_iter().filter(|(file, _)| policy.evaluation.judges(&file.task)).collect();
    let judged: Vec<_> = answered.iter().map(|(file, tally)| alone::judge(file, tally)).collect();
    let tallies: Vec<&AnswerTally> = answered.iter().map(|(_, tally)| tally).collect();
    outcome.looked.extend(alone::answers_invariant(&judged, &tallies));
    for one in judged {
        outcome.add_unit(Unit::Generation(Box::new(one.unit)), one.findings);
    }
    let missing = required_task_findings(&outcome, policy);
    outcome.add_findings(missing);
    outcome
}

/// Whether a file comes from a harness, whose scores mean nothing without those of another run.
fn is_of_harness(kind: EvaluationFileKind) -> bool {
    !matches!(
        kind,
        EvaluationFileKind::Generations | EvaluationFileKind::Rollouts | EvaluationFileKind::GenerationSettings
    )
}
