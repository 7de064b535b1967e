//! Presentation of training monitors.

use super::presentation::{CheckPicture, Details, Presentation};
use crate::report::plot::monitor::monitor_png;
use crate::verdict::CheckId;

pub(super) const SHOWN: Presentation = Presentation {
    details: Details::Units,
    pictures: &[CheckPicture { file: "monitor.png", draw: monitor_png }],
    ..Presentation::from_check(CheckId::Monitor)
};
