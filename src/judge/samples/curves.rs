//! Curves of several runs. Each run gives one number per rule, over the steps that all runs have in common.

use std::collections::BTreeMap;

use super::decide::{self, DecidedRule, NumberScale, RuleNumbers, RunNumbers, SampleSetting};
use super::rules;
use super::runs::SampleRuns;
use crate::compare::curve::CurvePoint;
use crate::compare::curve::numbers::{best_value, mean_level, spike_count, step_spread, steps_to, tail_mean};
use crate::compare::significance::rates::fisher;
use crate::judge::loss::code;
use crate::judge::loss::secondary_metrics::{SCHEDULE, schedule_difference};
use crate::kind::{Better, Role, curve_name};
use crate::median::midpoint_median;
use crate::policy::samples::Pair;
use crate::read::curve::series::Series;
use crate::read::metric;
use crate::result::finding::Finding;
use crate::result::unit::{Evidence, SampleSteps, SampleUnit, Seeds};
use crate::verdict::{PerSide, Severity, Side, Verdict};

/// Fewest steps of a training loss for rules about its scatter and its tail.
const LEAST_STEPS: usize = 20;
/// Fewest evaluations for rules about the tail and the best value.
const LEAST_EVALUATIONS: usize = 3;
/// Share of its side's median number of steps below which a run is too short.
const SHORT: f64 = 0.5;

/// A metric with its curve in each run.
#[derive(Debug)]
pub struct MetricCurves<'s> {
    /// Canonical name.
    pub metric: String,
    /// Rank that logged it; `None` where ranks are not told apart.
    pub rank: Option<u64>,
    /// Role.
    pub role: Role,
    /// Curves of the baseline's and the candidate's runs, in the order of the runs.
    pub of_runs: PerSide<Vec<Option<&'s Series>>>,
}

/// A metric before its rules are tested.
#[derive(Debug)]
pub struct PreparedMetric {
    unit: SampleUnit,
    numbers: Vec<RuleNumbers>,
    findings: Vec<Finding>,
}

/// A judged metric.
#[derive(Debug)]
pub struct JudgedSample {
    /// The unit, without a verdict.
    pub unit: SampleUnit,
    /// Findings about it.
    pub findings: Vec<Finding>,
}

/// Whether a metric with this role is judged over several runs.
pub fn is_judged(role: Role, is_equal_hardware: bool) -> bool {
    match role {
        Role::Loss | Role::AuxiliaryLoss | Role::EvalLoss | Role::EvalScore | Role::GradNorm => true,
        Role::Throughput | Role::Time => is_equal_hardware,
        _ => false,
    }
}

/// Finite values of a curve.
fn values_of(series: &Series) -> Vec<f64> {
    series.values.iter().copied().filter(|value| value.is_finite()).collect()
}

/// Finite points of a curve.
fn finite(series: &Series) -> impl Iterator<Item = (u64, f64)> + '_ {
    series.points().filter(|(_, value)| value.is_finite())
}

