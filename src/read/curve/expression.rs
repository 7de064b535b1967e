//! Regular expressions that the readers of logs hold.

use regex::Regex;

/// The expression of a constant pattern.
pub(super) fn constant_regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("invariant: the patterns of the readers are constants, and tests use each")
}
