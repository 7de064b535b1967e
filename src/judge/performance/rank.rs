//! Judges the profiles of one rank.

use super::comparable;
use super::rules;
use super::test::{self, FEW, RatioLimits, StepTimeTest};
use super::witness;
use crate::compare::performance::cost::{OperatorCost, PairedBy, costs, paired_by, same_workload};
use crate::compare::performance::run::{ProfileRun, TimeSource};
use crate::compare::performance::statistics::median;
use crate::compare::performance::steps::StepTimes;
use crate::judge::rule::artifacts::TOO_GOOD;
use crate::policy::Policy;
use crate::result::finding::Finding;
use crate::result::number::Number;
use crate::result::outcome::RuleOutcome;
use crate::result::unit::{
    Evidence, OperatorTimes, PerformanceUnit, Period, Phase, Phases, StepTime, StepTimeSource, profile_place,
};
use crate::verdict::{CheckId, Severity, Verdict};

/// Times of a rank that are compared: of a step, and of its three phases.
const TIMES: u64 = 4;
/// Most operators in a result.
const MOST_OPERATORS: usize = 20;
/// Most steps in a result.
const MOST_PERIODS: usize = 2000;
/// Most characters of an operator's shapes in a result.
const MOST_SHAPES: usize = 400;
/// Least share of the baseline's matrix time that the candidate spends on the same shapes.
const SAME_WORKLOAD: f64 = 0.5;
/// Speedup above which a step is too fast to be the same work.
const TOO_FAST: f64 = 3.0;
/// Least share of computing in a step for its time to show how much was computed.
const LEAST_COMPUTING: f64 = 0.1;
/// Ratio to the baseline's clock below which a device is slowed down.
const LEAST_CLOCK: f64 = 0.97;
/// Least growth of a step, relative to the baseline's, for a rank to wait for its host.
const LEAST_WAIT: f64 = 0.01;
/// Most steps that a finding names.
const SHOWN: usize = 5;

/// A judged rank.
#[derive(Debug)]
pub struct JudgedRank {
    /// Its unit, without culprit.
    pub unit: PerformanceUnit,
    /// Its findings. Causes of growth are added later, for the rank that shows them.
    pub findings: Vec<Finding>,
    /// Numbers for finding causes; `None` where no time was judged.
    pub measures: Option<RankMeasures>,
}

/// Numbers for finding the causes of growth.
#[derive(Debug)]
pub struct RankMeasures {
    /// The test of the step time.
    pub test: StepTimeTest,
    /// Costs of all operators.
    pub costs: Vec<OperatorCost>,
    /// Property by which operators were paired.
    pub paired_by: PairedBy,
    /// Phases of a step.
    pub phases: Phases,
}

/// Judges one rank; `repeats` is the noise between declared repeats of the baseline.
pub fn judge(
    baseline: &ProfileRun,
    candidate: &ProfileRun,
    rank: Option<u64>,
    repeats: Option<f64>,
    policy: &Policy,
) -> JudgedRank {
    let (place, runs) = (profile_place(rank), [baseline, candidate]);
    let mut findings = comparable::damage(&place, runs);
    let hardware = comparable::other_hardware(&place, runs, policy);
    let mut unit = empty_unit(rank, runs, hardware.is_none());
    for file in runs.iter().flat_map(|run| run.damage()) {
        unit.evidence.damaged += 1;
        unit.evidence.example("damaged", file.path.as_str());
    }
    let source = match comparable::source(&place, runs) {
        Ok(source) => source,
        Err(missing) => {
            findings.extend(missing);
            return JudgedRank { unit, findings, measures: None };
        }
    };
    findings.extend(comparable::settings(&place, runs));
    findings.extend(hardware);
    findings.extend(witness::missing_kernels_finding(&place, runs, source));
    findings.extend(witness::contradicting_times_findings(&place, runs));
    let warmup = policy.performance.warmup;
    let steps = runs.map(|run| run.judged_steps(source, warmup));
    unit.steps = [0, 1].map(|side: usize| steps.get(side).map_or(0, Vec::len) as u64);
    let by = paired_by(baseline, candidate, source);
    let costs = costs(baseline, candidate, by, warmup);
    findings.extend(workload(&place, by, &costs));
    let is_other = findings.iter().any(|finding| finding.is(&rules::WORKLOAD_DIFFERS));
    let few = few_steps(&place, &unit.steps);
    let is_empty = unit.steps.contains(&0);
    findings.extend(few);
    if is_other || is_empty {
        return JudgedRank { unit, findings, measures: None };
    }
    let periods = steps.each_ref().map(|steps| steps.iter().map(|step| step.period).collect::<Vec<f64>>());
    let [baseline_periods, candidate_periods] = &periods;
    let test = StepTimeTest::new(baseline_periods, candidate_periods, repeats);
    let measures = RankMeasures { test, costs, paired_by: by, phases: phases(&steps) };
    describe(&mut unit, &measures, &steps, source, repeats);
    let limits = limits(&unit, policy);
    account(&mut unit, &measures, limits);
    let verdict = test.verdict(limits);
    unit.rules.push(RuleOutcome::new("step_time", Some(test.beyond_noise()), (limits.warn, limits.fail), verdict));
    findings.extend(time(&unit, &measures, limits, verdict));
    findings.extend(too_good(&unit, &measures, limits));
    findings.extend(scatter(&place, &steps, &periods, verdict));
    if unit.equal_hardware {
        findings.extend(memory(&mut unit, (runs, &measures), &place, policy));
        findings.extend(frequency(&place, runs).filter(|_| !waits_for_host(&measures)));
        findings.extend(witness::lost_parts_finding(&place, runs, policy));
    }
    JudgedRank { unit, findings, measures: Some(measures) }
}

