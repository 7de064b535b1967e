//! Causes of a longer step: operators, phases and their reasons.

use std::collections::BTreeMap;

use super::kinds::{AICPU, is_conversion, is_fused};
use super::rank::RankMeasures;
use super::rules;
use crate::compare::performance::cost::{OperatorCost, PairedBy, is_communication};
use crate::compare::performance::run::ProfileRun;
use crate::judge::rule::Rule;
use crate::read::performance::OperatorKey;
use crate::result::finding::Finding;
use crate::result::unit::Phase;
use crate::verdict::Side;

/// Share of a step below which an operator is not reported.
const SMALL: f64 = 0.01;
/// Share of a step above which conversions are reported.
const MUCH_CONVERTED: f64 = 0.02;
/// Share of the growth above which an operator is a cause.
const CONTRIBUTES: f64 = 0.10;
/// Least relative growth of such an operator.
const GROWN: f64 = 0.05;
/// Ratio of calls above which more calls are a cause.
const MORE_CALLS: f64 = 1.2;
/// Least relative growth of an operator's slowest call that is told where its fastest one stays the same.
const SOME_SLOWER: f64 = 0.2;
/// Most names that a finding lists.
const SHOWN: usize = 5;
/// Least growth factor of the transit time per call that points to a slow link.
const SLOW_LINK: f64 = 1.5;
/// Most growth of the waiting time, relative to the growth of the transit time.
const WAITING: f64 = 0.25;

/// Calls and total time of an operator type over all shapes, for baseline and candidate.
#[derive(Clone, Copy, Debug, Default)]
struct TypeCost {
    count: [f64; 2],
    total: [f64; 2],
}

impl TypeCost {
    fn growth(&self) -> f64 {
        self.total[1] - self.total[0]
    }

    fn is_only_on(&self, side: usize) -> bool {
        let there = |side: usize| self.count.get(side).is_some_and(|count| *count > 0.0);
        there(side) && !there(1 - side)
    }
}

/// Costs by type of operator.
struct Types<'a>(BTreeMap<&'a str, TypeCost>);

impl<'a> Types<'a> {
    fn of(costs: &'a [OperatorCost], is_counted: impl Fn(&OperatorCost) -> bool) -> Self {
        let mut types: BTreeMap<&str, TypeCost> = BTreeMap::new();
        for cost in costs.iter().filter(|cost| is_counted(cost)) {
            let sum = types.entry(&cost.key.name).or_default();
            for side in 0..2_usize {
                let pair = |of: &[f64; 2]| of.get(side).copied().unwrap_or(0.0);
                if let (Some(count), Some(total)) = (sum.count.get_mut(side), sum.total.get_mut(side)) {
                    *count += pair(&cost.count);
                    *total += pair(&cost.total);
                }
            }
        }
        Self(types)
    }

    /// Types for which `fits` is true, the largest change first.
    fn picked(&self, fits: impl Fn(&str, &TypeCost) -> bool) -> Vec<(&'a str, TypeCost)> {
        let mut picked: Vec<(&str, TypeCost)> =
            self.0.iter().filter(|(name, cost)| fits(name, cost)).map(|(name, cost)| (*name, *cost)).collect();
        picked.sort_by(|a, b| b.1.growth().abs().total_cmp(&a.1.growth().abs()).then_with(|| a.0.cmp(b.0)));
        picked
    }
}

/// Names of a finding with their calls: `FlashAttentionScore (1 → 0)`.
fn with_calls(types: &[(&str, TypeCost)]) -> Vec<String> {
    types.iter().take(SHOWN).map(|(name, cost)| format!("{name} ({} → {})", cost.count[0], cost.count[1])).collect()
}

fn names(types: &[(&str, TypeCost)]) -> Vec<String> {
    types.iter().take(SHOWN).map(|(name, _)| (*name).to_owned()).collect()
}

fn sum(types: &[(&str, TypeCost)], of: impl Fn(&TypeCost) -> f64) -> f64 {
    types.iter().map(|(_, cost)| of(cost)).sum()
}

