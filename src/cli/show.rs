//! Terminal output of a result, and the `report` command.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use precision_gate::diagnose::next_dump::is_written_config;
use precision_gate::diagnose::next_dump::msprobe_config;
use precision_gate::error::{Error, ErrorKind, Result};
use precision_gate::exit;
use precision_gate::gate::recheck;
use precision_gate::output::{self, DocumentSet, Output, Over};
use precision_gate::report::escape::TextTarget;
use precision_gate::report::lines::OperationLines;
use precision_gate::report::page::operations::OperationTable;
use precision_gate::report::rewrite::rewrite;
use precision_gate::report::templates::Templates;
use precision_gate::report::terminal::TerminalDetail;
use precision_gate::report::writer::Writer;
use precision_gate::report::{summary as comment, terminal, write};
use precision_gate::result::GateResult;
use precision_gate::result::load;
use precision_gate::verdict::CheckId;

use super::flags::DocumentArgs;
use super::speech;

/// `next-dump`
#[derive(Debug, Args)]
pub(crate) struct NextDumpArgs {
    /// The result whose first difference needs a closer look
    #[arg(value_name = "RESULT.json")]
    pub(crate) result: PathBuf,
    /// File to write
    #[arg(long, short, alias = "output", value_name = "FILE", default_value = "msprobe_next_dump.json")]
    pub(crate) out: PathBuf,
    /// Replace a file that precision-gate did not write
    #[arg(long)]
    pub(crate) force: bool,
    /// Folder that msprobe writes the dump to
    #[arg(long, value_name = "DIR", default_value = "./next_dump")]
    pub(crate) dump_path: String,
}

/// `report`
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// The result; `operations.jsonl` is read from the same folder
    #[arg(value_name = "RESULT.json")]
    pub(crate) result: PathBuf,
    /// Folder for the reports [default: the folder of the result]
    #[arg(long, short, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) documents: DocumentArgs,
}

/// The templates that documents are rendered with: the shipped ones, or those of `folder` in their place.
pub(crate) fn templates(folder: Option<&Path>) -> Result<Templates> {
    folder.map_or_else(|| Ok(Templates::shipped()), Templates::with_folder)
}

/// Prints the summary of a result whose documents lie in `out`.
pub(crate) fn summary(result: &GateResult, out: &Path, documents: &DocumentArgs) -> Result<()> {
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
        || std::env::var_os("TERM").is_some_and(|value| value == "dumb");
    let options = terminal::TerminalOptions {
        language: documents.lang,
        colour: documents.color.is_on(std::io::stdout().is_terminal(), no_color),
        report: &out.join("report.html").display().to_string(),
        detail: match (documents.quiet, documents.verbose) {
            (true, _) => TerminalDetail::Headline,
            (false, false) => TerminalDetail::Opening,
            (false, true) => TerminalDetail::All,
        },
    };
    say(&terminal::render(result, &options)?)
}

/// Prints to standard output; a reader that stops reading (`| head`) is no failure.
pub(crate) fn say(text: &str) -> Result<()> {
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(Error::io("standard output", &error)),
        _ => Ok(()),
    }
}

/// `precision-gate report`: exits 0 whatever the verdict, which is that of an earlier run.
pub(crate) fn report(args: &ReportArgs) -> Result<u8> {
    let mut result = load::result(&args.result)?;
    let lines = recheck::operations_digest(&args.result)?;
    let name = args.result.display().to_string();
    recheck::decide_again(&mut result, &name, lines.as_deref())?;
    rewrite(&mut result, &name, args.documents.lang)?;
    let operations = OperationTable::from_lines(&OperationLines::from_result_path(&args.result))?;
    let beside = args.result.parent().filter(|folder| !folder.as_os_str().is_empty());
    let beside = beside.unwrap_or_else(|| Path::new("."));
    let out = args.out.as_deref().unwrap_or(beside);
    let templates = templates(args.documents.templates.as_deref())?;
    // A result is rendered again beside itself; anywhere else it is a run's folder like any other.
    let set = if is_same(out, beside) { DocumentSet::Rendered } else { DocumentSet::Run };
    let output = Output::begin(out, set)?;
    let options = write::DocumentOptions {
        language: args.documents.lang,
        templates: &templates,
        source_root: args.documents.source_root.as_deref(),
    };
    let shown = write::write_documents(&result, &operations, &output, &options);
    shown.map_err(|error| undrawable(&args.result, error))?;
    output.commit()?;
    summary(&result, out, &args.documents).map_err(|error| undrawable(&args.result, error))?;
    Ok(exit::PASS)
}

/// Prints sentences of the program to standard output, one a line, in the language of this process.
///
/// # Errors
/// As [`say`].
pub(crate) fn sentences(text: &str) -> Result<()> {
    say(&text.lines().map(|line| speech::in_own_language(line) + "\n").collect::<String>())
}

/// A result of which no document can be made is not one that the gate wrote: no defect of this run.
pub(crate) fn undrawable(path: &Path, error: Error) -> Error {
    if error.kind() != ErrorKind::Internal {
        return error;
    }
    let message = format!("no document can be made of it: {}", error.message());
    Error::new(ErrorKind::Usage, path.display().to_string(), message)
        .with_help("give the `result.json` as precision-gate wrote it")
}

/// Whether two paths are one folder.
fn is_same(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    one == other || real(one).is_some_and(|one| Some(one) == real(other))
}

/// Reason why no dump shows more than a result does, and what helps in its place.
fn nothing_to_dump(result: &GateResult) -> Result<String> {
    let language = speech::language();
    let is_in_dump = result.culprit.as_ref().is_some_and(|culprit| culprit.check == CheckId::Dump);
    let key = match () {
        () if !result.verdict.blocks() && result.culprit.is_none() => "next_dump_no_difference",
        () if is_in_dump => "next_dump_held",
        () => "next_dump_none",
    };
    let writer = Writer::from_result(result, language, TextTarget::Plain);
    let (reason, advice) = (writer.word(key)?, comment::advice(result, language)?);
    if advice.is_empty() || key == "next_dump_no_difference" {
        return Ok(format!("{reason}\n"));
    }
    Ok(format!("{reason}\n{} {advice}\n", writer.word("next_step")?))
}

/// `precision-gate next-dump`: writes the configuration of the dump that shows more than a result, if there is one.
pub(crate) fn next_dump(args: &NextDumpArgs) -> Result<u8> {
    let result = load::result(&args.result)?;
    let Some(next) = &result.next_dump else {
        say(&nothing_to_dump(&result)?)?;
        return Ok(exit::PASS);
    };
    let config = msprobe_config(next, &args.dump_path);
    let shown = args.out.display().to_string();
    let text = serde_json::to_string_pretty(&config).map_err(|error| Error::new(ErrorKind::Internal, &shown, error))?;
    let over = Over::forced(args.force, is_written_config);
    output::write_file(&args.out, (text + "\n").as_bytes(), over)?;
    sentences(&format!("{shown}: {} at level {}, step {}\n", next.task, next.level, next.step))?;
    Ok(exit::PASS)
}
