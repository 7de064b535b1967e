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
}

impl Templates {
    /// The shipped ones.
    pub fn shipped() -> Self {
        let template = |name: &str, source: &str| Template { name: name.into(), source: source.into(), given: false };
        Self {
            summary: template("summary.md.j2", include_str!("../../templates/report/summary.md.j2")),
            page: template("page.html.j2", include_str!("../../templates/report/page.html.j2")),
        }
    }

    /// The shipped ones, replaced by files of the same names in `folder`.
    pub fn with_folder(folder: &Path) -> Result<Self> {
        fs::read_dir(folder).map_err(|error| Error::io(folder.display().to_string(), &error))?;
        let mut templates = Self::shipped();
        for template in [&mut templates.summary, &mut templates.page] {
            let path = folder.join(&template.name);
            let name = path.display().to_string();
            if path.exists() {
                let source = fs::read_to_string(&path).map_err(|error| Error::io(&name, &error))?;
                *template = Template { name, source, given: true };
            }
        }
        Ok(templates)
    }
}
