//! Outcome of comparing a tensor of two stages of a synchronisation.

/// One tensor of two stages, compared.
#[derive(Clone, Debug, PartialEq)]
pub struct SyncComparison {
    /// Its name in the earlier stage.
    pub name: String,
    /// Whether it has two axes or more.
    pub is_matrix: bool,
    /// Result of the comparison.
    pub outcome: SyncOutcome,
}

/// Result of comparing a tensor of two stages.
#[derive(Clone, Debug, PartialEq)]
pub enum SyncOutcome {
    /// All bits are equal.
    Equal {
        /// Whether all its elements are the same number, so that its agreement proves nothing.
        is_trivial: bool,
    },
    /// Equal after rounding to the later stage's element type.
    Cast {
        /// Element type of the earlier stage.
        from: String,
        /// Element type of the later stage.
        to: String,
    },
    /// Equal, except for additional rows of zeros.
    Padded {
        /// Number of these rows.
        rows: u64,
    },
    /// Element types or forms that cannot be compared.
    Incomparable {
        /// The form of the earlier stage.
        from: String,
        /// The form of the later stage.
        to: String,
    },
    /// A stage cannot be read, and why.
    Unread {
        /// Reason.
        reason: String,
    },
    /// Values that differ from those that were sent.
    Wrong(SyncChange),
}

/// Explanation of a tensor that differs from the one that was sent.
#[derive(Clone, Debug, PartialEq)]
pub enum SyncChange {
    /// Values of an earlier step.
    Stale {
        /// The step.
        step: u64,
    },
    /// Values of another tensor, whose own place also holds those of another one.
    Swapped {
        /// The other name.
        with: String,
    },
    /// Values of another tensor, which are at their own place as well.
    Copied {
        /// The other name.
        of: String,
    },
    /// The same rows or elements in another order.
    Reordered,
    /// Some rows equal, others not.
    Partial {
        /// The first row that differs, and the one after the last.
        rows: [u64; 2],
        /// Number of rows that differ.
        count: u64,
    },
    /// Zeros, or numbers that are uncorrelated with those that were sent.
    Unlike,
    /// NaN, or infinity where a finite number was sent.
    NonFinite {
        /// Number of such elements.
        count: u64,
    },
    /// Another shape.
    Shapes {
        /// Shape in the earlier stage.
        from: Vec<u64>,
        /// Shape in the later stage.
        to: Vec<u64>,
    },
    /// None of these.
    Other,
}