fn empty_unit(rank: Option<u64>, runs: [&ProfileRun; 2], equal_hardware: bool) -> PerformanceUnit {
    let [baseline, candidate] = runs;
    let peaks = baseline.memory_peak().zip(candidate.memory_peak());
    PerformanceUnit {
        rank,
        verdict: Verdict::Incomplete,
        // Nothing is compared until the times are.
        evidence: Evidence { offered: TIMES, not_compared: TIMES, ..Evidence::default() },
        steps: [0, 0],
        step_time: None,
        phases: None,
        memory_peak: peaks.map(|(baseline_peak, candidate_peak)| [Number(baseline_peak), Number(candidate_peak)]),
        devices: runs.map(comparable::device),
        equal_hardware,
        operators: Vec::new(),
        periods: None,
        cause: None,
        culprit: None,
        rules: Vec::new(),
    }
}

/// The limits of a unit. On different hardware there are only declared ones.
fn limits(unit: &PerformanceUnit, policy: &Policy) -> RatioLimits {
    let own = &policy.performance;
    if unit.equal_hardware {
        return RatioLimits { warn: Some(own.step_time.warn.get()), fail: Some(own.step_time.fail.get()) };
    }
    let declared = own.other_hardware.step_time;
    RatioLimits { warn: declared.warn.map(|limit| limit.get()), fail: declared.fail.map(|limit| limit.get()) }
}

fn workload(place: &str, by: PairedBy, costs: &[OperatorCost]) -> Option<Finding> {
    let share = same_workload(costs).filter(|share| by == PairedBy::Shapes && *share < SAME_WORKLOAD)?;
    let largest = |side: usize| {
        let of_side = costs.iter().filter(|cost| cost.key.core.starts_with("AI_CORE") && cost.is_on(side));
        let time = |cost: &&OperatorCost| cost.total.get(side).copied().unwrap_or(0.0);
        let largest = of_side.max_by(|a, b| time(a).total_cmp(&time(b)));
        largest.map_or_else(String::new, |cost| format!("{} {}", cost.key.name, shortened(&cost.key.shapes)))
    };
    let finding = Finding::new(&rules::WORKLOAD_DIFFERS, place).with("share", share);
    Some(finding.with("baseline", largest(0)).with("candidate", largest(1)))
}

fn few_steps(place: &str, steps: &[u64; 2]) -> Option<Finding> {
    let [baseline, candidate] = *steps;
    if baseline.min(candidate) >= FEW as u64 {
        return None;
    }
    let finding = Finding::new(&rules::FEW_STEPS, place).with("baseline", baseline).with("candidate", candidate);
    let is_blind = baseline.min(candidate) == 0;
    Some(if is_blind { finding.with_severity(Severity::Incomplete).with("blind", "yes") } else { finding })
}

fn phases(steps: &[Vec<StepTimes>; 2]) -> Phases {
    let of = |phase: fn(&StepTimes) -> f64| {
        steps.each_ref().map(|steps| Number(median(&steps.iter().map(phase).collect::<Vec<f64>>())))
    };
    Phases {
        computing: of(|step| step.computing),
        communication: of(|step| step.communication),
        overlapped: of(|step| step.overlapped),
        free: of(|step| step.free),
    }
}

