//! The culprit over all ranks. Collectives make all ranks equally late, so the rank whose own time grew is named.

use super::causes::operators_adding_time;
use super::rank::JudgedRank;
use super::rules;
use crate::compare::performance::statistics::median;
use crate::judge::rule::Rule;
use crate::result::finding::Finding;
use crate::result::number::Number;
use crate::result::unit::{CheckCulprit, PerformanceCause, PerformanceUnit, Phase, profile_place};

/// Share of the growth by which a rank's own time has to exceed the others'.
const STANDS_OUT: f64 = 0.5;

/// A rank whose own time grew much more than that of the others, in microseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OutstandingRank {
    /// Index of the rank among the judged ones.
    pub place: usize,
    /// Growth of its computing and free time.
    pub own: f64,
    /// Median of the same growth over the other ranks.
    pub others: f64,
}

/// The rank whose own time grew by more than half of the step's growth above the median of the others.
pub(crate) fn outstanding_rank<'a>(units: impl Iterator<Item = &'a PerformanceUnit>) -> Option<OutstandingRank> {
    let own: Vec<(usize, f64, f64)> = units
        .enumerate()
        .filter_map(|(place, unit)| {
            let (phases, time) = (unit.phases.as_ref()?, unit.step_time.as_ref()?);
            let own = phases.growth(Phase::Computing) + phases.growth(Phase::Free);
            Some((place, own, time.candidate.0 - time.baseline.0))
        })
        .collect();
    let (place, most, delta) = own.iter().copied().reduce(|a, b| if b.1 > a.1 { b } else { a })?;
    let others: Vec<f64> = own.iter().filter(|(other, _, _)| *other != place).map(|(_, own, _)| *own).collect();
    if others.is_empty() || delta <= 0.0 {
        return None;
    }
    let others = median(&others);
    (most - others > STANDS_OUT * delta).then_some(OutstandingRank { place, own: most, others })
}

/// The culprit of the check, from the culprits of its units: the rank that stands out, else the worst one. The worst of several ranks is not
/// named.
pub(crate) fn check_culprit(units: &[&PerformanceUnit]) -> Option<CheckCulprit> {
    let standing = outstanding_rank(units.iter().copied()).map(|standing| standing.place);
    let order = |(place, unit): &(usize, &PerformanceUnit)| {
        let ratio = unit.step_time.as_ref().map_or(0.0, |time| time.ratio.0);
        (standing == Some(*place), unit.verdict, ratio)
    };
    let suspects = units.iter().copied().enumerate().filter(|(_, unit)| unit.culprit.is_some());
    let (place, unit) = suspects.reduce(|a, b| if order(&b) > order(&a) { b } else { a })?;
    let cause = unit.culprit.as_ref()?.performance.clone()?;
    Some(CheckCulprit { rank: unit.rank.filter(|_| units.len() <= 1 || standing == Some(place)), cause })
}

/// Finding about the rank that holds up the others, where at least two became slower.
pub(crate) fn slow_rank(judged: &[JudgedRank], standing: OutstandingRank) -> Option<Finding> {
    let slower = judged.iter().filter(|rank| has_finding(rank, &rules::SLOWER)).count();
    let rank = judged.get(standing.place)?;
    if slower < 2 {
        return None;
    }
    let phases = &rank.measures.as_ref()?.phases;
    let is_host = phases.growth(Phase::Free) > phases.growth(Phase::Computing);
    let finding = Finding::new(&rules::SLOW_RANK, profile_place(rank.unit.rank));
    let finding = finding.with("rank", rank.unit.rank.unwrap_or_default()).with("waiting", slower - 1);
    let finding = finding.with("own", standing.own).with("others", standing.others);
    let phase = if is_host { Phase::Free } else { Phase::Computing };
    let [before, now] = phases.pair_of_phase(phase);
    let finding = if before > 0.0 { finding.with("ratio", now / before) } else { finding };
    Some(finding.with("phase", phase.as_str()))
}

/// Whether a rank has a finding of `rule`.
pub(crate) fn has_finding(rank: &JudgedRank, rule: &Rule) -> bool {
    rank.findings.iter().any(|finding| finding.is(rule))
}

/// Phase and operators that made a rank slower; operators on the AI CPU where its step did not grow.
pub fn cause(rank: &JudgedRank, stands_out: bool) -> Option<PerformanceCause> {
    let measures = rank.measures.as_ref()?;
    let delta = measures.test.delta();
    if !has_finding(rank, &rules::SLOWER) {
        let aicpu = rank.findings.iter().find(|finding| finding.is(&rules::AICPU))?;
        let operators = match aicpu.facts.get("names") {
            Some(crate::result::finding::Fact::List(names)) => names.clone(),
            _ => Vec::new(),
        };
        return Some(PerformanceCause { phase: Phase::Computing, operators, share: None });
    }
    let mut phase = measures.phases.grown_most();
    // A rank that holds up the others does so by its own time, not by communication.
    if stands_out && phase == Phase::Communication {
        let is_host = measures.phases.growth(Phase::Free) > measures.phases.growth(Phase::Computing);
        phase = if is_host { Phase::Free } else { Phase::Computing };
    }
    let share = measures.phases.growth(phase) / delta;
    Some(PerformanceCause { phase, operators: operators_adding_time(measures, phase), share: Some(Number(share)) })
}
