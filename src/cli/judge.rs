//! The commands that judge one pair: `config-check`, `compare`; and what `run`, `loss` and `publish` share with them.

use std::path::{Path, PathBuf};

use precision_gate::compare::book::{Book, Selection};
use precision_gate::error::{Error, ErrorKind, Result};
use precision_gate::fetch::Digest;
use precision_gate::gate::baseline::manifest::Manifest;
use precision_gate::gate::baseline::{SCHEME, job};
use precision_gate::gate::{self, Progress, Request, Surroundings};
use precision_gate::judge::rule;
use precision_gate::msprobe::dump::{Matching, mapping};
use precision_gate::policy::Policy;
use precision_gate::report::folder::Folder;
use precision_gate::report::templates::Templates;
use precision_gate::report::{GateResult, Judged};
use precision_gate::verdict::{CheckId, Verdict};
use precision_gate::{exit, report};

use super::quick::{self, QuickArgs};
use super::{CommonArgs, CompareArgs, PairArgs, baseline, fetching, progress, show, tools};

/// Policy file that is read without being named.
const DEFAULT_POLICY: &str = "precision-gate.yml";

/// `precision-gate config-check`
pub(crate) fn config_check(args: &PairArgs) -> Result<u8> {
    some_checks(args, &[CheckId::Config], Matching::default(), &QuickArgs::default())
}

/// `precision-gate compare`
pub(crate) fn compare(args: &CompareArgs) -> Result<u8> {
    let mapping = |path: &PathBuf| mapping::parse(&path.display().to_string(), &read(path)?);
    let matching = Matching {
        fuzzy: args.fuzzy,
        rows: args.data_mapping.as_ref().map(mapping).transpose()?.unwrap_or_default(),
        modules: args.cell_mapping.as_ref().map(mapping).transpose()?,
    };
    some_checks(&args.pair, &Request::COMPARE_CHECKS, matching, &args.quick)
}

fn some_checks(args: &PairArgs, checks: &[CheckId], matching: Matching, quick: &QuickArgs) -> Result<u8> {
    let request = Request {
        baseline: args.baseline.clone(),
        candidate: args.candidate.clone(),
        checks: checks.to_vec(),
        policy: policy(args.common.config.as_deref(), args.common.today.as_deref())?,
        matching,
    };
    look(&args.common, &request, quick)
}

/// Judges what the arguments select, or measures a part of it.
fn look(common: &CommonArgs, request: &Request, quick: &QuickArgs) -> Result<u8> {
    let selection = quick.selection()?;
    match quick.part()? {
        Some(part) => {
            let (request, _) = prepare(common, request)?;
            quick::measure(common, &request, selection, part)
        }
        None => judge_selected(common, request, selection),
    }
}

/// The policy of `config`, or of the default file where there is one, as of `today`.
pub(crate) fn policy(config: Option<&Path>, today: Option<&str>) -> Result<Policy> {
    let path = policy_path(config);
    let text = match config {
        None => text_of(&path)?,
        Some(path) => Some(read(path)?),
    };
    policy_of_text(&path, text.as_deref(), today)
}

/// The policy file: the one named, or the default one.
pub(crate) fn policy_path(config: Option<&Path>) -> PathBuf {
    config.unwrap_or(Path::new(DEFAULT_POLICY)).to_owned()
}

/// The policy that `text` of the file `path` says, or the defaults where there is none.
pub(crate) fn policy_of_text(path: &Path, text: Option<&str>, today: Option<&str>) -> Result<Policy> {
    let today = tools::today(today)?;
    let codes: Vec<&str> = rule::all().map(|rule| rule.code).collect();
    let policy = text.map(|text| Policy::parse(&path.display().to_string(), text, &codes)).transpose()?;
    let digest = text.map_or_else(String::new, |text| Digest::of(text.as_bytes()).to_string());
    Ok(Policy { today, digest, ..policy.unwrap_or_default() })
}

/// A file's text; `None` where there is no such file.
pub(crate) fn text_of(path: &Path) -> Result<Option<String>> {
    if path.exists() { read(path).map(Some) } else { Ok(None) }
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).map_err(|error| Error::io(path.display().to_string(), &error))
}

