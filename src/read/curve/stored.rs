//! A series that was read: kept in memory, or in the run's file on disk until its metric is judged.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::points::{FileRoom, Points};
use super::series::{Counter, Order, Series, Steps};
use crate::error::Result;
use crate::fetch::Room;

/// Least bytes of a series that is worth moving to disk.
const LEAST: u64 = 4096;

/// One metric of one file. Its points are available once it is [loaded](Self::load).
#[derive(Clone, Debug)]
pub struct StoredSeries {
    /// The complete series where nothing is on disk; otherwise without its points.
    series: Series,
    shape: SeriesShape,
    stored: Option<Arc<OnDisk>>,
    /// Reservation for the memory of a series that is not on disk.
    _kept: Option<Arc<Kept>>,
    /// The memory and disk it may use; `None` where it always stays in memory.
    home: Option<FileRoom>,
}

/// Facts about a series that are available without loading its points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeriesShape {
    /// Number of points.
    pub len: usize,
    /// The first and the last step.
    pub ends: Option<(u64, u64)>,
    /// Whether the source numbers its steps.
    pub is_numbered: bool,
    /// Most frequent distance between neighbouring steps.
    pub interval: Option<u64>,
    /// Whether all values are finite.
    pub is_finite: bool,
}

#[derive(Debug)]
struct OnDisk {
    points: Points,
    unrecorded: Points,
}

/// Memory that the room counts as used until this is dropped.
#[derive(Debug)]
struct Kept {
    home: FileRoom,
    len: u64,
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.home.room.give_back(self.len);
    }
}

impl SeriesShape {
    fn of(steps: &Steps, is_finite: bool) -> Self {
        let last = steps.len().checked_sub(1).and_then(|last| steps.get(last));
        Self {
            len: steps.len(),
            ends: steps.get(0).zip(last),
            is_numbered: steps.is_numbered(),
            interval: steps.interval(),
            is_finite,
        }
    }
}

impl From<Series> for StoredSeries {
    /// A series that stays in memory, whatever its size.
    fn from(series: Series) -> Self {
        let shape = SeriesShape::of(&series.steps, series.values.iter().all(|value| value.is_finite()));
        Self { series, shape, stored: None, _kept: None, home: None }
    }
}

impl StoredSeries {
    /// Keeps a series in memory while there is room, or else moves its points to disk.
    ///
    /// # Errors
    /// Those of [`Room::put`].
    pub(super) fn store(series: Series, home: &FileRoom) -> Result<Self> {
        let listed = series.steps.listed().map_or(0, Vec::len);
        let bytes =
            8 * (series.values.len() + listed + series.unrecorded.len() + 2 * series.contradicting.len()) as u64;
        if !home.room.is_full() || bytes < LEAST || !series.steps.is_numbered() {
            home.room.count_bytes(bytes);
            let kept = Kept { home: home.clone(), len: bytes };
            return Ok(Self { _kept: Some(Arc::new(kept)), home: Some(home.clone()), ..Self::from(series) });
        }
        let Series { steps, values, unrecorded, .. } = series;
        let head = Series { steps: Steps::numbered(), values: Vec::new(), unrecorded: Vec::new(), ..series };
        let mut points = Points::from_ordered(home.clone(), steps, values);
        points.store()?;
        Self::on_disk(head, points, unrecorded, home)
    }

    /// A series of rising points, some of which may be on disk already. Points in memory stay there while there is room.
    ///
    /// # Errors
    /// Those of [`Room::put`].
    pub(super) fn from_rising(name: String, mut points: Points, home: &FileRoom) -> Result<Self> {
        points.report_memory();
        if home.room.is_full() && points.bytes() >= LEAST {
            points.store()?;
        }
        if points.is_in_memory() {
            let (steps, values) = points.into_loaded()?;
            return Self::store(Series::from_rising(name, steps, values), home);
        }
        let listed = points.len();
        let head = Series { listed, ..Series::from_rising(name, Steps::numbered(), Vec::new()) };
        Self::on_disk(head, points, Vec::new(), home)
    }

