//! The dump check: dumps of both sides to a verdict and a culprit per step and rank.

mod alone;
mod layouts;
mod messages;
pub mod noise;
mod reference;
pub(super) mod renaming;
mod units;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::discover::{self, Extent, FileSample, RecognisedFile, Recogniser};
use super::outcome::{CheckOutcome, damaged_finding};
use super::repeats::{Repeat, RepeatOpener, not_a_repeat, read_band_file, too_few_repeats};
use super::request::Request;
use super::sides::Sides;
use super::surroundings::{Shared, Surroundings};
use super::wiring::{GateCheck, Measuring};
use crate::compare::measurements::Measurements;
use crate::compare::run::Snapshot;
use crate::diagnose::next_dump::RecordedSizes;
use crate::diagnose::{ParameterGradients, StepBefore};
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::progress::Quiet;
use crate::judge::culprit::first_of_dumps;
use crate::judge::dump::flow::UnitContext;
use crate::judge::dump::noise::UnitNoise;
use crate::judge::dump::unit::{JudgedUnit, UnitInput, judge};
use crate::judge::dump::update::StepParameters;
use crate::judge::dump::{lines, rules};
use crate::judge::rule::{artifacts, policy as policy_rules};
use crate::judge::run::watch::PairWatch;
use crate::msprobe::dump::Matching;
use crate::pair::dump::Renaming;
use crate::pair::layout::LayoutSigns;
use crate::pair::unit::{UnitPair, UnpairedFolder};
use crate::policy::Policy;
use crate::read::dump::{self, DumpFolder};
use crate::report::sink::DiscardingSink;
use crate::result::diagnosis::Diagnosis;
use crate::result::finding::Finding;
use crate::result::observation::Observation;
use crate::result::unit::{Culprit, DumpUnit, ErrorLocation, Evidence, Place, Unit, unit_place};
use crate::verdict::{CheckId, PerSide, Side};
use noise::{DumpNoise, KnownNoise, NoiseRecording};
use reference::Reference;
use units::{AcrossRanks, Units};

use units::read_and_compare;

/// The check of dumps.
pub(super) const CHECK: GateCheck = GateCheck {
    recogniser: Recogniser {
        check: ID,
        evidence: discover::RecognitionEvidence::Place,
        extent: Extent::Content,
        recognise,
    },
    judge: of_sides,
    judge_alone: Some(alone::check),
    judge_samples: None,
    measure: Some(measure),
    judge_tree: None,
};

const ID: CheckId = CheckId::Dump;

fn recognise(sample: &FileSample<'_>) -> Option<RecognisedFile> {
    match dump::recognise(sample.files, sample.path, sample.head) {
        Some(folder) => Some(RecognisedFile::read("dump", folder)),
        None if dump::is_part_of_dump(sample.files.as_ref(), sample.path) => {
            Some(RecognisedFile::part("dump", "part of a dump"))
        }
        None => super::members::recognise_tool_part(sample),
    }
}

/// Measures every unit. A unit that cannot be read is skipped here, and reported when the parts are judged.
fn measure(measuring: &Measuring<'_>) -> Result<()> {
    let Measuring { baseline, candidate, request, measurements, progress } = *measuring;
    let (pairs, _) = crate::pair::unit::pair_units(baseline.artifacts(), candidate.artifacts());
    let renaming = renaming::renaming_of_request(request);
    progress.begin("measuring dumps", pairs.len() as u64);
    for pair in &pairs {
        if let Ok(unit) = read_and_compare(pair, &request.policy, &renaming, measurements) {
            unit.table(&request.matching, measurements, &DiscardingSink)?;
        }
        progress.advance(1);
    }
    Ok(())
}

fn of_sides(sides: &Sides, surroundings: &Surroundings<'_>, shared: &Shared<'_>) -> Result<CheckOutcome> {
    let (baseline, candidate): (&[DumpFolder], &[DumpFolder]) =
        (sides.baseline.artifacts(), sides.candidate.artifacts());
    let is_one_sided = baseline.is_empty() || candidate.is_empty();
    let known = if is_one_sided { None } else { known_noise(surroundings, shared)? };
    let reference =
        sides.reference.as_ref().filter(|_| !is_one_sided).map(|inventory| inventory.artifacts::<DumpFolder>());
    let noise = DumpNoise { known: known.as_ref(), recording: None };
    check(baseline, candidate, shared, OtherRuns { noise, reference })
}