/// Computes one number per run for each rule of a metric.
pub fn prepare(curves: &MetricCurves<'_>, runs: &SampleRuns, setting: SampleSetting<'_>) -> PreparedMetric {
    let place = curve_name(&curves.metric, curves.rank);
    let of_runs = PerSide::of(|side| curves.of_runs[side].iter().map(Option::is_some).collect());
    let mut findings = runs.missing_metric_findings(&place, &of_runs);
    let is_speed = matches!(curves.role, Role::Throughput | Role::Time);
    let is_broken = |series: &Series| !is_speed && series.values.iter().any(|value| !value.is_finite());
    let broken = PerSide::of(|side| places(&curves.of_runs[side], is_broken));
    findings.extend(non_finite(&broken, curves, runs, &place, setting));
    let medians = PerSide::of(|side| {
        let lengths: Vec<f64> = sound(curves, side, &broken[side]).map(|(_, series)| length(series)).collect();
        midpoint_median(lengths).unwrap_or(0.0)
    });
    let short = PerSide::of(|side| {
        let is_short = |series: &Series| length(series) < SHORT * medians[side];
        if is_speed {
            Vec::new()
        } else {
            places(&curves.of_runs[side], |series| !is_broken(series) && is_short(series))
        }
    });
    findings.extend(Side::BOTH.into_iter().flat_map(|side| of_short(side, &short[side], runs, &place)));
    let left: PerSide<Vec<(usize, &Series)>> = PerSide::of(|side| {
        let is_in = |(place, _): &(usize, &Series)| !short[side].contains(place);
        sound(curves, side, &broken[side]).filter(is_in).collect()
    });
    let common = common(&left);
    let numbers = match common.is_empty() && !is_speed {
        true => Vec::new(),
        false => numbers(curves, &left, &common, setting),
    };
    findings.extend(no_common_steps(&left, &place).filter(|_| common.is_empty() && !is_speed));
    findings.extend(outliers(&numbers, runs, &place, setting));
    let [n, m] = PerSide::of(|side| left[side].len() as u64).into_array();
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of steps")]
    let steps = PerSide::of(|side| medians[side] as u64);
    let unit = SampleUnit {
        metric: curves.metric.clone(),
        n,
        m,
        seeds: if runs.pairs.is_empty() { Seeds::Own } else { Seeds::Paired },
        task: None,
        filter: None,
        role: Some(curves.role),
        rank: curves.rank,
        steps: Some(SampleSteps { common: common.len() as u64, baseline: steps.baseline, candidate: steps.candidate }),
        verdict: Verdict::Skipped,
        evidence: account(curves, &broken, &short),
        rules: Vec::new(),
    };
    PreparedMetric { unit, numbers, findings }
}

/// Finding that the runs have no step in common, with the first step of each side.
fn no_common_steps(left: &PerSide<Vec<(usize, &Series)>>, place: &str) -> Option<Finding> {
    let first = |side: Side| left[side].first().map(|(_, series)| series.steps.get(0).unwrap_or_default());
    let finding = Finding::new(&rules::NO_COMMON_STEPS, place).with("baseline", first(Side::Baseline)?);
    Some(finding.with("candidate", first(Side::Candidate)?))
}

/// Findings about runs whose level lies outside of the prediction interval of the others.
fn outliers(numbers: &[RuleNumbers], runs: &SampleRuns, place: &str, setting: SampleSetting<'_>) -> Vec<Finding> {
    let Some(level) = numbers.iter().find(|numbers| numbers.is_main) else { return Vec::new() };
    let total = level.of_runs.each().flatten().flatten().count();
    let told = |(side, severity): (Side, Severity)| {
        let outside = decide::outliers(&level.of_runs[side], setting.policy.alpha.get(), total);
        let finding = Finding::new(&rules::OUTLIER, place).with_severity(severity).with("side", side.as_str());
        (!outside.is_empty()).then(|| finding.with("runs", runs.names(side, &outside)))
    };
    [(Side::Baseline, Severity::Info), (Side::Candidate, Severity::Warn)].into_iter().filter_map(told).collect()
}

#[allow(clippy::cast_precision_loss, reason = "a count of steps")]
fn length(series: &Series) -> f64 {
    series.values.len() as f64
}

fn places(side: &[Option<&Series>], is_one: impl Fn(&Series) -> bool) -> Vec<usize> {
    side.iter().enumerate().filter(|(_, series)| series.is_some_and(&is_one)).map(|(place, _)| place).collect()
}

