//! Facts about a line of a log, by itself.

use super::blocks::LineContent;
use super::event;
use super::kinds::logs_means;
use super::names::Names;
use super::pairs::Reader;
use crate::read::curve::told::FactLines;

/// Facts about a line that do not depend on other lines.
#[derive(Debug)]
pub(super) struct LineFacts {
    /// Whether it may show the end of the run, or is the norm of a parameter.
    pub(super) may_tell: bool,
    pub(super) has_nul: bool,
    /// Whether the program that wrote it logs means.
    pub(super) is_mean: bool,
    pub(super) looked: LineContent,
}

impl LineFacts {
    /// Facts about a line whose values are not read ahead.
    pub(super) fn from_text(text: &str) -> Self {
        Self {
            may_tell: FactLines::may_hold_fact(text),
            has_nul: text.contains('\0'),
            is_mean: logs_means(text),
            looked: LineContent::Other,
        }
    }

    /// Facts about a line, with its values; a survey needs nothing that could not be paired.
    pub(super) fn with_values(text: &str, reader: &mut Reader, names: &mut Names, is_survey: bool) -> Self {
        let looked = match event::is_event(text) {
            true => LineContent::Other,
            false => LineContent::from_line(text, reader, names, is_survey),
        };
        Self { looked, ..Self::from_text(text) }
    }
}
