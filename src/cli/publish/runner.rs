//! Output of a job of GitHub Actions, whether or not anything is published: summary, annotations, outputs.

use std::path::Path;

use precision_gate::error::Result;
use precision_gate::publish::comment::{self, Note};
use precision_gate::publish::event::{JobVariables, has_workflow_commands};
use precision_gate::publish::outputs;
use precision_gate::report::messages::Language;
use precision_gate::report::templates::Templates;
use precision_gate::report::{annotations, issue, summary};
use precision_gate::result::GateResult;

use crate::cli::show;
use crate::cli::surroundings::nonce;

/// Room that a summary is worth writing for.
const LEAST_ROOM: usize = 2_000;

/// Facts that a runner shows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Told<'a> {
    /// The result.
    pub(crate) result: &'a GateResult,
    /// The language.
    pub(crate) language: Language,
    /// Templates.
    pub(crate) templates: &'a Templates,
    /// Folder of the checked-out repository.
    pub(crate) source_root: Option<&'a Path>,
    /// Remarks that stand above the report.
    pub(crate) notes: &'a [Note],
    /// The folder of the documents; `None` where none were kept.
    pub(crate) out: Option<&'a Path>,
    /// Whether standard output is for the result alone: the runner reads commands from both streams.
    pub(crate) aside: bool,
}

/// Tells the runner, where there is one.
pub(crate) fn tell_runner(environment: &JobVariables, told: &Told<'_>) -> Result<()> {
    if !has_workflow_commands(environment) {
        return Ok(());
    }
    let issues = issue::all_issues(
        told.result,
        &issue::IssueOptions { language: told.language, source_root: told.source_root },
    )?;
    for line in annotations::render(told.result, &issues, told.language)? {
        if told.aside {
            eprintln!("{line}");
        } else {
            show::say(&(line + "\n"))?;
        }
    }
    let culprit = told.result.culprit.as_ref().map_or("", |culprit| culprit.op.as_str());
    let report = told.out.map_or_else(String::new, |out| out.join("report.html").display().to_string());
    let given = [("verdict", told.result.verdict.as_str()), ("report", report.as_str()), ("culprit", culprit)];
    outputs::write(environment, &given, nonce())?;
    let Some(room) = outputs::summary_room(environment).filter(|room| *room >= LEAST_ROOM) else { return Ok(()) };
    let notes = comment::notes(told.notes, told.language)?;
    let options = summary::SummaryOptions {
        language: told.language,
        limit: room.saturating_sub(notes.len() + 1),
        pictures: &[],
        diagram: true,
        templates: told.templates,
    };
    outputs::write_summary(environment, &format!("{}{notes}", summary::render(told.result, &options)?))
}