/// The templates that flags or the policy name.
pub(crate) fn templates(common: &CommonArgs, policy: &Policy) -> Result<Templates> {
    show::templates(common.documents.templates.as_deref().or(policy.templates.as_deref()))
}

/// Runs the gate and writes, shows and answers what it found.
pub(crate) fn judge(common: &CommonArgs, request: &Request) -> Result<u8> {
    judge_selected(common, request, Selection::default())
}

fn judge_selected(common: &CommonArgs, request: &Request, selection: Selection) -> Result<u8> {
    let book = Book::new(selection);
    judge_by(common, request, |request, from, progress| gate::run_by(request, from, &book, progress))
}

/// What was written and shown, and what the command ends with.
pub(crate) struct Evaluated {
    pub(crate) result: GateResult,
    pub(crate) code: u8,
}

/// Sees to both sides and the threads; the request comes back with its baseline's location, and its manifest where the
/// baseline has a name.
pub(crate) fn prepare(common: &CommonArgs, request: &Request) -> Result<(Request, Option<Manifest>)> {
    if request.baseline.is_empty() || request.candidate.is_empty() {
        let error = Error::new(ErrorKind::Usage, "", "both a baseline and a candidate are needed");
        return Err(error.with_help("pass --baseline and --candidate, or set `location` of both in the policy file"));
    }
    let (location, manifest) = named_baseline(request)?;
    let request = Request { baseline: location, ..request.clone() };
    let threads = fetching::threads(&[&request.baseline, &request.candidate])?;
    if let Some(threads) = common.threads.or(threads) {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
        pool.map_err(|error| Error::new(ErrorKind::Usage, "--threads", error))?;
    }
    Ok((request, manifest))
}

/// Writes, shows and answers what `run` finds.
pub(crate) fn judge_by(
    common: &CommonArgs,
    request: &Request,
    run: impl FnOnce(&Request, &Surroundings<'_>, &dyn Progress) -> Result<Judged>,
) -> Result<u8> {
    let templates = templates(common, &request.policy)?;
    evaluate(common, request, &templates, run, |_, _| {}).map(|judged| judged.code)
}

/// Writes and shows what `run` finds, once `complete` has said what judging does not know: the commit, earlier runs.
pub(crate) fn evaluate(
    common: &CommonArgs,
    request: &Request,
    templates: &Templates,
    run: impl FnOnce(&Request, &Surroundings<'_>, &dyn Progress) -> Result<Judged>,
    complete: impl FnOnce(&mut Judged, &Surroundings<'_>),
) -> Result<Evaluated> {
    let (request, manifest) = prepare(common, request)?;
    let documents = &common.documents;
    let fetcher = common.fetching.fetcher();
    let folder = Folder::new(&common.out, common.xlsx);
    let surroundings = Surroundings { fetcher: &fetcher, manifest: manifest.as_ref(), sink: &folder, training: None };
    let mut judged = run(&request, &surroundings, progress::of(documents.quiet).as_ref())?;
    leave_mark();
    complete(&mut judged, &surroundings);
    let Judged { mut result, required_unread, .. } = judged;
    let options = report::write::Options {
        out: &common.out,
        language: documents.lang,
        templates,
        source_root: source_root(common, &request),
    };
    report::write::all(&mut result, folder, &options)?;
    show::summary(&result, &common.out, documents)?;
    let unavailable = fetcher.failure().filter(|_| result.verdict == Verdict::Incomplete);
    if let Some(error) = &unavailable {
        eprintln!("error: {error}");
    }
    let code = match () {
        () if unavailable.is_some() => exit::UNAVAILABLE,
        () if required_unread => exit::USAGE,
        () => exit::of_verdict(result.verdict, common.warn_exit_code),
    };
    Ok(Evaluated { result, code })
}

/// The folder whose lines findings point at.
pub(crate) fn source_root<'a>(common: &'a CommonArgs, request: &'a Request) -> Option<&'a Path> {
    common.documents.source_root.as_deref().or(request.policy.source_root.as_deref())
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
