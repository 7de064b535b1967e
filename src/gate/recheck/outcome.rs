//! Does a rule outcome contradict itself? Its unit, direction, margin and notes.

use super::refusal::{Checked, demand};
use crate::result::finding::Fact;
use crate::result::outcome::{LimitDirection, Note, RuleKind, RuleOutcome};

/// Notes that one outcome holds.
const NOTES: usize = 8;

/// The steps that steps a coverage rule counted: on both sides, and in the baseline.
pub(super) fn covered(outcome: &RuleOutcome) -> Option<(u32, u32)> {
    let facts = &outcome.note(Note::STEPS_COVERED)?.facts;
    let count = |name: &str| match facts.get(name) {
        Some(Fact::Count(count)) => u32::try_from(*count).ok(),
        _ => None,
    };
    count("both").zip(count("baseline"))
}

/// Unit and direction are those of the rule, and the margin follows from value and limits.
pub(super) fn held(outcome: &RuleOutcome, at: &str) -> Checked {
    let (unit, direction) = RuleKind::held(&outcome.rule);
    demand((outcome.unit, outcome.direction) == (unit, direction), at, || {
        "has the wrong direction of its limits, or the wrong unit".into()
    })?;
    // Only what has a sign is held by its magnitude.
    let negative = outcome.value.is_some_and(|value| value.0 < 0.0);
    demand(direction != LimitDirection::AtMost || !negative, at, || "is negative, which no such rule measures".into())?;
    let known = outcome.notes.len() <= NOTES && outcome.notes.iter().all(Note::is_whole);
    demand(known, at, || "has notes that the gate does not write".into())?;
    demand(outcome.margin == outcome.expected_margin(), at, || {
        "its margin does not follow from its value and limits".into()
    })
}
