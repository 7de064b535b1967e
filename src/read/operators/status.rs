//! The status that a test gives an operator.

/// Result of a test of an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OperatorStatus {
    /// Nothing was checked: `SKIP`, or one space.
    Skip,
    /// `pass`
    Pass,
    /// `warning`
    Warning,
    /// `error`
    Error,
}

impl OperatorStatus {
    /// Reads the status in a cell; `None` for any other word.
    pub fn parse(cell: &str) -> Option<Self> {
        let cell = cell.trim();
        let is = |word: &str| cell.eq_ignore_ascii_case(word);
        if cell.is_empty() || is("skip") {
            Some(Self::Skip)
        } else if is("pass") {
            Some(Self::Pass)
        } else if is("warning") {
            Some(Self::Warning)
        } else if is("error") {
            Some(Self::Error)
        } else {
            None
        }
    }

    /// Word for the status, as msprobe writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Skip => "SKIP",
            Self::Pass => "pass",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}
