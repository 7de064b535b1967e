//! Presentation of the checks that show more than a row, rules and findings.
//!
//! A check that is not listed is shown as well: the comment, page, terminal, JUnit file and metrics give its verdict, the names
//! and sizes of its units, and its findings. An entry adds a picture, a table or data for the page's scripts.

mod arrays;
mod config;
mod dump;
mod evaluation;
mod history;
mod loss;
mod monitor;
mod operators;
mod performance;
mod presentation;
mod source;
mod tokens;

use crate::result::GateResult;
use crate::result::unit::Unit;
use crate::verdict::CheckId;
use presentation::{AGREES, Presentation};

pub(super) use presentation::{Details, PageData};

/// The checks that show more, in the order of reports.
pub(super) const ALL: &[Presentation] = &[
    config::SHOWN,
    loss::SHOWN,
    dump::SHOWN,
    arrays::SHOWN,
    monitor::SHOWN,
    tokens::SHOWN,
    evaluation::SHOWN,
    operators::SHOWN,
    performance::SHOWN,
    source::SHOWN,
    history::SHOWN,
];

/// Presentation of `check`; `None` if it shows only a row, rules and findings.
fn find(check: CheckId) -> Option<&'static Presentation> {
    ALL.iter().find(|shown| shown.check == check)
}

/// Key of the words for the agreement of `check`.
pub(super) fn agreement(check: CheckId) -> &'static str {
    find(check).map_or(AGREES, |shown| shown.agreement)
}

/// The table of `check` on the terminal.
pub(super) fn details(check: CheckId) -> Details {
    find(check).map_or(Details::Nothing, |shown| shown.details)
}

/// Whether `check` compared weights as they were saved.
pub(super) fn compares_weights(result: &GateResult, check: CheckId) -> bool {
    let own = result.checks.iter().find(|own| own.id == check);
    own.is_some_and(|own| own.units.iter().any(|unit| matches!(unit, Unit::Checkpoint(_))))
}

/// Whether `result` compared anything that the runs computed.
pub(super) fn computed_anything(result: &GateResult) -> bool {
    result
        .checks
        .iter()
        .any(|check| !check.units.is_empty() && !compares_settings(check.id) && !compares_times(check.id))
}

/// Whether `check` compares times only, not numbers that a run computed.
pub(super) fn compares_times(check: CheckId) -> bool {
    find(check).is_some_and(|shown| shown.is_of_times)
}

/// Whether `check` is optional: a run without files for it counts as complete.
pub(super) fn is_optional(check: CheckId) -> bool {
    find(check).is_some_and(|shown| shown.is_aside)
}

/// Whether `check` compares settings only, not numbers that a run computed.
pub(super) fn compares_settings(check: CheckId) -> bool {
    find(check).is_some_and(|shown| shown.is_of_settings)
}

/// Whether a diagnosis at the place of a finding of `check` always explains that finding, even if its evidence does not name it.
pub(super) fn is_diagnosed_by_place(check: CheckId) -> bool {
    find(check).is_some_and(|shown| shown.is_diagnosed_by_place)
}
