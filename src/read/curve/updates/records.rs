//! Updates by record, in memory that does not grow with the number of equal records.

/// Updates between two records of a log.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct UpdateRecord {
    /// The step of the record; `None` where its log does not count.
    pub step: Option<u64>,
    /// Number of updates that were skipped.
    pub skipped: u64,
    /// Number of updates that took place although their gradients had overflowed.
    pub overflowed: u64,
    /// The highest loss scale that was tried, where a line names it. A scale that rises between two overflows is not logged otherwise.
    pub tried_scale: Option<f64>,
    /// The loss scale after these updates.
    pub scale: Option<f64>,
}

/// Updates in their order. Consecutive records that differ only in a step that rises evenly are stored as one.
#[derive(Clone, Debug, Default)]
pub struct UpdateRecords {
    alike: Vec<Alike>,
    len: usize,
}

/// Consecutive records that differ only in their steps.
#[derive(Clone, Copy, Debug)]
struct Alike {
    first: UpdateRecord,
    /// Distance between their steps.
    every: u64,
    count: usize,
    /// Number of records before them.
    before: usize,
}

impl Alike {
    fn at(&self, nth: usize) -> UpdateRecord {
        UpdateRecord { step: self.step(nth), ..self.first }
    }

    fn step(&self, nth: usize) -> Option<u64> {
        self.first.step.map(|step| step.saturating_add(self.every.saturating_mul(nth as u64)))
    }

    /// Adds a record if it is alike. Returns whether it was.
    fn take(&mut self, update: &UpdateRecord) -> bool {
        let bits = |value: Option<f64>| value.map(f64::to_bits);
        let of =
            |update: &UpdateRecord| (update.skipped, update.overflowed, bits(update.tried_scale), bits(update.scale));
        let every = match (self.first.step, update.step) {
            (None, None) => Some(0),
            (Some(first), Some(step)) if self.count == 1 => step.checked_sub(first),
            (Some(_), Some(step)) if self.step(self.count) == Some(step) && step < u64::MAX => Some(self.every),
            _ => None,
        };
        let Some(every) = every.filter(|_| of(&self.first) == of(update)) else { return false };
        (self.every, self.count) = (every, self.count + 1);
        true
    }
}

impl UpdateRecords {
    /// Number of records.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no records.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The record at index `place`.
    pub fn get(&self, place: usize) -> Option<UpdateRecord> {
        let behind = self.alike.partition_point(|alike| alike.before <= place);
        let alike = self.alike.get(behind.checked_sub(1)?)?;
        Some(place - alike.before).filter(|nth| *nth < alike.count).map(|nth| alike.at(nth))
    }

    /// The first record.
    pub fn first(&self) -> Option<UpdateRecord> {
        self.get(0)
    }

    /// The last record.
    pub fn last(&self) -> Option<UpdateRecord> {
        self.alike.last().map(|alike| alike.at(alike.count.saturating_sub(1)))
    }

    /// All records in their order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = UpdateRecord> {
        self.alike.iter().flat_map(|alike| (0..alike.count).map(|nth| alike.at(nth)))
    }

    pub(super) fn push(&mut self, update: UpdateRecord) {
        if !self.alike.last_mut().is_some_and(|last| last.take(&update)) {
            self.alike.push(Alike { first: update, every: 0, count: 1, before: self.len });
        }
        self.len += 1;
    }

    pub(super) fn pop(&mut self) -> Option<UpdateRecord> {
        let last = self.last()?;
        self.len -= 1;
        if let Some(alike) = self.alike.last_mut() {
            alike.count -= 1;
        }
        self.alike.pop_if(|alike| alike.count == 0);
        Some(last)
    }

    pub(super) fn change_last(&mut self, change: impl FnOnce(&mut UpdateRecord)) {
        let Some(mut last) = self.pop() else { return };
        change(&mut last);
        self.push(last);
    }
}

impl FromIterator<UpdateRecord> for UpdateRecords {
    fn from_iter<I: IntoIterator<Item = UpdateRecord>>(updates: I) -> Self {
        let mut records = Self::default();
        records.extend(updates);
        records
    }
}

impl Extend<UpdateRecord> for UpdateRecords {
    fn extend<I: IntoIterator<Item = UpdateRecord>>(&mut self, updates: I) {
        updates.into_iter().for_each(|update| self.push(update));
    }
}

impl PartialEq for UpdateRecords {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn update() -> impl Strategy<Value = UpdateRecord> {
        (prop::option::weighted(0.9, 0_u64..6), 0_u64..2, prop::option::of(prop::sample::select(vec![1.0, 2.0])))
            .prop_map(|(step, skipped, scale)| UpdateRecord { step, skipped, scale, ..UpdateRecord::default() })
    }

    proptest! {
        #[test]
        fn records_are_what_a_list_of_them_is(
            updates in prop::collection::vec(update(), 0..40), popped in prop::collection::vec(any::<bool>(), 40),
        ) {
            let (mut list, mut records) = (Vec::new(), UpdateRecords::default());
            for (update, pops) in updates.into_iter().zip(popped) {
                if pops {
                    prop_assert_eq!(records.pop(), list.pop());
                }
                list.push(update);
                records.push(update);
                records.change_last(|last| last.skipped += 1);
                list.last_mut().into_iter().for_each(|last: &mut UpdateRecord| last.skipped += 1);
                prop_assert_eq!(records.last(), list.last().copied());
            }
            prop_assert_eq!(records.len(), list.len());
            prop_assert!((0..=list.len()).all(|place| records.get(place) == list.get(place).copied()));
            prop_assert!(records.iter().rev().eq(list.iter().rev().copied()));
        }
    }

    #[test]
    fn records_that_are_alike_take_no_memory() {
        let records: UpdateRecords =
            (1..100_000).map(|step| UpdateRecord { step: Some(10 * step), ..UpdateRecord::default() }).collect();
        assert_eq!((records.alike.len(), records.len()), (1, 99_999));
    }
}