fn sound<'c, 's>(
    curves: &'c MetricCurves<'s>,
    side: Side,
    broken: &'c [usize],
) -> impl Iterator<Item = (usize, &'s Series)> + 'c {
    let there = curves.of_runs[side].iter().enumerate().filter_map(|(place, series)| Some((place, (*series)?)));
    there.filter(move |(place, _)| !broken.contains(place))
}

/// Finding about runs with NaN or infinity. Their rates are compared, since no shift can be.
fn non_finite(
    broken: &PerSide<Vec<usize>>,
    curves: &MetricCurves<'_>,
    runs: &SampleRuns,
    place: &str,
    setting: SampleSetting<'_>,
) -> Option<Finding> {
    let [baseline, candidate] = [broken.baseline.len(), broken.candidate.len()];
    let [n, m] = PerSide::of(|side| curves.of_runs[side].iter().flatten().count()).into_array();
    if candidate == 0 && baseline == 0 {
        return None;
    }
    let side = if candidate > 0 { Side::Candidate } else { Side::Baseline };
    let is_fail =
        candidate > 0 && (baseline == 0 || fisher([baseline, candidate], [n, m]) <= setting.policy.alpha.get());
    let rule = if candidate == 0 { &code::NON_FINITE_BASELINE } else { &code::NON_FINITE };
    let finding = Finding::new(rule, place).with_severity(if is_fail { Severity::Fail } else { Severity::Warn });
    let first = |side: Side| {
        let series = broken[side].iter().filter_map(|place| curves.of_runs[side].get(*place).copied().flatten());
        series.filter_map(|series| series.points().find(|(_, value)| !value.is_finite())).map(|(step, _)| step).min()
    };
    let finding = finding.with("count", candidate.max(baseline)).with("of", if candidate > 0 { m } else { n });
    let finding = finding.with("step", first(side).unwrap_or_default());
    let finding = finding.with("in_baseline", baseline).with("of_baseline", n);
    Some(finding.with("runs", runs.names(side, &broken[side])))
}

fn of_short(side: Side, short: &[usize], runs: &SampleRuns, place: &str) -> Option<Finding> {
    let severity = if side == Side::Baseline { Severity::Warn } else { Severity::Incomplete };
    let finding = || Finding::new(&rules::RUN_SHORT, place).with_severity(severity).with("side", side.as_str());
    (!short.is_empty()).then(|| finding().with("runs", runs.names(side, short)))
}

fn account(curves: &MetricCurves<'_>, broken: &PerSide<Vec<usize>>, short: &PerSide<Vec<usize>>) -> Evidence {
    let count = |lists: &PerSide<Vec<usize>>| lists.each().map(Vec::len).sum::<usize>() as u64;
    let there = curves.of_runs.each().flatten().filter(|series| series.is_some()).count() as u64;
    let left = there - count(broken) - count(short);
    let values = curves.of_runs.each().flatten().flatten().flat_map(|series| series.values.iter());
    let mut values = values.copied();
    let first = values.next().unwrap_or_default();
    let is_trivial = values.all(|value| value.to_bits() == first.to_bits());
    let equal_trivially = if is_trivial { left } else { 0 };
    Evidence { offered: there, compared: left, equal_trivially, not_compared: there - left, ..Evidence::default() }
}

/// Steps that all runs have with a finite value.
fn common(left: &PerSide<Vec<(usize, &Series)>>) -> Vec<u64> {
    let mut runs = left.each().flatten().map(|(_, series)| finite(series).map(|(step, _)| step));
    let mut steps: Vec<u64> = runs.next().into_iter().flatten().collect();
    for run in runs {
        let mut own = run.peekable();
        steps.retain(|step| {
            while own.next_if(|own| own < step).is_some() {}
            own.peek() == Some(step)
        });
    }
    steps
}

/// Values of a curve at `steps`, all of which it has.
fn at(series: &Series, steps: &[u64]) -> Vec<f64> {
    let mut wanted = steps.iter().peekable();
    let at_wanted = finite(series).filter(|(step, _)| wanted.next_if(|wanted| *wanted == step).is_some());
    at_wanted.map(|(_, value)| value).collect()
}

/// One number per run for each rule of the metric.
fn numbers(
    curves: &MetricCurves<'_>,
    left: &PerSide<Vec<(usize, &Series)>>,
    steps: &[u64],
    setting: SampleSetting<'_>,
) -> Vec<RuleNumbers> {
    let is_evaluation = matches!(curves.role, Role::EvalLoss | Role::EvalScore);
    let better = metric::better_direction(&curves.metric, curves.role);
    let of_score = better.filter(|_| curves.role == Role::EvalScore);
    // Values are collected anew for each run and rule, since those of all runs may not fit into memory.
    let of = |number: &dyn Fn(&[f64]) -> Option<f64>| {
        PerSide::of(|side| {
            let mut numbers = vec![None; curves.of_runs[side].len()];
            for (place, series) in &left[side] {
                if let Some(slot) = numbers.get_mut(*place) {
                    *slot = number(&at(series, steps));
                }
            }
            numbers
        })
    };
    // Positive values count by their logarithm, so that every step has the same weight, however high the curve is there.
    let is_positive = left.each().flatten().all(|(_, series)| at(series, steps).iter().all(|value| *value > 0.0));
    let of_logarithms = |number: &dyn Fn(&[f64]) -> Option<f64>| {
        let seen = |values: &[f64]| values.iter().map(|value| value.ln()).collect::<Vec<_>>();
        of(&|values| if is_positive { number(&seen(values)).map(f64::exp) } else { number(values) })
    };
    let effect = |rule: &str, usual: f64| setting.policy.effect.effect_of(&curves.metric, rule).unwrap_or(usual);
    let rule = |rule: &'static str, usual: f64, of_runs: RunNumbers| RuleNumbers {
        rule,
        of_runs,
        scale: NumberScale::Relative,
        matters: effect(rule, usual),
        better: of_score,
        is_main: false,
        target: None,
    };
    let mut found = Vec::new();
    match curves.role {
        Role::GradNorm => found.push(RuleNumbers {
            is_main: true,
            ..rule("grad_norm", 0.1, of(&|values| midpoint_median(values.to_vec())))
        }),
        Role::Throughput | Role::Time => {
            let speeds = PerSide::of(|side| {
                let series = curves.of_runs[side].iter();
                series.map(|series| midpoint_median(values_of((*series)?))).collect()
            });
            found.push(RuleNumbers { is_main: true, better, ..rule("speed", 0.05, speeds) });
        }
        _ => {
            found.push(RuleNumbers { is_main: true, ..rule("level", 0.005, of_logarithms(&mean_level)) });
            let is_long = if is_evaluation { steps.len() >= LEAST_EVALUATIONS } else { steps.len() >= LEAST_STEPS };
            if is_long && (is_evaluation || curves.role == Role::Loss) {
                found.push(rule("tail", 0.005, of_logarithms(&|values| tail_mean(values, is_evaluation))));
            }
            if let Some(direction) = better.filter(|_| is_long && is_evaluation) {
                found.push(rule("best", 0.005, of(&|values| best_value(values, direction))));
                found.extend(to_target(curves, left, direction, setting).map(|(of_runs, target)| RuleNumbers {
                    better: Some(Better::Lower),
                    target: Some(target),
                    ..rule("steps_to_target", 0.05, of_runs)
                }));
            }
            if is_long && curves.role == Role::Loss {
                found.push(RuleNumbers { better: Some(Better::Lower), ..rule("spread", 0.25, of(&step_spread)) });
                let scale = NumberScale::Count;
                found.push(RuleNumbers {
                    better: Some(Better::Lower),
                    scale,
                    ..rule("spikes", 0.5, of(&|values| Some(spike_count(values))))
                });
            }
        }
    }
    found
}

