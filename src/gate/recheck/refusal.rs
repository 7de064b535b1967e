//! Reasons why a result is refused.

use crate::error::{Error, ErrorKind};
use crate::report::escape::cleaned;

/// Characters of a text from the result that a message repeats.
const MOST_SHOWN: usize = 80;

/// A part of a result that contradicts another, or goes beyond what the gate writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Contradiction {
    place: String,
    what: String,
}

/// Outcome of checking one part of a result.
pub(super) type Checked = Result<(), Contradiction>;

impl Contradiction {
    /// Something wrong at `place`.
    pub(super) fn new(place: impl Into<String>, what: impl Into<String>) -> Self {
        Self { place: place.into(), what: what.into() }
    }

    /// The error for people; `name` is the file.
    pub(super) fn into_error(self, name: &str) -> Error {
        let Self { place, what } = self;
        Error::new(ErrorKind::Usage, name, format!("{place}: {what}")).with_help(
            "publish the `result.json` of this version of precision-gate, unchanged and judged by the target branch's \
             policy; or judge the uploaded artifacts here: `precision-gate publish --judge DIR`",
        )
    }
}

/// Returns `Ok` where `holds`, else the contradiction at `place` that `otherwise` describes.
pub(super) fn demand(holds: bool, place: &str, otherwise: impl FnOnce() -> String) -> Checked {
    if holds { Ok(()) } else { Err(Contradiction::new(place, otherwise())) }
}

/// The start of a text from the result, without anything that a terminal could take for more than text.
pub(super) fn quoted_start(text: &str) -> String {
    let short: String = text.chars().take(MOST_SHOWN).collect();
    let more = if short.len() < text.len() { "…" } else { "" };
    format!("`{}{more}`", cleaned(&short))
}
