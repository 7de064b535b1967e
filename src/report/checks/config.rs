//! How the config check is shown.

use super::{Details, Presentation};
use crate::verdict::CheckId;

pub(super) const SHOWN: Presentation = Presentation { details: Details::Checkers, ..Presentation::of(CheckId::Config) };
