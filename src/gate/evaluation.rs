//! The check of evaluations: results of harnesses on both sides to a verdict per metric.

mod found;

use super::CheckOutcome;
use super::checks::GateCheck;
use super::discover::{Evidence, Extent, Recogniser};
use crate::verdict::CheckId;

/// The check of evaluations.
pub(super) const CHECK: GateCheck = GateCheck {
    // A file of samples may be empty; its name and place still say what it would be.
    recogniser: Recogniser { check: ID, by: Evidence::Place, extent: Extent::Content, look: found::recognise },
    judge: |sides, _, _| {
        let (baseline, candidate) = (found::found(&sides.baseline), found::found(&sides.candidate));
        let _models = crate::pair::evaluation::models(&baseline.runs, &candidate.runs);
        let _records = crate::pair::evaluation::generations(&baseline.generations, &candidate.generations);
        Ok(CheckOutcome::new(ID))
    },
    measure: None,
};

const ID: CheckId = CheckId::Evaluation;
