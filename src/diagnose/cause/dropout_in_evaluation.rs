//! An evaluation in training mode: dropout drops.

use super::super::entry::Cause;
use crate::judge::run::rules;

pub(super) const CAUSE: Cause =
    Cause { shown_by: &[&rules::DROPOUT_IN_EVALUATION], ..Cause::new("dropout-in-evaluation") };
