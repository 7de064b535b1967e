//! Prompts that a cache served, which older weights had filled.

use super::super::entry::Cause;
use super::super::evidence::names_cause;
use crate::judge::tokens::rules;
use crate::result::diagnosis::Sureness;

pub(super) const CAUSE: Cause = Cause {
    shown_by: &[&rules::SEQUENCES_OFF, &rules::DIVERGE],
    in_run: |finding| names_cause(finding, "prefix-cache"),
    run_sureness: Sureness::Certain,
    ..Cause::new("prefix-cache")
};
