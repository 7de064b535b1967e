//! The check of source: the files of a tree to findings, on the lines that a change touches.
//!
//! Unlike every other check it judges no run: the tree lies in the checkout, and `run` judges it where the policy asks for it.

use std::path::PathBuf;

use rayon::prelude::*;

use super::checks::GateCheck;
use super::discover::{Evidence, Extent, Recogniser};
use super::{CheckOutcome, Progress, Request, Shared, Surroundings};
use crate::error::{Error, ErrorKind, Result};
use crate::history::record::Facts;
use crate::judge::apply_policy::apply_policy;
use crate::judge::rule::artifacts::{CHANGE_UNKNOWN, NO_SOURCE, REQUIRED_MISSING};
use crate::judge::source::{Changes, Context, Flags, Looked, findings, look};
use crate::policy::Policy;
use crate::policy::source::SourcePolicy;
use crate::read::source::diff::Diff;
use crate::read::source::files::{self, Found};
use crate::report::Judged;
use crate::report::frame::Frame;
use crate::result::finding::{Fact, Finding, verdict_of};
use crate::result::unit::{Check, Culprit, SourceUnit, Unit, dumps};
use crate::result::{GateResult, Mode, Run, SCHEMA_VERSION, Tool};
use crate::verdict::{CheckId, Verdict};

/// The check of source.
pub(super) const CHECK: GateCheck = GateCheck {
    recogniser: Recogniser { check: ID, by: Evidence::Signature, extent: Extent::Content, look: |_| None },
    judge: |_, surroundings, shared| Ok(of_tree(surroundings, shared).unwrap_or_else(|| CheckOutcome::new(ID))),
    measure: None,
    health: None,
    of_tree: Some(of_tree),
};

const ID: CheckId = CheckId::Source;
/// Bytes of stack of a thread that parses: nesting is bounded to what a few of these take, in a build without optimisation too.
const STACK: usize = 64 << 20;
/// Files that are taken at once; only what they break is kept.
const AT_ONCE: usize = 256;

/// Training code, and what a change touches of it.
#[derive(Clone, Debug)]
pub struct SourceTree {
    /// A folder, or one file.
    pub root: PathBuf,
    /// Lines that the change touches; `None` where no change is judged.
    pub diff: Option<Diff>,
    /// Reason why the lines of a change are not known; empty where they are, or there is no change.
    pub unknown: String,
}

/// Judges the tree of a run, if the policy asks for it.
fn of_tree(surroundings: &Surroundings<'_>, shared: &Shared<'_>) -> Option<CheckOutcome> {
    let policy = &shared.request.policy;
    let is_required = policy.required.contains(&ID);
    let Some(tree) = surroundings.source else {
        // A job that judges what another one uploaded has another tree, if any.
        if !is_required {
            return None;
        }
        let mut outcome = CheckOutcome::new(ID);
        let finding = Finding::new(&REQUIRED_MISSING, ID.as_str()).of_check(ID).with("check", ID.as_str());
        super::add_findings(&mut outcome, vec![finding], policy);
        return Some(outcome);
    };
    Some(judge(tree, policy, shared.progress).unwrap_or_else(|error| {
        let mut outcome = CheckOutcome::new(ID);
        super::add_findings(&mut outcome, vec![nothing_read(tree, 0, &error.to_string())], policy);
        outcome
    }))
}

/// Judges a tree.
///
/// # Errors
/// Where it is not there, or cannot be looked through.
fn judge(tree: &SourceTree, policy: &Policy, progress: &dyn Progress) -> Result<CheckOutcome> {
    let path = tree.root.display().to_string();
    let found = files::find(&tree.root).map_err(|error| Error::io(&path, &error))?;
    progress.begin("reading source", found.files.len() as u64);
    let own = SourcePolicy::default();
    let source = policy.source.as_ref().unwrap_or(&own);
    let looked = look_at_all(&found, source, progress)?;
    let context = Context {
        flags: looked.iter().fold(Flags::default(), |flags, (_, looked)| flags.with(looked.flags)),
        packages: found.packages.clone(),
    };
    let root = std::fs::canonicalize(&found.root).unwrap_or_else(|_| found.root.clone());
    let root = root.to_string_lossy().replace('\\', "/");
    let mut outcome = CheckOutcome::new(ID);
    let (mut read, mut total) = (0_usize, 0_usize);
    for (file, looked) in looked {
        if !looked.is_judged {
            continue;
        }
        total += 1;
        read += usize::from(looked.is_read());
        let is_read = looked.is_read();
        let changes = match &tree.diff {
            None => Changes::Unknown,
            Some(diff) => diff.lines(file, &root).map_or(Changes::Untouched, Changes::Lines),
        };
        let of_file = findings(file, looked, &context, source, changes);
        add_file(&mut outcome, file, is_read, of_file.findings, policy);
        outcome.accepted.extend(of_file.accepted);
    }
    finish(&mut outcome, tree, (read, total), policy);
    Ok(outcome)
}

