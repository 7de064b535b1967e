//! Some answers that were scored by something else than the others.

use super::super::entry::Cause;
use super::super::evidence::names_cause;
use crate::judge::tokens::rules;
use crate::result::diagnosis::Sureness;

pub(super) const CAUSE: Cause = Cause {
    shown_by: &[&rules::SEQUENCES_OFF, &rules::DIVERGE],
    in_run: |finding| names_cause(finding, "sequences"),
    run_sureness: Sureness::Likely,
    ..Cause::new("sequences")
};
