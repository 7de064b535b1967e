//! The output folder, with every document of a run.

use std::path::Path;

use super::escape::Target;
use super::folder::{self, Finished, Folder};
use super::messages::Language;
use super::page::operations::Table;
use super::templates::Templates;
use super::writer;
use super::writer::Writer;
use super::{badge, causes, code_quality, issue, junit, metrics, opening, page, pictures, run, sarif, summary};
use crate::error::{Error, ErrorKind, Result};
use crate::output::{Output, RESULT};
use crate::result::GateResult;
use crate::result::advice::from_here;
use crate::result::operation::LINES_VERSION;
use crate::result::seal::seal;

/// Options for all documents.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// Language of the documents.
    pub language: Language,
    /// Templates of documents.
    pub templates: &'a Templates,
    /// Folder of the checked-out repository, where recorded calls are looked for.
    pub source_root: Option<&'a Path>,
}

/// Writes message texts into the result, then every document that `folder` does not hold yet. All documents appear together.
///
/// If one document cannot be made, the complete ones appear nevertheless, so that a result that took hours to measure can be
/// rendered again.
///
/// # Errors
/// Errors of writing; `Policy` for a template of the user's that does not render.
pub fn all(result: &mut GateResult, folder: Folder, options: &Options<'_>) -> Result<()> {
    let Finished { output, operations, .. } = complete(result, folder, options.language)?;
    output.write(RESULT, json(result)?.as_bytes())?;
    result.file = from_here(&output.path().join(RESULT));
    let rendered = documents(result, &operations, &output, options);
    output.commit()?;
    rendered
}

/// Writes message texts into the result, and the digests of the files that `folder` holds. No document appears yet.
///
/// # Errors
/// Errors of a text, and of writing.
pub fn complete(result: &mut GateResult, folder: Folder, language: Language) -> Result<Finished> {
    // The result's own sentences call the file by its name alone, so that they stay correct if the folder is moved.
    result.file = RESULT.into();
    let writer = Writer::of(result, language, Target::Plain);
    writer::fill(&mut result.findings, &writer)?;
    causes::fill(&mut result.diagnoses, &writer)?;
    run::fill(&mut result.looked, &writer)?;
    opening::fill(result, &writer)?;
    let finished = folder.finish()?;
    result.operations_digest = Some(finished.digest.clone());
    result.operations_version = Some(LINES_VERSION);
    result.seal = Some(seal(result));
    Ok(finished)
}

/// The text of `result.json`.
///
/// # Errors
/// `Internal` where the result has no JSON, which does not happen.
pub fn json(result: &GateResult) -> Result<String> {
    let text = serde_json::to_string_pretty(result).map_err(|error| Error::new(ErrorKind::Internal, "", error))?;
    Ok(text + "\n")
}

/// Writes every document that is made from a result and its operations alone; committing `output` is left to the caller.
///
/// # Errors
/// Errors of writing; `Policy` for a template of the user's that does not render.
pub fn documents(result: &GateResult, operations: &Table, output: &Output, options: &Options<'_>) -> Result<()> {
    let (language, templates) = (options.language, options.templates);
    let summary = summary::Options { language, limit: summary::COMMENT_LIMIT, pictures: &[], diagram: true, templates };
    output.write("summary.md", summary::render(result, &summary)?.as_bytes())?;
    let (page, pictures) =
        rayon::join(|| page(result, operations, output, options), || pictures::all(result, language));
    page?;
    let mut attached = Vec::new();
    for picture in pictures? {
        output.write(picture.file, &picture.png)?;
        // GitLab looks for pictures below the project's folder; an absolute path would only disclose a folder of this machine.
        if output.path().is_relative() {
            let path = output.path().join(picture.file).display().to_string();
            attached.push(junit::Picture { check: picture.check, path });
        }
    }
    let issues = issue::all(result, &issue::Options { language, source_root: options.source_root })?;
    output.write("junit.xml", junit::render(result, &issues, &attached)?.as_bytes())?;
    output.write("sarif.json", sarif::render(result, &issues)?.as_bytes())?;
    output.write("gl-code-quality.json", code_quality::render(&issues)?.as_bytes())?;
    output.write("metrics.txt", metrics::render(result).as_bytes())?;
    output.write("badge.json", badge::render("precision-gate", result.verdict, language)?.as_bytes())
}

/// Writes the page to its file while it is made, so that it is never completely in memory.
fn page(result: &GateResult, operations: &Table, output: &Output, options: &Options<'_>) -> Result<()> {
    let page = page::Options { language: options.language, templates: options.templates };
    folder::write(output, "report.html", |out| page::write(result, operations, &page, out))
}
