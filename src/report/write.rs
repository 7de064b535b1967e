//! The output folder, with every document of a run.

use std::path::Path;

use super::escape::TextTarget;
use super::folder::{self, FinishedFolder, ReportFolder};
use super::messages::Language;
use super::page::operations::OperationTable;
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
pub struct DocumentOptions<'a> {
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
pub fn write_all(result: &mut GateResult, folder: ReportFolder, options: &DocumentOptions<'_>) -> Result<()> {
    let FinishedFolder { output, operations, .. } = complete_result(result, folder, options.language)?;
    output.write(RESULT, result_json(result)?.as_bytes())?;
    result.file = from_here(&output.path().join(RESULT));
    let rendered = write_documents(result, &operations, &output, options);
    output.commit()?;
    rendered
}

/// Writes message texts into the result, and the digests of the files that `folder` holds. No document appears yet.
///
/// # Errors
/// Errors of a text, and of writing.
pub fn complete_result(result: &mut GateResult, folder: ReportFolder, language: Language) -> Result<FinishedFolder> {
    // The result's own sentences call the file by its name alone, so that they stay correct if the folder is moved.
    result.file = RESULT.into();
    let writer = Writer::from_result(result, language, TextTarget::Plain);
    writer::write_finding_texts(&mut result.findings, &writer)?;
    causes::write_diagnosis_texts(&mut result.diagnoses, &writer)?;
    run::write_invariant_texts(&mut result.looked, &writer)?;
    opening::write_opening(result, &writer)?;
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
pub fn result_json(result: &GateResult) -> Result<String> {
    let text = serde_json::to_string_pretty(result).map_err(|error| Error::new(ErrorKind::Internal, "", error))?;
    Ok(text + "\n")
}

/// Writes every document that is made from a result and its operations alone; committing `output` is left to the caller.
///
/// # Errors
/// Errors of writing; `Policy` for a template of the user's that does not render.
pub fn write_documents(
    result: &GateResult,
    operations: &OperationTable,
    output: &Output,
    options: &DocumentOptions<'_>,
) -> Result<()> {
    let (language, templates) = (options.language, options.templates);
    let summary =
        summary::SummaryOptions { language, limit: summary::COMMENT_LIMIT, pictures: &[], diagram: true, templates };
    output.write("summary.md", summary::render(result, &summary)?.as_bytes())?;
    let (page, pictures) =
        rayon::join(|| page(result, operations, output, options), || pictures::draw_all(result, language));
    page?;
    let mut attached = Vec::new();
    for picture in pictures? {
        output.write(picture.file, &picture.png)?;
        // GitLab looks for pictures below the project's folder; an absolute path would only disclose a folder of this machine.
        if output.path().is_relative() {
            let path = output.path().join(picture.file).display().to_string();
            attached.push(junit::JunitPicture { check: picture.check, path });
        }
    }
    let issues = issue::all_issues(result, &issue::IssueOptions { language, source_root: options.source_root })?;
    output.write("junit.xml", junit::render(result, &issues, &attached)?.as_bytes())?;
    output.write("sarif.json", sarif::render(result, &issues)?.as_bytes())?;
    output.write("gl-code-quality.json", code_quality::render(&issues)?.as_bytes())?;
    output.write("metrics.txt", metrics::render(result).as_bytes())?;
    output.write("badge.json", badge::render("precision-gate", result.verdict, language)?.as_bytes())
}

/// Writes the page to its file while it is made, so that it is never completely in memory.
fn page(
    result: &GateResult,
    operations: &OperationTable,
    output: &Output,
    options: &DocumentOptions<'_>,
) -> Result<()> {
    let page = page::PageOptions { language: options.language, templates: options.templates };
    folder::write(output, "report.html", |out| page::write(result, operations, &page, out))
}
