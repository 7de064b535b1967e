//! `run`: the whole gate, from what decides about it to the last message.

use clap::Args;
use precision_gate::compare::measurements::Measurements;
use precision_gate::error::{Error, ErrorKind, Result};
use precision_gate::gate::mistake::pair_inside;
use precision_gate::gate::training::Training;
use precision_gate::gate::{self, FurtherRuns, Progress, Request, UncheckedRequest};
use precision_gate::msprobe::dump::Matching;
use precision_gate::output::Output;
use precision_gate::policy::Policy;
use precision_gate::policy::input::InputKind;
use precision_gate::publish::event::JobPlace;
use precision_gate::publish::trust::{InputSource, input_source};
use precision_gate::publish::{PublishSettings, Story, worst_story};
use precision_gate::report::JudgedRun;
use precision_gate::result::Source;
use precision_gate::verdict::Profile;

use super::fetching;
use super::flags::{CommonArgs, profile};
use super::history::{HistoryFlags, Recording};
use super::judge::{self, Evaluated, Task};
use super::publish::{self, Commit, Judgement, Publishing, Told, every, tell_runner};
use super::quick::{self, QuickArgs};
use super::surroundings::{PublishFlags, Surroundings, settings};
use super::training::TrainingFlags;
use super::trusted::{Case, Purpose, Trusted, trusted};

/// `run`
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The baseline, in place of --baseline
    #[arg(value_name = "BASELINE")]
    pub(crate) first: Option<String>,
    /// The candidate, in place of --candidate
    #[arg(value_name = "CANDIDATE")]
    pub(crate) second: Option<String>,
    /// The baseline: a folder, a file or a location (s3://, https://, baseline:NAME and others); given several times, one run each
    #[arg(long, value_name = "LOCATION")]
    pub(crate) baseline: Vec<String>,
    /// The candidate: a folder, a file or a location; given several times, one run each
    #[arg(long, value_name = "LOCATION")]
    pub(crate) candidate: Vec<String>,
    /// Each entry of a folder is one run: several runs of a side are judged together, as samples
    #[arg(long)]
    pub(crate) runs: bool,
    /// The machine that the candidate was made on
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    pub(crate) node: String,
    /// The candidate made again, and the machine: judged by itself where the first run fails; may be given several times
    #[arg(long, value_name = "NODE=LOCATION", value_parser = fetching::rerun)]
    pub(crate) rerun: Vec<(String, String)>,
    /// Severity of the gate [default: that of the policy file]
    #[arg(long, value_parser = profile())]
    pub(crate) profile: Option<Profile>,
    /// Judge the candidate alone where no baseline is named: NaN, infinity, saturation, damage; nothing says that its numbers are right
    #[arg(long)]
    pub(crate) health: bool,
    /// A repeat of the baseline, or the file that `precision-gate noise` wrote; may be given several times
    #[arg(long, value_name = "LOCATION")]
    pub(crate) noise: Vec<String>,
    /// A third run of the same model, such as fp64 on a CPU: shows which of the two sides is off (dumps)
    #[arg(long, value_name = "LOCATION")]
    pub(crate) reference: Option<String>,
    #[command(flatten)]
    pub(crate) training: TrainingFlags,
    #[command(flatten)]
    pub(crate) common: CommonArgs,
    #[command(flatten)]
    pub(crate) quick: QuickArgs,
    #[command(flatten)]
    pub(crate) history: HistoryFlags,
    /// Publish the verdict: comment, check and pictures
    #[arg(long, help_heading = "Publishing")]
    pub(crate) publish: bool,
    #[command(flatten)]
    pub(crate) publishing: PublishFlags,
}

/// `precision-gate run`
pub(crate) fn run(mut args: RunArgs) -> Result<u8> {
    args.take_folders()?;
    if args.publishing.dry_run && args.common.prints_result() {
        let error =
            Error::new(ErrorKind::Usage, "--dry-run", "prints what would be posted, beside which no result is printed");
        return Err(error.with_help("leave out --json, and name a folder with --out: `result.json` lies there"));
    }
    judge_all(&args)
}

