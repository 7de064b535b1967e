//! Presentation of log-probabilities.

use super::presentation::{Picture, Presentation};
use crate::report::plot::tokens::tokens_png;
use crate::verdict::CheckId;

pub(super) const SHOWN: Presentation =
    Presentation { pictures: &[Picture { file: "tokens.png", draw: tokens_png }], ..Presentation::of(CheckId::Tokens) };
