//! A run of the gate: opens both sides, runs every check that has something to judge, and combines the verdicts.

use super::checks::{self, recognisers};
use super::discover::Inventory;
use super::loss::{self, UnreadLog};
use super::mistake;
use super::outcome::CheckOutcome;
use super::request::{FurtherRuns, Request};
use super::sides::Sides;
use super::surroundings::{Shared, Surroundings};
use super::training::Training;
use super::{alone, history, identical, known_defects, label, one_by_one, opening, operations};
use crate::check::Command;
use crate::compare::measurements::Measurements;
use crate::diagnose;
use crate::diagnose::next_dump::{self, RecordedSizes, Situation};
use crate::error::Result;
use crate::fetch::progress::Progress;
use crate::fetch::{Fetcher, Source};
use crate::judge::invariants;
use crate::judge::partial_coverage;
use crate::judge::rule::artifacts as rules;
use crate::judge::samples::decide::SampleSetting;
use crate::judge::samples::runs::SampleRuns;
use crate::judge::settle::settle;
use crate::report::sink::{DiscardingSink, MemorySink};
use crate::report::{JudgedRun, RunOutcome};
use crate::result::confirm::Rerun;
use crate::result::finding::Finding;
use crate::result::observation::Observation;
use crate::result::samples::Samples;
use crate::result::this_tool;
use crate::result::{ArtifactRow, GateResult, Mode, Run, SCHEMA_VERSION};
use crate::verdict::{CheckId, Side, Verdict};

/// Runs the gate, and keeps every line and table in memory.
///
/// An error means that nothing could be judged at all (a path that is not there); damage inside an artifact is a
/// finding of its unit.
pub fn run(request: &Request, progress: &dyn Progress) -> Result<RunOutcome> {
    let (fetcher, kept) = (Fetcher::default(), MemorySink::default());
    let surroundings = Surroundings::new(&fetcher, &kept);
    let judged = run_by(request, &surroundings, &Measurements::default(), progress)?;
    Ok(kept.into_outcome(judged))
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
) -> Result<JudgedRun> {
    known_defects::refuse_blind(&request.policy)?;
    let asked = operations::OperationSink::new(measurements, surroundings.sink);
    let surroundings = &Surroundings { sink: &asked, ..*surroundings };
    let shared = Shared {
        request,
        measurements,
        recognisers: recognisers(),
        sink: surroundings.sink,
        progress,
        room: surroundings.fetcher.room_for_records(),
    };
    let mut sides = opening::open(request, surroundings, progress)?;
    let mut result = empty_result(request, &sides);
    let about = surroundings.known_findings.iter().cloned();
    let general = about.chain(general_findings(request, &sides, surroundings.training));
    result.measured = general.map(|finding| Observation::of_check(CheckId::Artifacts, finding)).collect();
    let (mut sizes, mut looked, mut tests) = (RecordedSizes::default(), Vec::new(), 0);
    for id in &request.checks {
        let Some(part) = check(*id, &mut sides, surroundings, &shared, &mut tests)? else { continue };
        result.checks.push(part.check);
        result.measured.extend(part.observations);
        result.diagnoses.extend(part.diagnoses);
        looked.extend(part.looked);
        result.timeline = result.timeline.or(part.timeline);
        result.growth = result.growth.or(part.growth);
        result.layout = result.layout.or(part.layout);
        result.accepted.extend(part.accepted);
        part.tables.into_iter().try_for_each(|table| surroundings.sink.table(table.into()))?;
        sizes = part.sizes.unwrap_or(sizes);
    }
    asked.refuse_unmatched()?;
    let setting = SampleSetting { policy: &request.policy.samples, profile: request.policy.profile };
    result.samples = sides.samples.as_ref().map(|sampled| summary(&sampled.runs, setting, tests));
    if sides.is_alone {
        result.looked = invariants::all_invariants(&looked);
    }
    add_digests(&mut result, &sides);
    settle(&mut result, &request.policy);
    judge_reruns(&mut result, request, surroundings, progress)?;
    diagnose(&mut result, &sizes);
    Ok(JudgedRun { result, facts: history::facts(&sides.candidate, &request.policy) })
}

