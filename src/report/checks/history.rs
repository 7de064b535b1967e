//! Presentation of earlier runs.

use super::presentation::{Picture, Presentation};
use crate::report::plot::trend::trend_png;
use crate::verdict::CheckId;

pub(super) const SHOWN: Presentation = Presentation {
    pictures: &[Picture {
        file: "trend.png",
        draw: |result, language| {
            trend_png(result.history.as_ref().map_or(&[][..], |history| &history.trends), language)
        },
    }],
    ..Presentation::of(CheckId::History)
};
