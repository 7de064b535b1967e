//! `precision-gate baseline`: baselines as reviewed things (docs/baselines.md).

use std::path::PathBuf;

use clap::{Args, Subcommand};
use minijinja::context;
use precision_gate::error::{Error, ErrorKind, Result};
use precision_gate::exit;
use precision_gate::fetch::{Fetcher, Location, Trust};
use precision_gate::gate::baseline::lock::Lock;
use precision_gate::gate::baseline::manifest::{BaselineOrigin, Manifest};
use precision_gate::gate::baseline::verify;
use precision_gate::gate::baseline_name;
use precision_gate::gate::promote::{Promoted, Promotion, old_against_new, promote};
use precision_gate::gate::renew::{self, RenewRequest, Renewed};
use precision_gate::gate::repeats::read_band_file;
use precision_gate::policy::Policy;
use precision_gate::policy::location::TrustedLocation;
use precision_gate::policy::publish::PublishPolicy;
use precision_gate::policy::value::Date;
use precision_gate::report::escape;
use precision_gate::report::messages::{Language, short_number};

use super::fetching::{FetchArgs, environment};
use super::pinned::{BRANCHES, pinned};
use super::proposing::Onto;
use super::publish::Publishing;
use super::surroundings::{PublishFlags, Surroundings, settings};
use super::{fetching, policy_file, progress, proposing, show};

/// Variables that name the person behind a job.
const PEOPLE: [&str; 4] = ["GITHUB_ACTOR", "GITLAB_USER_LOGIN", "USER", "LOGNAME"];

/// `baseline`
#[derive(Debug, Args)]
pub(crate) struct BaselineArgs {
    #[command(subcommand)]
    command: BaselineCommand,
}

/// Commands on baselines.
#[derive(Debug, Subcommand)]
enum BaselineCommand {
    /// Make a run the baseline: write its manifest and pin it
    #[command(
        after_help = "Example:\n  precision-gate baseline promote s3://golden/glm/2026-11 --name glm \\\n      --reason 'torch 2.7' --approved-by ann"
    )]
    Promote(PromoteArgs),
    /// List the pinned baselines by branch
    #[command(after_help = "Example:\n  precision-gate baseline list")]
    List(ListArgs),
    /// Show where a baseline comes from, its files and its approval
    #[command(after_help = "Example:\n  precision-gate baseline show glm")]
    Show(NameArgs),
    /// Verify byte by byte that a baseline still matches its manifest
    #[command(after_help = "Example:\n  precision-gate baseline verify glm")]
    Verify(NameArgs),
    /// Judge the new runs of many baselines against their old ones, and write those that a reviewed request accepts
    #[command(after_help = "Example:\n  precision-gate baseline renew renew.yml")]
    Renew(RenewArgs),
    /// Show what would change if another run became the baseline
    #[command(after_help = "Example:\n  precision-gate baseline diff glm s3://golden/glm/2026-12")]
    Diff(DiffArgs),
}

/// `baseline promote`
#[derive(Debug, Args)]
struct PromoteArgs {
    /// The run: a folder or a location
    location: String,
    /// Name of the baseline
    #[arg(long)]
    name: String,
    /// Reason for the new baseline, for reviewers
    #[arg(long, default_value = "", hide_default_value = true)]
    reason: String,
    /// Person who is responsible [default: the person who started the job, or the user]
    #[arg(long, value_name = "WHO")]
    approved_by: Option<String>,
    /// Branch to pin it for, or a pattern
    #[arg(long, default_value = "*")]
    branch: String,
    /// Commit of the training code
    #[arg(long, default_value = "", hide_default_value = true)]
    commit: String,
    /// Digest of the container image
    #[arg(long, default_value = "", hide_default_value = true)]
    image: String,
    /// Accelerators: 8x A100-SXM4-80GB
    #[arg(long, default_value = "", hide_default_value = true)]
    hardware: String,
    /// Random seed, if the config pack does not hold it
    #[arg(long, default_value = "", hide_default_value = true)]
    seed: String,
    /// Version that the config pack does not hold: cann=8.2.RC1, driver=25.2
    #[arg(long = "with", value_name = "WHAT=VERSION", value_parser = fetching::version)]
    versions: Vec<(String, String)>,
    /// File that `precision-gate noise` wrote
    #[arg(long, value_name = "FILE")]
    noise: Option<String>,
    /// Accept a run that differs from the old baseline by more than the recorded noise
    #[arg(long)]
    accept_change: bool,
    /// Push manifest and lock file to a branch of their own, and open a pull request for it
    #[arg(long)]
    propose: bool,
    /// Print the requests of --propose, and send nothing
    #[arg(long, requires = "propose")]
    dry_run: bool,
    /// Language of the pull request [default: `lang` of the policy file, else that of the locale]
    #[arg(long, value_enum, default_value_t = Language::En, hide_default_value = true, requires = "propose")]
    lang: Language,
    #[command(flatten)]
    common: CommonArgs,
}

