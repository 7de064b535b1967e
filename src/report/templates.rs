//! Templates of documents: shipped ones, and those a user gives in their place.

use std::fs;
use std::path::Path;

use super::writer::Template;
use crate::error::{Error, Result};

/// Every template of a run.
#[derive(Clone, Debug)]
pub struct Templates {
    /// `summary.md.j2`
    pub summary: Template,
    /// `page.html.j2`
    pub page: Template,
    /// `signoff.md.j2`
    pub signoff: Template,
    /// `signoff.html.j2`
    pub signoff_page: Template,
}

impl Templates {
    /// The shipped ones.
    pub fn shipped() -> Self {
        let template = |name: &str, source: &str| Template { name: name.into(), source: source.into(), given: false };
        Self {
            summary: template("summary.md.j2", include_str!("../../templates/report/summary.md.j2")),
            page: template("page.html.j2", include_str!("../../templates/report/page.html.j2")),
            signoff: template("signoff.md.j2", include_str!("../../templates/report/signoff.md.j2")),
            signoff_page: template("signoff.html.j2", include_str!("../../templates/report/signoff.html.j2")),
        }
    }

    /// The names of all of them.
    pub const FILES: [&'static str; 4] = ["summary.md.j2", "page.html.j2", "signoff.md.j2", "signoff.html.j2"];

    /// The shipped ones, replaced by files of the same names in `folder`.
    pub fn with_folder(folder: &Path) -> Result<Self> {
        fs::read_dir(folder).map_err(|error| Error::io(folder.display().to_string(), &error))?;
        Self::with(folder, |path| match path.exists() {
            true => fs::read_to_string(path).map(Some).map_err(|error| Error::io(path.display().to_string(), &error)),
            false => Ok(None),
        })
    }

    /// The shipped ones, replaced by what `read` has for files of the same names in `folder`.
    pub fn with(folder: &Path, mut read: impl FnMut(&Path) -> Result<Option<String>>) -> Result<Self> {
        let mut templates = Self::shipped();
        let Self { summary, page, signoff, signoff_page } = &mut templates;
        for template in [summary, page, signoff, signoff_page] {
            let path = folder.join(&template.name);
            if let Some(source) = read(&path)? {
                *template = Template { name: path.display().to_string(), source, given: true };
            }
        }
        Ok(templates)
    }
}