/// Writes the numbers into the unit.
fn describe(
    unit: &mut PerformanceUnit,
    measures: &RankMeasures,
    steps: &[Vec<StepTimes>; 2],
    source: TimeSource,
    repeats: Option<f64>,
) {
    let test = measures.test;
    unit.step_time = Some(StepTime {
        baseline: Number(test.baseline),
        candidate: Number(test.candidate),
        ratio: Number(test.ratio),
        noise: Number(test.noise),
        p: Number(test.p),
        source: match source {
            TimeSource::Kernels => StepTimeSource::Kernels,
            TimeSource::StepTable => StepTimeSource::StepTable,
        },
        repeats: repeats.map(Number),
    });
    unit.phases = Some(measures.phases.clone());
    let kept = steps.iter().map(Vec::len).max().unwrap_or(0).div_ceil(MOST_PERIODS).max(1);
    let thinned = |steps: &Vec<StepTimes>| {
        steps.iter().step_by(kept).map(|step| Period(step.step, Number(step.period))).collect::<Vec<_>>()
    };
    unit.periods = Some(steps.each_ref().map(thinned));
    let delta = test.delta();
    let times = |cost: &OperatorCost| OperatorTimes {
        name: cost.key.name.clone(),
        shapes: shortened(&cost.key.shapes),
        core: cost.key.core.clone(),
        count: cost.count.map(Number),
        total: cost.total.map(Number),
        contribution: Number(if delta == 0.0 { 0.0 } else { cost.growth() / delta }),
    };
    unit.operators = measures.costs.iter().take(MOST_OPERATORS).map(times).collect();
}

/// Counts the compared times. A phase that neither side has agrees trivially, and without a limit nothing is judged.
fn account(unit: &mut PerformanceUnit, measures: &RankMeasures, limits: RatioLimits) {
    let is_none = |phase: &Phase| measures.phases.pair_of_phase(*phase).iter().all(|time| time.abs() <= 0.0);
    let (is_judged, evidence) = (limits.warn.or(limits.fail).is_some(), &mut unit.evidence);
    evidence.not_compared = 0;
    if is_judged {
        (evidence.offered, evidence.compared) = (TIMES, TIMES);
        evidence.equal_trivially = Phase::ALL.iter().filter(|phase| is_none(phase)).count() as u64;
    } else {
        (evidence.offered, evidence.shown_only) = (0, TIMES);
    }
}

/// Finding about a step, or its computing, that takes less than a third of the baseline's time, so that less was computed.
fn too_good(unit: &PerformanceUnit, measures: &RankMeasures, limits: RatioLimits) -> Option<Finding> {
    limits.warn.or(limits.fail)?;
    let test = measures.test;
    // A step that mostly waits says too little about how much was computed.
    let computing = Some(measures.phases.pair_of_phase(Phase::Computing))
        .filter(|[before, _]| *before > LEAST_COMPUTING * test.baseline);
    let times = [Some([test.baseline, test.candidate]), computing];
    let [baseline, candidate] = times.into_iter().flatten().find(|[before, now]| *now < before / TOO_FAST)?;
    let finding = Finding::new(&TOO_GOOD, profile_place(unit.rank)).of_check(CheckId::Performance);
    let finding = finding.with("kind", if candidate < test.candidate { "computing" } else { "step" });
    Some(finding.with("value", candidate).with("reference", baseline))
}

fn shortened(shapes: &str) -> String {
    match shapes.char_indices().nth(MOST_SHAPES) {
        Some((end, _)) => format!("{}…", shapes.get(..end).unwrap_or_default()),
        None => shapes.to_owned(),
    }
}

/// Findings about the step time.
fn time(unit: &PerformanceUnit, measures: &RankMeasures, limits: RatioLimits, verdict: Verdict) -> Vec<Finding> {
    let (test, place) = (measures.test, profile_place(unit.rank));
    let with_times = |finding: Finding| {
        let [baseline, candidate] = unit.steps;
        finding
            .with("unit", place.as_str())
            .with("baseline", test.baseline)
            .with("candidate", test.candidate)
            .with("growth", test.ratio - 1.0)
            .with("noise", test.noise)
            .with("baseline_steps", baseline)
            .with("candidate_steps", candidate)
    };
    let mut findings = Vec::new();
    if verdict > Verdict::Pass {
        let severity = if verdict == Verdict::Fail { Severity::Fail } else { Severity::Warn };
        let limit = if verdict == Verdict::Fail { limits.fail } else { limits.warn };
        let finding = with_times(Finding::new(&rules::SLOWER, place.as_str())).with_severity(severity);
        let phase = measures.phases.grown_most();
        let share = measures.phases.growth(phase) / test.delta();
        let finding = finding.with("p", test.p).with("limit", limit.unwrap_or(f64::NAN) - 1.0);
        findings.push(finding.with("phase", phase.as_str()).with("share", share));
    }
    if unit.equal_hardware && test.is_faster() {
        findings.push(with_times(Finding::new(&rules::FASTER, place.as_str())));
    }
    if let Some(limit) = limits.fail.filter(|limit| (0.0..test.noise).contains(&(limit - 1.0))) {
        let finding = Finding::new(&rules::LIMIT_UNTESTABLE, place.as_str()).with("limit", limit - 1.0);
        findings.push(finding.with("noise", test.noise).with("smallest", limit - 1.0 + test.noise));
    }
    findings
}

