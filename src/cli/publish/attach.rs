//! Files to the release of a tag.

use std::path::PathBuf;

use clap::Args;
use precision_gate::error::{Error, Result};
use precision_gate::exit;
use precision_gate::publish::attach::{self, Attachment, Release};
use precision_gate::publish::event::has_workflow_commands;
use precision_gate::publish::forge::ForgeKind;
use precision_gate::publish::forge_token;

use super::open::{no_token, unknown, warn};
use crate::cli::show;
use crate::cli::surroundings::{Surroundings, nonce};

/// Flags that name the release.
#[derive(Debug, Args)]
#[command(next_help_heading = "Release")]
pub(crate) struct AttachArgs {
    /// Attach the documents to the release of this tag
    #[arg(long, value_name = "TAG")]
    pub(crate) attach: Option<String>,
    /// Forge [default: the one that runs the job]
    #[arg(long, value_enum, requires = "attach")]
    pub(crate) forge: Option<ForgeKind>,
    /// Address of the forge's API [default: that of the job, or the public one]
    #[arg(long, value_name = "URL", requires = "attach")]
    pub(crate) url: Option<String>,
    /// Repository [default: that of the job]
    #[arg(long, value_name = "OWNER/NAME", requires = "attach")]
    pub(crate) repo: Option<String>,
    /// Exit with 3 if something could not be attached
    #[arg(long, requires = "attach")]
    pub(crate) strict_publish: bool,
    /// Print the requests, and send nothing
    #[arg(long, requires = "attach")]
    pub(crate) dry_run: bool,
}

/// Attaches `files`, where that is asked for; the sign-off stands whether or not that works.
pub(crate) fn attach(args: &AttachArgs, files: &[PathBuf]) -> Result<u8> {
    let Some(tag) = &args.attach else { return Ok(exit::PASS) };
    let surroundings = Surroundings::of_process();
    let release = release(args, &surroundings, tag)?;
    let token = forge_token(release.kind, &surroundings.environment).filter(|_| !args.dry_run);
    let done = if token.is_none() && !args.dry_run {
        Err(no_token(release.kind))
    } else {
        attachments(files).and_then(|files| attach::attach(&release, token, &files))
    };
    match done {
        Ok(planned) => show::say(&planned)?,
        Err(error) => {
            warn(&error, has_workflow_commands(&surroundings.environment))?;
            return Ok(if args.strict_publish { exit::UNAVAILABLE } else { exit::PASS });
        }
    }
    Ok(exit::PASS)
}

fn release(args: &AttachArgs, surroundings: &Surroundings, tag: &str) -> Result<Release> {
    let place = &surroundings.place;
    let kind = args.forge.or(place.forge).ok_or_else(|| unknown("the forge", "--forge"))?;
    let given = args.url.clone().or_else(|| Some(place.api.clone()).filter(|api| !api.is_empty()));
    let api = given.or_else(|| kind.public_api().map(str::to_owned));
    let repository = args.repo.clone().unwrap_or_else(|| place.repository.clone());
    if repository.is_empty() {
        return Err(unknown("the repository", "--repo"));
    }
    let api = api.ok_or_else(|| unknown("the address of its API", "--url"))?;
    Ok(Release { kind, api, repository, tag: tag.to_owned(), seed: nonce() })
}

fn attachments(files: &[PathBuf]) -> Result<Vec<Attachment>> {
    let read = |path: &PathBuf| {
        let shown = path.display().to_string();
        let bytes = std::fs::read(path).map_err(|error| Error::io(&shown, &error))?;
        let name = path.file_name().map_or(shown, |name| name.to_string_lossy().into_owned());
        Ok(Attachment { name, bytes })
    };
    files.iter().map(read).collect()
}
