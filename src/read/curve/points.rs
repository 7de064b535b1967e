//! Steps and values of a metric as they arrive: in memory, or in a file of the run where memory is full.

use std::sync::Arc;

use super::series::Steps;
use crate::error::Result;
use crate::fetch::Room;

/// Number of points after which the memory they take is reported again.
const COUNTED: usize = 1024;
/// Numbers moved at once.
const BLOCK: usize = 8192;

/// Memory and disk for the points of a file, with the file's name for errors.
#[derive(Clone, Debug)]
pub(super) struct FileRoom {
    /// Name of the file, for errors of the disk.
    pub(super) file: Arc<str>,
    /// Memory and disk of the run.
    pub(super) room: Arc<Room>,
}

/// Points of a metric, or steps without values.
#[derive(Debug)]
pub(super) struct Points {
    home: FileRoom,
    /// Points on disk, in order.
    stored: Vec<Stored>,
    /// Steps in memory, which follow the stored ones.
    steps: Steps,
    values: Vec<f64>,
    /// Number of stored points.
    before: usize,
    last: Option<u64>,
    /// Whether every step is higher than the one before it.
    is_rising: bool,
    /// Whether all stored values are finite.
    is_finite: bool,
    /// Bytes of memory last reported to the room.
    counted: u64,
}

/// Points on disk.
#[derive(Debug)]
struct Stored {
    steps: StoredSteps,
    /// Offset of the values.
    values: u64,
    /// Number of values.
    len: usize,
}

#[derive(Debug)]
enum StoredSteps {
    /// Steps that need no memory.
    Regular(Steps),
    /// Offset and number of the steps.
    Listed(u64, usize),
}

impl Points {
    pub(super) fn new(home: FileRoom) -> Self {
        Self {
            home,
            stored: Vec::new(),
            steps: Steps::numbered(),
            values: Vec::new(),
            before: 0,
            last: None,
            is_rising: true,
            is_finite: true,
            counted: 0,
        }
    }

    /// The points of a series that is already in order.
    pub(super) fn from_ordered(home: FileRoom, steps: Steps, values: Vec<f64>) -> Self {
        let last = steps.len().checked_sub(1).and_then(|last| steps.get(last));
        let mut points = Self::new(home);
        (points.steps, points.values, points.last) = (steps, values, last);
        points.report_memory();
        points
    }

    /// Number of points.
    pub(super) fn len(&self) -> usize {
        self.before + self.steps.len()
    }

    /// The last step.
    pub(super) fn last(&self) -> Option<u64> {
        self.last
    }

    /// Whether every step is higher than the one before it.
    pub(super) fn is_rising(&self) -> bool {
        self.is_rising
    }

    /// Whether all are in memory.
    pub(super) fn is_in_memory(&self) -> bool {
        self.stored.is_empty()
    }

    /// Whether all values are finite.
    pub(super) fn is_finite(&self) -> bool {
        self.is_finite && self.values.iter().all(|value| value.is_finite())
    }

    /// Adds a point.
    pub(super) fn push(&mut self, step: u64, value: f64) {
        self.values.push(value);
        self.push_step(step);
    }

    /// Adds a step without a value.
    pub(super) fn push_step(&mut self, step: u64) {
        self.is_rising &= self.last.is_none_or(|last| last < step);
        self.last = Some(step);
        self.steps.push(step);
        if self.steps.len().is_multiple_of(COUNTED) {
            self.report_memory();
        }
    }

    /// Adds points with rising steps, one value for each; or only steps, where `values` is empty.
    pub(super) fn append(&mut self, steps: &Steps, values: &[f64]) {
        let Some((first, last)) = steps.get(0).zip(steps.len().checked_sub(1).and_then(|last| steps.get(last))) else {
            return;
        };
        self.is_rising &= self.last.is_none_or(|last| last < first);
        self.last = Some(last);
        self.steps.append(steps);
        self.values.extend_from_slice(values);
        self.report_memory();
    }

