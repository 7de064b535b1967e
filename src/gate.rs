//! The gate: the pipeline, top to bottom.
//!
//! [`run`] opens both sides, recognises what lies there, runs every check that has something to judge, and adds
//! the verdicts up. One check's stages are wired in a file of its own below this one.

mod alone;
pub mod baseline;
pub mod baseline_name;
pub mod checkpoint;
mod checks;
pub mod config;
pub mod discover;
pub mod dump;
pub mod dump_tables;
mod evaluation;
pub mod history;
mod identical;
pub mod init;
mod known_defects;
mod label;
pub mod loss;
pub mod monitor;
pub mod noise;
mod operations;
pub mod operators;
pub mod parts;
mod performance;
pub mod recheck;
pub mod repeats;
pub mod selftest;
mod side;
pub mod source;
pub mod training;

use std::sync::Arc;

use crate::check::Command;
use crate::compare::measurements::Measurements;
use crate::diagnose;
use crate::diagnose::next_dump::{self, Situation, Sizes};
use crate::error::Result;
use crate::fetch::{Fetcher, Files, Source, Trust};
use crate::gate::baseline::manifest::Manifest;
use crate::judge::partial_coverage;
use crate::judge::rule::artifacts as rules;
use crate::judge::settle::{AppliedPolicy, settle, settle_check};
use crate::msprobe::dump::Matching;
use crate::msprobe::table::Table;
use crate::policy::Policy;
use crate::read::curve::log::LogPattern;
use crate::report::sink::{Kept, Sink};
use crate::report::{Judged, Outcome};
use crate::result::diagnosis::Diagnosis;
use crate::result::finding::Finding;
use crate::result::observation::Observation;
use crate::result::place::Accepted;
use crate::result::unit::{Check, Unit};
use crate::result::{ArtifactRow, GateResult, Mode, Run, SCHEMA_VERSION, Tool, Verified};
use crate::verdict::{CheckId, Side, Verdict};
use discover::{Inventory, Recogniser, Search};
use loss::UnreadLog;
use source::SourceTree;
use training::Training;

/// Runs to judge, and how.
#[derive(Clone, Debug)]
pub struct Request {
    /// Location of the trusted run.
    pub baseline: String,
    /// Location of the run to judge.
    pub candidate: String,
    /// The checks to run, in this order; a command for one check names just that one.
    pub checks: Vec<CheckId>,
    /// Policy that decides the verdict.
    pub policy: Policy,
    /// Matching of rows in msprobe's compare tables whose names differ.
    pub matching: Matching,
}

impl Request {
    /// Every check, in the order of reports.
    pub const ALL_CHECKS: &'static [CheckId] = CheckId::CHECKS;

    /// Whether the candidate is judged alone: the policy allows it, and no baseline is named.
    pub fn is_alone(&self) -> bool {
        self.policy.health && self.baseline.is_empty()
    }
}

pub use crate::fetch::progress::{Progress, Quiet};

/// Outcome of one check.
#[derive(Debug)]
pub struct CheckOutcome {
    /// The check with its units.
    pub check: Check,
    /// Observations of the check, before any policy.
    pub observations: Vec<Observation>,
    /// Tables that do not grow with what is compared; others have gone to the sink.
    pub tables: Vec<Table>,
    /// Sizes in bytes of operations that the next dump may hold; `None` where the check sees no operations.
    pub sizes: Option<Sizes>,
    /// Likely causes that its artifacts show by themselves.
    pub diagnoses: Vec<Diagnosis>,
    /// Comments of the change that accept findings.
    pub accepted: Vec<Accepted>,
}

impl CheckOutcome {
    /// A check that has not judged anything yet.
    pub fn new(id: CheckId) -> Self {
        Self {
            check: Check { id, verdict: Verdict::Skipped, culprit: None, items: Vec::new(), units: Vec::new() },
            observations: Vec::new(),
            tables: Vec::new(),
            sizes: None,
            diagnoses: Vec::new(),
            accepted: Vec::new(),
        }
    }

    /// Adds findings about the check as a whole.
    fn say(&mut self, findings: impl IntoIterator<Item = Finding>) {
        let id = self.check.id;
        self.observations.extend(findings.into_iter().map(|finding| Observation::of_check(id, finding)));
    }