/// Findings about operators of a rank on equal hardware, whatever the step time: the AI CPU, fused operators that are gone,
/// conversions, new and lost types.
pub(crate) fn operator_findings(place: &str, measures: &RankMeasures) -> Vec<Finding> {
    if measures.paired_by == PairedBy::Operator {
        return Vec::new();
    }
    let RankMeasures { costs, test, .. } = measures;
    let mut told: Vec<String> = Vec::new();
    let mut findings = Vec::new();
    let mut tell = |rule: &Rule, types: &[(&str, TypeCost)]| {
        told.extend(types.iter().map(|(name, _)| (*name).to_owned()));
        let finding = Finding::new(rule, place).with("count", types.len()).with("names", names(types));
        finding.with("calls", with_calls(types)).with("growth", sum(types, TypeCost::growth))
    };
    let on_processor = Types::of(costs, |cost| AICPU.contains(&cost.key.core.as_str()));
    let more = on_processor.picked(|_, cost| cost.count[1] > cost.count[0]);
    if !more.is_empty() {
        let time = sum(&more, |cost| cost.total[1]);
        findings.push(tell(&rules::AICPU, &more).with("unit", place).with("time", time));
    }
    let types = Types::of(costs, |cost| !is_communication(cost) && !AICPU.contains(&cost.key.core.as_str()));
    let lost = types
        .picked(|name, cost| is_fused(name) && cost.count[1] < cost.count[0] && -cost.growth() > SMALL * test.baseline);
    let parts = types.picked(|name, cost| !is_fused(name) && cost.count[1] > cost.count[0] && cost.growth() > 0.0);
    if !lost.is_empty() && !parts.is_empty() {
        let calls = sum(&parts, |cost| cost.count[1] - cost.count[0]);
        tell(&rules::OPERATOR_NEW, &parts);
        let finding = tell(&rules::FUSION_LOST, &lost).with("parts", names(&parts)).with("part_calls", calls);
        findings
            .push(finding.with("gained", sum(&parts, TypeCost::growth)).with("spared", -sum(&lost, TypeCost::growth)));
    }
    let converted = types.picked(|name, cost| is_conversion(name) && cost.count[1] > cost.count[0]);
    if sum(&converted, TypeCost::growth) > MUCH_CONVERTED * test.baseline {
        let share = sum(&converted, TypeCost::growth) / test.baseline;
        findings.push(tell(&rules::CONVERSIONS, &converted).with("share", share));
    }
    findings.extend(other_dtype(place, costs));
    for (rule, side, step) in [(&rules::OPERATOR_NEW, 1, test.candidate), (&rules::OPERATOR_LOST, 0, test.baseline)] {
        let only = types.picked(|name, cost| {
            cost.is_only_on(side) && cost.growth().abs() > SMALL * step && !told.iter().any(|told| told == name)
        });
        if !only.is_empty() {
            let finding = Finding::new(rule, place).with("count", only.len()).with("names", names(&only));
            findings.push(finding.with("share", sum(&only, |cost| cost.growth().abs()) / step));
        }
    }
    findings
}

/// Finding about operators of the same shapes whose element types differ between the sides, such as a fallback to fp32.
fn other_dtype(place: &str, costs: &[OperatorCost]) -> Option<Finding> {
    let alone = |side: usize| {
        let of_side =
            costs.iter().filter(move |cost| cost.is_on(side) && !cost.is_on(1 - side) && !is_communication(cost));
        of_side.filter(|cost| !cost.key.shapes.is_empty() && !cost.key.dtypes.is_empty())
    };
    let baseline: BTreeMap<(&str, &str), &OperatorCost> =
        alone(0).map(|cost| ((cost.key.name.as_str(), cost.key.shapes.as_str()), cost)).collect();
    let mut pairs: Vec<(&OperatorCost, &OperatorCost)> = alone(1)
        .filter_map(|cost| Some((*baseline.get(&(cost.key.name.as_str(), cost.key.shapes.as_str()))?, cost)))
        .filter(|(baseline, candidate)| !baseline.key.dtypes.eq_ignore_ascii_case(&candidate.key.dtypes))
        .collect();
    let growth = |(baseline, candidate): &(&OperatorCost, &OperatorCost)| candidate.total[1] - baseline.total[0];
    pairs.sort_by(|a, b| growth(b).total_cmp(&growth(a)).then_with(|| a.1.key.cmp(&b.1.key)));
    let (first_baseline, first) = pairs.first()?;
    let described = |(_, cost): &(&OperatorCost, &OperatorCost)| described(cost);
    let finding = Finding::new(&rules::DTYPE_DIFFERS, place).with("name", first.key.name.as_str());
    let finding =
        finding.with("baseline", first_baseline.key.dtypes.as_str()).with("candidate", first.key.dtypes.as_str());
    let finding = finding.with("count", pairs.len()).with("growth", pairs.iter().map(growth).sum::<f64>());
    Some(finding.with("names", pairs.iter().take(SHOWN).map(described).collect::<Vec<String>>()))
}

