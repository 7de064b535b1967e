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
        /// Whether it holds one number throughout.
        is_trivial: bool,
    },
    /// Equal after rounding to the later stage's element type.
    Cast {
        /// Element type of the earlier stage.
        from: String,
        /// Element type of the later stage.
        to: String,
    },
    /// Equal, but for further rows that are zero.
    Padded {
        /// Number of these rows.
        rows: u64,
    },
    /// Two forms that cannot be compared.
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
    /// Something else than what was sent.
    Wrong(SyncChange),
}

/// Explanation of a tensor that is not what was sent.
#[derive(Clone, Debug, PartialEq)]
pub enum SyncChange {
    /// That of an earlier step.
    Stale {
        /// The step.
        step: u64,
    },
    /// That of another name, whose own place holds another one too.
    Swapped {
        /// The other name.
        with: String,
    },
    /// That of another name, which is at its own place as well.
    Copied {
        /// The other name.
        of: String,
    },
    /// All its rows, or elements, in another order.
    Reordered,
    /// Some rows equal, others not.
    Partial {
        /// The first row that differs, and the one behind the last.
        rows: [u64; 2],
        /// Number of rows that differ.
        count: u64,
    },
    /// Zeros, or numbers that have nothing in common with those that were sent.
    Unlike,
    /// NaN, or infinity where a number was sent.
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
