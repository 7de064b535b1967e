//! Names of modules that differ by a prefix.

use super::View;
use crate::judge::dump::rules;
use crate::pair::dump::{ModulePrefix, PrefixReading};
use crate::result::finding::Finding;
use crate::verdict::Side;

impl View<'_> {
    /// A prefix that was left out, or several that could be.
    pub(super) fn prefix_finding(&self) -> Option<Finding> {
        match &self.input.comparison.prefix {
            ModulePrefix::None => None,
            ModulePrefix::Found(reading) => Some(
                Finding::new(&rules::MODULE_PREFIX, self.place())
                    .with("unit", self.place())
                    .with("side", side(reading).as_str())
                    .with("prefix", reading.from.as_str())
                    .with("stands_for", reading.to.as_str())
                    .with("count", reading.count)
                    .with("example", reading.example.0.as_str())
                    .with("partner", reading.example.1.as_str())
                    .with("wrappers", self.input.comparison.wrappers),
            ),
            ModulePrefix::Ambiguous(readings) => Some(
                Finding::new(&rules::MODULE_PREFIX_AMBIGUOUS, self.place())
                    .with("unit", self.place())
                    .with("count", readings.len())
                    .with("readings", readings.iter().map(shown).collect::<Vec<_>>()),
            ),
        }
    }
}

fn side(reading: &PrefixReading) -> Side {
    if reading.is_of_candidate { Side::Candidate } else { Side::Baseline }
}

/// A reading as the line of a policy that makes it, with a module that it explains.
fn shown(reading: &PrefixReading) -> String {
    let (long, short) = &reading.example;
    format!("{{'{}': '{}'}} ({long} = {short})", reading.from, reading.to)
}
