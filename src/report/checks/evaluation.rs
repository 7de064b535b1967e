//! Presentation of evaluations.

use super::presentation::{CheckPicture, Details, Presentation};
use crate::report::plot::evaluation::evaluation_png;
use crate::verdict::CheckId;

pub(super) const SHOWN: Presentation = Presentation {
    details: Details::Scores,
    pictures: &[CheckPicture { file: "evaluation.png", draw: evaluation_png }],
    agreement: "reason_agrees_evaluation",
    ..Presentation::from_check(CheckId::Evaluation)
};