/// Runs one check; `None` for an entry that is not a check of a run.
fn check(
    id: CheckId,
    sides: &mut Sides,
    surroundings: &Surroundings<'_>,
    shared: &Shared<'_>,
    tests: &mut usize,
) -> Result<Option<CheckOutcome>> {
    let Shared { request, measurements, .. } = *shared;
    let policy = &request.policy;
    let Some(check) = checks::find_check(id) else { return Ok(None) };
    if let Some(judge) = check.judge_tree {
        return Ok(judge(surroundings, shared));
    }
    if sides.samples.is_some() {
        if let Some(judge) = check.judge_samples {
            return judge(sides, shared, tests).map(Some);
        }
        let mut part = one_by_one::judge(check, sides, surroundings, shared)?;
        block_one_sided(&mut part, sides);
        return Ok(Some(part));
    }
    if sides.is_alone {
        let mut part = alone::judge(check, &sides.candidate, policy, shared.progress);
        part.add_findings(unknown_format(id, request, sides, Side::Candidate));
        return Ok(Some(part));
    }
    let mut part = (check.judge)(sides, surroundings, shared)?;
    block_one_sided(&mut part, sides);
    for side in [Side::Baseline, Side::Candidate] {
        part.add_findings(unknown_format(id, request, sides, side));
    }
    part.add_findings(identical::same_files_finding(id, sides, policy));
    let wide = known_defects::wide_limits(&part, policy);
    part.add_findings(wide);
    part.add_findings(partial_coverage::findings(id, measurements));
    Ok(Some(part))
}

/// Runs and levels of the tests, for the result.
fn summary(runs: &SampleRuns, setting: SampleSetting<'_>, tests: usize) -> Samples {
    Samples {
        alpha: setting.policy.alpha.get().into(),
        power: setting.policy.power.get().into(),
        tests: tests as u64,
        correction: "holm".to_owned(),
        runs: runs.sides.clone().into_array(),
    }
}

/// Judges the reruns of a candidate whose first run blocks, and decides by all runs together.
///
/// # Errors
/// As [`run_by`].
fn judge_reruns(
    result: &mut GateResult,
    request: &Request,
    surroundings: &Surroundings<'_>,
    progress: &dyn Progress,
) -> Result<()> {
    let several = &request.several;
    let is_one = several.candidate.is_empty()
        && result.samples.as_ref().is_none_or(|samples| samples.runs_of_side(Side::Candidate).len() < 2);
    let is_asked = !several.node.is_empty() || !several.reruns.is_empty() || result.samples.is_some();
    if !is_one || !is_asked || !result.verdict.blocks() {
        return Ok(());
    }
    let first = Rerun { node: several.node.clone(), location: result.candidate.location.clone(), blocks: true };
    let mut runs = vec![first];
    for (node, location) in &several.reruns {
        let several = FurtherRuns { node: String::new(), reruns: Vec::new(), ..several.clone() };
        let again = Request { candidate: location.clone(), several, ..request.clone() };
        let surroundings = Surroundings { sink: &DiscardingSink, ..*surroundings };
        let judged = run_by(&again, &surroundings, &Measurements::default(), progress)?.result;
        runs.push(Rerun { node: node.clone(), location: judged.candidate.location, blocks: judged.verdict.blocks() });
    }
    result.reruns = runs;
    settle(result, &request.policy);
    Ok(())
}

