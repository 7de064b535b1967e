//! Evaluations of a side: their files are recognised during discovery, and read when the check runs.

use super::rollouts::Tallied;
use crate::gate::discover::{FileSample, Inventory, RecognisedFile};
use crate::judge::evaluation::answers::measure_answer;
use crate::judge::evaluation::rollouts::RolloutTally;
use crate::read::evaluation::{self, EvaluationFile, EvaluationFileKind, EvaluationRun, Generations};

pub(super) struct SideEvaluations {
    /// Runs of harnesses.
    pub(super) runs: Vec<EvaluationRun>,
    /// Generation records.
    pub(super) generations: Vec<Generations>,
    /// Rollouts by folder.
    pub(super) rollouts: Tallied,
}

pub(super) fn recognise(sample: &FileSample<'_>) -> Option<RecognisedFile> {
    let kind = evaluation::recognise(sample.head, sample.path, sample.files.as_ref())?;
    if kind == EvaluationFileKind::Other {
        return Some(RecognisedFile::part(kind.name(), "the same stands in the results"));
    }
    Some(RecognisedFile::read(kind.name(), EvaluationFile { path: sample.path.to_owned(), kind }))
}

/// Reads the evaluations of a side.
pub(super) fn read_evaluations(inventory: &Inventory) -> SideEvaluations {
    let (files, recognised) = (inventory.all_files(), inventory.artifacts::<EvaluationFile>());
    let evaluations = evaluation::read(files, recognised);
    let mut found =
        SideEvaluations { runs: evaluations.runs, generations: evaluations.generations, rollouts: Tallied::new() };
    found.rollouts = evaluation::read_rollouts(files, recognised, measure_answer, RolloutTally::add);
    found
}
