//! Profiles for documents: step times, phases, operators and ranks in words, the most important unit first.

use minijinja::{Value, context};
use serde::Serialize;

use super::messages::{duration, ratio, rounded, share_of_growth, signed_ratio};
use super::writer::{Writer, safe};
use crate::error::Result;
use crate::judge::performance::rules as performance_rules;
use crate::judge::rule::Rule;
use crate::result::GateResult;
use crate::result::finding::Finding;
use crate::result::number::Number;
use crate::result::unit::{OperatorTimes, PerformanceUnit, Phase, profiles};
use crate::verdict::{CheckId, Verdict};

/// Causes that a headline names, the most telling first.
const TELLING: [&Rule; 14] = [
    &performance_rules::SLOW_RANK,
    &performance_rules::FUSION_LOST,
    &performance_rules::AICPU,
    &performance_rules::FREQUENCY,
    &performance_rules::DTYPE_DIFFERS,
    &performance_rules::CONVERSIONS,
    &performance_rules::DATALOADING,
    &performance_rules::HOST_BOUND,
    &performance_rules::SLOW_LINK,
    &performance_rules::OVERLAP_LOST,
    &performance_rules::OPERATOR_CALLS,
    &performance_rules::COMMUNICATION,
    // A drift from step to step makes every operator slower, so that it explains more than a single operator does.
    &performance_rules::DRIFT,
    &performance_rules::OPERATOR_SLOWER,
];

/// Profiles for templates.
#[derive(Debug, Serialize)]
pub(crate) struct PerformanceView {
    /// One row per rank.
    pub ranks: Vec<RankRow>,
    /// The rank that `phases` and `operators` are about; null if a single process was recorded.
    pub rank: Option<u64>,
    /// Phases of that rank.
    pub phases: Vec<PhaseRow>,
    /// Its operators, the largest difference first.
    pub operators: Vec<OperatorRow>,
    /// A sentence about how its step time was measured; empty without a step time.
    pub note: Value,
}

/// The profile of a rank.
#[derive(Debug, Serialize)]
pub(crate) struct RankRow {
    /// The rank; null if a single process was recorded.
    pub rank: Option<u64>,
    /// Its verdict.
    pub verdict: Verdict,
    /// Number of judged steps of both sides.
    pub steps: [u64; 2],
    /// Step time of both sides; empty where none was judged.
    pub times: [Value; 2],
    /// Change of the step time with its sign; empty if no step was judged.
    pub change: Value,
    /// Noise of the step time; empty if no step was judged.
    pub noise: Value,
    /// Changes of computing, communication and waiting.
    pub phases: Vec<Value>,
}

/// A phase of a step.
#[derive(Debug, Serialize)]
pub(crate) struct PhaseRow {
    /// `computing`, `communication` or `free`.
    pub phase: Phase,
    /// Time of both sides.
    pub times: [Value; 2],
    /// Change with its sign.
    pub change: Value,
    /// Share in the step's change; empty if the step did not change.
    pub share: Value,
}

#[derive(Debug, Serialize)]
pub(crate) struct OperatorRow {
    /// Its name.
    pub name: String,
    /// Shapes of its inputs; empty where they are not known.
    pub shapes: String,
    /// Kind of core; empty where it is not known.
    pub core: String,
    /// Calls per step of both sides.
    pub counts: [Value; 2],
    /// Time per step of both sides.
    pub totals: [Value; 2],
    /// Time per call of both sides.
    pub means: [Value; 2],
    /// Share in the candidate's step.
    pub share: Value,
    /// Share in the step's change.
    pub contribution: Value,
}

/// Profiles as documents show them; `None` where there are none.
pub(super) fn view(result: &GateResult, writer: &Writer) -> Result<Option<PerformanceView>> {
    let Some(leading) = leading_unit(result) else { return Ok(None) };
    let note = match &leading.step_time {
        Some(time) => safe(writer.phrase(
            "performance_note",
            &context! {
                noise => time.noise.0, source => time.source.as_str(), repeats => time.repeats.is_some(),
                smallest => time.noise.0 + 0.1, steps => leading.steps,
                equal => leading.equal_hardware,
            },
        )?),
        None => Value::from(""),
    };
    Ok(Some(PerformanceView {
        ranks: profiles(&result.checks).map(rank_row).collect(),
        rank: leading.rank,
        phases: phase_rows(leading),
        operators: leading.operators.iter().map(|operator| operator_row(operator, leading)).collect(),
        note,
    }))
}

