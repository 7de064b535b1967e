//! The commands that judge: `run`, `config-check`, `compare`; and what `loss` shares with them.

use std::path::{Path, PathBuf};

use precision_gate::error::{Error, ErrorKind, Result};
use precision_gate::gate::baseline::manifest::Manifest;
use precision_gate::gate::baseline::{SCHEME, job};
use precision_gate::gate::{self, Request, Surroundings};
use precision_gate::judge::rule;
use precision_gate::msprobe::dump::{Matching, mapping};
use precision_gate::policy::Policy;
use precision_gate::verdict::{CheckId, Verdict};
use precision_gate::{exit, report};

use super::{CommonArgs, CompareArgs, PairArgs, RunArgs, baseline, fetching, progress, show, tools};

/// Policy file that is read without being named.
const DEFAULT_POLICY: &str = "precision-gate.yml";

/// `precision-gate run`
pub(crate) fn run(args: RunArgs) -> Result<u8> {
    let policy = policy(args.common.config.as_deref(), args.common.today.as_deref())?;
    let request = Request {
        baseline: args.baseline.unwrap_or_else(|| policy.baseline.location.clone()),
        candidate: args.candidate.unwrap_or_else(|| policy.candidate.location.clone()),
        checks: Request::ALL_CHECKS.to_vec(),
        policy,
        matching: Matching::default(),
    };
    judge(&args.common, &request)
}

/// `precision-gate config-check`
pub(crate) fn config_check(args: &PairArgs) -> Result<u8> {
    some_checks(args, &[CheckId::Config], Matching::default())
}

/// `precision-gate compare`
pub(crate) fn compare(args: &CompareArgs) -> Result<u8> {
    let mapping = |path: &PathBuf| mapping::parse(&path.display().to_string(), &read(path)?);
    let matching = Matching {
        fuzzy: args.fuzzy,
        rows: args.data_mapping.as_ref().map(mapping).transpose()?.unwrap_or_default(),
        modules: args.cell_mapping.as_ref().map(mapping).transpose()?,
    };
    some_checks(&args.pair, &Request::COMPARE_CHECKS, matching)
}

fn some_checks(args: &PairArgs, checks: &[CheckId], matching: Matching) -> Result<u8> {
    let request = Request {
        baseline: args.baseline.clone(),
        candidate: args.candidate.clone(),
        checks: checks.to_vec(),
        policy: policy(args.common.config.as_deref(), args.common.today.as_deref())?,
        matching,
    };
    judge(&args.common, &request)
}

/// The policy of `config`, or of the default file where there is one, as of `today`.
pub(crate) fn policy(config: Option<&Path>, today: Option<&str>) -> Result<Policy> {
    let today = tools::today(today)?;
    let path = match config {
        Some(path) => path,
        None if Path::new(DEFAULT_POLICY).exists() => Path::new(DEFAULT_POLICY),
        None => return Ok(Policy { today, ..Policy::default() }),
    };
    let codes: Vec<&str> = rule::all().map(|rule| rule.code).collect();
    let policy = Policy::parse(&path.display().to_string(), &read(path)?, &codes)?;
    Ok(Policy { today, ..policy })
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).map_err(|error| Error::io(path.display().to_string(), &error))
}

/// Runs the gate and writes, shows and answers what it found.
pub(crate) fn judge(common: &CommonArgs, request: &Request) -> Result<u8> {
    if request.baseline.is_empty() || request.candidate.is_empty() {
        let error = Error::new(ErrorKind::Usage, "", "both a baseline and a candidate are needed");
        return Err(error.with_help("pass --baseline and --candidate, or set `location` of both in the policy file"));
    }
    let (location, manifest) = named_baseline(request)?;
    let request = &Request { baseline: location, ..request.clone() };
    let threads = fetching::threads(&[&request.baseline, &request.candidate])?;
    if let Some(threads) = common.threads.or(threads) {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
        pool.map_err(|error| Error::new(ErrorKind::Usage, "--threads", error))?;
    }
    let documents = &common.documents;
    let folder = documents.templates.as_deref().or(request.policy.templates.as_deref());
    let templates = show::templates(folder)?;
    let fetcher = common.fetching.fetcher();
    let mut outcome = {
        let surroundings = Surroundings { fetcher: &fetcher, manifest: manifest.as_ref() };
        gate::run_from(request, &surroundings, progress::of(documents.quiet).as_ref())?
    };
    leave_mark();
    let options = report::write::Options {
        out: &common.out,
        language: documents.lang,
        templates: &templates,
        source_root: documents.source_root.as_deref().or(request.policy.source_root.as_deref()),
        xlsx: common.xlsx,
    };
    report::write::all(&mut outcome, &options)?;
    show::summary(&outcome.result, &common.out, documents)?;
    if let Some(error) = fetcher.failure().filter(|_| outcome.result.verdict == Verdict::Incomplete) {
        eprintln!("error: {error}");
        return Ok(exit::UNAVAILABLE);
    }
    if outcome.required_unread {
        return Ok(exit::USAGE);
    }
    Ok(exit::of_verdict(outcome.result.verdict, common.warn_exit_code))
}

/// The location of a baseline that is named as `baseline:NAME`, with its manifest; other locations as they are.
fn named_baseline(request: &Request) -> Result<(String, Option<Manifest>)> {
    let Some(name) = request.baseline.strip_prefix(SCHEME) else { return Ok((request.baseline.clone(), None)) };
    let manifest = baseline::find(Path::new("."), name, None, &fetching::environment())?;
    let location = manifest.as_ref().map_or_else(|| request.baseline.clone(), |manifest| manifest.location.clone());
    Ok((location, manifest))
}

/// Leaves the mark that this job has judged, so that it cannot promote. Without a place for it, the job is none of CI.
fn leave_mark() {
    if let Some(mark) = job::mark(&fetching::environment()) {
        let _left = std::fs::write(mark, "");
    }
}
