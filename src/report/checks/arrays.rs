//! Presentation of arrays.

use super::presentation::{Details, Presentation};
use crate::verdict::CheckId;

pub(super) const SHOWN: Presentation = Presentation {
    details: Details::Units,
    is_aside: true,
    agreement: "reason_agrees_arrays",
    ..Presentation::from_check(CheckId::Arrays)
};