/// `baseline list`
#[derive(Debug, Args)]
struct ListArgs {
    #[command(flatten)]
    common: CommonArgs,
}

/// A command about one baseline.
#[derive(Debug, Args)]
struct NameArgs {
    /// Name of the baseline; may be left out if there is only one
    #[arg(default_value = "", hide_default_value = true)]
    name: String,
    /// Branch whose baseline is meant [default: the target branch of the change]
    #[arg(long)]
    branch: Option<String>,
    #[command(flatten)]
    common: CommonArgs,
}

/// `baseline diff`
#[derive(Debug, Args)]
struct DiffArgs {
    /// Name of the baseline
    name: String,
    /// The other run: a folder or a location
    location: String,
    /// Branch whose baseline is meant [default: the target branch of the change]
    #[arg(long)]
    branch: Option<String>,
    #[command(flatten)]
    common: CommonArgs,
}

/// `baseline renew`
#[derive(Debug, Args)]
struct RenewArgs {
    /// The request: `renew: [{suite, baseline, candidate, because}]`, with locations below the file's folder
    #[arg(value_name = "REQUEST")]
    request: PathBuf,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
    /// Promote the new runs, where every suite is accepted
    #[arg(long)]
    write: bool,
    /// With --write, promote those that are accepted although others are refused
    #[arg(long, requires = "write")]
    accepted_only: bool,
    /// Person who is responsible [default: the person who started the job, or the user]
    #[arg(long, value_name = "WHO")]
    approved_by: Option<String>,
    #[command(flatten)]
    common: CommonArgs,
}

/// Flags of every command on baselines.
#[derive(Debug, Args)]
struct CommonArgs {
    /// Root of the repository, with the lock file and the manifests
    #[arg(long, value_name = "DIR", default_value = ".")]
    root: PathBuf,
    /// Policy file [default: precision-gate.yml, if it exists]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Date to judge by [default: today, in UTC]
    #[arg(long, value_name = "YYYY-MM-DD")]
    today: Option<String>,
    /// Print the result and errors only
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    fetching: FetchArgs,
}

impl CommonArgs {
    fn policy(&self) -> Result<Policy> {
        policy_file::policy(self.config.as_deref(), self.today.as_deref())
    }
}

/// `precision-gate baseline …`
pub(crate) fn run(args: BaselineArgs) -> Result<u8> {
    match args.command {
        BaselineCommand::Promote(args) => run_promote(args),
        BaselineCommand::List(args) => list(&args.common),
        BaselineCommand::Show(args) => show_one(&args),
        BaselineCommand::Verify(args) => run_verify(&args),
        BaselineCommand::Diff(args) => diff(&args),
        BaselineCommand::Renew(args) => run_renew(&args),
    }
}

fn run_promote(args: PromoteArgs) -> Result<u8> {
    let environment = environment();
    let recorded = BaselineOrigin {
        commit: args.commit,
        image: args.image,
        hardware: args.hardware,
        seed: args.seed,
        versions: args.versions.into_iter().collect(),
        ..BaselineOrigin::default()
    };
    let promotion = Promotion {
        root: args.common.root.clone(),
        name: args.name,
        location: args.location,
        branch: args.branch,
        reason: args.reason,
        by: args.approved_by.or_else(|| environment.first(&PEOPLE).map(str::to_owned)).unwrap_or_default(),
        recorded,
        noise: args.noise.as_deref().map(|location| noise(location, &args.common.fetching.fetcher())).transpose()?,
        accept_change: args.accept_change,
    };
    if args.propose {
        return propose(&promotion, &args.common, args.dry_run, args.lang);
    }
    let promoted = write(&promotion, &args.common)?;
    Ok(if promoted.written.is_empty() { exit::FAIL } else { exit::PASS })
}

/// Promotes, and prints what came of it; nothing is written where the change has to be accepted first.
fn write(promotion: &Promotion, common: &CommonArgs) -> Result<Promoted> {
    let progress = progress::progress_on_stderr(common.quiet);
    let fetcher = common.fetching.fetcher();
    let promoted = promote(promotion, &common.policy()?, &fetcher, &environment(), progress.as_ref())?;
    drop(progress);
    let Manifest { name, files, approval, .. } = &promoted.manifest;
    show::sentences(&format!("{name}: {} files, {}\n", files.len(), promoted.manifest.digest))?;
    for line in &promoted.changes {
        show::sentences(&format!("  {line}\n"))?;
    }
    if promoted.written.is_empty() {
        show::sentences("the change is larger than the recorded band: look at it, then pass --accept-change\n")?;
    } else if approval.exceeds_band {
        show::sentences("the change is larger than the recorded band, and was accepted; the manifest says so\n")?;
    }
    for path in &promoted.written {
        show::sentences(&format!("written: {}\n", path.display()))?;
    }
    Ok(promoted)
}

