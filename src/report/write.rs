//! The output folder: every document of a run.

use std::fs;
use std::io::{BufWriter, Write};
use std::path::Path;

use sha2::{Digest, Sha256};

use super::messages::{self, Language};
use super::templates::Templates;
use super::{GateResult, Outcome};
use super::{causes, code_quality, issue, junit, metrics, page, plot, sarif, summary};
use crate::error::{Error, ErrorKind, Result};
use crate::judge::operation::OperationLine;
use crate::msprobe::table::{Cell, Table};
use crate::verdict::CheckId;

/// How to write.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// The folder.
    pub out: &'a Path,
    /// Language of what people read.
    pub language: Language,
    /// Templates of documents.
    pub templates: &'a Templates,
    /// Folder of the checked-out repository, where recorded calls are looked for.
    pub source_root: Option<&'a Path>,
    /// Whether tables are written as workbooks too.
    pub xlsx: bool,
}

/// Writes message texts into the result, then every document into the folder. Tables are given back once written.
pub fn all(outcome: &mut Outcome, options: &Options<'_>) -> Result<()> {
    messages::fill(&mut outcome.result.findings, options.language)?;
    causes::fill(&mut outcome.result.diagnoses, options.language)?;
    fs::create_dir_all(options.out).map_err(|error| Error::io(options.out.display().to_string(), &error))?;
    let mut hash = Sha256::new();
    stream(options.out, "operations.jsonl", |out| {
        operations(&outcome.operations, &mut Hashing { out, hash: &mut hash })
    })?;
    outcome.result.operations_digest = Some(format!("sha256:{:x}", hash.finalize()));
    let json = serde_json::to_string_pretty(&outcome.result).map_err(internal)?;
    file(options.out, "result.json", (json + "\n").as_bytes())?;
    for table in &outcome.tables {
        stream(options.out, &format!("{}.csv", table.name), |out| csv(table, out))?;
    }
    if options.xlsx {
        for (name, bytes) in super::xlsx::workbooks(&outcome.tables)? {
            file(options.out, &name, &bytes)?;
        }
    }
    // Documents need no tables; a row weighs two kilobytes.
    outcome.tables = Vec::new();
    documents(&outcome.result, &outcome.operations, options)
}

/// Writes every document that is made from a result and its operations alone.
pub fn documents(result: &GateResult, operations: &[OperationLine], options: &Options<'_>) -> Result<()> {
    fs::create_dir_all(options.out).map_err(|error| Error::io(options.out.display().to_string(), &error))?;
    let (language, templates) = (options.language, options.templates);
    let summary = summary::Options { language, limit: summary::COMMENT_LIMIT, pictures: &[], diagram: true, templates };
    file(options.out, "summary.md", summary::render(result, &summary)?.as_bytes())?;
    let page = page::render(result, operations, &page::Options { language, templates })?;
    file(options.out, "report.html", page.as_bytes())?;
    let mut attached = Vec::new();
    for (check, name, picture) in [
        (CheckId::Loss, "loss.png", plot::loss::loss_png(result, language)?),
        (CheckId::Dump, "divergence.png", plot::divergence::divergence_png(result, language)?),
    ] {
        if let Some(png) = picture {
            file(options.out, name, &png)?;
            // GitLab looks below the project's folder; a path of this machine would only tell its name.
            if options.out.is_relative() {
                attached.push(junit::Picture { check, path: options.out.join(name).display().to_string() });
            }
        }
    }
    let issues = issue::all(result, &issue::Options { language, source_root: options.source_root })?;
    file(options.out, "junit.xml", junit::render(result, &issues, &attached)?.as_bytes())?;
    file(options.out, "sarif.json", sarif::render(result, &issues)?.as_bytes())?;
    file(options.out, "gl-code-quality.json", code_quality::render(&issues)?.as_bytes())?;
    file(options.out, "metrics.txt", metrics::render(result).as_bytes())
}

/// A table as msprobe writes it: UTF-8, `\n`, minimal quoting.
///
/// A text that a spreadsheet could take for a formula gets a leading apostrophe; msprobe refuses to write it.
fn csv(table: &Table, out: &mut dyn Write) -> std::io::Result<()> {
    let mut writer = csv::WriterBuilder::new().terminator(csv::Terminator::Any(b'\n')).from_writer(out);
    writer.write_record(&table.columns)?;
    for row in &table.rows {
        writer.write_record(row.iter().map(Cell::guarded_text))?;
    }
    writer.flush()
}

fn operations(lines: &[OperationLine], out: &mut dyn Write) -> std::io::Result<()> {
    for line in lines {
        serde_json::to_writer(&mut *out, line)?;
        out.write_all(b"\n")?;
    }
    Ok(())
}

/// Hashes what passes through.
struct Hashing<'a> {
    out: &'a mut dyn Write,
    hash: &'a mut Sha256,
}

impl Write for Hashing<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let len = self.out.write(bytes)?;
        self.hash.update(bytes.get(..len).unwrap_or_default());
        Ok(len)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.out.flush()
    }
}

/// Writes a file piece by piece: what grows with the run is never in memory twice.
fn stream(folder: &Path, name: &str, write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>) -> Result<()> {
    let path = folder.join(name);
    let all = || {
        let mut out = BufWriter::new(fs::File::create(&path)?);
        write(&mut out)?;
        out.flush()
    };
    all().map_err(|error| Error::io(path.display().to_string(), &error))
}

/// Writes one file.
pub(crate) fn file(folder: &Path, name: &str, bytes: &[u8]) -> Result<()> {
    let path = folder.join(name);
    let write = || fs::File::create(&path)?.write_all(bytes);
    write().map_err(|error| Error::io(path.display().to_string(), &error))
}

fn internal(error: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Internal, "", error)
}
