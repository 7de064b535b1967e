//! Presentation of training monitors.

use super::presentation::{Details, Picture, Presentation};
use crate::report::plot::monitor::monitor_png;
use crate::verdict::CheckId;

pub(super) const SHOWN: Presentation = Presentation {
    details: Details::Units,
    pictures: &[Picture { file: "monitor.png", draw: monitor_png }],
    ..Presentation::of(CheckId::Monitor)
};
