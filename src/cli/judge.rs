//! The commands that judge one pair: `config-check`, `compare`; and what `run`, `loss` and `publish` share with them.

use std::path::PathBuf;

use clap::Args;
use precision_gate::check::Command;
use precision_gate::compare::measurements::{Measurements, Selection};
use precision_gate::error::{Error, ErrorKind, Result};
use precision_gate::gate::baseline::job;
use precision_gate::gate::mistake::pair_inside;
use precision_gate::gate::{self, Progress, Request, Surroundings, UncheckedRequest};
use precision_gate::msprobe::dump::{Matching, mapping};
use precision_gate::output::{self, DocumentSet, Output, Over};
use precision_gate::policy::Policy;
use precision_gate::report::JudgedRun;
use precision_gate::report::folder::{FolderOptions, ReportFolder};
use precision_gate::result::GateResult;
use precision_gate::verdict::{CheckId, Profile, Verdict};
use precision_gate::{exit, report};

use super::flags::{CommonArgs, PairArgs};
use super::policy_file::read;
use super::quick::{self, QuickArgs};
use super::surroundings::{self, PublishFlags};
use super::trusted::{Case, Purpose, trusted};
use super::{fetching, progress, show, speech};

/// `compare`
#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// A repeat of the baseline, or the file that `precision-gate noise` wrote; may be given several times
    #[arg(long, value_name = "LOCATION")]
    pub(crate) noise: Vec<String>,
    /// A third run of the same model, such as fp64 on a CPU: shows which of the two sides is off (dumps)
    #[arg(long, value_name = "LOCATION")]
    pub(crate) reference: Option<String>,
    #[command(flatten)]
    pub(crate) pair: PairArgs,
    #[command(flatten)]
    pub(crate) quick: QuickArgs,
    /// Pair calls by their order and ignore their numbers
    #[arg(long, conflicts_with_all = ["data_mapping", "cell_mapping"], help_heading = "Compare tables of msprobe")]
    pub(crate) fuzzy: bool,
    /// YAML file that maps row names of the candidate to those of the baseline (msprobe's -dm)
    #[arg(long, value_name = "FILE", conflicts_with = "cell_mapping", help_heading = "Renamed operations")]
    pub(crate) data_mapping: Option<PathBuf>,
    /// YAML file that maps modules of the candidate to those of the baseline (msprobe's -cm)
    #[arg(long, value_name = "FILE", help_heading = "Renamed operations")]
    pub(crate) cell_mapping: Option<PathBuf>,
    /// YAML file that maps interfaces of MindSpore to those of PyTorch (msprobe's -am)
    #[arg(long, value_name = "FILE", help_heading = "Renamed operations")]
    pub(crate) api_mapping: Option<PathBuf>,
    /// YAML file that maps children of modules by the class of their parent (msprobe's -lm)
    #[arg(long, value_name = "FILE", help_heading = "Renamed operations")]
    pub(crate) layer_mapping: Option<PathBuf>,
}

/// Part of the work that a judging command does.
pub(crate) enum Task {
    /// Measure a part. Parts of a run share a folder, and whatever lies in it stays.
    Part((u64, u64)),
    /// Judge, into a folder that holds nothing of an earlier run any more.
    Whole(Output),
}

/// The task that the arguments set. This comes before everything that can be refused: no earlier document may stand for
/// a run that came to nothing.
pub(crate) fn task(common: &CommonArgs, quick: &QuickArgs) -> Result<Task> {
    match quick.part()? {
        Some(_) if common.prints_result() => {
            let error = Error::new(ErrorKind::Usage, "--part", "measures, and has no result to print");
            Err(error
                .with_help("leave out --json, and name a folder with --out; `merge` prints the result of all parts"))
        }
        Some(part) => Ok(Task::Part(part)),
        None => begin(common).map(Task::Whole),
    }
}

/// The output folder, begun.
pub(crate) fn begin(common: &CommonArgs) -> Result<Output> {
    if common.keeps_nothing() {
        Output::scratch(DocumentSet::Run)
    } else {
        Output::begin(&common.out, DocumentSet::Run)
    }
}

/// `precision-gate config-check`
pub(crate) fn config_check(args: &PairArgs) -> Result<u8> {
    let task = Task::Whole(begin(&args.common)?);
    let (selection, policy) = (QuickArgs::default(), |policy| policy);
    some_checks(args, task, Command::ConfigCheck, policy, Matching::default(), &selection)
}

