//! The layouts of two runs that cut the same model differently, in one line.

use minijinja::{Value, context};

use super::writer::{Writer, safe};
use crate::error::Result;
use crate::layout::LayoutSource;
use crate::result::GateResult;

/// The layouts of both sides, and the source that the candidate's is known from; `None` where both cut the model alike.
///
/// # Errors
/// Errors of a text.
pub(super) fn note(result: &GateResult, writer: &Writer) -> Result<Option<Value>> {
    let Some(layouts) = result.layout.as_ref().filter(|layouts| !layouts.baseline.cuts_as(&layouts.candidate)) else {
        return Ok(None);
    };
    let source = match layouts.candidate.source {
        LayoutSource::Declared => "layout_declared",
        LayoutSource::Arguments => "layout_arguments",
        LayoutSource::Files => "layout_files",
        LayoutSource::Inferred => "layout_inferred",
    };
    let [baseline, candidate] = [&layouts.baseline, &layouts.candidate].map(|layout| safe(layout.to_string()));
    let source = safe(writer.word(source)?);
    writer.phrase("layout_line", &context! { baseline, candidate, source }).map(safe).map(Some)
}