    /// Adds a unit with findings about it.
    fn add_unit(&mut self, unit: Unit, findings: impl IntoIterator<Item = Finding>) {
        let (id, place) = (self.check.id, self.check.units.len());
        self.check.units.push(unit);
        self.observations.extend(findings.into_iter().map(|finding| Observation::of_unit(id, place, finding)));
    }

    /// Decides it by `policy`: its findings, and the verdicts of its units and its own.
    pub fn settle(&mut self, policy: &Policy) -> AppliedPolicy {
        settle_check(&mut self.check, &self.observations.iter().collect::<Vec<_>>(), policy)
    }
}

/// Inputs and sinks that the checks of a run share.
#[derive(Clone, Copy)]
pub struct Shared<'a> {
    /// Runs to judge, and how.
    pub request: &'a Request,
    /// Selection of the tensors to measure, and their measurements.
    pub measurements: &'a Measurements,
    /// Receiver of lines and tables.
    pub sink: &'a dyn Sink,
    /// Receiver of progress.
    pub progress: &'a dyn Progress,
    /// Bytes of memory that records may take beyond those at work.
    pub room: u64,
}

/// Runs the gate, and keeps every line and table in memory.
///
/// An error means that nothing could be judged at all (a path that is not there); damage inside an artifact is a
/// finding of its unit.
pub fn run(request: &Request, progress: &dyn Progress) -> Result<Outcome> {
    let (fetcher, kept) = (Fetcher::default(), Kept::default());
    let surroundings = Surroundings::new(&fetcher, &kept);
    let judged = run_by(request, &surroundings, &Measurements::default(), progress)?;
    Ok(kept.into_outcome(judged))
}

/// Inputs of a run that its request does not hold, and the sink of everything that grows with the run.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    /// Opens both locations.
    pub fetcher: &'a Fetcher,
    /// The baseline's manifest, where it was named by one.
    pub manifest: Option<&'a Manifest>,
    /// Takes lines of operations and tables.
    pub sink: &'a dyn Sink,
    /// Findings known before the run; each counts as any finding.
    pub about: &'a [Finding],
    /// Outcome of the job that made the candidate; `None` where nobody stated it.
    pub training: Option<Training>,
    /// Training code, and what a change touches of it; `None` where there is none to judge.
    pub source: Option<&'a SourceTree>,
}

impl<'a> Surroundings<'a> {
    /// Surroundings without a manifest, findings or an outcome of the training job.
    pub fn new(fetcher: &'a Fetcher, sink: &'a dyn Sink) -> Self {
        Self { fetcher, manifest: None, sink, about: &[], training: None, source: None }
    }
}

/// [`run`], with `surroundings` to open both locations from and to hold the baseline against, and with `measurements` to say
/// which tensors are measured and what is known of them.
///
/// # Errors
/// As [`run`]; where the outside world fails before anything could be looked at; and what the sink gives.
pub fn run_by(
    request: &Request,
    surroundings: &Surroundings<'_>,
    measurements: &Measurements,
    progress: &dyn Progress,
) -> Result<Judged> {
    known_defects::refuse_blind(&request.policy)?;
    let asked = operations::Asked::new(measurements, surroundings.sink);
    let surroundings = &Surroundings { sink: &asked, ..*surroundings };
    let shared = Shared {
        request,
        measurements,
        sink: surroundings.sink,
        progress,
        room: surroundings.fetcher.room_for_records(),
    };
    let sides = Sides::open(request, surroundings, progress)?;
    let mut result = empty_result(request, &sides);
    let about = surroundings.about.iter().cloned();
    let general = about.chain(general_findings(request, &sides, surroundings.training));
    result.measured = general.map(|finding| Observation::of_check(CheckId::Artifacts, finding)).collect();
    let mut sizes = Sizes::default();
    for id in &request.checks {
        let Some(part) = check(*id, &sides, surroundings, &shared)? else { continue };
        result.checks.push(part.check);
        result.measured.extend(part.observations);
        result.diagnoses.extend(part.diagnoses);
        result.accepted.extend(part.accepted);
        part.tables.into_iter().try_for_each(|table| surroundings.sink.table(table.into()))?;
        sizes = part.sizes.unwrap_or(sizes);
    }
    asked.refuse_unmatched()?;
    add_digests(&mut result, &sides);
    settle(&mut result, &request.policy);
    diagnose(&mut result, &sizes);
    Ok(Judged { result, facts: history::facts(&sides.candidate, &request.policy) })
}

