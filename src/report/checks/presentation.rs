//! Presentation of one check, beside its row, rules and findings.

use serde_json::Value as Json;

use crate::error::Result;
use crate::report::messages::Language;
use crate::result::GateResult;
use crate::result::unit::Unit;
use crate::verdict::CheckId;

/// Key of the words for agreement of what runs computed.
pub(super) const AGREES: &str = "reason_agrees";

/// Presentation of a check beside its row, rules and findings.
pub(in crate::report) struct Presentation {
    /// The check.
    pub(in crate::report) check: CheckId,
    /// The table on the terminal.
    pub(in crate::report) details: Details,
    /// Its pictures.
    pub(in crate::report) pictures: &'static [CheckPicture],
    /// Data of its units that the page's scripts draw.
    pub(in crate::report) embedded: Option<PageData>,
    /// Whether a diagnosis at the place of a finding always explains that finding, even if its evidence does not name it.
    pub(in crate::report) is_diagnosed_by_place: bool,
    /// Whether it compares settings only, not numbers that a run computed.
    pub(in crate::report) is_of_settings: bool,
    /// Whether it is optional: a run without files for it counts as complete.
    pub(in crate::report) is_aside: bool,
    /// Whether it compares times only, not numbers that a run computed.
    pub(in crate::report) is_of_times: bool,
    /// Key of the words for its agreement.
    pub(in crate::report) agreement: &'static str,
}

/// A table on the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::report) enum Details {
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

pub(in crate::report) struct CheckPicture {
    /// Its file in the output folder.
    pub(in crate::report) file: &'static str,
    /// Draws it as PNG; gives `None` if there is nothing to draw.
    pub(in crate::report) draw: fn(&GateResult, Language) -> Result<Option<Vec<u8>>>,
}

/// Data for the page's scripts.
pub(in crate::report) struct PageData {
    /// Its key.
    pub(in crate::report) key: &'static str,
    /// Data of a unit; `None` for units of other checks.
    pub(in crate::report) make: fn(&Unit) -> Option<Json>,
}

impl Presentation {
    /// A presentation with only a row, rules and findings.
    pub(super) const fn from_check(check: CheckId) -> Self {
        Self {
            check,
            details: Details::Nothing,
            pictures: &[],
            embedded: None,
            is_diagnosed_by_place: false,
            is_of_settings: false,
            is_aside: false,
            is_of_times: false,
            agreement: AGREES,
        }
    }
}