/// `precision-gate compare`
pub(crate) fn compare(args: &CompareArgs) -> Result<u8> {
    let task = task(&args.pair.common, &args.quick)?;
    let mapping = |path: &PathBuf| mapping::parse(&path.display().to_string(), &read(path)?);
    let layers = |path: &PathBuf| mapping::parse_layers(&path.display().to_string(), &read(path)?);
    let interfaces = |path: &PathBuf| mapping::parse_interfaces(&path.display().to_string(), &read(path)?);
    let matching = Matching {
        fuzzy: args.fuzzy,
        rows: args.data_mapping.as_ref().map(mapping).transpose()?.unwrap_or_default(),
        modules: args.cell_mapping.as_ref().map(mapping).transpose()?,
        layers: args.layer_mapping.as_ref().map(layers).transpose()?.unwrap_or_default(),
        interfaces: args.api_mapping.as_ref().map(interfaces).transpose()?.unwrap_or_default(),
    };
    let with_flags = |mut policy: Policy| {
        if !args.noise.is_empty() {
            policy.dump.noise = args.noise.clone().into();
        }
        if let Some(reference) = &args.reference {
            policy.reference.location = reference.clone().into();
        }
        policy
    };
    some_checks(&args.pair, task, Command::Compare, with_flags, matching, &args.quick)
}

fn some_checks(
    args: &PairArgs,
    task: Task,
    command: Command,
    with_flags: impl FnOnce(Policy) -> Policy,
    matching: Matching,
    quick: &QuickArgs,
) -> Result<u8> {
    let case = case(&args.common, |policy| UncheckedRequest {
        baseline: args.baseline.clone(),
        candidate: args.candidate.clone(),
        checks: command.checks(),
        policy: with_flags(policy),
        matching,
        several: Default::default(),
    })?;
    let (common, selection) = (&args.common, quick.selection()?);
    match task {
        Task::Part(part) => {
            prepare(common, &case.request)?;
            quick::measure(common, &case.request, selection, part)
        }
        Task::Whole(output) => judge_selected(common, output, &case, selection),
    }
}

/// The case of a command that posts nothing: `request` makes its request from the policy that counts.
pub(crate) fn case(common: &CommonArgs, request: impl FnOnce(Policy) -> UncheckedRequest) -> Result<Case> {
    let trusted = trusted(common, &PublishFlags::default(), &surroundings::Surroundings::of_process(), Purpose::Show)?;
    let request = request(trusted.policy.clone());
    trusted.case(request)
}

/// Runs the gate and writes, shows and answers what it found.
pub(crate) fn judge(common: &CommonArgs, output: Output, case: &Case) -> Result<u8> {
    judge_selected(common, output, case, Selection::default())
}

fn judge_selected(common: &CommonArgs, output: Output, case: &Case, selection: Selection) -> Result<u8> {
    let measurements = Measurements::new(selection);
    judge_by(common, output, case, |request, from, progress| gate::run_by(request, from, &measurements, progress))
}

/// Result that was written and shown, and the exit code it gives.
pub(crate) struct Evaluated {
    pub(crate) result: GateResult,
    pub(crate) code: u8,
}

/// Sees to both sides and the threads.
pub(crate) fn prepare(common: &CommonArgs, request: &Request) -> Result<()> {
    if request.checks == [CheckId::Source] {
        // It judges no run.
    } else if request.is_alone() {
        refuse_alone(request)?;
    } else if request.baseline.is_empty() || request.candidate.is_empty() {
        let error = Error::new(ErrorKind::Usage, "", "a baseline and a candidate are needed");
        if let Some(pair) = pair_inside(&request.candidate).filter(|_| request.baseline.is_empty()) {
            return Err(error.with_help(format!("the folder holds both runs; name each of them: `{pair}`")));
        }
        return Err(error.with_help(
            "for example `precision-gate run GPU_FOLDER NPU_FOLDER`; or give --baseline and --candidate, or set `location` \
             of both sides in the policy file; `precision-gate run --candidate NPU_FOLDER --health` judges one run alone",
        ));
    }
    if request.several.has_several() && !request.policy.reference.location.is_empty() {
        let error = Error::new(ErrorKind::Usage, "--reference", "is for one run against one");
        return Err(error.with_help("leave it out (flag and policy file), or judge one run of each side"));
    }
    let threads = fetching::threads(&[&request.baseline, &request.candidate])?;
    if let Some(threads) = common.threads.or(threads) {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
        pool.map_err(|error| Error::new(ErrorKind::Usage, "--threads", error))?;
    }
    Ok(())
}

