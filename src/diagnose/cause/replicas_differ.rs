//! Copies of a parameter that part: the ranks did not get the same update.

use super::super::entry::Cause;
use crate::judge::monitor::copies::is_behind_sum;
use crate::judge::run::rules;

pub(super) const CAUSE: Cause = Cause {
    shown_by: &[&rules::REPLICAS_DIFFER],
    in_run: |finding| !is_behind_sum(finding),
    ..Cause::new("replicas-differ")
};
