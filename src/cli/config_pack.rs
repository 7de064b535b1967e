//! `config-pack`: a pack of this machine's configuration.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use precision_gate::collect::{self, CollectRequest, Redaction};
use precision_gate::error::{Error, ErrorKind, Result};
use precision_gate::exit;
use precision_gate::output::{self, Over};
use precision_gate::policy::value::Pattern;

use super::{show, speech};

/// `config-pack`
#[derive(Debug, Args)]
pub(crate) struct ConfigPackArgs {
    /// Files with the settings of the run: launch scripts (.sh), YAML, JSON
    pub(crate) settings: Vec<PathBuf>,
    /// File to write
    #[arg(long, short, value_name = "FILE", default_value = "config_check_pack.zip")]
    pub(crate) out: PathBuf,
    /// Replace a file that precision-gate did not write
    #[arg(long)]
    pub(crate) force: bool,
    /// Python interpreter whose packages are listed [default: that of the active environment, or python3]
    #[arg(long, value_name = "PATH")]
    pub(crate) python: Option<PathBuf>,
    /// Folder of installed packages, in place of a Python interpreter
    #[arg(long, value_name = "DIR")]
    pub(crate) site_packages: Vec<PathBuf>,
    /// File or folder of the data set; digests of its content are recorded
    #[arg(long, value_name = "PATH")]
    pub(crate) data: Vec<PathBuf>,
    /// File or folder of the weights; digests of their content are recorded
    #[arg(long, value_name = "PATH")]
    pub(crate) weights: Vec<PathBuf>,
    /// Names whose values are left out, beside those that look secret: a pattern such as *_HOST
    #[arg(long, value_name = "PATTERN")]
    pub(crate) redact: Vec<String>,
    /// Record every value, secrets included
    #[arg(long, conflicts_with = "redact")]
    pub(crate) no_redact: bool,
}

/// Collects the pack and writes it; an older file is replaced, never added to.
pub(crate) fn run(args: &ConfigPackArgs) -> Result<u8> {
    let text = |text: OsString| text.to_string_lossy().into_owned();
    let environment = std::env::vars_os().map(|(name, value)| (text(name), text(value))).collect();
    let collected = collect::collect(&args.request(environment)?)?;
    for note in &collected.notes {
        speech::tell(speech::Weight::Warning, note);
    }
    output::write_file(&args.out, &collected.bytes, Over::forced(args.force, collect::is_own))?;
    show::say(&format!("{}: {}\n", args.out.display(), collected.members.join(", ")))?;
    Ok(exit::PASS)
}

impl ConfigPackArgs {
    /// The files and settings to collect, given the process's environment.
    fn request(&self, environment: Vec<(String, String)>) -> Result<CollectRequest> {
        let python = self.python.clone().or_else(|| default_python(&environment));
        Ok(CollectRequest {
            python: python.filter(|_| self.site_packages.is_empty()),
            is_found: self.python.is_none(),
            environment,
            site_packages: self.site_packages.clone(),
            settings: self.settings.clone(),
            data: self.data.clone(),
            weights: self.weights.clone(),
            redaction: if self.no_redact { Redaction::Off } else { Redaction::On(self.patterns()?) },
        })
    }

    fn patterns(&self) -> Result<Vec<Pattern>> {
        let pattern = |text: &String| {
            Pattern::try_from(text.clone()).map_err(|error| Error::new(ErrorKind::Usage, "--redact", error))
        };
        self.redact.iter().map(pattern).collect()
    }
}

/// The active environment's interpreter, or the first `python3` on the path.
fn default_python(environment: &[(String, String)]) -> Option<PathBuf> {
    let variable = |name: &str| environment.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
    let active =
        ["VIRTUAL_ENV", "CONDA_PREFIX"].into_iter().filter_map(variable).map(|root| PathBuf::from(root).join("bin"));
    let path = std::env::split_paths(variable("PATH").unwrap_or_default());
    active.chain(path).map(|folder| folder.join("python3")).find(|python| python.is_file())
}
