//! Presentation of training curves.

use serde_json::{Value as Json, json};

use super::presentation::{Details, Embedded, Picture, Presentation};
use crate::report::curve::{self, Shown};
use crate::report::plot::loss::loss_png;
use crate::report::plot::samples::samples_png;
use crate::report::plot::timeline::timeline_png;
use crate::result::unit::Unit;
use crate::verdict::CheckId;

pub(super) const SHOWN: Presentation = Presentation {
    details: Details::Rules,
    pictures: &[
        Picture { file: "samples.png", draw: samples_png },
        Picture { file: "loss.png", draw: loss_png },
        Picture { file: "timeline.png", draw: timeline_png },
    ],
    embedded: Some(Embedded { key: "curves", of: embedded }),
    ..Presentation::of(CheckId::Loss)
};

fn embedded(unit: &Unit) -> Option<Json> {
    let Unit::Curve(unit) = unit else { return None };
    let shown = Shown::of(unit);
    Some(json!({
        "metric": unit.metric, "run": unit.run, "verdict": unit.verdict, "mode": unit.mode, "paired": unit.paired,
        "first_diverging_step": unit.first_diverging_step, "series": unit.series,
        "limit": curve::limit(unit), "windows": unit.windows,
        "ends": shown.ends(), "largest_difference": shown.largest_difference(),
    }))
}