/// Finding about operator types that run more often than before and thereby add time.
fn more_calls(place: &str, measures: &RankMeasures) -> Option<Finding> {
    let delta = measures.test.delta();
    let types = Types::of(&measures.costs, |_| true);
    let more = types.picked(|_, cost| {
        let [before, now] = cost.count;
        before >= 0.5 && now > MORE_CALLS * before && cost.growth() > CONTRIBUTES * delta
    });
    let (name, first) = more.first()?;
    let finding = Finding::new(&rules::OPERATOR_CALLS, place).with("name", *name).with("count", more.len());
    let finding = finding.with("baseline", first.count[0]).with("candidate", first.count[1]);
    let finding = finding.with("ratio", first.count[1] / first.count[0]).with("calls", with_calls(&more));
    Some(finding.with("share", sum(&more, TypeCost::growth) / delta))
}

/// Findings about the reasons why a step grew on equal hardware.
pub(crate) fn growth_findings(place: &str, runs: [&ProfileRun; 2], measures: &RankMeasures) -> Vec<Finding> {
    let mut findings: Vec<Finding> = slower_operators(place, runs, measures).into_iter().collect();
    findings.extend(more_calls(place, measures));
    let (phases, delta) = (&measures.phases, measures.test.delta());
    let phase = phases.grown_most();
    let growth = phases.growth(phase);
    let with_growth = |rule: &Rule| {
        let [baseline, candidate] = phases.pair_of_phase(phase);
        let finding = Finding::new(rule, place).with("baseline", baseline).with("candidate", candidate);
        finding.with("share", growth / delta)
    };
    match phase {
        Phase::Computing => {}
        Phase::Free => findings.push(match loading(runs).filter(|[before, now]| now - before > growth / 2.0) {
            Some([before, now]) => with_growth(&rules::DATALOADING).with("loading_before", before).with("loading", now),
            None => with_gaps(with_growth(&rules::HOST_BOUND), runs),
        }),
        Phase::Communication => {
            findings.push(with_growth(&rules::COMMUNICATION));
            findings.extend(overlap_lost(place, measures));
            findings.extend(slow_link(place, runs));
        }
    }
    findings
}

/// Adds how many gaps of what length the time is made of: many short ones are slow launches, few long ones calls that synchronise.
fn with_gaps(finding: Finding, [baseline, candidate]: [&ProfileRun; 2]) -> Finding {
    let Some((before, now)) = baseline.gaps().zip(candidate.gaps()) else { return finding };
    finding.with("gaps_before", before.per_step).with("gaps", now.per_step).with("gap", now.median)
}

fn loading([baseline, candidate]: [&ProfileRun; 2]) -> Option<[f64; 2]> {
    Some([baseline.loading_time().unwrap_or(0.0), candidate.loading_time()?])
}

/// An operator with its shapes, at most 120 characters.
fn described(cost: &OperatorCost) -> String {
    let shapes = if cost.key.shapes.is_empty() { String::new() } else { format!(" {}", cost.key.shapes) };
    format!("{}{shapes}", cost.key.name).chars().take(120).collect()
}

/// Finding about operators that take longer for the same calls.
fn slower_operators(place: &str, runs: [&ProfileRun; 2], measures: &RankMeasures) -> Option<Finding> {
    let delta = measures.test.delta();
    let is_slower = |cost: &&OperatorCost| {
        let [before, now] = cost.count;
        !is_communication(cost)
            && before > 0.0
            && (before - now).abs() < 0.5
            && cost.growth() > CONTRIBUTES * delta
            && cost.growth() > GROWN * cost.total[0]
    };
    let slower: Vec<&OperatorCost> = measures.costs.iter().filter(is_slower).collect();
    let first = slower.first()?;
    let growth: f64 = slower.iter().map(|cost| cost.growth()).sum();
    let before: f64 = slower.iter().map(|cost| cost.total[0]).sum();
    let finding = Finding::new(&rules::OPERATOR_SLOWER, place).with("name", first.key.name.as_str());
    let finding = finding.with("count", slower.len()).with("ratio", growth / before).with("share", growth / delta);
    let finding = finding.with("names", slower.iter().take(SHOWN).map(|cost| described(cost)).collect::<Vec<String>>());
    let finding = with_shapes(finding, runs, measures.paired_by == PairedBy::Shapes);
    Some(match fastest_and_slowest(runs, &first.key).filter(|_| slower.len() == 1) {
        Some([fastest, slowest]) => finding
            .with("fastest_baseline", fastest[0])
            .with("fastest_candidate", fastest[1])
            .with("slowest_baseline", slowest[0])
            .with("slowest_candidate", slowest[1]),
        None => finding,
    })
}