/// Refuses a run without a baseline that names no candidate either, is for a release, or names what only a comparison uses.
fn refuse_alone(request: &Request) -> Result<()> {
    if request.policy.profile == Profile::Release {
        let error = Error::new(ErrorKind::Usage, "--health", "the profile `release` needs a baseline");
        return Err(error.with_help("name the baseline (--baseline, or `baseline.location` of the policy file)"));
    }
    if request.candidate.is_empty() {
        let error = Error::new(ErrorKind::Usage, "--health", "a candidate is needed");
        return Err(error.with_help("for example `precision-gate run --candidate NPU_FOLDER --health`"));
    }
    if request.several.has_several() {
        let error =
            Error::new(ErrorKind::Usage, "--runs", "several runs are judged against a baseline, and none is named");
        return Err(error.with_help("name the baseline, or judge one run alone"));
    }
    let policy = &request.policy;
    let has_noise = !policy.loss.noise.0.is_empty() || !policy.dump.noise.0.is_empty();
    let of_comparisons = [("--noise", has_noise), ("--reference", !policy.reference.location.is_empty())];
    if let Some((flag, _)) = of_comparisons.into_iter().find(|(_, is_given)| *is_given) {
        let error = Error::new(ErrorKind::Usage, flag, "is for a comparison, and no baseline is named");
        return Err(error.with_help("leave it out (flag and policy file), or name the baseline"));
    }
    Ok(())
}

/// Writes, shows and answers what `run` finds.
pub(crate) fn judge_by(
    common: &CommonArgs,
    output: Output,
    case: &Case,
    run: impl FnOnce(&Request, &Surroundings<'_>, &dyn Progress) -> Result<JudgedRun>,
) -> Result<u8> {
    evaluate(common, output, case, run, |_, _| {}).map(|judged| judged.code)
}

/// Writes and shows what `run` finds, once `complete` has said what judging does not know: the commit, earlier runs.
pub(crate) fn evaluate(
    common: &CommonArgs,
    output: Output,
    case: &Case,
    run: impl FnOnce(&Request, &Surroundings<'_>, &dyn Progress) -> Result<JudgedRun>,
    complete: impl FnOnce(&mut JudgedRun, &Surroundings<'_>),
) -> Result<Evaluated> {
    let Case { request, manifest, about, templates, source_root, .. } = case;
    prepare(common, request)?;
    let documents = &common.documents;
    let fetcher = common.fetching.fetcher();
    let no_table = common.no_table || common.keeps_nothing();
    let growing = FolderOptions { xlsx: common.xlsx, no_table, compress: common.compress };
    let folder = ReportFolder::new(output, growing);
    let surroundings =
        Surroundings { manifest: manifest.as_ref(), known_findings: about, ..Surroundings::new(&fetcher, &folder) };
    let mut judged = run(request, &surroundings, progress::progress_on_stderr(documents.quiet).as_ref())?;
    leave_mark();
    complete(&mut judged, &surroundings);
    let JudgedRun { mut result, .. } = judged;
    let options =
        report::write::DocumentOptions { language: documents.lang, templates, source_root: source_root.as_deref() };
    if common.keeps_nothing() {
        report::write::complete_result(&mut result, folder, documents.lang)?;
    } else {
        report::write::write_all(&mut result, folder, &options)?;
    }
    if common.prints_result() {
        show::say(&report::write::result_json(&result)?)?;
    } else {
        show::summary(&result, &common.out, documents)?;
    }
    let unavailable = fetcher.first_failure().filter(|_| result.verdict == Verdict::Incomplete);
    if let Some(error) = &unavailable {
        speech::tell(speech::Weight::Error, &error.to_string());
    }
    let code = match () {
        () if unavailable.is_some() => exit::UNAVAILABLE,
        () => exit::of_verdict(result.verdict, common.warn_exit_code, result.report_only),
    };
    Ok(Evaluated { result, code })
}

/// Leaves the mark that this job has judged, so that it cannot promote. Without a place for it, the job is none of CI.
fn leave_mark() {
    if let Some(mark) = job::judged_mark(&fetching::environment()) {
        let _left = output::write_file(&mark, b"", Over::Any);
    }
}