/// Inventories of both locations.
struct Sides {
    baseline: Inventory,
    candidate: Inventory,
    /// A third run, where the policy names one.
    reference: Option<Inventory>,
    /// Proof of the baseline, where it is named by a manifest.
    verified: Option<Verified>,
    /// Whether the candidate is judged alone; the baseline has no files then.
    is_alone: bool,
}

impl Sides {
    /// Looks at both locations, and holds the baseline against its manifest.
    fn open(request: &Request, surroundings: &Surroundings<'_>, progress: &dyn Progress) -> Result<Self> {
        let Surroundings { fetcher, manifest, training, .. } = *surroundings;
        let policy = &request.policy;
        let pattern = loss::log_pattern(&policy.loss)?;
        let opening = side::Opening { fetcher, policy, search: search(pattern.as_ref()), progress };
        progress.begin("looking for artifacts", 0);
        if request.is_alone() {
            return Self::open_alone(request, opening, training);
        }
        let (baseline, candidate) = rayon::join(
            || side::open(&request.baseline, Side::Baseline, opening),
            || side::open_candidate(&request.candidate, opening, training),
        );
        let reference = &policy.reference.location;
        let reference = (!reference.is_empty()).then(|| side::open_reference(reference, opening)).transpose()?;
        let mut sides = Self { baseline: baseline?, candidate: candidate?, reference, verified: None, is_alone: false };
        if !sides.baseline.is_unknown() {
            let standing = baseline::check::findings(manifest, &sides.baseline, &sides.candidate, policy, progress)?;
            sides.verified =
                manifest.and_then(|manifest| baseline::check::verified(manifest, &standing, policy.profile));
            sides.baseline.about.extend(standing);
        }
        if let Some(check) = request.checks.first().filter(|_| request.checks.len() < Request::ALL_CHECKS.len()) {
            let unread = |file: &Source| UnreadLog::of(file, pattern.as_ref());
            let explain = |file: &Source| unread(file).filter(|_| *check == CheckId::Loss).map(|log| log.error());
            sides.baseline.expect_file_of(*check, explain);
            sides.candidate.expect_file_of(*check, explain);
        }
        sides.baseline.expect_like(&sides.candidate);
        sides.candidate.expect_like(&sides.baseline);
        Ok(sides)
    }

    /// Looks at the candidate's location.
    fn open_alone(request: &Request, opening: side::Opening<'_>, training: Option<Training>) -> Result<Self> {
        let candidate = side::open_candidate(&request.candidate, opening, training)?;
        let baseline = side::nothing(opening)?;
        Ok(Self { baseline, candidate, reference: None, verified: None, is_alone: true })
    }

    /// The sides that a run has, the baseline first.
    fn there(&self) -> impl Iterator<Item = (Side, &Inventory)> {
        let baseline = (!self.is_alone).then_some((Side::Baseline, &self.baseline));
        baseline.into_iter().chain([(Side::Candidate, &self.candidate)])
    }
}

/// Looks through one run by itself.
///
/// # Errors
/// Errors of opening its location.
pub fn look(location: &str, side: Side, fetcher: &Fetcher) -> Result<Inventory> {
    let trust = if side == Side::Baseline { Trust::Baseline } else { Trust::Any };
    side::look(fetcher.open(location, trust, &Quiet)?.files, fetcher, search(None), &Quiet)
}

/// The recognisers of all checks.
pub fn recognisers() -> &'static [Recogniser] {
    checks::RECOGNISERS
}

/// A search for the artifacts of all checks.
pub fn search(pattern: Option<&LogPattern>) -> Search<'_> {
    Search { recognisers: recognisers(), pattern, room: None }
}

