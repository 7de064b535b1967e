//! Damage of an evaluation's files: parts that cannot be read.

/// Damage of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The file.
    pub path: String,
    /// Line, from 1; `None` where the whole file cannot be read.
    pub line: Option<u64>,
    /// Reason, in English, as readers give it.
    pub reason: String,
}