/// Adds whether the calls of both sides were paired by their shapes; otherwise the side whose kernels have shapes, if one has.
fn with_shapes(finding: Finding, runs: [&ProfileRun; 2], is_by_shapes: bool) -> Finding {
    let sides = [Side::Candidate, Side::Baseline].into_iter().zip([runs[1], runs[0]]);
    let with_shapes = sides.filter(|(_, run)| run.has_shapes()).map(|(side, _)| side).next();
    let finding = finding.with("same_shapes", u64::from(is_by_shapes));
    match with_shapes {
        Some(side) => finding.with("side", side.as_str()),
        None => finding,
    }
}

/// Times of the fastest and of the slowest call of an operator on both sides, where only the slowest calls take longer; `None` where all
/// do, or no table says so.
fn fastest_and_slowest(runs: [&ProfileRun; 2], key: &OperatorKey) -> Option<[[f64; 2]; 2]> {
    let of = |run: &ProfileRun| {
        let totals = run.recordings.iter().flat_map(|recording| &recording.profile.totals);
        let own = totals.filter(|total| total.name == key.name && total.core == key.core);
        own.map(|total| total.extremes).reduce(|one, other| {
            let ([low, high], [other_low, other_high]) = (one?, other?);
            Some([low.min(other_low), high.max(other_high)])
        })?
    };
    let ([low, high], [low_now, high_now]) = (of(runs[0])?, of(runs[1])?);
    let is_some_slower = low > 0.0 && low_now <= low * (1.0 + GROWN) && high_now > high * (1.0 + SOME_SLOWER);
    is_some_slower.then_some([[low, low_now], [high, high_now]])
}

/// Finding about communication that no longer overlaps with computing.
fn overlap_lost(place: &str, measures: &RankMeasures) -> Option<Finding> {
    let (phases, delta) = (&measures.phases, measures.test.delta());
    let [before, now] = phases.overlapped.map(|number| number.0);
    let whole = |side: usize| -> Option<f64> {
        Some(phases.overlapped.get(side)?.0 + phases.pair_of_phase(Phase::Communication).get(side)?)
    };
    let grown = whole(1)? - whole(0)?;
    let is_lost = before - now > delta / 2.0 && grown < delta / 2.0 && phases.growth(Phase::Computing) < delta / 4.0;
    is_lost.then(|| Finding::new(&rules::OVERLAP_LOST, place).with("baseline", before).with("candidate", now))
}

/// Finding about a collective that moves its data more slowly while no rank waits longer.
#[allow(clippy::cast_precision_loss, reason = "numbers of calls")]
fn slow_link(place: &str, [baseline, candidate]: [&ProfileRun; 2]) -> Option<Finding> {
    let (baseline_collectives, candidate_collectives) = (baseline.communication(), candidate.communication());
    let slow = candidate_collectives.iter().filter_map(|(name, now)| {
        let before = baseline_collectives.get(name).filter(|before| before.count > 0 && now.count > 0)?;
        let per_step = |count: u64, run: &ProfileRun| count as f64 / run.step_count() as f64;
        let calls = [per_step(before.count, baseline), per_step(now.count, candidate)];
        let [transit_before, transit] = [before.transit / before.count as f64, now.transit / now.count as f64];
        let waited = now.wait / now.count as f64 - before.wait / before.count as f64;
        let is_slow = transit >= SLOW_LINK * transit_before
            && transit_before > 0.0
            && waited <= WAITING * (transit - transit_before)
            && (calls[0] - calls[1]).abs() < 0.5;
        is_slow.then_some((*name, transit_before, transit, now.transit))
    });
    let (name, before, now, _) = slow.max_by(|a, b| a.3.total_cmp(&b.3))?;
    let finding = Finding::new(&rules::SLOW_LINK, place).with("name", name).with("ratio", now / before);
    Some(finding.with("baseline", before * 1000.0).with("candidate", now * 1000.0))
}

/// Names of operators that add time in `phase`, the largest first: collectives for communication, other operators for computing, none for
/// free time. The costs may come from any pairing.
pub(crate) fn operators_adding_time(measures: &RankMeasures, phase: Phase) -> Vec<String> {
    let delta = measures.test.delta().max(0.0);
    let types = Types::of(&measures.costs, |cost| is_communication(cost) == (phase == Phase::Communication));
    let mut adding = match phase {
        Phase::Free => Vec::new(),
        Phase::Computing => types.picked(|_, cost| cost.growth() > GROWN * delta && cost.growth() > 0.0),
        Phase::Communication => types.picked(|_, cost| cost.count[1] > 0.0),
    };
    adding.sort_by(|a, b| b.1.growth().total_cmp(&a.1.growth()).then_with(|| a.0.cmp(b.0)));
    names(&adding)
}
