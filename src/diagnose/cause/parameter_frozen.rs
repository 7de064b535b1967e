//! Parameters with a gradient that stand while others move: the optimizer does not hold them.

use super::super::entry::Cause;
use crate::judge::run::rules;

pub(super) const CAUSE: Cause = Cause { shown_by: &[&rules::PARAMETER_FROZEN], ..Cause::new("parameter-frozen") };
