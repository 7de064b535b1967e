//! No parameter moves: no update takes place.

use super::super::entry::Cause;
use crate::judge::run::rules;

pub(super) const CAUSE: Cause = Cause { shown_by: &[&rules::NEVER_MOVE], ..Cause::new("parameters-never-move") };
