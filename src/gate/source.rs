//! The check of source: the files of a tree to findings, on the lines that a change touches.
//!
//! Unlike every other check it judges no run: the tree lies in the checkout, and `run` judges it where the policy asks for it.

use precision_gate_source::STACK;
use rayon::prelude::*;

use super::discover::{Extent, Recogniser, RecognitionEvidence};
use super::outcome::CheckOutcome;
use super::request::Request;
use super::surroundings::{Shared, SourceTree, Surroundings};
use super::wiring::GateCheck;
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::progress::Progress;
use crate::history::record::EnvironmentFacts;
use crate::judge::rule::artifacts::{CHANGE_UNKNOWN, NO_SOURCE};
use crate::judge::settle::settle;
use crate::judge::source::{Context, Flags, Looked, file_findings, look_at_module, look_other};
use crate::policy::Policy;
use crate::policy::source::SourcePolicy;
use crate::read::source::files::{self, Found, Kind};
use crate::read::source::{MOST_BYTES, Module, Touched, notebook};
use crate::report::JudgedRun;
use crate::result::finding::Finding;
use crate::result::observation::Observation;
use crate::result::this_tool;
use crate::result::unit::{SourceUnit, Unit};
use crate::result::{GateResult, Mode, Run, SCHEMA_VERSION};
use crate::verdict::{CheckId, Verdict};

/// The check of source.
pub(super) const CHECK: GateCheck = GateCheck {
    recogniser: Recogniser {
        check: ID,
        evidence: RecognitionEvidence::Signature,
        extent: Extent::Content,
        recognise: |_| None,
    },
    judge: |_, surroundings, shared| Ok(of_tree(surroundings, shared).unwrap_or_else(|| CheckOutcome::new(ID))),
    judge_samples: None,
    measure: None,
    judge_alone: None,
    judge_tree: Some(of_tree),
};

const ID: CheckId = CheckId::Source;
/// Bytes of memory that the tree of a file takes for each of its bytes: 216 for a list of single digits, the densest there is.
const COST: u64 = 220;
/// Most files that one task looks at in a row.
const AT_ONCE: usize = 256;

/// Judges the tree of a run, if the policy asks for it.
fn of_tree(surroundings: &Surroundings<'_>, shared: &Shared<'_>) -> Option<CheckOutcome> {
    let policy = &shared.request.policy;
    let is_required = policy.required.contains(&ID);
    let Some(tree) = surroundings.source else {
        // A job that judges what another one uploaded has another tree, if any.
        return is_required.then(|| CheckOutcome::new(ID));
    };
    Some(judge(tree, policy, memory(surroundings), shared.progress).unwrap_or_else(|error| {
        let mut outcome = CheckOutcome::new(ID);
        outcome.add_findings([nothing_read(tree, 0, &error.to_string())]);
        outcome
    }))
}

/// Bytes of memory that a file may take.
fn memory(surroundings: &Surroundings<'_>) -> u64 {
    surroundings.fetcher.room_for_records()
}

/// Judges a tree, of which each file may take `memory` bytes.
///
/// # Errors
/// Where it is not there, or cannot be looked through.
fn judge(tree: &SourceTree, policy: &Policy, memory: u64, progress: &dyn Progress) -> Result<CheckOutcome> {
    let path = tree.root.display().to_string();
    let found = files::find(&tree.root).map_err(|error| Error::io(&path, &error))?;
    progress.begin("reading source", found.files.len() as u64);
    let own = SourcePolicy::default();
    let source = policy.source.as_ref().unwrap_or(&own);
    let looked = look_at_all(&found, tree, source, memory, progress)?;
    let context = Context {
        flags: looked.iter().fold(Flags::default(), |flags, at| flags.with(at.looked.flags)),
        packages: found.packages.clone(),
    };
    let mut outcome = CheckOutcome::new(ID);
    let (mut read, mut total) = (0_usize, 0_usize);
    // Files that are not Python become units only where there is something to report.
    let others = look_at_others(&found, tree, source, memory)?;
    let others = others.into_iter().filter(|at| at.looked.is_told());
    for LookedAt { file, looked, touched } in looked.into_iter().chain(others) {
        if !looked.is_judged {
            continue;
        }
        // Only Python files count as read: without any, nothing was judged.
        if matches!(Kind::from_file_name(file), None | Some(Kind::Python)) {
            total += 1;
            read += usize::from(looked.is_read());
        }
        let is_read = looked.is_read();
        let of_file = file_findings(file, looked, &context, source, touched);
        let unit = SourceUnit { file: file.to_owned(), verdict: Verdict::Skipped, findings: 0, is_read };
        outcome.add_unit(Unit::Source(Box::new(unit)), of_file.findings);
        outcome.accepted.extend(of_file.accepted);
    }
    finish(&mut outcome, tree, (read, total));
    Ok(outcome)
}

/// A file that was looked at.
struct LookedAt<'a> {
    file: &'a str,
    looked: Looked,
    /// Extent of the change in it; `None` where no change is judged.
    touched: Option<&'a Touched>,
}

