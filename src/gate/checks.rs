//! The checks as the gate runs them: the table of checks, applied to the modules of this folder.

use super::discover::{Recogniser, Search};
use super::wiring::GateCheck;
use crate::check::each_check;
use crate::read::curve::log::LogPattern;
use crate::verdict::CheckId;

/// Builds the gate's tables from the table of checks.
macro_rules! tables {
    ($($(#[$about:meta])+ $name:ident = $id:ident by [$($command:ident)?];)+) => {
        const CHECKS: &[&GateCheck] = &[$(&super::$name::CHECK),+];
        /// The recognisers of all checks, in the order of reports.
        const RECOGNISERS: &[Recogniser] = &[$(super::$name::CHECK.recogniser,)+ super::members::MEMBERS];
    };
}

each_check!(tables);

/// The recognisers of all checks.
pub fn recognisers() -> &'static [Recogniser] {
    RECOGNISERS
}

/// A search for the artifacts of all checks.
pub fn search(pattern: Option<&LogPattern>) -> Search<'_> {
    Search { recognisers: recognisers(), pattern, room: None }
}

/// The check with the given id; `None` for ids that only group findings (artifacts, history).
pub(super) fn find_check(id: CheckId) -> Option<&'static GateCheck> {
    CHECKS.iter().copied().find(|check| check.recogniser.check == id)
}
