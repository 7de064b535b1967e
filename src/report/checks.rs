//! Presentation of the checks of which more is shown than row, rules and findings.
//!
//! A check that is not listed is shown all the same: in the comment, page, terminal, JUnit and metrics by its verdict,
//! the names and sizes of its units and its findings. An entry adds a picture, a table or data for the page's scripts.

mod config;
mod dump;
mod evaluation;
mod history;
mod loss;
mod monitor;
mod operators;
mod performance;
mod source;

use serde_json::Value as Json;

use super::messages::Language;
use crate::error::Result;
use crate::result::GateResult;
use crate::result::unit::Unit;
use crate::verdict::CheckId;

/// Key of the words for agreement of what runs computed.
const AGREES: &str = "reason_agrees";

/// Presentation of a check beside its row, rules and findings.
pub(super) struct Presentation {
    /// The check.
    pub(super) check: CheckId,
    /// The table on the terminal.
    pub(super) details: Details,
    /// Its pictures.
    pub(super) pictures: &'static [Picture],
    /// Data of its units that the page's scripts draw.
    pub(super) embedded: Option<Embedded>,
    /// Whether a diagnosis at the place of a finding is about that finding, whatever its evidence name.
    pub(super) is_diagnosed_by_place: bool,
    /// Whether it compares settings, and nothing that a run computed.
    pub(super) is_of_settings: bool,
    /// Whether it compares times, and no number that a run computed.
    pub(super) is_of_times: bool,
    /// Key of the words for its agreement.
    pub(super) agreement: &'static str,
}

/// A table on the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Details {
    /// None.
    Nothing,
    /// A line per checker.
    Checkers,
    /// A line per rule.
    Rules,
    /// A line per unit, where there are several, with its culprit.
    Units,
    /// A line per score, with its drop.
    Scores,
    /// Phases, operators and ranks of profiles.
    Profiles,
}

/// A picture of a check.
pub(super) struct Picture {
    /// Its file in the output folder.
    pub(super) file: &'static str,
    /// Draws it as PNG; `None` where there is nothing to draw.
    pub(super) draw: fn(&GateResult, Language) -> Result<Option<Vec<u8>>>,
}

/// Data for the page's scripts.
pub(super) struct Embedded {
    /// Its key.
    pub(super) key: &'static str,
    /// Data of a unit; `None` for units of other checks.
    pub(super) of: fn(&Unit) -> Option<Json>,
}

impl Presentation {
    /// Nothing beside row, rules and findings.
    const fn of(check: CheckId) -> Self {
        Self {
            check,
            details: Details::Nothing,
            pictures: &[],
            embedded: None,
            is_diagnosed_by_place: false,
            is_of_settings: false,
            is_of_times: false,
            agreement: AGREES,
        }
    }
}

/// The checks of which more is shown, in the order of reports.
pub(super) const ALL: &[Presentation] = &[
    config::SHOWN,
    loss::SHOWN,
    dump::SHOWN,
    monitor::SHOWN,
    evaluation::SHOWN,
    operators::SHOWN,
    performance::SHOWN,
    source::SHOWN,
    history::SHOWN,
];

/// Presentation of `check`; `None` where no more is shown of it than row, rules and findings.
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

/// Whether `result` compared anything that the runs computed.
pub(super) fn computed_anything(result: &GateResult) -> bool {
    result.checks.iter().any(|check| !check.units.is_empty() && !is_of_settings(check.id) && !is_of_times(check.id))
}

/// Whether `check` compares times, and no number that a run computed.
pub(super) fn is_of_times(check: CheckId) -> bool {
    find(check).is_some_and(|shown| shown.is_of_times)
}

/// Whether `check` compares settings, and nothing that a run computed.
pub(super) fn is_of_settings(check: CheckId) -> bool {
    find(check).is_some_and(|shown| shown.is_of_settings)
}

/// Whether a diagnosis at the place of a finding of `check` is about that finding, whatever its evidence name.
pub(super) fn is_diagnosed_by_place(check: CheckId) -> bool {
    find(check).is_some_and(|shown| shown.is_diagnosed_by_place)
}
