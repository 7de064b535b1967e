//! The register of rules: every code a finding can carry, check by check.

use super::rule::{self, Rule};

/// Every rule there is, check by check.
pub fn all() -> impl Iterator<Item = &'static Rule> {
    [
        rule::artifacts::RULES,
        super::left_out::RULES,
        rule::policy::RULES,
        super::config::rules::RULES,
        super::loss::code::RULES,
        super::dump::rules::RULES,
        super::checkpoint::rules::RULES,
        super::location::RULES,
        rule::history::RULES,
    ]
    .into_iter()
    .flatten()
    .copied()
}

/// The rule with this code.
pub fn find(code: &str) -> Option<&'static Rule> {
    all().find(|rule| rule.code == code)
}
