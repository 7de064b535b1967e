//! The check of performance: profiles of both sides are judged rank by rank.

use std::collections::BTreeSet;

use rayon::prelude::*;

use super::discover::{self, Extent, FileSample, Inventory, RecognisedFile, Recogniser, RecognitionEvidence, Search};
use super::outcome::CheckOutcome;
use super::side::unpacked;
use super::surroundings::{Shared, Surroundings};
use super::wiring::GateCheck;
use crate::compare::performance::recording::ProfileRecording;
use crate::compare::performance::run::{ProfileRun, TimeSource};
use crate::compare::performance::statistics::median;
use crate::error::Result;
use crate::fetch::progress::Quiet;
use crate::fetch::{Fetcher, Trust};
use crate::gate::repeats::not_a_repeat;
use crate::judge::apply_policy::decide;
use crate::judge::performance::rank::{self, JudgedRank};
use crate::judge::performance::{causes, culprit, rules};
use crate::pair::performance::pair_ranks;
use crate::policy::Policy;
use crate::policy::location::PolicyLocation;
use crate::read::performance::{ProfileFile, ProfileFileKind, ProfileFiles, read_profile};
use crate::result::finding::Finding;
use crate::result::identity::own_finding;
use crate::result::unit::{Culprit, CulpritKind, PerformanceCause, Unit, profile_place};
use crate::verdict::{CheckId, Side};

/// The check of performance.
pub(super) const CHECK: GateCheck = GateCheck {
    // A table may be empty, and a trace cut within its first bytes; place and name still say whose they are.
    recogniser: Recogniser { check: ID, evidence: RecognitionEvidence::Place, extent: Extent::Content, recognise },
    judge: |sides, surroundings, shared| check([&sides.baseline, &sides.candidate], surroundings, shared),
    judge_alone: None,
    judge_samples: None,
    measure: None,
    judge_tree: None,
};

const ID: CheckId = CheckId::Performance;
/// Ranks that a finding lists.
const SHOWN: usize = 8;

fn recognise(sample: &FileSample<'_>) -> Option<RecognisedFile> {
    let file = ProfileFile::recognise(sample.path, sample.head, sample.files.location())?;
    Some(match file.kind {
        ProfileFileKind::Other => RecognisedFile::part(file.kind.name(), "the times of steps stand in other files"),
        kind => RecognisedFile::read(kind.name(), file),
    })
}

/// The runs of a side, each profile read and measured by itself.
fn runs(inventory: &Inventory) -> Vec<ProfileRun> {
    let profiles = ProfileFiles::from_files(inventory.artifacts::<ProfileFile>());
    let files = inventory.all_files();
    ProfileRun::by_rank(
        profiles.par_iter().map(|profile| ProfileRecording::from_profile(read_profile(files, profile))).collect(),
    )
}

fn check(
    [baseline, candidate]: [&Inventory; 2],
    surroundings: &Surroundings<'_>,
    shared: &Shared<'_>,
) -> Result<CheckOutcome> {
    let (policy, mut outcome) = (&shared.request.policy, CheckOutcome::new(ID));
    // A side without any profile is reported elsewhere, as a check with artifacts on one side only.
    if !baseline.has_files_of(ID) || !candidate.has_files_of(ID) {
        return Ok(outcome);
    }
    shared.progress.begin("comparing profiles", 0);
    let (baseline_runs, candidate_runs) = rayon::join(|| runs(baseline), || runs(candidate));
    let repeats = repeats(policy, surroundings.fetcher, shared.recognisers)?;
    let numbers = |runs: &[ProfileRun]| runs.iter().map(|run| run.rank).collect::<BTreeSet<_>>();
    let paired = pair_ranks(&numbers(&baseline_runs), &numbers(&candidate_runs));
    let find = |runs: &'_ [ProfileRun], rank: Option<u64>| runs.iter().position(|run| run.rank == rank);
    let pairs: Vec<(&ProfileRun, &ProfileRun)> = paired
        .both
        .iter()
        .filter_map(|(our, their)| {
            Some((baseline_runs.get(find(&baseline_runs, *our)?)?, candidate_runs.get(find(&candidate_runs, *their)?)?))
        })
        .collect();
    for pair in &pairs {
        check_repeats(*pair, &repeats, policy)?;
    }
    let repeats: Vec<Vec<ProfileRun>> = repeats.into_iter().map(|repeat| repeat.runs).collect();
    let mut judged: Vec<JudgedRank> = pairs
        .par_iter()
        .map(|(our, their)| {
            let noise = noise_of_repeats(our, &repeats, policy.performance.warmup);
            rank::judge(our, their, their.rank.or(our.rank), noise, policy)
        })
        .collect();
    for rank in judged.iter_mut().filter(|rank| rank.unit.equal_hardware) {
        if let Some(measures) = &rank.measures {
            rank.findings.extend(causes::operator_findings(&profile_place(rank.unit.rank), measures));
        }
    }
    explain(&mut judged, &pairs);
    if let Some(first) = judged.first_mut() {
        first.unit.evidence.add_alone(Side::Baseline, paired.only_baseline.len() as u64);
        first.unit.evidence.add_alone(Side::Candidate, paired.only_candidate.len() as u64);
        if first.unit.evidence.offered > 0 {
            first.unit.evidence.offered += first.unit.evidence.unpaired_count();
        }
    }
    let mut rest = Vec::new();
    let lonely = [(Side::Candidate, &paired.only_baseline), (Side::Baseline, &paired.only_candidate)];
    rest.extend(lonely.into_iter().filter_map(|(side, ranks)| missing(side, ranks)));
    finish(&mut outcome, judged, rest, policy);
    Ok(outcome)
}

