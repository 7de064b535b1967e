//! Sentences of a result, written again from its codes and facts, since the sentences in a file cannot be trusted.

use super::escape::TextTarget;
use super::messages::Language;
use super::writer::Writer;
use super::{causes, opening, run, writer};
use crate::diagnose::cause;
use crate::error::{Error, ErrorKind, Result};
use crate::result::GateResult;

/// Writes the sentences of `result` again in `language`; messages call it `name`.
///
/// # Errors
/// `Usage` where a finding or a cause lacks what its sentence is made of.
pub fn rewrite(result: &mut GateResult, name: &str, language: Language) -> Result<()> {
    let refused = |error: &Error| {
        let message = format!("a sentence cannot be made of its facts: {}", error.message());
        Error::new(ErrorKind::Usage, name, message).with_help("publish the `result.json` as precision-gate wrote it")
    };
    for diagnosis in &mut result.diagnoses {
        if cause::find(&diagnosis.cause).is_none() {
            return Err(Error::new(ErrorKind::Usage, name, "diagnoses: names a cause that does not exist")
                .with_help("publish the `result.json` as this version of precision-gate wrote it"));
        }
        diagnosis.evidence.iter_mut().for_each(|statement| statement.text.clear());
        diagnosis.advice.text.clear();
    }
    let writer = Writer::from_result(result, language, TextTarget::Plain);
    writer::write_finding_texts(&mut result.findings, &writer).map_err(|error| refused(&error))?;
    for waived in &mut result.waived {
        writer::write_finding_texts(std::slice::from_mut(&mut waived.finding), &writer)
            .map_err(|error| refused(&error))?;
        // Like the gate itself: sentences of waived findings are made where they are shown.
        waived.finding.message.clear();
        waived.finding.help.clear();
    }
    run::write_invariant_texts(&mut result.looked, &writer).map_err(|error| refused(&error))?;
    causes::write_diagnosis_texts(&mut result.diagnoses, &writer).map_err(|error| refused(&error))?;
    opening::write_opening(result, &writer).map_err(|error| refused(&error))
}
