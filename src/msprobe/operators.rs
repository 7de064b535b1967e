//! The verdict of `api_precision_compare` of msprobe 26.2.0 on an output of two devices.
//!
//! It judges what is finite, so that NaN on the device passes, and calls an output wrong for its largest relative error alone.

use crate::compare::operators::{Level, Measured, Ratio, RatioKind, is_unjudged, measure, ratios};
use crate::pair::operators::OutputPair;
use crate::read::operators::Status;

/// The status that the tool gives a pair.
pub fn status(pair: &OutputPair<'_>) -> Status {
    if is_unjudged(pair.candidate) {
        return Status::Skip;
    }
    let measured = match measure(pair) {
        Measured::NonFinite | Measured::Dtype => ratios(pair),
        measured => measured,
    };
    match measured {
        Measured::Binary(Some(share)) if share > 0.0 => Status::Error,
        Measured::Binary(Some(_)) => Status::Pass,
        Measured::Ratios(found) => {
            let limits = Level::of(pair.candidate.api()).limits();
            let wrong = |kind: &RatioKind| match found.get(*kind) {
                Ratio::NonFinite => true,
                Ratio::Of(ratio) => ratio > limits.get(*kind),
                Ratio::Unknown | Ratio::NotJudged | Ratio::BaselineNonFinite => false,
            };
            let is_blank = RatioKind::ALL.iter().all(|kind| found.get(*kind) == Ratio::Unknown);
            if is_blank {
                Status::Skip
            } else if RatioKind::ALL.iter().any(wrong) {
                Status::Error
            } else {
                Status::Pass
            }
        }
        _ => Status::Skip,
    }
}