/// Runs one check; `None` for an entry that is not a check of a run.
fn check(
    id: CheckId,
    sides: &Sides,
    surroundings: &Surroundings<'_>,
    shared: &Shared<'_>,
) -> Result<Option<CheckOutcome>> {
    let Shared { request, measurements, .. } = *shared;
    let policy = &request.policy;
    let Some(check) = checks::of(id) else { return Ok(None) };
    if let Some(judge) = check.of_tree {
        return Ok(judge(surroundings, shared));
    }
    if sides.is_alone {
        let mut part = alone::judge(check, &sides.candidate, policy, shared.progress);
        part.say(unknown_format(id, request, &sides.candidate, Side::Candidate));
        return Ok(Some(part));
    }
    let mut part = (check.judge)(sides, surroundings, shared)?;
    block_one_sided(&mut part, sides);
    for (side, inventory) in [(Side::Baseline, &sides.baseline), (Side::Candidate, &sides.candidate)] {
        part.say(unknown_format(id, request, inventory, side));
    }
    part.say(identical::same_files(id, sides, policy));
    let wide = known_defects::wide_limits(&part, policy);
    part.say(wide);
    part.say(partial_coverage::findings(id, measurements));
    Ok(Some(part))
}

/// Diagnoses the findings of all checks together, and chooses the next dump.
fn diagnose(result: &mut GateResult, sizes: &Sizes) {
    let run = diagnose::Run { verdict: result.verdict, checks: &result.checks, findings: &result.findings };
    let shown = std::mem::take(&mut result.diagnoses);
    result.diagnoses = diagnose::story(shown, &run);
    result.next_dump = next_dump::plan(&Situation {
        // Tables of operator tests and profiles name no step that could be dumped.
        culprit: result.culprit.as_ref().filter(|culprit| culprit.operator.is_none() && culprit.performance.is_none()),
        checks: &result.checks,
        sizes,
        diagnoses: &result.diagnoses,
    });
}

/// Opens a location for other work than judging; a single archive is opened as the folder it holds.
///
/// # Errors
/// Where the location cannot be fetched, or is a damaged archive.
pub fn open(location: &str, trust: Trust, fetcher: &Fetcher, progress: &dyn Progress) -> Result<Arc<dyn Files>> {
    side::unpacked(fetcher.open(location, trust, progress)?.files, fetcher.disk())
}

/// Adds the digests of what was judged, most of which the checks have taken by reading it.
fn add_digests(result: &mut GateResult, sides: &Sides) {
    let (baseline, candidate) = rayon::join(|| sides.baseline.digest(), || sides.candidate.digest());
    result.baseline.iter_mut().for_each(|run| run.digest.clone_from(&baseline));
    result.candidate.digest = candidate;
    if let (Some(run), Some(inventory)) = (&mut result.reference, &sides.reference) {
        run.digest = inventory.digest();
    }
}

fn empty_result(request: &Request, sides: &Sides) -> GateResult {
    let policy = &request.policy;
    let Sides { baseline, candidate, reference, verified, is_alone } = sides;
    let run = |inventory: &Inventory, label: String| Run {
        label,
        location: inventory.location().to_owned(),
        digest: String::new(),
        verified: None,
    };
    let [of_baseline, of_candidate] = label::labels(baseline, candidate, policy);
    rayon::join(|| baseline.take_digests(), || candidate.take_digests());
    let of_baseline = Run { verified: verified.clone(), ..run(baseline, of_baseline) };
    let mut artifacts: Vec<ArtifactRow> = baseline.rows(Side::Baseline);
    artifacts.extend(candidate.rows(Side::Candidate));
    GateResult {
        schema_version: SCHEMA_VERSION,
        tool: Tool::current(),
        today: policy.today.to_string(),
        profile: policy.profile,
        verdict: Verdict::Skipped,
        report_only: policy.report_only,
        source: None,
        mode: is_alone.then_some(Mode::Health),
        baseline: (!is_alone).then_some(of_baseline),
        candidate: run(candidate, of_candidate),
        reference: reference.as_ref().map(|inventory| run(inventory, "reference".to_owned())),
        culprit: None,
        checks: Vec::new(),
        measured: Vec::new(),
        findings: Vec::new(),
        diagnoses: Vec::new(),
        next_dump: None,
        waived: Vec::new(),
        history: None,
        artifacts,
        policy: Some(policy.canonical()),
        seal: None,
        claimed_version: None,
        operations_digest: None,
        operations_version: None,
        accepted: Vec::new(),
    }
}

