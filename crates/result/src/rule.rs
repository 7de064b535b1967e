//! One rule: a code that findings carry, stable for ever, and its weight.

use crate::verdict::{CheckId, Severity};

/// One rule: its code, the check it belongs to, and how much it weighs unless the policy says otherwise.
#[derive(Debug, PartialEq, Eq)]
pub struct Rule {
    /// Stable, kebab-case.
    pub code: &'static str,
    /// The check whose findings carry it.
    pub check: CheckId,
    /// Weight of a finding by default; a judge that measures a band may weigh it less or more.
    pub severity: Severity,
    /// Whether it says that something was not read or not compared. A waiver accepts differences, never an absence.
    pub is_absence: bool,
}

impl Rule {
    /// A rule of `check`.
    pub const fn new(check: CheckId, code: &'static str, severity: Severity) -> Self {
        Self { code, check, severity, is_absence: false }
    }

    /// The same rule, about something that was not read or not compared.
    #[must_use]
    pub const fn absence(self) -> Self {
        Self { is_absence: true, ..self }
    }
}
