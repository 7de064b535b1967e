//! Evaluations of a side: their files are recognised during discovery, and read when the check runs.

use super::rollouts::Tallied;
use crate::gate::discover::{Inventory, Recognised, Sample};
use crate::judge::evaluation::answers::measured;
use crate::judge::evaluation::rollouts::RolloutTally;
use crate::read::evaluation::{self, EvaluationFile, FileKind, Generations, Run};

/// Evaluations of a side.
pub(super) struct Found {
    /// Runs of harnesses.
    pub(super) runs: Vec<Run>,
    /// Generation records.
    pub(super) generations: Vec<Generations>,
    /// Rollouts by folder.
    pub(super) rollouts: Tallied,
}

/// Recognises a file.
pub(super) fn recognise(sample: &Sample<'_>) -> Option<Recognised> {
    let kind = evaluation::recognise(sample.head, sample.path, sample.files.as_ref())?;
    if kind == FileKind::Other {
        return Some(Recognised::part(kind.name(), "the same stands in the results"));
    }
    Some(Recognised::read(kind.name(), EvaluationFile { path: sample.path.to_owned(), kind }))
}

/// Reads the evaluations of a side.
pub(super) fn found(inventory: &Inventory) -> Found {
    let (files, recognised) = (inventory.all_files(), inventory.all::<EvaluationFile>());
    let evaluations = evaluation::read(files, recognised);
    let mut found = Found { runs: evaluations.runs, generations: evaluations.generations, rollouts: Tallied::new() };
    found.rollouts = evaluation::rollouts(files, recognised, measured, RolloutTally::add);
    found
}