/// Findings before any check: a failed training job, damaged files, and sides with nothing in them.
fn general_findings(request: &Request, sides: &Sides, training: Option<Training>) -> Vec<Finding> {
    let candidate = &sides.candidate;
    let is_recognised = |inventory: &Inventory| request.checks.iter().any(|check| inventory.has(*check));
    // First of all, so that it begins the report.
    let mut findings: Vec<Finding> =
        training.and_then(|training| training.finding(candidate, is_recognised(candidate))).into_iter().collect();
    let is_training_told = !findings.is_empty();
    findings.extend(sides.is_alone.then(|| alone::no_baseline(candidate.location())));
    for (side, inventory) in sides.there() {
        findings.extend(inventory.about.iter().cloned());
        findings.extend(inventory.damage_findings(side, &request.checks));
        let is_told = !inventory.about.is_empty() || (side == Side::Candidate && is_training_told);
        let is_explained =
            inventory.files() == 0 && is_told || unknown_format(CheckId::Loss, request, inventory, side).is_some();
        if !is_explained && !is_recognised(inventory) {
            findings.push(nothing_recognised(request, sides, side));
        }
    }
    findings.extend(identical::same_location(sides, &request.policy).filter(|_| !sides.is_alone));
    findings
}

/// Finding about a text on a side without curves whose lines hold a loss that no rule reads.
fn unknown_format(check: CheckId, request: &Request, inventory: &Inventory, side: Side) -> Option<Finding> {
    if check != CheckId::Loss || !request.checks.contains(&check) || inventory.has(check) {
        return None;
    }
    let pattern = loss::log_pattern(&request.policy.loss).ok().flatten();
    inventory.unread_log(|file| UnreadLog::of(file, pattern.as_ref())?.finding(side))
}

/// Finding of a side that holds nothing to judge: files of another command, or a log that cannot be read, say what to do.
fn nothing_recognised(request: &Request, sides: &Sides, side: Side) -> Finding {
    let inventory = if side == Side::Baseline { &sides.baseline } else { &sides.candidate };
    let finding = Finding::new(&rules::NOTHING_RECOGNISED, inventory.location())
        .with("side", side.as_str())
        .with("files", inventory.files());
    let other = CheckId::CHECKS.iter().copied().find(|check| inventory.has(*check));
    let command = other.and_then(|check| Command::ALL.into_iter().find(|command| command.checks().contains(&check)));
    if let Some(command) = command {
        let name = command.as_str();
        let finding = finding.with("command", name);
        if !other.is_some_and(|other| sides.baseline.has(other) && sides.candidate.has(other)) {
            return finding;
        }
        let line = format!("`precision-gate {name} {} {}`", sides.baseline.location(), sides.candidate.location());
        return finding.with("line", line);
    }
    let judges_curves = request.checks.contains(&CheckId::Loss);
    let pattern = loss::log_pattern(&request.policy.loss).ok().flatten();
    match inventory.unread_log(|file| UnreadLog::of(file, pattern.as_ref())).filter(|_| judges_curves) {
        Some(UnreadLog::Other { name, lines, has_pattern }) => {
            finding.with("log", name).with("lines", lines).with("pattern", usize::from(has_pattern))
        }
        _ => finding,
    }
}

/// A check with artifacts on one side only is incomplete, whatever it made of them.
fn block_one_sided(part: &mut CheckOutcome, sides: &Sides) {
    let id = part.check.id;
    let side = match (sides.baseline.has(id), sides.candidate.has(id)) {
        (true, false) => Side::Baseline,
        (false, true) => Side::Candidate,
        _ => return,
    };
    let finding = Finding::new(&rules::ONE_SIDE_ONLY, id.as_str())
        .of_check(id)
        .with("check", id.as_str())
        .with("side", side.as_str());
    part.say([finding]);
}
