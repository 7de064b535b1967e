//! Presentation of evaluations.

use super::{Details, Presentation};
use crate::verdict::CheckId;

pub(super) const SHOWN: Presentation =
    Presentation { details: Details::Units, pictures: &[], ..Presentation::of(CheckId::Evaluation) };