/// The first step at which each run reaches a target, and the target with whether the policy declares it. Without a declared one the target
/// is the hardest value that every run reaches.
#[allow(clippy::cast_precision_loss, reason = "steps are far below 2^53")]
fn to_target(
    curves: &MetricCurves<'_>,
    left: &PerSide<Vec<(usize, &Series)>>,
    better: Better,
    setting: SampleSetting<'_>,
) -> Option<(RunNumbers, (f64, bool))> {
    let declared = setting.policy.target.get(&curves.metric).copied();
    let bests = left.each().flatten().filter_map(|(_, series)| best_value(&values_of(series), better));
    let hardest = match better {
        Better::Lower => bests.max_by(f64::total_cmp),
        Better::Higher => bests.min_by(f64::total_cmp),
    };
    let target = declared.or(hardest)?;
    let of_runs = PerSide::of(|side| {
        let mut numbers = vec![None; curves.of_runs[side].len()];
        for (place, series) in &left[side] {
            let last = finite(series).last().map(|(step, _)| step as f64);
            if let Some(slot) = numbers.get_mut(*place) {
                *slot = steps_to(finite(series), target, better).or(last);
            }
        }
        numbers
    });
    Some((of_runs, (target, declared.is_some())))
}

/// Judges all metrics together, so that p-values are corrected for the number of rules. Also returns the number of tests.
pub fn judge(
    prepared: Vec<PreparedMetric>,
    runs: &SampleRuns,
    setting: SampleSetting<'_>,
) -> (Vec<JudgedSample>, usize) {
    let places: Vec<String> = prepared.iter().map(|one| curve_name(&one.unit.metric, one.unit.rank)).collect();
    let rules: Vec<(&str, &RuleNumbers)> = prepared
        .iter()
        .zip(&places)
        .flat_map(|(one, place)| one.numbers.iter().map(move |numbers| (place.as_str(), numbers)))
        .collect();
    let count = rules.len();
    let mut decided = decide::decide_all(&rules, runs, setting).into_iter();
    let mut judged = Vec::new();
    for PreparedMetric { unit, numbers, findings } in prepared {
        let own: Vec<DecidedRule> = decided.by_ref().take(numbers.len()).collect();
        judged.push(judged_sample(unit, findings, own, setting));
    }
    (judged, count)
}