/// Findings about single steps.
fn scatter(
    place: &str,
    steps: &[Vec<StepTimes>; 2],
    [baseline, candidate]: &[Vec<f64>; 2],
    verdict: Verdict,
) -> Option<Finding> {
    if baseline.len() >= FEW && candidate.len() >= FEW {
        if let Some(slope) = test::drift(baseline, candidate) {
            let ends = [candidate.first(), candidate.last()].map(|end| end.copied().unwrap_or_default());
            let finding = Finding::new(&rules::DRIFT, place).with("slope", slope).with("steps", candidate.len());
            return Some(finding.with("first", ends[0]).with("last", ends[1]));
        }
        if let Some([before, now]) = test::jitter(baseline, candidate) {
            return Some(Finding::new(&rules::JITTER, place).with("baseline", before).with("candidate", now));
        }
    }
    let spikes = test::spikes(candidate);
    let worst = spikes.iter().filter_map(|place| candidate.get(*place)).copied().fold(0.0, f64::max);
    if spikes.is_empty() || verdict > Verdict::Pass || candidate.len() < FEW {
        return None;
    }
    let number = |place: &usize| Some(steps.get(1)?.get(*place)?.step.to_string());
    let numbers: Vec<String> = spikes.iter().take(SHOWN).filter_map(number).collect();
    let finding = Finding::new(&rules::SPIKE, place).with("count", spikes.len()).with("steps", numbers);
    Some(finding.with("largest", worst).with("median", median(candidate)))
}

/// Finding about the peak memory.
fn memory(
    unit: &mut PerformanceUnit,
    (runs, measures): ([&ProfileRun; 2], &RankMeasures),
    place: &str,
    policy: &Policy,
) -> Option<Finding> {
    let [baseline, candidate] = unit.memory_peak.map(|peaks| peaks.map(|peak| peak.0))?;
    if baseline <= 0.0 {
        return None;
    }
    let limits = policy.performance.memory_peak;
    let (ratio, fail) = (candidate / baseline, limits.fail.map(|limit| limit.get()));
    let verdict = if fail.is_some_and(|fail| ratio > fail) {
        Verdict::Fail
    } else if ratio > limits.warn.get() {
        Verdict::Warn
    } else {
        Verdict::Pass
    };
    unit.rules.push(RuleOutcome::new("memory_peak", Some(ratio), (Some(limits.warn.get()), fail), verdict));
    let severity = match verdict {
        Verdict::Fail => Severity::Fail,
        Verdict::Warn => Severity::Warn,
        _ => return None,
    };
    let limit = if severity == Severity::Fail { fail } else { None }.unwrap_or(limits.warn.get());
    let finding = Finding::new(&rules::MEMORY_PEAK, place).with_severity(severity).with("growth", ratio - 1.0);
    let is_equal = |cost: &OperatorCost| (cost.count[0] - cost.count[1]).abs() < f64::EPSILON;
    let finding = finding.with("baseline", baseline).with("candidate", candidate).with("limit", limit - 1.0);
    let [baseline_run, candidate_run] = runs;
    let finding = match baseline_run.memory_least().zip(candidate_run.memory_least()) {
        Some((held, candidate_held)) => finding.with("held", held).with("candidate_held", candidate_held),
        None => finding,
    };
    Some(finding.with("same_kernels", u64::from(!measures.costs.is_empty() && measures.costs.iter().all(is_equal))))
}

/// Whether a step grew because the device waits for the host. Idle cores run at a lower clock.
fn waits_for_host(measures: &RankMeasures) -> bool {
    let (phases, test) = (&measures.phases, &measures.test);
    test.delta() > LEAST_WAIT * test.baseline && phases.grown_most() == Phase::Free
}

fn frequency(place: &str, [baseline, candidate]: [&ProfileRun; 2]) -> Option<Finding> {
    let (baseline_clock, candidate_clock) = (baseline.frequency()?, candidate.frequency()?);
    let is_low = candidate_clock < LEAST_CLOCK * baseline_clock;
    is_low.then(|| {
        let finding =
            Finding::new(&rules::FREQUENCY, place).with("baseline", baseline_clock).with("candidate", candidate_clock);
        finding.with("drop", 1.0 - candidate_clock / baseline_clock)
    })
}
