//! Checkpoints of one run beside each other: between two of them something has moved.

use std::collections::BTreeMap;

use crate::compare::checkpoint::has_moved;
use crate::judge::run::rules::NEVER_MOVE;
use crate::pair::checkpoint as pair;
use crate::read::checkpoint::{Checkpoint, CheckpointPlace};
use crate::result::finding::Finding;
use crate::result::run::{Invariant, Looked};
use crate::verdict::{CheckId, Severity};

/// Intervals at the end without any motion that fail; one interval warns.
const STANDSTILL: usize = 2;

/// The checkpoints of one run in the order of their steps: the largest group of paths that differ in one number alone.
pub(super) fn in_order(places: &[CheckpointPlace]) -> Vec<(u64, &CheckpointPlace)> {
    let mut runs: BTreeMap<String, BTreeMap<u64, &CheckpointPlace>> = BTreeMap::new();
    for place in places {
        if let Some((run, step)) = step_of(&place.path) {
            runs.entry(run).or_default().insert(step, place);
        }
    }
    let run = runs.into_values().max_by_key(BTreeMap::len).unwrap_or_default();
    run.into_iter().collect()
}

/// The number at the end of a folder's name, or of the file's where no folder has one, and the path without it.
fn step_of(path: &str) -> Option<(String, u64)> {
    let parts: Vec<&str> = path.split('/').collect();
    let (file, folders) = parts.split_last()?;
    let number = |part: &str| {
        let name = part.trim_end_matches(|letter: char| letter.is_ascii_digit());
        Some((name.len(), part.get(name.len()..)?.parse().ok()?))
    };
    let in_folder = folders.iter().enumerate().rev().find_map(|(place, part)| {
        let (end, step) = number(part)?;
        Some((place, part.get(..end)?.to_owned(), step))
    });
    let in_file = || {
        let (stem, ending) = file.split_once('.').unwrap_or((file, ""));
        let (end, step) = number(stem)?;
        Some((folders.len(), format!("{}.{ending}", stem.get(..end)?), step))
    };
    let (place, name, step) = in_folder.or_else(in_file)?;
    let mut run: Vec<&str> = parts;
    *run.get_mut(place)? = &name;
    Some((run.join("/"), step))
}

/// Motion of parameters from one checkpoint to the next.
#[derive(Default)]
pub(super) struct Motion {
    before: Option<(u64, Checkpoint)>,
    checkpoints: usize,
    intervals: usize,
    standing: usize,
    since: u64,
    parameters: usize,
}

impl Motion {
    /// Takes the next checkpoint.
    pub(super) fn take(&mut self, step: u64, checkpoint: Checkpoint) {
        self.checkpoints += 1;
        if let Some((since, before)) = &self.before {
            let pairs = pair::parameters(before, &checkpoint, &BTreeMap::new());
            self.parameters = self.parameters.max(pairs.matched.len());
            match has_moved(&pairs) {
                Some(true) => (self.intervals, self.standing) = (self.intervals + 1, 0),
                Some(false) => {
                    if self.standing == 0 {
                        self.since = *since;
                    }
                    (self.intervals, self.standing) = (self.intervals + 1, self.standing + 1);
                }
                None => {}
            }
        }
        self.before = Some((step, checkpoint));
    }

    /// The finding, and what was looked at.
    pub(super) fn finish(self) -> (Option<Finding>, Looked) {
        const ID: Invariant = Invariant::ParametersMove;
        if self.intervals == 0 {
            return (None, Looked::not(ID, if self.checkpoints == 1 { "one-step" } else { "no-parameters" }));
        }
        let is_still = self.standing >= STANDSTILL || self.standing == self.intervals;
        let counts = [("parameters", self.parameters), ("steps", self.intervals + 1)];
        let finding = is_still.then(|| {
            let finding = Finding::new(&NEVER_MOVE, "checkpoints")
                .of_check(CheckId::Checkpoint)
                .with("step", self.since)
                .with("count", self.parameters)
                .with("intervals", self.standing)
                .with("what", "checkpoints");
            if self.standing >= STANDSTILL { finding } else { finding.with_severity(Severity::Warn) }
        });
        (finding, Looked::over(ID, !is_still, counts))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checkpoints_of_a_run_differ_in_one_number() {
        for (path, run, step) in [
            ("checkpoint-10/model.safetensors", "checkpoint-/model.safetensors", 10),
            ("run/global_step200/mp_rank_00_model_states.pt", "run/global_step/mp_rank_00_model_states.pt", 200),
            ("ckpt/epoch_3.pt", "ckpt/epoch_.pt", 3),
        ] {
            assert_eq!(step_of(path), Some((run.to_owned(), step)), "{path}");
        }
        assert_eq!(step_of("model.safetensors"), None);
    }
}
