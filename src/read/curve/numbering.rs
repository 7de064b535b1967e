//! Steps in order, where the counter of a file falls back.
//!
//! A counter falls back for one of three reasons. If an epoch is logged and rises, the counter restarted with the epoch: steps are
//! renumbered to run through all epochs. If it falls to a step between the first and the last so far, the run was resumed: the
//! later values count. If it falls to its beginning and no epoch is logged, passes of equal length are epochs too; passes of
//! different lengths are several runs, and nothing shows which of them is meant.

use std::collections::BTreeMap;

/// Reason why a stretch of records begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    /// It is the first stretch.
    Start,
    /// The epoch rose.
    Epoch,
    /// The counter fell back, and no epoch rose.
    Back,
}

/// Consecutive records whose counter never falls.
#[derive(Clone, Debug)]
struct Stretch {
    turn: Turn,
    first: u64,
    last: u64,
    /// Smallest distance between two neighbouring steps.
    gap: Option<u64>,
    /// Epoch of its first record.
    epoch: Option<f64>,
}

/// The stretches of a file, or of one rank in it.
#[derive(Debug, Default)]
pub(super) struct Stretches {
    list: Vec<Stretch>,
    /// Epoch of the last record.
    epoch: Option<f64>,
}

/// Places of the stretches in the run.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Numbering {
    /// Offset that is added to the steps of each stretch.
    pub(super) offsets: Vec<u64>,
    /// One entry for each stretch of a resumed run: last step before it and its first step, both renumbered.
    pub(super) resumes: Vec<(u64, u64)>,
    /// Number of times the counter restarted without a logged epoch.
    pub(super) restarts: u64,
    /// Whether the counter counts steps within epochs.
    pub(super) has_epochs: bool,
    /// Whether the stretches belong to several runs.
    pub(super) is_several_runs: bool,
}

impl Stretches {
    /// Index of the stretch that new records belong to.
    pub(super) fn current(&self) -> usize {
        self.list.len().saturating_sub(1)
    }

    /// The last logged epoch.
    pub(super) fn epoch(&self) -> Option<f64> {
        self.epoch
    }

    /// Whether there is at most one stretch, so that no steps need to be renumbered.
    pub(super) fn is_plain(&self) -> bool {
        self.list.len() < 2
    }

    /// Takes a record. `last` is the step at which one of its metrics was logged before, in the current stretch.
    pub(super) fn add_record(&mut self, step: u64, last: Option<u64>, epoch: Option<f64>) {
        let epoch = epoch.filter(|epoch| epoch.is_finite());
        let rises = matches!((self.epoch, epoch), (Some(before), Some(epoch)) if before < epoch);
        let goes_back = matches!((self.epoch, epoch), (Some(before), Some(epoch))
            if epoch < before && is_whole(epoch) && is_whole(before));
        self.epoch = epoch.or(self.epoch);
        let Some(current) = self.list.last_mut() else {
            return self.begin(Turn::Start, step, epoch);
        };
        // The same step again in a new epoch is an evaluation beside that step, unless it is the only step of its epoch.
        let falls = last.is_some_and(|last| step < last || step == last && rises && step == current.first);
        if falls || goes_back && last.is_some() {
            return self.begin(if rises { Turn::Epoch } else { Turn::Back }, step, epoch);
        }
        if step > current.last {
            let gap = step - current.last;
            current.gap = Some(current.gap.map_or(gap, |smallest| smallest.min(gap)));
            current.last = step;
        }
        current.first = current.first.min(step);
    }

    fn begin(&mut self, turn: Turn, step: u64, epoch: Option<f64>) {
        self.list.push(Stretch { turn, first: step, last: step, gap: None, epoch });
    }

    /// The numbering of the stretches. `repeats` tells for each stretch whether it logs a step that was logged before.
    pub(super) fn resolve(&self, repeats: &[bool]) -> Numbering {
        let again = |index: usize| repeats.get(index).copied().unwrap_or_default();
        let begins_again: Vec<bool> = self
            .list
            .iter()
            .enumerate()
            .map(|(index, stretch)| stretch.turn == Turn::Back && again(index) && self.is_beginning(stretch))
            .collect();
        let restarts = begins_again.iter().filter(|again| **again).count() as u64;
        if restarts > 0 && !self.passes_are_equal(&begins_again) {
            let offsets = vec![0; self.list.len()];
            return Numbering { offsets, is_several_runs: true, ..Numbering::default() };
        }
        let mut numbering = Numbering { restarts, ..Numbering::default() };
        numbering.has_epochs = restarts > 0 || self.list.iter().any(|stretch| stretch.turn == Turn::Epoch);
        let length = if numbering.has_epochs { self.length() } else { 0 };
        let mut last: Option<u64> = None;
        // Numbers of epochs by the logged epoch that a stretch began in, for stretches that go back to an earlier one.
        let mut of_epochs: BTreeMap<u64, u64> = BTreeMap::new();
        for (index, (stretch, begins_again)) in self.list.iter().zip(begins_again).enumerate() {
            let earlier = || of_epochs.range(..=order_of(stretch.epoch?)).next_back().map(|(_, place)| *place);
            let place = match (stretch.turn, last) {
                (Turn::Start, _) | (_, None) => epochs_before(stretch.epoch),
                (Turn::Epoch, Some(last)) => last.saturating_add(self.epochs_since(index)),
                (Turn::Back, Some(last)) if begins_again => last.saturating_add(1),
                (Turn::Back, Some(last)) => earlier().unwrap_or(last),
            };
            let offset = length.saturating_mul(place);
            if stretch.turn == Turn::Back && !begins_again && again(index) {
                let before = self.list.get(index - 1).map_or(0, |before| before.last);
                let from = before.saturating_add(numbering.offsets.last().copied().unwrap_or_default());
                numbering.resumes.push((from, stretch.first.saturating_add(offset)));
            }
            last = Some(place);
            of_epochs.extend(stretch.epoch.map(|epoch| (order_of(epoch), place)));
            numbering.offsets.push(offset);
        }
        numbering
    }

