//! The files of a sign-off.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use super::input::Loaded;
use super::{FileRecord, Signoff, document, statement};
use crate::error::{Error, ErrorKind, Result};
use crate::report::messages::Language;
use crate::report::templates::Templates;
use crate::report::write::file;

/// Every name that a sign-off may write.
const NAMES: [&str; 7] = [
    "signoff.json",
    "signoff.md",
    "signoff.html",
    "signoff.zh.md",
    "signoff.zh.html",
    "signoff.sha256",
    "signoff.intoto.json",
];

/// How to write.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// The folder.
    pub out: &'a Path,
    /// Languages of what people read.
    pub languages: &'a [Language],
    /// Templates of documents.
    pub templates: &'a Templates,
}

/// Writes the documents, then the checksums of every file read and written, and the statement over them. Gives the files
/// written.
pub fn all(signoff: &Signoff, loaded: &[Loaded], options: &Options<'_>) -> Result<Vec<PathBuf>> {
    let mut contents = vec![("signoff.json".to_owned(), pretty(signoff)?)];
    for language in options.languages {
        let ending = match language {
            Language::En => "",
            Language::Zh => ".zh",
        };
        let text = document::markdown(signoff, loaded, *language, options.templates)?;
        contents.push((format!("signoff{ending}.md"), text));
        let page = document::page(signoff, loaded, *language, options.templates)?;
        contents.push((format!("signoff{ending}.html"), page));
    }
    let written = contents.iter().map(|(name, text)| FileRecord::of(name.clone(), text.as_bytes()));
    let subjects: Vec<FileRecord> =
        signoff.suites.iter().flat_map(|suite| suite.files.iter().cloned()).chain(written).collect();
    contents.push(("signoff.sha256".to_owned(), checksums(&subjects)));
    contents.push(("signoff.intoto.json".to_owned(), pretty(&statement::of(signoff, &subjects)?)?));
    fs::create_dir_all(options.out).map_err(|error| Error::io(options.out.display().to_string(), &error))?;
    for (name, text) in &contents {
        file(options.out, name, text.as_bytes())?;
    }
    Ok(contents.into_iter().map(|(name, _)| options.out.join(name)).collect())
}

/// Removes the documents of an earlier sign-off, so that none outlives its refusal.
pub fn remove_earlier(out: &Path) -> Result<()> {
    for path in NAMES.map(|name| out.join(name)) {
        match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::io(path.display().to_string(), &error));
            }
            _ => {}
        }
    }
    Ok(())
}

/// As `sha256sum` writes them.
fn checksums(files: &[FileRecord]) -> String {
    let mut text = String::new();
    for file in files {
        // Writing to a string cannot fail.
        let _written = writeln!(text, "{}  {}", file.sha256, file.name);
    }
    text
}

fn pretty(value: &impl serde::Serialize) -> Result<String> {
    let text = serde_json::to_string_pretty(value);
    text.map(|text| text + "\n").map_err(|error| Error::new(ErrorKind::Internal, "signoff", error))
}
