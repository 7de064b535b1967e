//! Presentation of operator tests.

use super::presentation::{Details, Presentation};
use crate::verdict::CheckId;

pub(super) const SHOWN: Presentation = Presentation {
    details: Details::Units,
    agreement: "reason_agrees_operators",
    ..Presentation::from_check(CheckId::Operators)
};