impl RunArgs {
    /// Takes two folders without flags as baseline and candidate, in this order.
    fn take_folders(&mut self) -> Result<()> {
        let usage = |message: &str| Error::new(ErrorKind::Usage, "", message).with_help(BOTH_SIDES);
        let is_flagged = !self.baseline.is_empty() || !self.candidate.is_empty();
        match (self.first.take(), self.second.take()) {
            (None, _) => Ok(()),
            (Some(_), Some(_)) if is_flagged => {
                Err(usage("the runs are given both with and without --baseline and --candidate"))
            }
            (Some(_), None) if is_flagged => Err(usage("one run is given without --baseline or --candidate")),
            (candidate, None) if self.health => {
                self.candidate = candidate.into_iter().collect();
                Ok(())
            }
            (Some(one), None) => Err(match pair_inside(&one) {
                Some(pair) => usage("holds both runs").with_help(format!("name each of them: `{pair}`")),
                None => usage("only one run is given"),
            }),
            (baseline, candidate) => {
                (self.baseline, self.candidate) = (baseline.into_iter().collect(), candidate.into_iter().collect());
                Ok(())
            }
        }
    }
}

/// Help where it is not clear which two runs are meant.
const BOTH_SIDES: &str = "give both runs in one way: `precision-gate run GPU_FOLDER NPU_FOLDER`, or \
                          `precision-gate run --baseline GPU_FOLDER --candidate NPU_FOLDER`";

fn judge_all(args: &RunArgs) -> Result<u8> {
    let surroundings = Surroundings::of_process().with(&args.publishing);
    let output = match judge::task(&args.common, &args.quick) {
        Ok(Task::Part(part)) => return measure(args, &surroundings, part),
        Ok(Task::Whole(output)) => Ok(output),
        // A folder that cannot be written is told beside the commit too.
        Err(error) => Err(error),
    };
    let purpose = if args.publish { Purpose::Post } else { Purpose::Show };
    let trusted = trusted(&args.common, &args.publishing, &surroundings, purpose);
    // A policy that cannot be read is told beside the commit too.
    let of_policy = match &trusted {
        Ok(trusted) => Some(trusted.policy.publish.clone()),
        Err(_) => publish::of_damaged(args.common.config.as_deref(), &surroundings.place),
    };
    let also = (args.common.documents.lang, args.common.warn_exit_code);
    let guessed = of_policy.is_none() && args.publishing.key.is_none();
    let settings = settings(&args.publishing, &of_policy.unwrap_or_default(), &surroundings, also);
    let report_only = trusted.as_ref().map_or(args.common.report_only, |trusted| trusted.policy.report_only);
    let settings = PublishSettings { guessed, report_only, ..settings };
    let mut publishing = Publishing::open(&args.publishing, &surroundings, settings, args.publish)?;
    publishing.begin();
    let begun = output.and_then(|output| Ok((output, trusted?)));
    match begun.and_then(|begun| judge_and_tell(args, &surroundings, begun, &mut publishing)) {
        Ok(code) => publishing.close(code),
        Err(error) => {
            publishing.give_up(&error);
            publishing.close(0)?;
            Err(error)
        }
    }
}

/// Measures one part of a run; the job that merges the parts judges and tells.
fn measure(args: &RunArgs, surroundings: &Surroundings, part: (u64, u64)) -> Result<u8> {
    let trusted = trusted(&args.common, &args.publishing, surroundings, Purpose::Show)?;
    let request = request(args, trusted.policy.clone());
    let case = trusted.case(request)?;
    judge::prepare(&args.common, &case.request)?;
    if case.request.is_alone() {
        let error = Error::new(ErrorKind::Usage, "--part", "a run without a baseline is not measured in parts");
        return Err(error.with_help("leave out --part; one run is read in one go"));
    }
    if case.request.several.has_several() {
        let error = Error::new(ErrorKind::Usage, "--part", "several runs are not measured in parts");
        return Err(error.with_help("leave out --part, or judge one run of each side"));
    }
    quick::measure(&args.common, &case.request, args.quick.selection()?, part)
}

