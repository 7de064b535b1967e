//! Copies of a parameter that part: the ranks did not get the same update.

use super::super::entry::Cause;
use crate::judge::run::rules;

pub(super) const CAUSE: Cause = Cause { shown_by: &[&rules::REPLICAS_DIFFER], ..Cause::new("replicas-differ") };
