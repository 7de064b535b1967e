//! The kind of data that two dumps are compared by.

use crate::read::dump::Dump;

/// Kind of data that msprobe compares, chosen by what both sides recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompareMode {
    /// Values of tensors.
    Tensor,
    /// Recorded statistics.
    Statistics,
    /// Checksums (CRC-32, or xor).
    Checksum,
}

/// Mode in which msprobe would compare two dumps, or the reason why it would not.
///
/// Both sides need the same task, and checksums on both sides or on neither. A ptdbg dump is compared in ptdbg's
/// ways, which know the same three modes.
pub fn mode(candidate: &Dump, baseline: &Dump) -> Result<CompareMode, &'static str> {
    if candidate.task != baseline.task {
        return Err("the two dumps were collected for different tasks");
    }
    match (candidate.task.as_str(), has_checksums(candidate), has_checksums(baseline)) {
        ("tensor", ..) => Ok(CompareMode::Tensor),
        ("statistics", true, true) => Ok(CompareMode::Checksum),
        ("statistics", false, false) => Ok(CompareMode::Statistics),
        ("statistics", ..) => Err("one dump holds checksums, the other statistics"),
        ("structure", ..) => Err("dumps of task `structure` hold no values"),
        _ => Err("msprobe compares dumps of the tasks `tensor` and `statistics`"),
    }
}

fn has_checksums(dump: &Dump) -> bool {
    dump.operations.first_checksum().is_some()
}
