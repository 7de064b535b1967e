//! Presentation of profiles.

use super::presentation::{CheckPicture, Details, Presentation};
use crate::report::plot::performance::performance_png;
use crate::verdict::CheckId;

pub(super) const SHOWN: Presentation = Presentation {
    details: Details::Profiles,
    pictures: &[CheckPicture { file: "performance.png", draw: performance_png }],
    is_of_times: true,
    agreement: "reason_agrees_performance",
    ..Presentation::from_check(CheckId::Performance)
};
