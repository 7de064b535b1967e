//! Weights that differ as a whole: an adapter, the order of rows, a matrix, a scale.

use super::super::entry::Cause;
use super::super::evidence::names_cause;
use crate::judge::tokens::rules;
use crate::result::diagnosis::Sureness;

pub(super) const CAUSE: Cause = Cause {
    shown_by: &[&rules::DIVERGE],
    in_run: |finding| names_cause(finding, "other-weights"),
    run_sureness: Sureness::Likely,
    ..Cause::new("other-weights")
};