    /// Bytes in memory.
    pub(super) fn bytes(&self) -> u64 {
        8 * (self.values.capacity() + self.steps.listed().map_or(0, Vec::capacity)) as u64
    }

    /// Reports the memory that the points take now to the room.
    pub(super) fn report_memory(&mut self) {
        let bytes = self.bytes();
        if bytes >= self.counted {
            self.home.room.count_bytes(bytes - self.counted);
        } else {
            self.home.room.give_back(self.counted - bytes);
        }
        self.counted = bytes;
    }

    /// Moves all to disk.
    ///
    /// # Errors
    /// Those of [`Room::put`].
    pub(super) fn store(&mut self) -> Result<()> {
        if self.steps.is_empty() {
            return Ok(());
        }
        let len = self.values.len();
        let values = self.put(self.values.iter().map(|value| value.to_le_bytes()))?;
        let steps = match self.steps.listed() {
            Some(steps) => StoredSteps::Listed(self.put(steps.iter().map(|step| step.to_le_bytes()))?, steps.len()),
            None => StoredSteps::Regular(self.steps.clone()),
        };
        self.stored.push(Stored { steps, values, len });
        self.is_finite = self.is_finite();
        self.before += self.steps.len();
        (self.steps, self.values) = (Steps::numbered(), Vec::new());
        self.report_memory();
        Ok(())
    }

    /// Writes numbers to disk and returns their offset.
    fn put(&self, numbers: impl ExactSizeIterator<Item = [u8; 8]>) -> Result<u64> {
        let mut bytes = vec![0; 8 * numbers.len()];
        bytes.as_chunks_mut::<8>().0.iter_mut().zip(numbers).for_each(|(slot, number)| *slot = number);
        self.home.room.store(&self.home.file, &bytes)
    }

    /// All steps and values, in memory.
    ///
    /// # Errors
    /// Errors of the disk.
    pub(super) fn load(&self) -> Result<(Steps, Vec<f64>)> {
        let steps = self.load_steps()?;
        let mut values =
            Vec::with_capacity(self.stored.iter().map(|stored| stored.len).sum::<usize>() + self.values.len());
        for stored in &self.stored {
            self.get(stored.values, stored.len, |bytes| values.push(f64::from_le_bytes(bytes)))?;
        }
        values.extend_from_slice(&self.values);
        Ok((steps, values))
    }

    /// All steps, in memory.
    ///
    /// # Errors
    /// Errors of the disk.
    pub(super) fn load_steps(&self) -> Result<Steps> {
        if self.stored.is_empty() {
            return Ok(self.steps.clone());
        }
        let mut all = Steps::numbered();
        for stored in &self.stored {
            match &stored.steps {
                StoredSteps::Regular(steps) => all.append(steps),
                StoredSteps::Listed(offset, len) => {
                    self.get(*offset, *len, |bytes| all.push(u64::from_le_bytes(bytes)))?;
                }
            }
        }
        all.append(&self.steps);
        Ok(all)
    }

    /// All steps and values. Those in memory are moved, not copied.
    ///
    /// # Errors
    /// Errors of the disk.
    pub(super) fn into_loaded(mut self) -> Result<(Steps, Vec<f64>)> {
        if self.is_in_memory() {
            return Ok((std::mem::replace(&mut self.steps, Steps::numbered()), std::mem::take(&mut self.values)));
        }
        self.load()
    }

    /// A walk through the points that keeps only a block of them in memory.
    pub(super) fn walk(&self) -> Walk<'_> {
        Walk { points: self, place: 0, start: 0, block: Vec::new() }
    }

    fn get(&self, offset: u64, len: usize, mut take: impl FnMut([u8; 8])) -> Result<()> {
        let mut block = vec![0; 8 * len.min(BLOCK)];
        for start in (0..len).step_by(BLOCK) {
            let part = block.get_mut(..8 * (len - start).min(BLOCK)).unwrap_or_default();
            self.home.room.get(&self.home.file, offset + 8 * start as u64, part)?;
            part.as_chunks::<8>().0.iter().for_each(|bytes| take(*bytes));
        }
        Ok(())
    }
}

