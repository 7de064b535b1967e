//! Log-probabilities that were renormalised after top-k or top-p.

use super::super::entry::Cause;
use super::super::evidence::names_cause;
use crate::judge::tokens::rules;
use crate::result::diagnosis::Sureness;

pub(super) const CAUSE: Cause = Cause {
    shown_by: &[&rules::DIVERGE],
    in_run: |finding| names_cause(finding, "truncated-sampling"),
    run_sureness: Sureness::Likely,
    ..Cause::new("truncated-sampling")
};