/// The noise that the policy names, from a recorded file or from repeats; else that of the baseline's manifest.
fn known_noise(surroundings: &Surroundings<'_>, shared: &Shared<'_>) -> Result<Option<KnownNoise>> {
    let policy = &shared.request.policy;
    let repeats = RepeatOpener { fetcher: surroundings.fetcher, recognisers: shared.recognisers };
    let recorded = match policy.dump.noise.0.as_slice() {
        [] => {
            let recorded = surroundings.manifest.and_then(|manifest| manifest.noise.as_ref());
            return Ok(recorded.filter(|band| !band.dumps.is_empty()).map(|band| KnownNoise::new(&band.dumps)));
        }
        [named] => read_band_file(named.trusted()?, repeats.fetcher)?.map(|band| band.dumps),
        _ => None,
    };
    let units = match recorded {
        Some(units) => units,
        None => {
            let (mut found, locations) = repeats.open(&policy.dump.noise.trusted()?, None)?;
            found.retain(|repeat| !repeat.dumps.is_empty());
            if found.len() == 1 {
                return Err(too_few_repeats(&locations, "1 with dumps"));
            }
            noise_of_repeats(&found)?
        }
    };
    Ok(Some(KnownNoise::new(&units)))
}

/// Noise of the dumps of `runs`, from every pair of them.
///
/// # Errors
/// `Usage` where two are not repeats of one case.
pub(crate) fn noise_of_repeats(runs: &[Repeat]) -> Result<Vec<UnitNoise>> {
    const HELP: &str = "recorded noise of runs that differ hides every difference as large: give runs of the same model, \
                        weights, data, seed and settings";
    let recording = NoiseRecording::new(runs.len().try_into().unwrap_or(u32::MAX));
    let (baseline, candidate) = Default::default();
    let (policy, matching) = (Policy::default(), Matching::default());
    let request = Request { baseline, candidate, several: Default::default(), checks: vec![ID], policy, matching };
    let measurements = Measurements::default();
    let shared = Shared {
        request: &request,
        measurements: &measurements,
        recognisers: &[],
        sink: &DiscardingSink,
        progress: &Quiet,
        room: 0,
    };
    for (index, first) in runs.iter().enumerate() {
        for second in runs.iter().skip(index + 1) {
            let other = |why: &str| not_a_repeat([&first.name, &second.name], why, HELP);
            let places = |run: &Repeat| run.dumps.iter().map(|dump| (dump.step, dump.rank)).collect::<BTreeSet<_>>();
            if places(first) != places(second) {
                return Err(other("it holds other steps or ranks"));
            }
            let noise = DumpNoise { known: None, recording: Some(&recording) };
            let outcome = check(&first.dumps, &second.dumps, &shared, OtherRuns { noise, reference: None })?;
            if let Some(why) = noise::reason_not_repeats(outcome.observations.iter().map(|one| &one.finding))
                .or_else(|| recording.too_far())
            {
                return Err(other(&why));
            }
        }
    }
    Ok(recording.into_units())
}