    /// Whether a stretch goes back to the first step of the file, and not to that of a later epoch.
    fn is_beginning(&self, stretch: &Stretch) -> bool {
        let Some(start) = self.list.first() else { return true };
        let is_later = matches!((start.epoch, stretch.epoch), (Some(start), Some(epoch)) if epoch > start);
        stretch.first <= start.first && !is_later
    }

    /// Whether all passes of a restarting counter have equal lengths, and no epoch fell. After two complete passes, the last one may
    /// be shorter.
    fn passes_are_equal(&self, begins_again: &[bool]) -> bool {
        let fell = self.list.iter().zip(self.list.iter().skip(1)).any(
            |(before, stretch)| matches!((before.epoch, stretch.epoch), (Some(before), Some(epoch)) if epoch < before),
        );
        let mut lasts: Vec<u64> = Vec::new();
        for (stretch, begins_again) in self.list.iter().zip(begins_again) {
            match lasts.last_mut() {
                Some(last) if !begins_again => *last = stretch.last.max(*last),
                _ => lasts.push(stretch.last),
            }
        }
        let Some((end, whole)) = lasts.split_last() else { return true };
        let first = whole.first().copied().unwrap_or(*end);
        !fell && whole.iter().all(|last| *last == first) && (*end == first || *end < first && whole.len() > 1)
    }

    /// Length of an epoch in steps: that of the longest one, so that an epoch whose end is missing does not shift the others.
    fn length(&self) -> u64 {
        let gap = self.list.iter().filter_map(|stretch| stretch.gap).min();
        let longest = self.list.iter().map(|stretch| match gap {
            Some(gap) => (stretch.last - stretch.first).saturating_add(gap),
            None => stretch.last.max(1),
        });
        longest.max().unwrap_or(1)
    }

    /// Number of epochs between the stretch before `index` and that at `index`; 1 where epochs are not whole numbers.
    fn epochs_since(&self, index: usize) -> u64 {
        let epoch = |index: usize| self.list.get(index).and_then(|stretch| whole(stretch.epoch?));
        match (index.checked_sub(1).and_then(epoch), epoch(index)) {
            (Some(before), Some(now)) if now > before => now - before,
            _ => 1,
        }
    }
}

/// An epoch as a whole number that sorts in the same order.
fn order_of(epoch: f64) -> u64 {
    epoch.max(0.0).to_bits()
}

/// Number of epochs before the first one of a file, where epochs count from 0 or from 1.
fn epochs_before(epoch: Option<f64>) -> u64 {
    epoch.and_then(whole).map_or(0, |epoch| epoch.saturating_sub(1))
}

fn is_whole(epoch: f64) -> bool {
    whole(epoch).is_some()
}

