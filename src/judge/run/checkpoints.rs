//! Checkpoints of one run: some parameter must change between two of them.

use super::motion::standstill_finding;
use crate::result::finding::Finding;
use crate::result::run::{Invariant, Looked};
use crate::verdict::{CheckId, Severity};

/// Number of intervals at the end without any change that fails; a single interval warns.
const STANDSTILL: usize = 2;

/// Motion of parameters from one checkpoint to the next.
#[derive(Debug, Default)]
pub struct Checkpoints {
    intervals: usize,
    standing: usize,
    since: u64,
    parameters: usize,
}

impl Checkpoints {
    /// Adds an interval, which begins at the checkpoint of `step`; `has_moved` is `None` if nothing could be compared.
    pub(crate) fn add_interval(&mut self, step: u64, parameters: usize, has_moved: Option<bool>) {
        let Some(has_moved) = has_moved else { return };
        self.parameters = self.parameters.max(parameters);
        self.intervals += 1;
        if has_moved {
            self.standing = 0;
            return;
        }
        if self.standing == 0 {
            self.since = step;
        }
        self.standing += 1;
    }

    /// The finding, and the state of the invariant after `checkpoints` checkpoints.
    pub fn finish(self, checkpoints: usize) -> (Option<Finding>, Looked) {
        const ID: Invariant = Invariant::ParametersMove;
        if self.intervals == 0 {
            return (None, Looked::not(ID, if checkpoints == 1 { "one-step" } else { "no-parameters" }));
        }
        let is_still = self.standing >= STANDSTILL || self.standing == self.intervals;
        let counts = [("parameters", self.parameters), ("steps", self.intervals + 1)];
        let finding = is_still.then(|| {
            let finding = standstill_finding("checkpoints", self.since, self.parameters, self.standing);
            let finding = finding.of_check(CheckId::Checkpoint);
            if self.standing >= STANDSTILL { finding } else { finding.with_severity(Severity::Warn) }
        });
        (finding, Looked::over(ID, !is_still, counts))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_intervals_without_motion_fail_and_one_alone_warns() {
        for (moves, expected) in [
            (&[Some(false), Some(false)][..], Some(Severity::Fail)),
            (&[Some(false)], Some(Severity::Warn)),
            (&[Some(true), Some(false)], None),
            (&[Some(true), Some(false), Some(false)], Some(Severity::Fail)),
            (&[None, None], None),
        ] {
            let mut checkpoints = Checkpoints::default();
            (0..).zip(moves).for_each(|(step, has_moved)| checkpoints.add_interval(step, 3, *has_moved));
            let (finding, _) = checkpoints.finish(moves.len() + 1);
            assert_eq!(finding.map(|finding| finding.severity), expected, "{moves:?}");
        }
    }
}