/// Judges the dumps of both sides, step by step: a later step inherits from an earlier one, and within a step a
/// collective carries errors from rank to rank.
///
/// # Errors
/// Errors of the sink, where a line or table cannot be written.
pub fn check(
    baseline: &[DumpFolder],
    candidate: &[DumpFolder],
    shared: &Shared<'_>,
    OtherRuns { noise, reference }: OtherRuns<'_>,
) -> Result<CheckOutcome> {
    let policy = &shared.request.policy;
    let mut outcome = CheckOutcome::new(ID);
    let arranged = layouts::arrange(baseline, candidate, policy);
    outcome.layout = arranged.layouts;
    outcome.add_findings(arranged.findings);
    if arranged.is_refused {
        return Ok(outcome);
    }
    let (baseline, candidate) = match &arranged.whole {
        Some(whole) => (whole.baseline.as_slice(), whole.candidate.as_slice()),
        None => (baseline, candidate),
    };
    let (pairs, missing) = crate::pair::unit::pair_units(baseline, candidate);
    let mut steps: BTreeMap<u64, Vec<UnitPair<'_>>> = BTreeMap::new();
    for pair in pairs {
        steps.entry(pair.candidate.step).or_default().push(pair);
    }
    let mut earlier: HashMap<Option<u64>, Earlier> = HashMap::new();
    let mut limits_used = vec![false; policy.dump.limits.len()];
    let renaming = renaming::renaming_of_request(shared.request);
    let reference = reference.map(|folders| Reference::new(folders, baseline, policy, shared.measurements, &renaming));
    let units = steps.values().map(Vec::len).sum::<usize>();
    // A single step and rank shows nothing about copies between ranks or about changes between steps.
    let watch = (units > 1 && arranged.whole.is_none()).then(|| PairWatch::new(&policy.health.replicas));
    let mut aids = Aids { noise, reference, without_noise: Vec::new(), watch, signs: None };
    aids.signs = (outcome.layout.is_none() && units > 1).then(|| PerSide::of(|_| LayoutSigns::new()));
    shared.progress.begin("comparing dumps", units as u64);
    let mut steps = steps.into_values().peekable();
    while let Some(pairs) = steps.next() {
        let is_last = steps.peek().is_none();
        for used in step(&pairs, is_last, &renaming, &mut earlier, shared, &mut aids, &mut outcome)? {
            limits_used.iter_mut().zip(used).for_each(|(known, here)| *known |= here);
        }
    }
    let mut findings: Vec<Finding> = missing.iter().map(missing_finding).collect();
    if !outcome.check.units.is_empty() {
        findings.extend(unused_limits(policy, &limits_used));
    }
    tell_prefixes_once(&mut outcome.observations);
    findings.extend(noise::missing_noise_finding(&aids.without_noise));
    findings.extend(aids.reference.and_then(|reference| reference.finding()));
    findings.extend(aids.watch.into_iter().flat_map(PairWatch::finish));
    outcome.layout = outcome.layout.or_else(|| layouts::alike(aids.signs.as_ref()?));
    outcome.add_findings(findings);
    Ok(outcome)
}

/// Runs beside the two that are compared.
#[derive(Clone, Copy, Default)]
pub struct OtherRuns<'a> {
    /// Repeats of the baseline.
    pub noise: DumpNoise<'a>,
    /// Dumps of a third run of the same model, which both sides are measured against.
    pub reference: Option<&'a [DumpFolder]>,
}

/// Other runs while units are judged, and the gaps found in them.
struct Aids<'a> {
    noise: DumpNoise<'a>,
    reference: Option<Reference<'a>>,
    /// Records of the baseline's dumps without recorded noise.
    without_noise: Vec<String>,
    /// Watch over each of the two runs by itself.
    watch: Option<PairWatch>,
    /// Signs of both sides' layouts in the first step; `None` where ranks are put together, or there is one unit only.
    signs: Option<PerSide<LayoutSigns>>,
}

/// State of a rank after a step, which its later steps inherit.
#[derive(Clone, Default)]
struct Earlier {
    largest_error: f64,
    gradients: f64,
    parameters: Arc<StepParameters>,
    recorded: Option<(u64, ParameterGradients)>,
    culprit: Option<Place>,
}

impl Earlier {
    /// The step before, as the search for causes takes it; `None` where nothing was recorded of it.
    fn before(&self) -> Option<StepBefore<'_>> {
        let (step, gradients) = self.recorded.as_ref()?;
        Some(StepBefore { step: *step, parameters: &self.parameters, gradients })
    }
}

/// A judged unit, with its place among the units of the step.
struct Judged<'a> {
    place: usize,
    pair: &'a UnitPair<'a>,
    unit: JudgedUnit,
    /// Gradients for judging the next step; `None` in the last one.
    gradients: Option<ParameterGradients>,
}

