//! Presentation of log-probabilities.

use super::presentation::{CheckPicture, Presentation};
use crate::report::plot::tokens::tokens_png;
use crate::verdict::CheckId;

pub(super) const SHOWN: Presentation = Presentation {
    pictures: &[CheckPicture { file: "tokens.png", draw: tokens_png }],
    ..Presentation::from_check(CheckId::Tokens)
};
