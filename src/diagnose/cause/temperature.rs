//! A temperature by which only one of the two divides its logits.

use super::super::entry::Cause;
use super::super::evidence::names_cause;
use crate::judge::evaluation::rules::LOGPROBS_DIFFER;
use crate::judge::tokens::rules;
use crate::result::diagnosis::Sureness;

pub(super) const CAUSE: Cause = Cause {
    shown_by: &[&rules::DIVERGE, &LOGPROBS_DIFFER],
    in_run: |finding| names_cause(finding, "temperature"),
    run_sureness: Sureness::Likely,
    ..Cause::new("temperature")
};
