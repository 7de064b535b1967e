//! Presentation of the config check.

use super::presentation::{Details, Presentation};
use crate::verdict::CheckId;

pub(super) const SHOWN: Presentation = Presentation {
    details: Details::Checkers,
    is_of_settings: true,
    agreement: "row_config_agree",
    ..Presentation::from_check(CheckId::Config)
};
