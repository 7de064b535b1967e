//! An engine that keeps the weights of an earlier step.

use super::super::entry::Cause;
use super::super::evidence::names_cause;
use crate::judge::tokens::rules;
use crate::result::diagnosis::Sureness;

pub(super) const CAUSE: Cause = Cause {
    shown_by: &[&rules::DIVERGE, &rules::VERSION_BEHIND],
    in_run: |finding| names_cause(finding, "stale-weights"),
    run_sureness: Sureness::Certain,
    ..Cause::new("stale-weights")
};