/// Looks at all files, on threads with a stack of their own, in the order of their paths.
fn look_at_all<'a>(
    found: &'a Found,
    tree: &'a SourceTree,
    policy: &SourcePolicy,
    memory: u64,
    progress: &dyn Progress,
) -> Result<Vec<LookedAt<'a>>> {
    let threads = rayon::ThreadPoolBuilder::new().stack_size(STACK).num_threads(rayon::current_num_threads()).build();
    let threads = threads.map_err(|error| Error::new(ErrorKind::Unavailable, "threads", error))?;
    // Large files are parsed one after the other, because their trees take many times their size.
    let large = std::sync::Mutex::new(());
    let look_at = |file: &'a String| {
        let is_large = found.size(file) > LARGE;
        let _turn = is_large.then(|| large.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
        let content = found.content(file, MOST_BYTES.min(memory / COST));
        let touched = tree.change.as_ref().map(|change| change.touched(found, file, content.as_deref().ok()));
        let read = content.and_then(|content| Module::parse(file, content));
        let looked = look_at_module(&read, policy.covers(file));
        progress.advance(1);
        LookedAt { file, looked, touched }
    };
    Ok(threads.install(|| found.files.par_iter().with_max_len(AT_ONCE).map(look_at).collect()))
}

/// Looks at the files that are not Python, in the order of their paths. Files that are too large, or no text, hold data and
/// are skipped.
fn look_at_others<'a>(
    found: &'a Found,
    tree: &'a SourceTree,
    policy: &SourcePolicy,
    memory: u64,
) -> Result<Vec<LookedAt<'a>>> {
    if found.others.is_empty() {
        return Ok(Vec::new());
    }
    let threads = rayon::ThreadPoolBuilder::new().stack_size(STACK).num_threads(rayon::current_num_threads()).build();
    let threads = threads.map_err(|error| Error::new(ErrorKind::Unavailable, "threads", error))?;
    let look_at = |file: &'a String| {
        let kind = Kind::from_file_name(file).filter(|_| policy.covers(file))?;
        let content = found.content(file, kind.most().min(memory / COST)).ok()?;
        let touched = tree.change.as_ref().map(|change| change.touched(found, file, Some(&content)));
        let text = String::from_utf8(content).ok()?;
        let looked = match kind {
            Kind::Notebook => look_at_module(&Module::parse(file, notebook::python_code(&text).into_bytes()), true),
            kind => look_other(file, kind, &text),
        };
        Some(LookedAt { file, looked, touched })
    };
    Ok(threads.install(|| found.others.par_iter().with_max_len(AT_ONCE).filter_map(look_at).collect()))
}

/// Bytes above which a file is large.
const LARGE: u64 = 1 << 20;

/// Adds findings where nothing could be read, or where the lines of the change are unknown.
fn finish(outcome: &mut CheckOutcome, tree: &SourceTree, (read, total): (usize, usize)) {
    if read == 0 {
        outcome.add_findings([nothing_read(tree, total, "")]);
    }
    if !tree.unknown_reason.is_empty() {
        let finding = Finding::new(&CHANGE_UNKNOWN, tree.root.display().to_string());
        outcome.add_findings([finding.with("reason", tree.unknown_reason.as_str())]);
    }
}

fn nothing_read(tree: &SourceTree, files: usize, reason: &str) -> Finding {
    Finding::new(&NO_SOURCE, tree.root.display().to_string()).with("files", files).with("reason", reason)
}

/// Judges a tree alone, without any run.
///
/// # Errors
/// Where it is not there, or cannot be looked through.
pub fn run(
    request: &Request,
    tree: &SourceTree,
    surroundings: &Surroundings<'_>,
    progress: &dyn Progress,
) -> Result<JudgedRun> {
    let policy = &request.policy;
    let outcome = judge(tree, policy, memory(surroundings), progress)?;
    let about =
        surroundings.known_findings.iter().cloned().map(|finding| Observation::of_check(CheckId::Artifacts, finding));
    let mut result = GateResult {
        schema_version: SCHEMA_VERSION,
        tool: this_tool(),
        today: policy.today.to_string(),
        profile: policy.profile,
        mode: Some(Mode::Source),
        verdict: Verdict::Skipped,
        headline: String::new(),
        place: String::new(),
        fix: String::new(),
        certainty: String::new(),
        not_judged: String::new(),
        report_only: policy.report_only,
        source: None,
        baseline: None,
        candidate: Run { label: "source".to_owned(), location: request.candidate.clone(), ..Run::default() },
        reference: None,
        culprit: None,
        checks: vec![outcome.check],
        measured: about.chain(outcome.observations).collect(),
        findings: Vec::new(),
        looked: Vec::new(),
        timeline: None,
        growth: None,
        layout: None,
        samples: None,
        reruns: Vec::new(),
        confirm: None,
        diagnoses: Vec::new(),
        next_dump: None,
        waived: Vec::new(),
        history: None,
        artifacts: Vec::new(),
        policy: Some(policy.canonical()),
        seal: None,
        claimed_version: None,
        file: String::new(),
        operations_digest: None,
        operations_version: None,
        accepted: outcome.accepted,
    };
    settle(&mut result, policy);
    Ok(JudgedRun { result, facts: EnvironmentFacts::default() })
}
