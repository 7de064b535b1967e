//! Access to the data of a unit's tensors, and the way to measure it.

use crate::compare::closeness::ElementTolerance;
use crate::compare::measurements::Measurements;
use crate::dtype::Dtype;
use crate::fetch::ReadAheadRoom;
use crate::pair::dump::Renaming;
use crate::read::dump::{DumpFolder, TensorRecord};

/// Access to the data of a unit's tensors, and the way to measure it.
#[derive(Clone, Copy)]
pub struct Folders<'a> {
    /// The baseline's.
    pub baseline: &'a DumpFolder,
    /// The candidate's.
    pub candidate: &'a DumpFolder,
    /// Selection of the pairs whose data is measured, with the results that are already known.
    pub measurements: &'a Measurements,
    /// Tolerance by which the elements of two tensors are counted, where a policy asks for that.
    pub tolerance: Option<&'a Tolerances<'a>>,
    /// Rules by which the candidate's names are translated.
    pub renaming: &'a Renaming,
    /// Whether recorded means and norms of equal data have to be equal to the last bit, as they are where both sides
    /// sum in the same order.
    pub exact_sums: bool,
}

impl Folders<'_> {
    /// Room for files that are requested before they are compared: the lesser of the two remote sides' rooms; none for
    /// a sample, which reads little of each file.
    pub(super) fn read_ahead_room(&self) -> ReadAheadRoom {
        let rooms = [self.baseline, self.candidate].map(DumpFolder::room_ahead).into_iter();
        let remote = rooms.filter(|room| room.files > 0 && self.measurements.sample().is_none());
        remote.min_by_key(|room| room.bytes).unwrap_or_default()
    }
}

/// The tolerance of each pair of tensors; `None` where their elements are not counted.
pub type Tolerances<'a> = dyn Fn(&CountedPair<'_>) -> Option<ElementTolerance> + Sync + 'a;

/// Two tensors whose elements may be counted.
#[derive(Clone, Copy)]
pub struct CountedPair<'a> {
    /// The candidate's operation.
    pub op: &'a str,
    /// Their records, the baseline's first.
    pub records: [Option<TensorRecord<'a>>; 2],
    /// The types of their data, the baseline's first.
    pub dtypes: [Dtype; 2],
}