/// The unit that documents show first: that of the rank that the check names, otherwise the worst one, and of equally bad ones
/// the slowest.
pub(super) fn leading_unit(result: &GateResult) -> Option<&PerformanceUnit> {
    let named = result.checks.iter().find(|check| check.id == CheckId::Performance)?.culprit.as_ref();
    let of_culprit = named.and_then(|culprit| {
        let same = |unit: &&PerformanceUnit| unit.cause.as_ref() == Some(&culprit.cause);
        let of_rank = |unit: &&PerformanceUnit| culprit.rank.is_none() || unit.rank == culprit.rank;
        profiles(&result.checks).filter(same).find(of_rank)
    });
    let ratio = |unit: &PerformanceUnit| unit.step_time.as_ref().map_or(0.0, |time| time.ratio.0);
    let worse = |a: &'_ PerformanceUnit, b: &'_ PerformanceUnit| (b.verdict, ratio(b)) > (a.verdict, ratio(a));
    of_culprit.or_else(|| profiles(&result.checks).reduce(|a, b| if worse(a, b) { b } else { a }))
}

/// Whether a finding is about a profile.
pub(super) fn is_about_profile(finding: &Finding) -> bool {
    finding.check == CheckId::Performance
}

/// Findings that explain why a rank's step takes longer, the most informative first.
pub(super) fn growth_reasons<'a>(result: &'a GateResult, place: &str) -> Vec<&'a Finding> {
    let order = |finding: &Finding| TELLING.iter().position(|rule| finding.is(rule));
    let is_reason =
        |finding: &&Finding| is_about_profile(finding) && finding.place == place && order(finding).is_some();
    let mut reasons: Vec<&Finding> = result.findings.iter().filter(is_reason).collect();
    reasons.sort_by_key(|finding| order(finding));
    // A lower clock makes every operator slower; a few of them explain nothing more.
    if reasons.first().is_some_and(|first| first.is(&performance_rules::FREQUENCY)) {
        reasons.retain(|finding| !finding.is(&performance_rules::OPERATOR_SLOWER));
    }
    reasons
}

fn time(value: f64) -> Value {
    safe(duration(value))
}

fn signed(value: f64) -> Value {
    let sign = if value > 0.0 { "+" } else { "" };
    safe(format!("{sign}{}", duration(value)).replace('-', "−"))
}

/// A change in percent with its sign.
pub(super) fn change_text(ratio_of: f64) -> String {
    signed_ratio(ratio_of - 1.0)
}

fn rank_row(unit: &PerformanceUnit) -> RankRow {
    let none = || Value::from("");
    let judged = unit.step_time.as_ref();
    RankRow {
        rank: unit.rank,
        verdict: unit.verdict,
        steps: unit.steps,
        times: judged.map_or_else(|| [none(), none()], |judged| [time(judged.baseline.0), time(judged.candidate.0)]),
        change: judged.map_or_else(none, |judged| safe(change_text(judged.ratio.0))),
        noise: judged.map_or_else(none, |judged| safe(ratio(judged.noise.0, 2))),
        phases: unit.phases.iter().flat_map(|phases| Phase::ALL.map(|phase| signed(phases.growth(phase)))).collect(),
    }
}

fn phase_rows(unit: &PerformanceUnit) -> Vec<PhaseRow> {
    let (Some(phases), Some(judged)) = (&unit.phases, &unit.step_time) else { return Vec::new() };
    let delta = judged.candidate.0 - judged.baseline.0;
    let is_change = (judged.ratio.0 - 1.0).abs() > judged.noise.0;
    let row = |phase: Phase| PhaseRow {
        phase,
        times: phases.pair_of_phase(phase).map(time),
        change: signed(phases.growth(phase)),
        share: if is_change { part(phases.growth(phase) / delta) } else { Value::from("") },
    };
    Phase::ALL.map(row).into()
}

/// A part of a whole in percent.
fn part(value: f64) -> Value {
    safe(share_of_growth(value))
}

fn operator_row(operator: &OperatorTimes, unit: &PerformanceUnit) -> OperatorRow {
    let count = |count: Number| safe(rounded(count.0, 3));
    let mean = |side: usize| {
        let of = |pair: &[Number; 2]| pair.get(side).map_or(0.0, |number| number.0);
        let calls = of(&operator.count);
        if calls > 0.0 { time(of(&operator.total) / calls) } else { Value::from("") }
    };
    let step = unit.step_time.as_ref().map_or(f64::NAN, |judged| judged.candidate.0);
    let is_change = unit.step_time.as_ref().is_some_and(|judged| (judged.ratio.0 - 1.0).abs() > judged.noise.0);
    OperatorRow {
        name: operator.name.clone(),
        shapes: operator.shapes.clone(),
        core: operator.core.clone(),
        counts: operator.count.map(count),
        totals: operator.total.map(|total| time(total.0)),
        means: [mean(0), mean(1)],
        share: if step > 0.0 { safe(ratio(operator.total[1].0 / step, 2)) } else { Value::from("") },
        contribution: if is_change { part(operator.contribution.0) } else { Value::from("") },
    }
}