/// Diagnoses the findings of all checks together, and chooses the next dump.
fn diagnose(result: &mut GateResult, sizes: &RecordedSizes) {
    let run = diagnose::RunOutcome { verdict: result.verdict, checks: &result.checks, findings: &result.findings };
    let shown = std::mem::take(&mut result.diagnoses);
    result.diagnoses = diagnose::story(shown, &run);
    result.next_dump = next_dump::plan(&Situation {
        // Tables of operator tests, profiles and arrays name no step that could be dumped.
        culprit: result.culprit.as_ref().filter(|culprit| culprit.operator.is_none() && culprit.is_of_operation()),
        checks: &result.checks,
        sizes,
        diagnoses: &result.diagnoses,
        findings: &result.findings,
    });
}

/// Adds the digests of what was judged, most of which the checks have taken by reading it.
fn add_digests(result: &mut GateResult, sides: &Sides) {
    let (baseline, candidate) = rayon::join(|| sides.digest(Side::Baseline), || sides.digest(Side::Candidate));
    result.baseline.iter_mut().for_each(|run| run.digest.clone_from(&baseline));
    result.candidate.digest = candidate;
    if let (Some(run), Some(inventory)) = (&mut result.reference, &sides.reference) {
        run.digest = inventory.digest();
    }
}

fn empty_result(request: &Request, sides: &Sides) -> GateResult {
    let policy = &request.policy;
    let Sides { baseline, candidate, reference, verified, is_alone, .. } = sides;
    let run = |inventory: &Inventory, label: String| Run {
        label,
        location: inventory.location().to_owned(),
        digest: String::new(),
        verified: None,
    };
    let located = |side: Side, run: Run| match &sides.samples {
        Some(sampled) => Run { location: sampled.locations[side].clone(), ..run },
        None => run,
    };
    let [of_baseline, of_candidate] = label::labels(baseline, candidate, policy);
    rayon::join(|| baseline.take_digests(), || candidate.take_digests());
    let of_baseline = Run { verified: verified.clone(), ..located(Side::Baseline, run(baseline, of_baseline)) };
    let rows = |(side, name, inventory): (Side, &str, &Inventory)| {
        let of_run = |row: ArtifactRow| {
            let path = if name.is_empty() || row.path == name { row.path } else { format!("{name}/{}", row.path) };
            ArtifactRow { path, ..row }
        };
        inventory.artifact_rows(side).into_iter().map(of_run).collect::<Vec<_>>()
    };
    let artifacts: Vec<ArtifactRow> = sides.runs().flat_map(rows).collect();
    GateResult {
        schema_version: SCHEMA_VERSION,
        tool: this_tool(),
        today: policy.today.to_string(),
        profile: policy.profile,
        verdict: Verdict::Skipped,
        headline: String::new(),
        place: String::new(),
        fix: String::new(),
        certainty: String::new(),
        not_judged: String::new(),
        report_only: policy.report_only,
        source: None,
        mode: is_alone.then_some(Mode::Health),
        baseline: (!is_alone).then_some(of_baseline),
        candidate: located(Side::Candidate, run(candidate, of_candidate)),
        reference: reference.as_ref().map(|inventory| run(inventory, "reference".to_owned())),
        culprit: None,
        checks: Vec::new(),
        measured: Vec::new(),
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
        artifacts,
        policy: Some(policy.canonical()),
        seal: None,
        claimed_version: None,
        file: String::new(),
        operations_digest: None,
        operations_version: None,
        accepted: Vec::new(),
    }
}

