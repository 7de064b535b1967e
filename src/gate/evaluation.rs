//! The check of evaluations: results of harnesses on both sides to a verdict per metric.

use super::CheckOutcome;
use super::checks::GateCheck;
use super::discover::{Evidence, Extent, Recognised, Recogniser, Sample};
use crate::verdict::CheckId;

/// The check of evaluations.
pub(super) const CHECK: GateCheck = GateCheck {
    recogniser: Recogniser { check: ID, by: Evidence::Signature, extent: Extent::Content, look: recognise },
    judge: |_, _, _| Ok(CheckOutcome::new(ID)),
    measure: None,
};

const ID: CheckId = CheckId::Evaluation;

fn recognise(_: &Sample<'_>) -> Option<Recognised> {
    None
}
