//! One rank, or every so-manieth answer, whose weights differ from the others'.

use super::super::entry::Cause;
use super::super::evidence::names_cause;
use crate::judge::tokens::rules;
use crate::result::diagnosis::Sureness;

pub(super) const CAUSE: Cause = Cause {
    shown_by: &[&rules::DIVERGE],
    in_run: |finding| names_cause(finding, "rank-weights"),
    run_sureness: Sureness::Certain,
    ..Cause::new("rank-weights")
};
