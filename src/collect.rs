//! Collecting a config pack on this machine, without Python.
//!
//! The layout is msprobe's, so that packs of either maker compare with each other: environment, installed
//! packages and settings. One member more, `digests.json`, holds content digests of data and weight files, which
//! statistics cannot replace. What only a running job knows (inputs, weights, random calls) stays msprobe's part.

mod digests;
mod packages;
mod request;
mod settings;
mod shell;

use std::io::{Cursor, Write};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

use crate::error::{Error, ErrorKind, Result};
use crate::read::json::{self, Json};
use crate::read::pack::{DIGESTS, PackSettings};
use crate::redact::{REDACTED, Redactor};

pub use request::{CollectRequest, Redaction};

/// A pack, and notes on it.
#[derive(Debug)]
pub struct Collected {
    /// The zip archive.
    pub bytes: Vec<u8>,
    /// Its members, with how much each holds: `pip (79 packages)`.
    pub members: Vec<String>,
    /// Things that were left out, each with its reason.
    pub notes: Vec<String>,
}

/// Collects a pack. The same machine gives the same bytes.
pub fn collect(request: &CollectRequest) -> Result<Collected> {
    let mut notes = Vec::new();
    let packages = packages::installed_packages(request, &mut notes)?;
    let settings = settings::read_all(&request.settings, &mut notes)?;
    let digests = digests::file_digests(request, &mut notes)?;
    let environment: PackSettings =
        request.environment.iter().map(|(name, value)| (name.clone(), Json::Text(value.clone()))).collect();
    let hidden = Hidden::new(&request.redaction, &environment, &settings);
    let mut archive = Archive::new();
    let count = environment.len();
    archive.add("env", format!("{count} variables"), &json::to_indented_text(&hidden.all(environment)))?;
    if let Some(packages) = packages {
        archive.add("pip", format!("{} packages", packages.len()), &(packages.join("\n") + "\n"))?;
    }
    if !settings.is_empty() {
        let count = settings.len();
        let text = json::to_indented_text(&hidden.all(settings));
        archive.add("hyperparameters/hyperparameters_static.json", format!("{count} settings"), &text)?;
    }
    if !digests.is_empty() {
        let count = digests.len();
        let files = digests.into_iter().map(|(file, digest)| (file, Json::Text(digest))).collect();
        let document = vec![("algorithm".into(), Json::Text("sha256".into())), ("files".into(), Json::Object(files))];
        archive.add(DIGESTS, format!("{count} files"), &json::to_indented_text(&Json::Object(document)))?;
    }
    Ok(Collected { bytes: archive.finish()?, members: archive.members, notes })
}

/// Values that stay out of the pack.
struct Hidden<'a> {
    redaction: &'a Redaction,
    redactor: Redactor,
}

impl<'a> Hidden<'a> {
    fn new(redaction: &'a Redaction, environment: &PackSettings, settings: &PackSettings) -> Self {
        let named = environment.iter().chain(settings).map(|(name, value)| (name.as_str(), value));
        Self { redaction, redactor: Redactor::new(named) }
    }

    fn all(&self, settings: PackSettings) -> Json {
        let Redaction::On(patterns) = self.redaction else { return Json::Object(settings) };
        let entry = |(name, value): (String, Json)| {
            let listed = patterns.iter().any(|pattern| pattern.matches(&name));
            let value = if listed { Json::Text(REDACTED.into()) } else { self.redactor.value(&name, &value) };
            (name, value)
        };
        Json::Object(settings.into_iter().map(entry).collect())
    }
}

/// Comment of the archive: the program that wrote it.
const MARK: &str = "written by precision-gate config-pack";

/// Whether an archive is a pack that [`collect`] made: its comment, the last of a zip file, says so.
pub fn is_own(bytes: &[u8]) -> bool {
    bytes.ends_with(MARK.as_bytes())
}

/// The archive while it is written: deflated members, all of 1980-01-01, as msprobe writes them.
struct Archive {
    writer: ZipWriter<Cursor<Vec<u8>>>,
    members: Vec<String>,
}

impl Archive {
    fn new() -> Self {
        Self { writer: ZipWriter::new(Cursor::new(Vec::new())), members: Vec::new() }
    }

    fn add(&mut self, name: &str, holds: String, text: &str) -> Result<()> {
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .last_modified_time(DateTime::default());
        self.writer.start_file(name, options).map_err(|error| internal(&error))?;
        self.writer.write_all(text.as_bytes()).map_err(|error| internal(&error))?;
        self.members.push(format!("{name} ({holds})"));
        Ok(())
    }

    fn finish(&mut self) -> Result<Vec<u8>> {
        self.writer.set_comment(MARK).map_err(|error| internal(&error))?;
        let writer = std::mem::replace(&mut self.writer, ZipWriter::new(Cursor::new(Vec::new())));
        writer.finish().map(Cursor::into_inner).map_err(|error| internal(&error))
    }
}

fn internal(error: &dyn std::fmt::Display) -> Error {
    Error::new(ErrorKind::Internal, "config pack", error)
}