/// Adds the causes of growth to the rank that shows them: the one that stands out, else the one that grew most.
fn explain(judged: &mut [JudgedRank], pairs: &[(&ProfileRun, &ProfileRun)]) {
    let standing = culprit::outstanding_rank(judged.iter().map(|rank| &rank.unit));
    let is_slower = |rank: &JudgedRank| culprit::has_finding(rank, &rules::SLOWER);
    let growth = |rank: &JudgedRank| rank.measures.as_ref().map_or(0.0, |measures| measures.test.ratio);
    let grown_most = || {
        let slower = judged.iter().enumerate().filter(|(_, rank)| is_slower(rank));
        slower.reduce(|a, b| if growth(b.1) > growth(a.1) { b } else { a }).map(|(place, _)| place)
    };
    let place = standing.map(|standing| standing.place).filter(|place| judged.get(*place).is_some_and(is_slower));
    let Some(place) = place.or_else(grown_most) else { return };
    let slow_rank = standing.filter(|standing| standing.place == place);
    let slow_rank = slow_rank.and_then(|standing| culprit::slow_rank(judged, standing));
    let (Some(rank), Some((baseline, candidate))) = (judged.get_mut(place), pairs.get(place)) else { return };
    if let Some(measures) = rank.measures.as_ref().filter(|_| rank.unit.equal_hardware) {
        let found = causes::growth_findings(&profile_place(rank.unit.rank), [baseline, candidate], measures);
        rank.findings.extend(found);
    }
    rank.findings.extend(slow_rank);
}

/// The ranks that `side` lacks.
fn missing(side: Side, ranks: &[Option<u64>]) -> Option<Finding> {
    let first = ranks.first()?;
    let names: Vec<String> = ranks.iter().take(SHOWN).map(|rank| profile_place(*rank)).collect();
    let finding = Finding::new(&rules::RANKS_DIFFER, profile_place(*first)).with("side", side.as_str());
    Some(finding.with("count", ranks.len()).with("ranks", names))
}

/// Applies the policy, names the culprit, and adds up.
fn finish(outcome: &mut CheckOutcome, judged: Vec<JudgedRank>, rest: Vec<Finding>, policy: &Policy) {
    let standing = culprit::outstanding_rank(judged.iter().map(|rank| &rank.unit)).map(|standing| standing.place);
    for (place, rank) in judged.into_iter().enumerate() {
        let cause = culprit::cause(&rank, standing == Some(place));
        let JudgedRank { mut unit, findings, .. } = rank;
        let named_unit = |finding: Finding| {
            let finding = finding.with("unit", profile_place(unit.rank));
            unit.rank.map_or(finding.clone(), |rank| finding.with("rank", rank))
        };
        let findings: Vec<Finding> = findings.into_iter().map(named_unit).collect();
        let counts = |finding: &Finding| decide(&finding.code, &finding.place, finding.severity, policy).counts();
        let suspect = |rule| findings.iter().find(|finding| finding.is(rule) && counts(finding));
        let suspect = suspect(&rules::SLOWER).or_else(|| suspect(&rules::AICPU));
        if let (Some(cause), Some(finding)) = (cause, suspect) {
            unit.culprit = Some(named(unit.rank, finding, &cause));
            unit.cause = Some(cause);
        }
        outcome.add_unit(Unit::Performance(Box::new(unit)), findings);
    }
    outcome.add_findings(rest);
}

/// The culprit of a rank, as reports show it.
fn named(rank: Option<u64>, finding: &Finding, cause: &PerformanceCause) -> Culprit {
    let mut culprit = Culprit {
        rank,
        op: cause.operators.first().cloned().unwrap_or_default(),
        tensor: finding.place.clone(),
        code: finding.code.clone(),
        metrics: crate::result::unit::Metrics::default(),
        performance: Some(cause.clone()),
        ..Culprit::new(ID, CulpritKind::Phase(cause.phase))
    };
    culprit.finding = own_finding(&culprit);
    culprit
}

/// A declared repeat of the baseline.
struct Repeat {
    /// Its location, as documents may show it.
    location: String,
    runs: Vec<ProfileRun>,
}

