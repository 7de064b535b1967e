//! Two dumps to compare, the rules by which their rows find each other, and the rows.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::cells::Half;
use crate::pair::dump::{NameTranslations, RenamedOperation};
use crate::read::dump::{Dump, DumpFormat, Leaf, Statistic};

/// A value of a dump: 8 bytes, for there are millions; a dump of 2^32 operations does not fit in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ValuePlace {
    operation: u32,
    leaf: u32,
}

impl ValuePlace {
    /// The value at the index `leaf` among those of the operation at the index `operation`.
    pub fn new(operation: usize, leaf: usize) -> Self {
        let kept = |index| u32::try_from(index).unwrap_or(u32::MAX);
        Self { operation: kept(operation), leaf: kept(leaf) }
    }

    /// Index among the dump's operations.
    pub fn operation(self) -> usize {
        self.operation as usize
    }

    pub(crate) fn value_in(self, dump: &Dump) -> Option<Leaf<'_>> {
        dump.operations.get(self.operation())?.leaves.get(self.leaf as usize)
    }

    /// Statistics of a tensor, without its other properties; `None` for anything else.
    pub(super) fn statistics_in(self, dump: &Dump) -> Option<[Statistic<'_>; 4]> {
        dump.operations.get(self.operation())?.leaves.statistics(self.leaf as usize)
    }

    /// Element type of the value, as in its row; the empty text where there is no value.
    pub(super) fn dtype_in(self, dump: &Dump) -> Cow<'_, str> {
        let operation = dump.operations.get(self.operation());
        let of_tensor = operation.and_then(|operation| operation.leaves.dtype(self.leaf as usize));
        // Every row is asked, and most are tensors, whose statistics are not needed for it.
        let of_value = || self.value_in(dump).map(|leaf| Half::from_leaf(leaf).dtype).unwrap_or_default();
        of_tensor.map_or_else(of_value, Cow::Borrowed)
    }
}

/// One row: a value of the candidate and the value of the baseline it is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowPair {
    /// The candidate's value.
    pub candidate: ValuePlace,
    /// The baseline's value; `None` where nothing matches by name.
    pub baseline: Option<ValuePlace>,
}

/// Two dumps to compare.
#[derive(Clone, Copy)]
pub struct DumpPair<'a> {
    /// The run to judge.
    pub candidate: &'a Dump,
    /// The trusted run.
    pub baseline: &'a Dump,
    /// The format of both.
    pub format: DumpFormat,
    /// Rules by which rows find their partners.
    pub matching: &'a Matching,
}

/// Rules by which rows find their partners when names differ.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Matching {
    /// Compare calls in order of appearance, whatever their call numbers.
    pub fuzzy: bool,
    /// Candidate row to baseline row, by full name.
    pub rows: Vec<(String, String)>,
    /// Candidate module to baseline module: `path.Class`, or any part of it.
    pub modules: Option<Vec<(String, String)>>,
    /// Children of the candidate's modules by class; for the verdict, not for tables.
    pub layers: Vec<(String, NameTranslations)>,
    /// Candidate interface to baseline interface; for the verdict, not for tables.
    pub interfaces: Vec<RenamedOperation>,
}
