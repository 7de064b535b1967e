//! The `merge` command: judges the measurements of a run's parts.

use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;

use clap::Args;
use precision_gate::error::{Error, Result};
use precision_gate::gate::parts::Parts;
use precision_gate::gate::{self, UncheckedRequest};

use super::flags::CommonArgs;
use super::judge;
use super::surroundings::Surroundings;

/// `merge`
#[derive(Debug, Args)]
pub(crate) struct MergeArgs {
    /// All part files of one run
    #[arg(required = true, value_name = "PART")]
    pub(crate) parts: Vec<PathBuf>,
    /// Location of the baseline, if it moved since the parts were measured
    #[arg(long)]
    pub(crate) baseline: Option<String>,
    /// Location of the candidate, if it moved since the parts were measured
    #[arg(long)]
    pub(crate) candidate: Option<String>,
    #[command(flatten)]
    pub(crate) common: CommonArgs,
}

/// `precision-gate merge`
pub(crate) fn merge(args: MergeArgs) -> Result<u8> {
    let output = judge::begin(&args.common)?;
    let open = |path: &PathBuf| {
        let name = path.display().to_string();
        File::open(path).map(|file| (name.clone(), BufReader::new(file))).map_err(|error| Error::io(name, &error))
    };
    let parts = Parts::read(args.parts.iter().map(open).collect::<Result<Vec<_>>>()?)?;
    let case = judge::case(&args.common, |policy| {
        let request = parts.to_request(policy);
        UncheckedRequest {
            baseline: args.baseline.clone().unwrap_or(request.baseline),
            candidate: args.candidate.clone().unwrap_or(request.candidate),
            ..request
        }
    })?;
    let surroundings = Surroundings::of_process();
    let tree = super::source::of_run(&case.request.policy, case.source_root.as_deref(), &surroundings)?;
    judge::judge_by(&args.common, output, &case, |request, from, progress| {
        parts.judge(request, &gate::Surroundings { source: tree.as_ref(), ..*from }, progress)
    })
}
