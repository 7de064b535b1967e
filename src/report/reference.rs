//! The errors of both sides against the reference run, in words.

use minijinja::context;

use super::writer::Writer;
use crate::error::Result;
use crate::result::unit::Culprit;

/// The errors at a culprit and the side that is off; `None` where there was no reference.
///
/// # Errors
/// Where a phrase does not render.
pub fn reference_errors(culprit: &Culprit, writer: &Writer) -> Result<Option<String>> {
    let errors = culprit.reference.map(|errors| {
        context! {
            baseline => errors.baseline.0,
            candidate => errors.candidate.0,
            off_side => errors.off_side.as_str(),
        }
    });
    errors.map(|errors| writer.phrase("from_reference", &errors)).transpose()
}