/// Findings before any check: a failed training job, damaged files, and sides with nothing in them.
fn general_findings(request: &Request, sides: &Sides, training: Option<Training>) -> Vec<Finding> {
    let candidate = &sides.candidate;
    let is_recognised = |inventory: &Inventory| request.checks.iter().any(|check| inventory.has_files_of(*check));
    // The finding about the training job comes first, so that it begins the report.
    let mut findings: Vec<Finding> =
        training.and_then(|training| training.finding(candidate, is_recognised(candidate))).into_iter().collect();
    let is_training_told = !findings.is_empty();
    findings.extend(sides.is_alone.then(|| alone::no_baseline(candidate.location())));
    for (side, _, inventory) in sides.runs() {
        findings.extend(inventory.location_findings.iter().cloned());
        findings.extend(inventory.damage_findings(side, &request.checks));
    }
    for (side, inventory) in sides.present_sides() {
        let is_several = sides.samples.is_some();
        if is_several && (sides.is_recorded(side) || sides.runs().any(|(of, _, run)| of == side && is_recognised(run)))
        {
            continue;
        }
        let is_told = !inventory.location_findings.is_empty() || (side == Side::Candidate && is_training_told);
        let is_explained =
            inventory.file_count() == 0 && is_told || unknown_format(CheckId::Loss, request, sides, side).is_some();
        if !is_explained && !is_recognised(inventory) {
            findings.push(nothing_recognised(request, sides, side));
        }
    }
    findings.extend(identical::same_location_finding(sides, &request.policy).filter(|_| !sides.is_alone));
    findings
}

/// Finding about a text on a side without curves, whose lines hold a loss that no rule reads. Any pattern that it suggests
/// reads such texts of both sides.
fn unknown_format(check: CheckId, request: &Request, sides: &Sides, side: Side) -> Option<Finding> {
    let (inventory, other) = match side {
        Side::Baseline => (&sides.baseline, &sides.candidate),
        Side::Candidate => (&sides.candidate, &sides.baseline),
    };
    if check != CheckId::Loss || !request.checks.contains(&check) || inventory.has_files_of(check) {
        return None;
    }
    let pattern = loss::log_pattern(&request.policy.loss).ok().flatten();
    let others: Vec<Source> = other.unread_logs().collect();
    inventory.unread_log(|file| UnreadLog::from_file(file, pattern.as_ref(), &others)?.finding(side))
}

/// Finding about a side that holds nothing to judge. It suggests another command, a log pattern, or a way out of a mistake.
fn nothing_recognised(request: &Request, sides: &Sides, side: Side) -> Finding {
    let inventory = if side == Side::Baseline { &sides.baseline } else { &sides.candidate };
    let finding = Finding::new(&rules::NOTHING_RECOGNISED, inventory.location())
        .with("side", side.as_str())
        .with("files", inventory.file_count());
    let other = CheckId::CHECKS.iter().copied().find(|check| inventory.has_files_of(*check));
    let command = other.and_then(|check| Command::ALL.into_iter().find(|command| command.checks().contains(&check)));
    if let Some(command) = command {
        let name = command.as_str();
        let finding = finding.with("command", name);
        if !other.is_some_and(|other| sides.baseline.has_files_of(other) && sides.candidate.has_files_of(other)) {
            return finding;
        }
        let line = format!("`precision-gate {name} {} {}`", sides.baseline.location(), sides.candidate.location());
        return finding.with("line", line);
    }
    let judges_curves = request.checks.contains(&CheckId::Loss);
    let pattern = loss::log_pattern(&request.policy.loss).ok().flatten();
    match inventory.unread_log(|file| UnreadLog::from_file(file, pattern.as_ref(), &[])).filter(|_| judges_curves) {
        Some(UnreadLog::Other { name, lines, has_pattern }) => {
            finding.with("log", name).with("lines", lines).with("pattern", usize::from(has_pattern))
        }
        _ => mistake::with_mistake(finding, sides, side),
    }
}

/// Makes a check incomplete that has artifacts on one side only.
fn block_one_sided(part: &mut CheckOutcome, sides: &Sides) {
    let id = part.check.id;
    let side = match (sides.baseline.has_files_of(id), sides.candidate.has_files_of(id)) {
        (true, false) => Side::Baseline,
        (false, true) => Side::Candidate,
        _ => return,
    };
    let finding = Finding::new(&rules::ONE_SIDE_ONLY, id.as_str())
        .of_check(id)
        .with("check", id.as_str())
        .with("side", side.as_str());
    part.add_findings([finding]);
}
