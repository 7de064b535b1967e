//! Presentation of source.

use super::presentation::{Details, Presentation};
use crate::verdict::CheckId;

pub(super) const SHOWN: Presentation = Presentation {
    details: Details::Nothing,
    is_of_settings: true,
    agreement: "reason_agrees_source",
    ..Presentation::from_check(CheckId::Source)
};
