//! The status that a test gives an operator.

/// Pass of an operator that was computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// Nothing was checked: `SKIP`, or one space.
    Skip,
    /// `pass`
    Pass,
    /// `warning`
    Warning,
    /// `error`
    Error,
}

impl Status {
    /// The status that a cell says; `None` for any other word.
    pub fn parse(cell: &str) -> Option<Self> {
        let cell = cell.trim();
        let is = |word: &str| cell.eq_ignore_ascii_case(word);
        match () {
            () if cell.is_empty() || is("skip") => Some(Self::Skip),
            () if is("pass") => Some(Self::Pass),
            () if is("warning") => Some(Self::Warning),
            () if is("error") => Some(Self::Error),
            () => None,
        }
    }

    /// The word as msprobe writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Skip => "SKIP",
            Self::Pass => "pass",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}
