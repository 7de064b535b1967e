//! Gradients that hold those of the step before: they were not reset.

use super::super::entry::Cause;
use crate::judge::run::rules;

pub(super) const CAUSE: Cause = Cause { shown_by: &[&rules::ACCUMULATES], ..Cause::new("gradient-accumulates") };
