//! Presentation of training curves.

use serde_json::{Value as Json, json};

use super::presentation::{CheckPicture, Details, PageData, Presentation};
use crate::report::curve::{self, DrawnCurve};
use crate::report::plot::loss::loss_png;
use crate::report::plot::samples::samples_png;
use crate::report::plot::timeline::timeline_png;
use crate::result::unit::Unit;
use crate::verdict::CheckId;

pub(super) const SHOWN: Presentation = Presentation {
    details: Details::Rules,
    pictures: &[
        CheckPicture { file: "samples.png", draw: samples_png },
        CheckPicture { file: "loss.png", draw: loss_png },
        CheckPicture { file: "timeline.png", draw: timeline_png },
    ],
    embedded: Some(PageData { key: "curves", make: embedded }),
    ..Presentation::from_check(CheckId::Loss)
};

fn embedded(unit: &Unit) -> Option<Json> {
    let Unit::Curve(unit) = unit else { return None };
    let shown = DrawnCurve::from_unit(unit);
    Some(json!({
        "metric": unit.metric, "run": unit.run, "verdict": unit.verdict, "mode": unit.mode, "paired": unit.paired,
        "first_diverging_step": unit.first_diverging_step, "series": unit.series,
        "limit": curve::mean_limit(unit), "windows": unit.windows,
        "ends": shown.value_range(), "largest_difference": shown.largest_difference(),
    }))
}
