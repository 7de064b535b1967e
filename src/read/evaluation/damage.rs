//! Damage of an evaluation's files: parts that cannot be read.

/// Damage of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvaluationDamage {
    /// Path of the file.
    pub path: String,
    /// Line number, from 1; `None` if the damage is not that of one line.
    pub line: Option<u64>,
    /// Reason, in English, as readers give it.
    pub reason: String,
}
