//! The register of rules: every code a finding can carry, check by check.

use super::rule::{self, Rule};
use crate::check::each_check;

/// Joins the lists of all checks.
macro_rules! of_checks {
    ($($(#[$about:meta])+ $name:ident = $id:ident by [$($command:ident)?];)+) => {
        const OF_CHECKS: &[&[&Rule]] = &[$(super::$name::RULES),+];
    };
}

each_check!(of_checks);

/// All rules, check by check.
pub fn all_rules() -> impl Iterator<Item = &'static Rule> {
    let before = [rule::artifacts::RULES, rule::evidence::RULES, super::partial_coverage::RULES, rule::policy::RULES];
    let after = [
        super::run::rules::RULES,
        super::layout::RULES,
        super::location::RULES,
        rule::history::RULES,
        super::samples::rules::RULES,
    ];
    before.into_iter().chain(OF_CHECKS.iter().copied()).chain(after).flatten().copied()
}

/// The rule with this code.
pub fn find(code: &str) -> Option<&'static Rule> {
    all_rules().find(|rule| rule.code == code)
}
