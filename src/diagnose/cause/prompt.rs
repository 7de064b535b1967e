//! The trainer scores another sequence than the engine sampled.

use super::super::entry::Cause;
use super::super::evidence::names_cause;
use crate::judge::tokens::rules;
use crate::result::diagnosis::Sureness;

pub(super) const CAUSE: Cause = Cause {
    shown_by: &[&rules::PROMPT_DIFFERS, &rules::DIVERGE],
    in_run: |finding| names_cause(finding, "prompt"),
    run_sureness: Sureness::Certain,
    ..Cause::new("prompt")
};