/// Looks at all files, on threads with a stack of their own, in the order of their paths.
fn look_at_all<'a>(found: &'a Found, policy: &SourcePolicy, progress: &dyn Progress) -> Result<Vec<(&'a str, Looked)>> {
    let threads = rayon::ThreadPoolBuilder::new().stack_size(STACK).num_threads(rayon::current_num_threads()).build();
    let threads = threads.map_err(|error| Error::new(ErrorKind::Internal, "threads", error))?;
    // Large files one after the other: their trees take several times their size.
    let large = std::sync::Mutex::new(());
    let look_at = |file: &'a String| {
        let is_large = found.size(file) > LARGE;
        let _turn = is_large.then(|| large.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
        let looked = look(&found.read(file), policy.covers(file));
        progress.advance(1);
        (file.as_str(), looked)
    };
    Ok(threads.install(|| found.files.par_iter().with_max_len(AT_ONCE).map(look_at).collect()))
}

/// Bytes above which a file is large.
const LARGE: u64 = 1 << 20;

/// Applies the policy to what counts of a file, and adds its unit.
fn add_file(outcome: &mut CheckOutcome, file: &str, is_read: bool, findings: Vec<Finding>, policy: &Policy) {
    let applied = apply_policy(findings, policy);
    let unit = SourceUnit {
        file: file.to_owned(),
        verdict: verdict_of(&applied.findings),
        findings: applied.findings.len() as u64,
        is_read,
    };
    outcome.check.units.push(Unit::Source(Box::new(unit)));
    outcome.findings.extend(applied.findings);
    outcome.waived.extend(applied.waived);
}

/// Adds the verdicts up, and says where nothing could be read.
fn finish(outcome: &mut CheckOutcome, tree: &SourceTree, (read, total): (usize, usize), policy: &Policy) {
    outcome.check.verdict = Verdict::of_all(outcome.check.units.iter().map(|unit| unit.verdict()));
    let mut about = Vec::new();
    if read == 0 {
        about.push(nothing_read(tree, total, ""));
    }
    if !tree.unknown.is_empty() {
        about
            .push(Finding::new(&CHANGE_UNKNOWN, tree.root.display().to_string()).with("reason", tree.unknown.as_str()));
    }
    super::add_findings(outcome, about, policy);
}

/// Says of a finding on a line, or in a function, that the stack of a first wrong operation passes through, that the dump
/// confirms it.
pub(super) fn confirm(result: &mut GateResult) {
    let culprits: Vec<Culprit> = dumps(&result.checks).filter_map(|unit| unit.culprit.clone()).collect();
    for culprit in culprits {
        let frames: Vec<Frame> = culprit.stack.iter().filter_map(|text| Frame::parse(text)).collect();
        for finding in &mut result.findings {
            let Some(place) = &finding.source else { continue };
            let function = match finding.facts.get("function") {
                Some(Fact::Text(function)) => function.as_str(),
                _ => "",
            };
            let is_there = |frame: &Frame| {
                let file = frame.file.replace('\\', "/");
                let is_file =
                    file.strip_suffix(&place.at.file).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'));
                let is_in = frame.line == place.at.line || !function.is_empty() && frame.function == function;
                is_file && !frame.is_library() && is_in
            };
            if frames.iter().any(is_there) && !finding.facts.contains_key("confirmed_by") {
                finding.facts.insert("confirmed_by".into(), culprit.op.clone().into());
            }
        }
    }
}

fn nothing_read(tree: &SourceTree, files: usize, reason: &str) -> Finding {
    Finding::new(&NO_SOURCE, tree.root.display().to_string()).with("files", files).with("reason", reason)
}

/// Judges a tree alone, without any run.
///
/// # Errors
/// Where it is not there, or cannot be looked through.
pub fn run(request: &Request, tree: &SourceTree, about: &[Finding], progress: &dyn Progress) -> Result<Judged> {
    let policy = &request.policy;
    let outcome = judge(tree, policy, progress)?;
    let about = apply_policy(about.to_vec(), policy);
    let of_policy = crate::judge::apply_policy::waiver_findings(policy, &outcome.waived);
    let verdicts = [verdict_of(&about.findings), verdict_of(&of_policy), outcome.check.verdict];
    let mut result = GateResult {
        schema_version: SCHEMA_VERSION,
        tool: Tool::current(),
        today: policy.today.to_string(),
        profile: policy.profile,
        mode: Some(Mode::Source),
        verdict: Verdict::of_all(verdicts),
        report_only: policy.report_only,
        source: None,
        baseline: None,
        candidate: Run { label: "source".to_owned(), location: request.candidate.clone(), ..Run::default() },
        reference: None,
        culprit: None,
        checks: Vec::new(),
        findings: [about.findings, outcome.findings, of_policy].concat(),
        diagnoses: Vec::new(),
        next_dump: None,
        waived: [about.waived, outcome.waived].concat(),
        history: None,
        artifacts: Vec::new(),
        operations_digest: None,
        operations_version: None,
        accepted: outcome.accepted,
    };
    let unread = |check: &Check| check.units.iter().all(|unit| unit.is_unread());
    let required_unread = policy.required.contains(&ID) && unread(&outcome.check);
    result.checks.push(outcome.check);
    result.findings.sort_by_key(|finding| (!finding.counts(), std::cmp::Reverse(finding.severity)));
    result.identify();
    Ok(Judged { result, required_unread, facts: Facts::default() })
}