/// Judges the units of a step one after the other; returns which limits each one used. Gradients are kept for a later step
/// only, so not of the last one.
fn step(
    pairs: &[UnitPair<'_>],
    is_last: bool,
    renaming: &Renaming,
    earlier: &mut HashMap<Option<u64>, Earlier>,
    shared: &Shared<'_>,
    aids: &mut Aids<'_>,
    outcome: &mut CheckOutcome,
) -> Result<Vec<Vec<bool>>> {
    let Shared { request, measurements, sink, .. } = *shared;
    let policy = &request.policy;
    let mut units = Units::new(policy, renaming, measurements, shared.room);
    let AcrossRanks { collectives, messages, parted } =
        units.across_ranks(pairs, shared.progress, |pair, errors| unreadable(pair, errors, outcome));
    let mut context = UnitContext { collectives, parted, is_last_step: is_last, ..UnitContext::default() };
    let is_first = earlier.values().all(|earlier| earlier.culprit.is_none());
    let mut judged = Vec::new();
    let mut diagnoses = BTreeMap::new();
    let mut snapshots = <[BTreeMap<u64, Snapshot>; 2]>::default();
    for (place, pair) in units.readable() {
        let unit = match units.get(place, pair) {
            Ok(unit) => unit,
            Err(errors) => {
                unreadable(pair, &errors, outcome);
                continue;
            }
        };
        if let Some(signs) = aids.signs.as_mut().filter(|_| outcome.layout.is_none() && earlier.is_empty()) {
            signs.baseline.add(unit.baseline());
            signs.candidate.add(unit.candidate());
        }
        if aids.watch.is_some() {
            let rank = pair.candidate.rank.unwrap_or_default();
            let dumps = [unit.baseline(), unit.candidate()];
            snapshots.iter_mut().zip(dumps).for_each(|(side, dump)| drop(side.insert(rank, Snapshot::from_dump(dump))));
        }
        context.received = messages.received(&unit.input());
        if let Some(before) = earlier.get(&pair.candidate.rank) {
            (context.earlier_error, context.earlier_gradient_error) = (before.largest_error, before.gradients);
            context.parameters = Arc::clone(&before.parameters);
        } else {
            (context.earlier_error, context.earlier_gradient_error) = (0.0, 0.0);
            context.parameters = Arc::default();
        }
        if let Some(known) = aids.noise.known {
            context.noise = known.of((pair.baseline.step, pair.baseline.rank), &unit.input());
            aids.without_noise.extend(context.noise.is_none().then(|| pair.baseline.records.clone()));
        }
        let reference = aids.reference.as_mut().and_then(|reference| reference.errors(pair));
        let input = UnitInput { reference: reference.as_ref(), ..unit.input() };
        let (table, judgement) = rayon::join(
            || unit.table(&request.matching, measurements, sink),
            || judge_unit(&input, &context, shared, aids.noise),
        );
        table?;
        let mut judgement = judgement?;
        judgement.unit.tool = pair.candidate.tool().map(str::to_owned);
        fall_back(pair, &mut judgement.unit.evidence);
        layouts::note_parts(unit, &mut judgement, policy);
        refuse_uncounted(&judgement, policy)?;
        if is_first && judgement.unit.culprit.is_none() {
            diagnoses.insert(place, unit.diagnose(&judgement, &[], None));
        }
        let gradients = (!is_last).then(|| ParameterGradients::from_unit(&unit.input()));
        judged.push(Judged { place, pair, unit: judgement, gradients });
    }
    if let (Some(watch), Some(pair)) = (&mut aids.watch, pairs.first()) {
        watch.add_step(pair.candidate.step, snapshots);
    }
    if is_first {
        let has_culprit = judged.iter().any(|judged| judged.unit.unit.culprit.is_some());
        if has_culprit {
            outcome.diagnoses.iter_mut().for_each(Diagnosis::doubt);
        }
        let (sizes, location) = diagnose_first(&judged, &mut units, earlier, &mut diagnoses);
        outcome.sizes = Some(sizes);
        let guilty = location.as_ref().map(|(place, _)| *place);
        if let Some(judged) = judged.iter_mut().find(|judged| Some(judged.place) == guilty)
            && let Some(culprit) = &mut judged.unit.unit.culprit
        {
            culprit.location = location.map(|(_, location)| location);
            layouts::narrow(culprit, judged.pair);
        }
        outcome.diagnoses.extend(diagnoses.into_values().flatten());
    }
    let mut judged: Vec<JudgedUnit> = judged
        .into_iter()
        .map(|judged| {
            earlier.entry(judged.unit.unit.rank).or_default().recorded =
                judged.gradients.map(|gradients| (judged.unit.unit.step, gradients));
            judged.unit
        })
        .collect();
    inherit(&mut judged, earlier);
    let mut limits_used = Vec::new();
    for unit in judged {
        limits_used.push(unit.limits_used);
        outcome.add_unit(Unit::Dump(Box::new(unit.unit)), unit.findings);
    }
    Ok(limits_used)
}

/// Notes that a single step or rank of each side was paired although the two have other numbers.
fn fall_back(pair: &UnitPair<'_>, evidence: &mut Evidence) {
    let UnitPair { baseline, candidate } = pair;
    if baseline.step != candidate.step {
        evidence.fall_back("other-step", format!("step {} against step {}", baseline.step, candidate.step));
    }
    if let (Some(baseline_rank), Some(candidate_rank)) = (baseline.rank, candidate.rank)
        && baseline_rank != candidate_rank
    {
        evidence.fall_back("other-rank", format!("rank {baseline_rank} against rank {candidate_rank}"));
    }
}

/// Judges a unit and writes its lines to the sink, so that nothing that grows with the unit stays in memory.
fn judge_unit(
    input: &UnitInput<'_>,
    context: &UnitContext,
    shared: &Shared<'_>,
    noise: DumpNoise<'_>,
) -> Result<JudgedUnit> {
    let mut judged = judge(input, context, &shared.request.policy);
    let flows = std::mem::take(&mut judged.flows);
    if let Some(recording) = noise.recording {
        recording.record_unit(input, &flows);
    }
    shared.sink.lines(flows.len(), &|order, lines| lines::add_operation_lines(input, &flows, order, lines))?;
    Ok(judged)
}

/// Looks for causes at the first culprit of the step, with the same operation of the other ranks. Returns the sizes of the
/// operations involved, and the place of the error within the culprit's tensor, with the place of its unit.
fn diagnose_first<'a>(
    judged: &[Judged<'a>],
    units: &mut Units<'a>,
    earlier: &HashMap<Option<u64>, Earlier>,
    diagnoses: &mut BTreeMap<usize, Vec<Diagnosis>>,
) -> (RecordedSizes, Option<(usize, ErrorLocation)>) {
    let nothing = || (RecordedSizes::default(), None);
    let Some(culprit) = first_of_dumps(judged.iter().map(|judged| &judged.unit.unit)) else { return nothing() };
    let guilty = judged.iter().find(|judged| judged.unit.unit.culprit.as_ref() == Some(culprit));
    let Some(Judged { place, pair, unit, .. }) = guilty else { return nothing() };
    let peers = units.peers(&culprit.op, *place);
    // A unit that can no longer be read was judged before; only its cause stays unnamed.
    let Ok(compared) = units.get(*place, pair) else { return nothing() };
    let before = earlier.get(&pair.candidate.rank).and_then(Earlier::before);
    // Causes found in units without a culprit do not explain this one.
    diagnoses.values_mut().flatten().for_each(Diagnosis::doubt);
    diagnoses.insert(*place, compared.diagnose(unit, &peers, before));
    let location = compared.location(unit).map(|location| (*place, location));
    (RecordedSizes::of(culprit, diagnoses.values().flatten(), compared.candidate()), location)
}

/// Keeps the first of several findings about one prefix: steps and ranks have the same names.
fn tell_prefixes_once(observations: &mut Vec<Observation>) {
    let mut told = HashSet::new();
    observations.retain(|Observation { finding, .. }| {
        finding.code != rules::MODULE_PREFIX.code || told.insert(format!("{:?}", finding.facts.get("prefix")))
    });
}

/// Refuses limits that need the elements of tensors where a dump holds none at all: judged by other limits, its numbers would
/// pass or fail for reasons that the policy does not give.
fn refuse_uncounted(judged: &JudgedUnit, policy: &Policy) -> Result<()> {
    let Some(uncounted) = judged.uncounted.as_ref().filter(|_| judged.unit.data != "tensor") else { return Ok(()) };
    let limit = policy.dump.limits.get(uncounted.rule);
    let key = limit.and_then(|limit| limit.element_keys().next()).unwrap_or_default();
    let message = format!(
        "`{key}` needs the elements of `{}`, and the dump of {} holds {} only",
        uncounted.first,
        unit_place(judged.unit.step, judged.unit.rank),
        if judged.unit.data == "statistics" { "statistics" } else { "checksums" }
    );
    Err(Error::new(ErrorKind::Policy, format!("dump.limits[{}]", uncounted.rule), message)
        .with_help("dump both runs with `task: tensor`, or limit these operations by `noise` and `wrong`, which statistics have too"))
}

/// Findings about limits of the policy that fitted no operation, and so protect nothing.
fn unused_limits(policy: &Policy, used: &[bool]) -> Vec<Finding> {
    let unused = policy.dump.limits.iter().zip(used).filter(|(_, used)| !**used);
    unused.map(|(rule, _)| Finding::new(&policy_rules::SELECTOR_UNUSED, rule.selector())).collect()
}

/// Adds a unit whose records cannot be read, as incomplete.
fn unreadable(pair: &UnitPair<'_>, errors: &[(Side, Error)], outcome: &mut CheckOutcome) {
    let mut unit = DumpUnit::unread(pair.candidate.step, pair.candidate.rank);
    unit.tool = pair.candidate.tool().map(str::to_owned);
    outcome.add_unit(Unit::Dump(Box::new(unit)), errors.iter().map(|(side, error)| damaged_finding(ID, *side, error)));
}

/// Notes in every unit without a culprit of its own where its error came from, and keeps what later steps inherit.
fn inherit(judged: &mut [JudgedUnit], earlier: &mut HashMap<Option<u64>, Earlier>) {
    let place = |culprit: &Culprit| Place { step: culprit.step, rank: culprit.rank, op: culprit.op.clone() };
    let first = first_of_dumps(judged.iter().map(|unit| &unit.unit)).map(place);
    for unit in judged {
        let before = earlier.entry(unit.unit.rank).or_default();
        if unit.unit.culprit.is_none() && unit.differs {
            unit.unit.inherited_from = before.culprit.clone().or_else(|| first.clone());
        }
        before.largest_error = before.largest_error.max(unit.largest_error);
        before.gradients = before.gradients.max(unit.gradient_error);
        before.parameters = Arc::new(std::mem::take(&mut unit.parameters));
        let origin = unit.unit.culprit.as_ref().map(place).or_else(|| unit.unit.inherited_from.clone());
        before.culprit = before.culprit.take().or(origin);
    }
}

fn missing_finding(missing: &UnpairedFolder<'_>) -> Finding {
    let (rule, folder, side) = match missing {
        UnpairedFolder::Step { folder, side } => (&rules::STEP_MISSING, *folder, *side),
        UnpairedFolder::Rank { folder, side } => (&rules::RANK_MISSING, *folder, *side),
        UnpairedFolder::Ambiguous { folder, side } => (&artifacts::AMBIGUOUS, *folder, *side),
    };
    let finding =
        Finding::new(rule, &folder.records).of_check(ID).with("side", side.as_str()).with("step", folder.step);
    let finding = finding.with("rank", folder.rank.map_or_else(String::new, |rank| rank.to_string()));
    if let UnpairedFolder::Ambiguous { .. } = missing {
        return finding.with("kind", "dump").with("count", 2_usize).with("paths", vec![folder.records.clone()]);
    }
    finding
}
