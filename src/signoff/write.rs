//! The files of a sign-off.

use std::fmt::Write;
use std::path::PathBuf;

use super::input::LoadedResult;
use super::{FileRecord, Signoff, document, statement};
use crate::error::{Error, ErrorKind, Result};
use crate::output::Output;
use crate::report::messages::Language;
use crate::report::templates::Templates;

/// Options for the documents.
#[derive(Clone, Copy, Debug)]
pub struct SignoffOptions<'a> {
    /// Languages of the documents.
    pub languages: &'a [Language],
    /// Templates of documents.
    pub templates: &'a Templates,
}

/// Writes the documents, the checksums of all files read and written, and the statement about them. Returns the paths of the written
/// files.
pub fn write_documents(
    signoff: &Signoff,
    loaded: &[LoadedResult],
    output: Output,
    options: &SignoffOptions<'_>,
) -> Result<Vec<PathBuf>> {
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
    let written = contents.iter().map(|(name, text)| FileRecord::from_content(name.clone(), text.as_bytes()));
    let subjects: Vec<FileRecord> =
        signoff.suites.iter().flat_map(|suite| suite.files.iter().cloned()).chain(written).collect();
    contents.push(("signoff.sha256".to_owned(), checksums(&subjects)));
    contents.push(("signoff.intoto.json".to_owned(), pretty(&statement::signoff_statement(signoff, &subjects)?)?));
    for (name, text) in &contents {
        output.write(name, text.as_bytes())?;
    }
    let paths = contents.into_iter().map(|(name, _)| output.path().join(name)).collect();
    output.commit()?;
    Ok(paths)
}

/// Digests of the files, as `sha256sum` writes them.
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
