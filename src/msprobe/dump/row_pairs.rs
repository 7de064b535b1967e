//! The pairs of rows of a table, and whether the types of two rows are compared with each other.

use super::pair::{DumpPair, RowPair, ValuePlace};
use crate::read::dump::Operation;

/// Pairs of rows, one per candidate value in dump order, in groups of one operation each, which msprobe judges together.
pub(super) enum RowPairs<'a> {
    /// The operations by index, whose rows pair with those of the same places: they are listed when they are needed.
    Like(DumpPair<'a>, Vec<u32>),
    /// All pairs, and the end of each group among them.
    Listed(Vec<RowPair>, Vec<usize>),
}

impl<'a> RowPairs<'a> {
    /// Pairs the rows of two dumps whose operations and rows are the same ones, of these operations of the candidate.
    pub(super) fn of_like_rows(pair: DumpPair<'a>, operations: impl Iterator<Item = (usize, Operation<'a>)>) -> Self {
        let with_rows = operations.filter(|(_, operation)| !operation.leaves.is_empty());
        Self::Like(pair, with_rows.filter_map(|(index, _)| u32::try_from(index).ok()).collect())
    }

    /// Groups pairs.
    pub(super) fn of_list(pairs: Vec<RowPair>) -> Self {
        let groups = pairs.chunk_by(|a, b| a.candidate.operation() == b.candidate.operation());
        let add = |end: &mut usize, group: &[RowPair]| {
            *end += group.len();
            Some(*end)
        };
        let ends = groups.scan(0, add).collect();
        Self::Listed(pairs, ends)
    }

    /// Number of groups.
    pub(super) fn group_count(&self) -> usize {
        match self {
            Self::Like(_, operations) => operations.len(),
            Self::Listed(_, ends) => ends.len(),
        }
    }

    /// The pairs of one group.
    pub(super) fn group(&self, index: usize) -> Vec<RowPair> {
        match self {
            Self::Like(pair, operations) => {
                let Some(operation) = operations.get(index).map(|operation| *operation as usize) else {
                    return Vec::new();
                };
                let rows = pair.candidate.operations.get(operation).map_or(0, |operation| operation.leaves.len());
                let places = (0..rows).map(|leaf| ValuePlace::new(operation, leaf));
                places.map(|place| RowPair::new(pair, place, Some(place))).collect()
            }
            Self::Listed(pairs, ends) => {
                let start = index.checked_sub(1).and_then(|before| ends.get(before)).copied().unwrap_or(0);
                let end = ends.get(index).copied().unwrap_or(start);
                pairs.get(start..end).unwrap_or_default().to_vec()
            }
        }
    }

    /// All pairs, one after the other.
    pub(super) fn iter(&self) -> impl Iterator<Item = RowPair> {
        (0..self.group_count()).flat_map(|index| self.group(index))
    }
}

impl RowPair {
    /// The pair of two rows; without a baseline where their types are not compared with each other.
    pub(super) fn new(pair: &DumpPair<'_>, candidate: ValuePlace, baseline: Option<ValuePlace>) -> Self {
        let is_comparable = |place: &ValuePlace| !pair.matching.rows.is_empty() || same_family(pair, candidate, *place);
        Self { candidate, baseline: baseline.filter(is_comparable) }
    }
}

/// The dtype gate: equal texts, or both one of the common float types; across frameworks, both of one family.
fn same_family(pair: &DumpPair<'_>, candidate: ValuePlace, baseline: ValuePlace) -> bool {
    let (a, b) = (candidate.dtype_in(pair.candidate), baseline.dtype_in(pair.baseline));
    let cross = pair.candidate.framework != pair.baseline.framework;
    a == b
        || (is_common_float(&a) && is_common_float(&b))
        || (cross && family(&a).is_some_and(|f| Some(f) == family(&b)))
}

/// The float types msprobe compares with each other.
fn is_common_float(dtype: &str) -> bool {
    let short = dtype.strip_prefix("torch.").unwrap_or(dtype).to_ascii_lowercase();
    matches!(short.as_str(), "float16" | "float32" | "float64" | "bfloat16")
}

/// Family that a dtype belongs to in every framework, such as `int` or `float`; `None` for an unknown name.
fn family(dtype: &str) -> Option<&'static str> {
    let short = dtype.strip_prefix("torch.").unwrap_or(dtype).to_ascii_lowercase();
    ["bool", "uint", "int", "bfloat", "float", "complex"].into_iter().find(|name| short.starts_with(name)).map(|name| {
        match name {
            "uint" => "int",
            "bfloat" => "float",
            other => other,
        }
    })
}