/// Runs of the declared repeats of the baseline, each a set of its own.
fn repeats(policy: &Policy, fetcher: &Fetcher, recognisers: &[Recogniser]) -> Result<Vec<Repeat>> {
    let search = Search { recognisers, pattern: None, room: None };
    let open = |named: &PolicyLocation| {
        let files = unpacked(fetcher.open(named.trusted()?, Trust::Baseline, &Quiet)?.files, fetcher.disk())?;
        let inventory = discover::inventory_of_files(files, search, &Quiet)?;
        Ok(Repeat { location: inventory.location().to_owned(), runs: runs(&inventory) })
    };
    policy.performance.repeats.iter().map(open).collect()
}

/// Refuses runs that are not repeats of the baseline, because their wide noise would hide a slower candidate.
fn check_repeats((baseline, candidate): (&ProfileRun, &ProfileRun), repeats: &[Repeat], policy: &Policy) -> Result<()> {
    let warmup = policy.performance.warmup;
    let most = policy.performance.step_time.fail.get() - 1.0;
    for repeat in repeats {
        let Some(run) = of_rank(&repeat.runs, baseline) else { continue };
        let refuse = |why: &str| {
            let help = "name runs of the baseline's own code and machine in `performance: {repeats: [...]}`";
            Err(not_a_repeat(["the baseline", &repeat.location], why, help))
        };
        if let Some(why) = other_work(baseline, run, policy) {
            return refuse(why);
        }
        let (own_periods, candidate_periods) = (periods(run, baseline, warmup), periods(candidate, baseline, warmup));
        if own_periods == candidate_periods
            && !own_periods.is_empty()
            && own_periods != periods(baseline, baseline, warmup)
        {
            return refuse("its steps are those of the candidate");
        }
        let ratio =
            middle(run, baseline, warmup).zip(middle(baseline, baseline, warmup)).map(|(one, other)| one / other);
        if let Some(ratio) = ratio.filter(|ratio| (ratio - 1.0).abs() > most) {
            let share = (ratio - 1.0) * 100.0;
            return refuse(&format!("its step time is {share:+.1} % off, beyond the limit of {:.1} %", most * 100.0));
        }
    }
    Ok(())
}

/// Reason why a run is of other work or of another machine than the baseline; `None` where it is not.
fn other_work(baseline: &ProfileRun, run: &ProfileRun, policy: &Policy) -> Option<&'static str> {
    let is_named = baseline.device_name().is_some() && run.device_name().is_some();
    if run.device() != baseline.device() || is_named && run.device_name() != baseline.device_name() {
        return Some("it was recorded on another device");
    }
    let judged = rank::judge(baseline, run, baseline.rank, None, policy);
    let has = |rule| judged.findings.iter().any(|finding| finding.is(rule));
    if has(&rules::WORKLOAD_DIFFERS) {
        Some("its shapes are of another batch or sequence length")
    } else if has(&rules::SETTINGS_DIFFER) {
        Some("its profiler had other settings")
    } else if judged.measures.is_none() {
        Some("it holds no steps that can be compared with the baseline's")
    } else {
        None
    }
}

/// The run of a repeat that belongs to the baseline's rank.
fn of_rank<'a>(runs: &'a [ProfileRun], baseline: &ProfileRun) -> Option<&'a ProfileRun> {
    let single = if let [run] = runs { Some(run) } else { None };
    runs.iter().find(|run| run.rank == baseline.rank).or(single)
}

/// Noise of the machine: the largest difference between the medians of the baseline and its repeats, as a part of one of
/// them. `None` without repeats of this rank.
fn noise_of_repeats(baseline: &ProfileRun, repeats: &[Vec<ProfileRun>], warmup: usize) -> Option<f64> {
    let same = |runs: &Vec<ProfileRun>| middle(of_rank(runs, baseline)?, baseline, warmup);
    let mut medians: Vec<f64> = repeats.iter().filter_map(same).collect();
    if medians.is_empty() {
        return None;
    }
    medians.extend(middle(baseline, baseline, warmup));
    let pairs = medians.iter().flat_map(|one| medians.iter().map(move |other| (one / other - 1.0).abs()));
    pairs.reduce(f64::max)
}

/// The median of a run's periods, by the source that the baseline has.
fn middle(run: &ProfileRun, like: &ProfileRun, warmup: usize) -> Option<f64> {
    let periods = periods(run, like, warmup);
    (!periods.is_empty()).then(|| median(&periods))
}

/// The periods of a run's judged steps, by the source that the baseline has.
fn periods(run: &ProfileRun, like: &ProfileRun, warmup: usize) -> Vec<f64> {
    let source = if like.has_kernel_steps() { TimeSource::Kernels } else { TimeSource::StepTable };
    run.judged_steps(source, warmup).iter().map(|step| step.period).collect()
}
