//! The verdict of `api_precision_compare` of msprobe 26.2.0 on an output of two devices.
//!
//! It judges what is finite, so that NaN on the device passes, and calls an output wrong for its largest relative error alone.

use crate::compare::operators::{ErrorRatio, OperatorLevel, OutputMeasure, RatioKind, is_unjudged, measure, ratios};
use crate::pair::operators::OutputPair;
use crate::read::operators::OperatorStatus;

/// The status that the tool gives a pair.
pub fn status(pair: &OutputPair<'_>) -> OperatorStatus {
    if is_unjudged(pair.candidate) {
        return OperatorStatus::Skip;
    }
    let measured = match measure(pair) {
        OutputMeasure::NonFinite | OutputMeasure::Dtype => ratios(pair),
        measured => measured,
    };
    match measured {
        OutputMeasure::Binary(Some(share)) if share > 0.0 => OperatorStatus::Error,
        OutputMeasure::Binary(Some(_)) => OperatorStatus::Pass,
        OutputMeasure::Ratios(found) => {
            let limits = OperatorLevel::from_api(pair.candidate.api()).limits();
            let wrong = |kind: &RatioKind| match found.get(*kind) {
                ErrorRatio::NonFinite => true,
                ErrorRatio::Finite(ratio) => ratio > limits.get(*kind),
                ErrorRatio::Unknown | ErrorRatio::NotJudged | ErrorRatio::BaselineNonFinite => false,
            };
            let is_blank = RatioKind::ALL.iter().all(|kind| found.get(*kind) == ErrorRatio::Unknown);
            if is_blank {
                OperatorStatus::Skip
            } else if RatioKind::ALL.iter().any(wrong) {
                OperatorStatus::Error
            } else {
                OperatorStatus::Pass
            }
        }
        _ => OperatorStatus::Skip,
    }
}