fn judge_and_tell(
    args: &RunArgs,
    surroundings: &Surroundings,
    (output, trusted): (Output, Trusted),
    publishing: &mut Publishing<'_>,
) -> Result<u8> {
    let training = args.training.outcome(|warning| publishing.warn(warning));
    let first = judge_by((args, training), surroundings, (&args.common, output, trusted), publishing)?;
    let commit = first.result.source.as_ref().map(|source| source.commit.clone()).unwrap_or_default();
    let of = Commit { commit: &commit, common: &args.common, flags: &args.publishing, surroundings };
    let judgements = every(first, &of, publishing, |publishing, common, trusted| {
        judge_by((args, training), surroundings, (common, judge::begin(common)?, trusted), publishing)
    })?;
    let stories: Vec<Story<'_>> = judgements.iter().map(Judgement::story).collect();
    let language = args.common.documents.lang;
    if let Some(Story { result, templates, notes, source_root, .. }) = worst_story(&stories).copied() {
        let out = Some(args.common.out.as_path()).filter(|_| !args.common.keeps_nothing());
        let aside = args.common.prints_result();
        tell_runner(&surroundings.environment, &Told { result, language, templates, source_root, notes, out, aside })?;
    }
    publishing.finish(&stories)?;
    Ok(judgements.iter().map(|judgement| judgement.code).max().unwrap_or_default())
}

/// Judges by the policy and templates of one branch.
fn judge_by(
    (args, training): (&RunArgs, Option<Training>),
    surroundings: &Surroundings,
    (common, output, trusted): (&CommonArgs, Output, Trusted),
    publishing: &mut Publishing<'_>,
) -> Result<Judgement> {
    let settings =
        trusted.settings(&args.publishing, surroundings, (args.common.documents.lang, args.common.warn_exit_code));
    let request = request(args, trusted.policy.clone());
    let case = trusted.case(request)?;
    let measurements = Measurements::new(args.quick.selection()?);
    let tree = super::source::of_run(&case.request.policy, case.source_root.as_deref(), surroundings)?;
    let look = |request: &Request, from: &gate::Surroundings<'_>, progress: &dyn Progress| {
        let from = gate::Surroundings { training, source: tree.as_ref(), ..*from };
        gate::run_by(request, &from, &measurements, progress)
    };
    let mut warnings = Vec::new();
    let complete = |judged: &mut JudgedRun, from: &gate::Surroundings<'_>| {
        judged.result.source = source(&surroundings.place, &case);
        let (policy, place) = (&case.request.policy, &surroundings.place);
        let recording = Recording::of(&args.history, policy, place, &args.common.fetching);
        if let Some(recording) =
            recording.filter(|_| input_source(case.standing, InputKind::History) != InputSource::Nowhere)
        {
            warnings = recording.complete(judged, policy, from.manifest);
        }
    };
    let Evaluated { result, code } = judge::evaluate(common, output, &case, look, complete)?;
    warnings.into_iter().for_each(|warning| publishing.warn(warning));
    let Case { templates, notes, source_root, target, .. } = case;
    Ok(Judgement { result, code, target, templates, notes, source_root, settings })
}

/// The request of a run: flags take precedence over the policy.
fn request(args: &RunArgs, mut policy: Policy) -> UncheckedRequest {
    policy.profile = args.profile.unwrap_or(policy.profile);
    policy.health.alone |= args.health;
    if !args.noise.is_empty() {
        policy.loss.noise = args.noise.clone().into();
        policy.dump.noise = args.noise.clone().into();
    }
    if let Some(reference) = &args.reference {
        policy.reference.location = reference.clone().into();
    }
    let are_runs = [policy.baseline.runs, policy.candidate.runs].map(|of_policy| args.runs || of_policy);
    let [(baseline, ours), (candidate, theirs)] =
        [(&args.baseline, &policy.baseline), (&args.candidate, &policy.candidate)].map(|(given, of_policy)| {
            let all = if given.is_empty() { of_policy.location.written() } else { given.clone() };
            let mut all = all.into_iter();
            (all.next().unwrap_or_default(), all.collect())
        });
    let (node, reruns) = (args.node.clone(), args.rerun.clone());
    UncheckedRequest {
        baseline,
        candidate,
        several: FurtherRuns { baseline: ours, candidate: theirs, are_runs, node, reruns },
        checks: Request::ALL_CHECKS.to_vec(),
        policy,
        matching: Matching::default(),
    }
}

/// The commit that the result is of.
fn source(place: &JobPlace, case: &Case) -> Option<Source> {
    let commit = if place.commit.is_empty() { &case.head } else { &place.commit };
    let known = !commit.is_empty();
    known.then(|| Source { commit: commit.clone(), repository: place.repository.clone(), target: case.target.clone() })
}