fn whole(epoch: f64) -> Option<u64> {
    super::lines::whole_number(epoch)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers records of one metric: epoch and counter of each.
    fn numbered(records: &[(Option<f64>, u64)]) -> (Vec<u64>, Numbering) {
        let mut stretches = Stretches::default();
        let mut placed: Vec<(usize, u64)> = Vec::new();
        for (epoch, step) in records {
            let last = placed.last().filter(|(stretch, _)| *stretch == stretches.current()).map(|(_, step)| *step);
            stretches.add_record(*step, last, *epoch);
            placed.push((stretches.current(), *step));
        }
        let again = |index: usize| {
            let before = || placed.iter().filter(|(stretch, _)| *stretch < index);
            placed
                .iter()
                .filter(|(stretch, _)| *stretch == index)
                .any(|(_, step)| before().any(|(_, other)| other == step))
        };
        let repeats: Vec<bool> = (0..=stretches.current()).map(again).collect();
        let numbering = stretches.resolve(&repeats);
        let steps = placed.iter().map(|(stretch, step)| numbering.offsets[*stretch] + step).collect();
        (steps, numbering)
    }

    fn in_epochs(records: &[(f64, u64)]) -> Vec<u64> {
        numbered(&records.iter().map(|(epoch, step)| (Some(*epoch), *step)).collect::<Vec<_>>()).0
    }

    fn alone(steps: &[u64]) -> (Vec<u64>, Numbering) {
        numbered(&steps.iter().map(|step| (None, *step)).collect::<Vec<_>>())
    }

    #[test]
    fn a_counter_that_starts_again_with_its_epoch_is_numbered_through() {
        assert_eq!(in_epochs(&[(1.0, 1), (1.0, 2), (2.0, 1), (2.0, 2)]), [1, 2, 3, 4]);
        assert_eq!(in_epochs(&[(0.0, 0), (0.0, 1), (1.0, 0), (1.0, 1)]), [0, 1, 2, 3]);
        assert_eq!(
            in_epochs(&[(0.1, 10), (0.2, 20), (0.2, 20), (0.3, 30)]),
            [10, 20, 20, 30],
            "a running counter stays"
        );
        assert_eq!(in_epochs(&[(1.0, 1), (1.0, 2), (2.0, 1), (1.0, 2)]), [1, 2, 3, 2], "a resumed run goes back");
        assert_eq!(in_epochs(&[(1.0, 1), (2.0, 1), (3.0, 1)]), [1, 2, 3], "one step per epoch");
        assert_eq!(in_epochs(&[(1.0, 30), (2.0, 30), (3.0, 30)]), [30, 60, 90], "the end of each epoch");
        assert_eq!(in_epochs(&[(1.0, 10), (1.0, 20), (2.0, 10), (2.0, 20)]), [10, 20, 30, 40], "every tenth step");
    }

    #[test]
    fn what_is_missing_of_an_epoch_shifts_no_other() {
        let cut = [(1.0, 1), (1.0, 2), (2.0, 1), (2.0, 2), (2.0, 3), (3.0, 1)];
        assert_eq!(in_epochs(&cut), [1, 2, 4, 5, 6, 7], "the end of the first epoch");
        assert_eq!(in_epochs(&[(1.0, 1), (1.0, 2), (3.0, 1), (3.0, 2)]), [1, 2, 5, 6], "a whole epoch");
        assert_eq!(in_epochs(&[(2.0, 1), (2.0, 2), (3.0, 1), (3.0, 2)]), [3, 4, 5, 6], "the first epoch");
    }

    #[test]
    fn a_resume_names_both_steps() {
        let (steps, numbering) = alone(&[1, 2, 3, 4, 3, 4, 5]);
        assert_eq!(steps, [1, 2, 3, 4, 3, 4, 5]);
        assert_eq!((numbering.resumes, numbering.has_epochs), (vec![(4, 3)], false));
        let within_epochs = [(1.0, 1), (1.0, 2), (2.0, 1), (2.0, 2), (2.0, 2), (2.0, 1)];
        let (steps, numbering) =
            numbered(&within_epochs.iter().map(|(epoch, step)| (Some(*epoch), *step)).collect::<Vec<_>>());
        assert_eq!((steps, numbering.is_several_runs), (vec![1, 2, 3, 4, 4, 3], false));
    }

    #[test]
    fn equal_passes_without_an_epoch_are_epochs_and_others_are_several_runs() {
        let (steps, numbering) = alone(&[0, 1, 2, 0, 1, 2]);
        assert_eq!((steps, numbering.restarts), (vec![0, 1, 2, 3, 4, 5], 1));
        assert_eq!(alone(&[1, 2, 3, 1, 2, 3, 1]).0, [1, 2, 3, 4, 5, 6, 7], "the last one is cut");
        assert!(alone(&[1, 2, 3, 1, 2]).1.is_several_runs, "a second run, or half an epoch");
        assert!(alone(&[1, 2, 1, 2, 3]).1.is_several_runs, "a run that was started again");
    }

    #[test]
    fn epochs_of_any_size_and_order_are_numbered_at_once() {
        let largest = 9_007_199_254_740_991.0;
        let back_and_forth: Vec<(f64, u64)> =
            (0..4_000).map(|index| (if index % 2 == 0 { 0.0 } else { largest }, 2 - index % 2)).collect();
        assert_eq!(in_epochs(&back_and_forth).len(), 4_000);
        let mut stretches = Stretches::default();
        (0..200_000_u32).for_each(|index| stretches.add_record(1, Some(1), Some(f64::from(1_000_000 - index))));
        assert_eq!(stretches.resolve(&[]).offsets.len(), 200_000);
    }

    #[test]
    fn lines_out_of_order_are_neither_resume_nor_epoch() {
        let (steps, numbering) = alone(&[1, 3, 2, 4]);
        assert_eq!((steps, numbering), (vec![1, 3, 2, 4], Numbering { offsets: vec![0, 0], ..Numbering::default() }));
        assert!(!alone(&[2, 1, 3]).1.is_several_runs);
    }
}