/// A walk through the points that keeps only a block of them in memory.
#[derive(Debug)]
pub(super) struct Walk<'p> {
    points: &'p Points,
    /// Place of the next point.
    place: usize,
    /// Place of the block's first point.
    start: usize,
    block: Vec<(u64, f64)>,
}

impl Walk<'_> {
    /// Number of points that were passed.
    pub(super) fn place(&self) -> usize {
        self.place
    }

    /// The next point, without advancing.
    ///
    /// # Errors
    /// Errors of the disk.
    pub(super) fn peek(&mut self) -> Result<Option<(u64, f64)>> {
        while self.place >= self.start + self.block.len() && self.place < self.points.len() {
            self.fill()?;
        }
        Ok(self.block.get(self.place - self.start).copied())
    }

    /// The next point.
    ///
    /// # Errors
    /// Errors of the disk.
    pub(super) fn next(&mut self) -> Result<Option<(u64, f64)>> {
        let next = self.peek()?;
        self.place += usize::from(next.is_some());
        Ok(next)
    }

    /// Loads the next block.
    fn fill(&mut self) -> Result<()> {
        /// Points of a block: small, as a file may have thousands of metrics.
        const POINTS: usize = 512;
        let points = self.points;
        self.start += self.block.len();
        self.block.clear();
        let mut before = 0;
        for stored in &points.stored {
            if let Some(at) = (self.start - before < stored.len).then(|| self.start - before) {
                let len = POINTS.min(stored.len - at);
                let mut steps = Vec::with_capacity(len);
                match &stored.steps {
                    StoredSteps::Regular(regular) => steps.extend((at..at + len).filter_map(|at| regular.get(at))),
                    StoredSteps::Listed(offset, _) => {
                        points.get(offset + 8 * at as u64, len, |bytes| steps.push(u64::from_le_bytes(bytes)))?;
                    }
                }
                let mut steps = steps.into_iter();
                let block = &mut self.block;
                return points.get(stored.values + 8 * at as u64, len, |bytes| {
                    block.extend(steps.next().map(|step| (step, f64::from_le_bytes(bytes))));
                });
            }
            before += stored.len;
        }
        let at = self.start - before;
        let values = points.values.get(at..).unwrap_or_default().iter().take(POINTS).copied();
        self.block.extend((at..).map_while(|at| points.steps.get(at)).zip(values));
        Ok(())
    }
}

impl Drop for Points {
    fn drop(&mut self) {
        self.home.room.give_back(self.counted);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fetch::Disk;

    proptest::proptest! {
        #[test]
        fn points_on_disk_come_back_bit_by_bit(
            points in proptest::collection::vec((0_u64..4, proptest::num::f64::ANY, proptest::bool::weighted(0.1)), 0..1500),
            regular in proptest::bool::ANY,
        ) {
            let folder = tempfile::tempdir().expect("a folder");
            let room = Room::new(Disk::new(folder.path().to_owned(), 1 << 20), 0);
            let mut stored = Points::new(FileRoom { file: "file".into(), room });
            let (mut step, mut expected) = (0, Vec::new());
            for (apart, value, is_stored) in points {
                step += if regular { 2 } else { apart };
                stored.push(step, value);
                expected.push((step, value.to_bits()));
                if is_stored {
                    stored.store().expect("there is disk");
                }
            }
            let (steps, values) = stored.load().expect("readable");
            let loaded: Vec<(u64, u64)> = steps.iter().zip(values.iter().map(|value| value.to_bits())).collect();
            proptest::prop_assert_eq!(&loaded, &expected);
            let (mut walk, mut walked) = (stored.walk(), Vec::new());
            while let Some((step, value)) = walk.next().expect("readable") {
                walked.push((step, value.to_bits()));
            }
            proptest::prop_assert_eq!(&walked, &expected);
            proptest::prop_assert_eq!(stored.is_rising(), expected.is_sorted_by(|a, b| a.0 < b.0));
            proptest::prop_assert_eq!(stored.is_finite(), values.iter().all(|value| value.is_finite()));
        }
    }
}
