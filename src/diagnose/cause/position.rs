//! Positions of the answer from which on both differ.

use super::super::entry::Cause;
use super::super::evidence::names_cause;
use crate::judge::tokens::rules;
use crate::result::diagnosis::Sureness;

pub(super) const CAUSE: Cause = Cause {
    shown_by: &[&rules::DIVERGE],
    in_run: |finding| names_cause(finding, "position"),
    run_sureness: Sureness::Likely,
    ..Cause::new("position")
};
