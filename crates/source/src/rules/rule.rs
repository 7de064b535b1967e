//! Rules about source: what each is, how its findings are placed, and where its code lies.

pub use precision_gate_result::place::Family;
use precision_gate_result::rule::Rule;
use precision_gate_result::verdict::{CheckId, Severity};

/// One rule about source.
#[derive(Debug, PartialEq, Eq)]
pub struct SourceRule {
    /// Its code and severity.
    pub rule: Rule,
    /// Its family.
    pub family: Family,
    /// Whether a file has one finding for all its lines.
    pub is_per_file: bool,
    /// Whether it is off unless the policy gives it a severity.
    pub is_off: bool,
}

impl SourceRule {
    pub(super) const fn new(code: &'static str, severity: Severity, family: Family) -> Self {
        let rule = Rule::new(CheckId::Source, code, severity);
        Self { rule, family, is_per_file: false, is_off: false }
    }

    pub(super) const fn of_reading(code: &'static str) -> Self {
        Self::new(code, Severity::Warn, Family::Reading)
    }

    pub(super) const fn per_file(self) -> Self {
        Self { is_per_file: true, ..self }
    }

    pub(super) const fn off(self) -> Self {
        Self { is_off: true, ..self }
    }
}