/// Adds the tested rules to a unit, or a finding that there are too few runs.
pub(super) fn judged_sample(
    mut unit: SampleUnit,
    mut findings: Vec<Finding>,
    decided: Vec<DecidedRule>,
    setting: SampleSetting<'_>,
) -> JudgedSample {
    for DecidedRule { rule, finding } in decided {
        unit.rules.push(rule);
        findings.extend(finding);
    }
    let is_told = findings.iter().any(|finding| finding.severity >= Severity::Incomplete);
    if !unit.rules.iter().any(|rule| rule.test.is_some()) {
        unit.evidence.not_compared += std::mem::take(&mut unit.evidence.compared);
        unit.evidence.equal_trivially = 0;
        if !is_told {
            let finding = Finding::new(&rules::TOO_FEW, curve_name(&unit.metric, unit.rank)).with("n", unit.n);
            let finding = finding.with("m", unit.m).with("minimum", u64::from(setting.policy.minimum.get()));
            findings.push(finding.with("paired", u64::from(setting.policy.pair == Pair::Seed)));
        }
    }
    JudgedSample { unit, findings }
}

/// Compares the learning rates of all runs with the first run of the baseline. Baseline runs that differ are not a sample of one training,
/// and a candidate that differs is another training.
pub(crate) fn learning_rates(curves: &MetricCurves<'_>, runs: &SampleRuns) -> Option<Finding> {
    let place = curve_name(&curves.metric, curves.rank);
    let (first, reference) = sound(curves, Side::Baseline, &[]).next()?;
    let known: BTreeMap<u64, f64> = finite(reference).collect();
    let differs = |side: Side| -> Vec<(usize, CurvePoint)> {
        let largest = |(place, series): (usize, &Series)| {
            let common = series.points().filter_map(|(step, value)| Some((step, *known.get(&step)?, value)));
            let apart = schedule_difference(common).filter(|at| at.value > SCHEDULE)?;
            Some((place, apart))
        };
        let runs = sound(curves, side, &[]).filter(|(place, _)| side == Side::Candidate || *place != first);
        runs.filter_map(largest).collect()
    };
    let mixed = differs(Side::Baseline);
    if let Some((_, at)) = mixed.first() {
        let places: Vec<usize> = mixed.iter().map(|(place, _)| *place).collect();
        let finding = Finding::new(&rules::MIXED, &*place).with("runs", runs.names(Side::Baseline, &places));
        return Some(finding.with("step", at.step).with("value", at.value));
    }
    let apart = differs(Side::Candidate);
    let (_, at) = apart.iter().max_by(|(_, a), (_, b)| a.value.total_cmp(&b.value))?;
    Some(Finding::new(&code::LEARNING_RATE, &*place).with("value", at.value).with("step", at.step))
}