/// Promotes in the checkout of the branch that the job runs for, and proposes to that branch what this writes.
fn propose(promotion: &Promotion, common: &CommonArgs, dry_run: bool, language: Language) -> Result<u8> {
    let (flags, surroundings) = (PublishFlags { dry_run, ..PublishFlags::default() }, Surroundings::of_process());
    let branch = environment().first(&BRANCHES).unwrap_or(&surroundings.place.default_branch).to_owned();
    let settings = settings(&flags, &PublishPolicy::default(), &surroundings, (language, 0));
    let mut publishing = Publishing::open(&flags, &surroundings, settings, true)?;
    let Some(session) = publishing.session() else { return publishing.close(exit::UNAVAILABLE) };
    let tip = session.tip(&branch)?;
    let mut onto = Onto { session, branch, tip };
    if onto.same_text(&promotion.root, baseline_name::LOCK)?.is_none() && !dry_run {
        let message = format!("is not that of the newest commit of `{}`", onto.branch);
        return Err(Error::new(ErrorKind::Usage, baseline_name::LOCK, message).with_help("check out that commit first"));
    }
    let promoted = write(promotion, common)?;
    if promoted.written.is_empty() {
        return publishing.close(exit::FAIL);
    }
    let context = context! { by => &promotion.by, commit => &promotion.recorded.commit };
    let proposal = onto.baseline(promotion, &promoted, "", (context, language))?;
    let text = proposing::propose(onto.session, &proposal, language)?;
    show::say(&format!("{text}\n"))?;
    publishing.close(exit::PASS)
}

fn run_renew(args: &RenewArgs) -> Result<u8> {
    let name = args.request.display().to_string();
    let text = std::fs::read_to_string(&args.request).map_err(|error| Error::io(&name, &error))?;
    let request: RenewRequest = serde_yaml::from_str(&text).map_err(|error| {
        let help = "expected `renew: [{suite: NAME, baseline: OLD, candidate: NEW, because: REASON}]`";
        Error::new(ErrorKind::Policy, &name, error).with_help(help)
    })?;
    let folder = args.request.parent().map(PathBuf::from).unwrap_or_default();
    let place = |location: &str| match Location::parse(location) {
        Ok(Location::Local(_)) => folder.join(location).display().to_string(),
        _ => location.to_owned(),
    };
    let (policy, fetcher) = (args.common.policy()?, args.common.fetching.fetcher());
    let progress = progress::progress_on_stderr(args.common.quiet || args.json);
    let suites = renew::judge(&request, &policy, &place, &fetcher, progress.as_ref());
    drop(progress);
    if args.json {
        show::say(&super::curves::json(&serde_json::json!({ "suites": suites }))?)?;
    } else {
        show::say(&told(&suites))?;
    }
    let are_all = suites.iter().all(|suite| suite.accepted);
    if args.write && (are_all || args.accepted_only) {
        let by = args.approved_by.clone().or_else(|| environment().first(&PEOPLE).map(str::to_owned));
        for (suite, _) in request.renew.iter().zip(&suites).filter(|(_, judged)| judged.accepted) {
            let promotion = Promotion {
                root: args.common.root.clone(),
                name: suite.suite.clone(),
                location: place(&suite.candidate),
                branch: "*".to_owned(),
                reason: suite.because.clone(),
                by: by.clone().unwrap_or_default(),
                recorded: BaselineOrigin::default(),
                noise: None,
                accept_change: true,
            };
            write(&promotion, &args.common)?;
        }
    }
    Ok(if are_all { exit::PASS } else { exit::FAIL })
}

