//! Presentation of earlier runs.

use super::presentation::{CheckPicture, Presentation};
use crate::report::plot::trend::trend_png;
use crate::verdict::CheckId;

pub(super) const SHOWN: Presentation = Presentation {
    pictures: &[CheckPicture {
        file: "trend.png",
        draw: |result, language| {
            trend_png(result.history.as_ref().map_or(&[][..], |history| &history.trends), language)
        },
    }],
    ..Presentation::from_check(CheckId::History)
};
