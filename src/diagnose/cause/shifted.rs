//! Log-probabilities that stand at another token than their own.

use super::super::entry::Cause;
use super::super::evidence::names_cause;
use crate::judge::tokens::rules;
use crate::result::diagnosis::Sureness;

pub(super) const CAUSE: Cause = Cause {
    shown_by: &[&rules::DIVERGE],
    in_run: |finding| names_cause(finding, "shifted"),
    run_sureness: Sureness::Certain,
    ..Cause::new("shifted")
};