    fn on_disk(head: Series, points: Points, unrecorded: Vec<u64>, home: &FileRoom) -> Result<Self> {
        let shape = SeriesShape::of(&points.load_steps()?, points.is_finite());
        let mut blank = Points::new(home.clone());
        unrecorded.into_iter().for_each(|step| blank.push_step(step));
        blank.store()?;
        let stored = OnDisk { points, unrecorded: blank };
        Ok(Self { series: head, shape, stored: Some(Arc::new(stored)), _kept: None, home: Some(home.clone()) })
    }

    /// The series with its points; borrowed where they are in memory.
    ///
    /// # Errors
    /// Errors of the disk.
    pub fn load(&self) -> Result<Cow<'_, Series>> {
        let Some(stored) = &self.stored else { return Ok(Cow::Borrowed(&self.series)) };
        let (steps, values) = stored.points.load()?;
        let unrecorded = stored.unrecorded.load_steps()?.iter().collect();
        Ok(Cow::Owned(Series { steps, values, unrecorded, ..self.series.clone() }))
    }

    /// This series continued by `next`, the same run's series of a later file. Steps that `next` logs again replace those here: the run
    /// was resumed.
    ///
    /// # Errors
    /// Errors of the disk.
    pub(crate) fn followed_by(&self, next: &Self) -> Result<Self> {
        let joined = self.load()?.followed_by(&*next.load()?);
        match &self.home {
            Some(home) => Self::store(joined, home),
            None => Ok(joined.into()),
        }
    }

    /// The series with further points of the same run.
    ///
    /// # Errors
    /// Errors of the disk.
    pub(crate) fn with_points(&self, points: impl Iterator<Item = (u64, f64)>) -> Result<Self> {
        let series = self.load()?;
        let mut all: BTreeMap<u64, f64> = series.points().collect();
        all.extend(points);
        let whole = Series::by_step(series.name.clone(), all);
        let (order, contradicting) = (series.order.clone(), series.contradicting.clone());
        let whole = Series { counter: series.counter, rank: series.rank, order, contradicting, ..whole };
        let whole = whole.with_unrecorded(series.unrecorded.clone());
        match &self.home {
            Some(home) => Self::store(whole, home),
            None => Ok(whole.into()),
        }
    }

    /// Facts about it that are available without loading its points.
    pub fn shape(&self) -> SeriesShape {
        self.shape
    }

    /// The memory and disk that its points use; `None` where they always stay in memory.
    pub fn room(&self) -> Option<&Room> {
        self.home.as_ref().map(|home| home.room.as_ref())
    }

    /// The metric, as the file spells it.
    pub fn name(&self) -> &str {
        &self.series.name
    }

    /// Gives it another name.
    pub(super) fn rename(&mut self, name: &str) {
        name.clone_into(&mut self.series.name);
    }

    /// Rank that logged it, where the ranks of a file logged different values.
    pub fn rank(&self) -> Option<u64> {
        self.series.rank
    }

    /// Kind of counter that its steps come from.
    pub fn counter(&self) -> Counter {
        self.series.counter
    }

    /// Changes that were made to bring its steps into order.
    pub fn order(&self) -> &Order {
        &self.series.order
    }

    /// The series with the number of values that have no place in it.
    #[must_use]
    pub(super) fn with_unplaced(mut self, unplaced: u64) -> Self {
        self.series.order.unplaced = unplaced;
        self
    }

    /// Sets the kind of its steps to `counter`, unless a kind other than plain steps is known.
    pub(super) fn set_counter(&mut self, counter: Counter) {
        if self.series.counter == Counter::Step {
            self.series.counter = counter;
        }
    }

    /// The series as logged by rank `rank`.
    #[must_use]
    pub(super) fn with_rank(mut self, rank: Option<u64>) -> Self {
        self.series.rank = rank;
        self
    }
}
