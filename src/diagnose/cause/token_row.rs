//! One row of the embedding that differs.

use super::super::entry::Cause;
use super::super::evidence::names_cause;
use crate::judge::tokens::rules;
use crate::result::diagnosis::Sureness;

pub(super) const CAUSE: Cause = Cause {
    shown_by: &[&rules::DIVERGE],
    in_run: |finding| names_cause(finding, "token-row"),
    run_sureness: Sureness::Certain,
    ..Cause::new("token-row")
};