/// The suites as a table of Markdown, which a reviewer reads in the request.
fn told(suites: &[Renewed]) -> String {
    let mut text =
        String::from("| suite | accepted | verdict | shift | because, or why not |\n| --- | --- | --- | --- | --- |\n");
    for suite in suites {
        let shift = match (suite.effect, suite.interval) {
            (Some(effect), Some([low, high])) => {
                format!("{} ({} to {})", short_number(effect.0), short_number(low.0), short_number(high.0))
            }
            _ => String::new(),
        };
        let verdict = suite.verdict.map_or("", |verdict| verdict.as_str());
        let (yes, why) = if suite.accepted { ("yes", &suite.because) } else { ("no", &suite.reason) };
        let cells = [suite.suite.as_str(), yes, verdict, &shift, why].map(escape::cell);
        text.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
    text
}

fn noise(location: &str, fetcher: &Fetcher) -> Result<precision_gate::judge::loss::noise::NoiseBand> {
    let shown = Location::parse(location)?.to_string();
    read_band_file(&TrustedLocation::own(location), fetcher)?.ok_or_else(|| {
        Error::new(ErrorKind::Usage, shown, "is no recorded noise band")
            .with_help("record one with `precision-gate noise`")
    })
}

fn list(common: &CommonArgs) -> Result<u8> {
    let lock = Lock::read(&common.root.join(baseline_name::LOCK))?;
    let today = policy_file::today(common.today.as_deref())?;
    for pin in &lock.pins {
        let line = match Manifest::read(&common.root.join(&pin.manifest)) {
            Ok((_, digest)) if digest != pin.digest => "its manifest changed since it was pinned".to_owned(),
            Ok((manifest, _)) => format!("{} {}", age(&manifest, today), manifest.location),
            Err(error) => error.to_string(),
        };
        show::sentences(&format!("{:<16} {:<16} {line}\n", pin.branch, pin.name))?;
    }
    if lock.pins.is_empty() {
        show::sentences(&format!("no baseline is pinned; record one: `{}`\n", baseline_name::record_command("")))?;
    }
    Ok(exit::PASS)
}

fn age(manifest: &Manifest, today: Date) -> String {
    let recorded = Date::try_from(manifest.approval.date.clone());
    recorded.map_or_else(|_| "?".to_owned(), |date| format!("{date} ({} days)", today.days_since(date)))
}

fn show_one(args: &NameArgs) -> Result<u8> {
    let manifest = pinned(&args.common.root, &args.name, args.branch.as_deref(), &environment())?;
    let Manifest { name, location, digest, files, recorded, noise, approval, .. } = &manifest;
    let bytes: u64 = files.values().map(|file| file.bytes).sum();
    let mut lines = vec![
        ("name", name.clone()),
        ("location", location.clone()),
        ("digest", digest.clone()),
        ("files", format!("{} ({bytes} bytes)", files.len())),
        ("approved by", format!("{} on {}", approval.by, approval.date)),
        ("reason", approval.reason.clone()),
        ("commit", recorded.commit.clone()),
        ("image", recorded.image.clone()),
        ("hardware", recorded.hardware.clone()),
        ("seed", recorded.seed.clone()),
    ];
    lines.extend(recorded.versions.iter().map(|(what, version)| ("version", format!("{what} {version}"))));
    lines.extend(recorded.inputs.iter().map(|(path, digest)| ("input", format!("{path} {digest}"))));
    lines.extend(recorded.sources.iter().map(|(path, digest)| ("source", format!("{path} {digest}"))));
    let metrics = noise.iter().flat_map(|band| band.metrics.keys());
    lines.push(("noise", metrics.cloned().collect::<Vec<_>>().join(", ")));
    lines.extend(approval.change.iter().map(|line| ("change", line.clone())));
    for (what, value) in lines.into_iter().filter(|(_, value)| !value.is_empty()) {
        show::say(&format!("{what:<12} {value}\n"))?;
    }
    Ok(exit::PASS)
}

fn run_verify(args: &NameArgs) -> Result<u8> {
    let manifest = pinned(&args.common.root, &args.name, args.branch.as_deref(), &environment())?;
    let fetcher = args.common.fetching.fetcher();
    let progress = progress::progress_on_stderr(args.common.quiet);
    let opened = precision_gate::gate::open(&manifest.location, Trust::Baseline, &fetcher, progress.as_ref())?;
    let found = verify::file_facts(opened.as_ref(), progress.as_ref())?;
    drop(progress);
    let differences = verify::differences(&manifest, &found);
    for line in &differences {
        show::sentences(&format!("{line}\n"))?;
    }
    if differences.is_empty() {
        show::sentences(&format!("{}: {} files are as recorded\n", manifest.name, found.len()))?;
        return Ok(exit::PASS);
    }
    Ok(exit::FAIL)
}

fn diff(args: &DiffArgs) -> Result<u8> {
    let old = pinned(&args.common.root, &args.name, args.branch.as_deref(), &environment())?;
    let fetcher = args.common.fetching.fetcher();
    let progress = progress::progress_on_stderr(args.common.quiet);
    let opened = precision_gate::gate::open(&args.location, Trust::Baseline, &fetcher, progress.as_ref())?;
    let files = verify::file_facts(opened.as_ref(), progress.as_ref())?;
    let new = Manifest { location: args.location.clone(), files, ..old.clone() };
    let (verdict, said) = old_against_new(&old, &new, &args.common.policy()?, &fetcher, progress.as_ref());
    drop(progress);
    for line in new.changes_since(&old).iter().chain(&said) {
        show::sentences(&format!("{line}\n"))?;
    }
    Ok(exit::of_verdict(verdict, exit::PASS, false))
}
