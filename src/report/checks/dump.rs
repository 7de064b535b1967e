//! Presentation of dumps.

use serde_json::{Value as Json, json};

use super::presentation::{CheckPicture, Details, PageData, Presentation};
use crate::report::ends::Decades;
use crate::report::plot::divergence::divergence_png;
use crate::report::plot::error_map::error_map_png;
use crate::result::unit::{ProfilePoint, Unit};
use crate::verdict::CheckId;

pub(super) const SHOWN: Presentation = Presentation {
    details: Details::Units,
    pictures: &[
        CheckPicture { file: "divergence.png", draw: divergence_png },
        CheckPicture { file: "error-map.png", draw: error_map_png },
    ],
    embedded: Some(PageData { key: "units", make: embedded }),
    is_diagnosed_by_place: true,
    ..Presentation::from_check(CheckId::Dump)
};

fn embedded(unit: &Unit) -> Option<Json> {
    let Unit::Dump(unit) = unit else { return None };
    let of = |field: fn(&ProfilePoint) -> Json| unit.profile.iter().map(field).collect::<Vec<_>>();
    Some(json!({
        "axis": Decades::from_profile(&unit.profile), "step": unit.step, "rank": unit.rank, "verdict": unit.verdict,
        "data": unit.data, "culprit": unit.culprit.as_ref().map(|culprit| &culprit.op),
        "culprit_tensor": unit.culprit.as_ref().map(|culprit| &culprit.tensor),
        "inherited_from": unit.inherited_from,
        "order": of(|point| json!(point.order)), "op": of(|point| json!(point.op)),
        "error": of(|point| json!(point.error)), "limit": of(|point| json!(point.limit)),
    }))
}
