//! `reproduce`: a folder with a script that runs the culprit alone, and a report to file.

use std::path::{Path, PathBuf};

use clap::Args;
use precision_gate::error::{Error, ErrorKind, Result};
use precision_gate::exit;
use precision_gate::fetch::{Fetcher, Location};
use precision_gate::gate::baseline::facts;
use precision_gate::gate::discover::Inventory;
use precision_gate::gate::inventory_of_location;
use precision_gate::output::{DocumentSet, Output};
use precision_gate::read::dump::DumpFolder;
use precision_gate::report::lines::OperationLines;
use precision_gate::reproduce::target::{TargetOperation, runnable_of};
use precision_gate::reproduce::{CaseRun, write};
use precision_gate::result::Run;
use precision_gate::result::load;
use precision_gate::verdict::Side;

use super::{fetching, show};

/// `reproduce`
#[derive(Debug, Args)]
pub(crate) struct ReproduceArgs {
    /// The result whose culprit is run alone; `operations.jsonl` is read from the same folder
    #[arg(value_name = "RESULT.json")]
    pub(crate) result: PathBuf,
    /// Another operation of the result, as operations.jsonl names it [default: the culprit]
    #[arg(long, value_name = "NAME")]
    pub(crate) op: Option<String>,
    /// The baseline: a folder or a location [default: the folder that the result names]
    #[arg(long, value_name = "DIR")]
    pub(crate) baseline: Option<String>,
    /// The candidate: a folder or a location [default: the folder that the result names]
    #[arg(long, value_name = "DIR")]
    pub(crate) candidate: Option<String>,
    /// Copy the recorded tensors of the operation, too: they are part of your weights and data
    #[arg(long)]
    pub(crate) with_data: bool,
    /// Folder for the script
    #[arg(long, short, value_name = "DIR", default_value = "reproduce")]
    pub(crate) out: PathBuf,
    /// Replace files of the same names that precision-gate did not write
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) fetching: fetching::FetchArgs,
}

/// `precision-gate reproduce`: exits 2 where the operation cannot run alone, and says why.
pub(crate) fn reproduce(args: &ReproduceArgs) -> Result<u8> {
    let result = load::result(&args.result)?;
    let lines = OperationLines::from_result_path(&args.result);
    let target = TargetOperation::from_result(&result, &lines, args.op.as_deref())?;
    // What cannot run is told before anything is fetched.
    runnable_of(target.shown_name())?;
    let fetcher = args.fetching.fetcher();
    let mut sides = Vec::new();
    let runs = [
        (Side::Baseline, result.baseline.as_ref(), args.baseline.as_deref()),
        (Side::Candidate, Some(&result.candidate), args.candidate.as_deref()),
    ];
    for (side, run, given) in runs {
        let Some(run) = run.filter(|_| target.name_in(side).is_some()) else { continue };
        sides.push((side, run, open(side, run, given, &fetcher)?));
    }
    let runs = sides.iter().map(|(side, run, inventory)| of_run(*side, run, inventory, &target)).collect();
    let output = Output::begin_beside_others(&args.out, DocumentSet::Reproduce, args.force)?;
    let written = write(&result, target, runs, args.with_data, output)?;
    let out = |name: &String| format!("{}\n", args.out.join(name).display());
    show::say(&written.files.iter().map(out).collect::<String>())?;
    for note in &written.notes {
        show::sentences(&format!("note: {note}\n"))?;
    }
    show::sentences(&format!("run it: python3 {}\n", args.out.join("reproduce.py").display()))?;
    Ok(exit::PASS)
}

fn open(side: Side, run: &Run, given: Option<&str>, fetcher: &Fetcher) -> Result<Inventory> {
    let flag = format!("--{}", side.as_str());
    let location = match given {
        Some(given) => given,
        // A result may come from anybody: what it names elsewhere is not fetched.
        None if Location::parse(&run.location).is_ok_and(|location| !location.is_remote())
            && Path::new(&run.location).exists() =>
        {
            &run.location
        }
        None => {
            let message = format!("the {} of the result is not at this place", side.as_str());
            let error = Error::new(ErrorKind::NotFound, &run.location, message);
            return Err(error.with_help(format!("give its folder or location with {flag}")));
        }
    };
    inventory_of_location(location, side, fetcher)
}

fn of_run<'a>(side: Side, run: &'a Run, inventory: &'a Inventory, target: &TargetOperation<'_>) -> CaseRun<'a> {
    let is_wanted = |dump: &&DumpFolder| (dump.step, dump.rank) == (target.step, target.rank);
    let dumps = inventory.artifacts::<DumpFolder>().iter().filter(is_wanted).collect();
    let is_judged = inventory.digest() == run.digest;
    CaseRun { side, run, dumps, is_judged, versions: facts::recorded_facts(inventory).versions }
}
