//! Judging the curves of several runs per side: a verdict per metric.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::paired::paired_curves;
use crate::error::Result;
use crate::gate::discover::Inventory;
use crate::gate::outcome::CheckOutcome;
use crate::gate::sides::Sides;
use crate::gate::surroundings::Shared;
use crate::judge::loss::noise::{RecordedCurve, SampleRun};
use crate::judge::loss::own_policy;
use crate::judge::samples::curves::{MetricCurves, PreparedMetric, is_judged, judge, learning_rates, prepare};
use crate::judge::samples::decide::SampleSetting;
use crate::judge::samples::rules;
use crate::judge::samples::runs::SampleRuns;
use crate::judge::unread;
use crate::kind::Role;
use crate::pair::curve::CurvePairing;
use crate::policy::loss::LossPolicy;
use crate::read::curve::CurveFile;
use crate::read::curve::series::Series;
use crate::read::metric;
use crate::result::finding::Finding;
use crate::result::samples::SampledRun;
use crate::result::unit::Unit;
use crate::verdict::{CheckId, PerSide, Side};

const ID: CheckId = CheckId::Loss;

/// Metric and rank of a curve.
type Key = (String, Option<u64>);

/// Curves of a run, borrowed from its files where their points are in memory.
type OfRun<'f> = BTreeMap<Key, Cow<'f, Series>>;

/// Curves of each run of both sides.
type OfRuns<'f> = PerSide<Vec<OfRun<'f>>>;

/// Judges the curves of all runs together.
pub(super) fn check(sides: &mut Sides, shared: &Shared<'_>, tests: &mut usize) -> Result<CheckOutcome> {
    let mut outcome = CheckOutcome::new(ID);
    let policy = &shared.request.policy;
    let Some(sampled) = &mut sides.samples else { return Ok(outcome) };
    let baseline_runs = paired_runs(&sides.baseline, &sampled.further_runs.baseline, &policy.loss)?;
    let candidate_runs = paired_runs(&sides.candidate, &sampled.further_runs.candidate, &policy.loss)?;
    let mut curves = OfRuns {
        baseline: match &sampled.recorded {
            Some(recorded) => recorded.iter().map(of_record).collect(),
            None => baseline_runs.iter().map(of_run).collect::<Result<_>>()?,
        },
        candidate: candidate_runs.iter().map(of_run).collect::<Result<_>>()?,
    };
    if curves.each().flatten().all(BTreeMap::is_empty) {
        return Ok(outcome);
    }
    let candidates = [&sides.candidate].into_iter().chain(&sampled.further_runs.candidate);
    let accounts = candidates.flat_map(|run| run.artifacts::<CurveFile>()).map(|file| &file.account);
    outcome.add_findings(unread::judge_alone(accounts));
    let is_rl = |metric: &str| matches!(metric::role(metric), Role::Reward | Role::Kl | Role::ClipFraction);
    let of_rl = curves.each().flatten().flat_map(BTreeMap::keys).find(|(metric, _)| is_rl(metric));
    outcome.add_findings(of_rl.map(|(metric, _)| Finding::new(&rules::NOT_JUDGED, metric.as_str())));
    outcome.add_findings(without_curves(&mut curves, &mut sampled.runs));
    if sampled.runs.pairs.is_empty() {
        outcome.add_findings(count_once(&mut curves, &mut sampled.runs));
    }
    let setting = SampleSetting { policy: &policy.samples, profile: policy.profile };
    let metrics: BTreeSet<Key> = curves.each().flatten().flat_map(BTreeMap::keys).cloned().collect();
    let of = |(metric, rank): &Key| MetricCurves {
        metric: metric.clone(),
        rank: *rank,
        role: metric::role(metric),
        of_runs: PerSide::of(|side| {
            curves[side].iter().map(|run| run.get(&(metric.clone(), *rank)).map(AsRef::as_ref)).collect()
        }),
    };
    let is_left_out = |metric: &str| own_policy(&policy.loss.metrics, metric).is_some_and(|own| own.ignore);
    let counted = metrics.iter().filter(|(metric, _)| !is_left_out(metric)).map(of);
    let (rates, judged): (Vec<MetricCurves<'_>>, Vec<MetricCurves<'_>>) =
        counted.partition(|curves| curves.role == Role::LearningRate);
    let apart: Vec<Finding> = rates.iter().filter_map(|curves| learning_rates(curves, &sampled.runs)).collect();
    if !apart.is_empty() {
        outcome.add_findings(apart);
        return Ok(outcome);
    }
    let is_equal = policy.loss.hardware.is_equal();
    let judged = judged.iter().filter(|curves| is_judged(curves.role, is_equal));
    let prepared: Vec<PreparedMetric> = judged.map(|curves| prepare(curves, &sampled.runs, setting)).collect();
    let (judged, count) = judge(prepared, &sampled.runs, setting);
    *tests += count;
    for one in judged {
        outcome.add_unit(Unit::Sample(Box::new(one.unit)), one.findings);
    }
    Ok(outcome)
}

/// Pairs each run of a side with itself, which chooses the file that each of its curves is read from.
fn paired_runs<'f>(first: &'f Inventory, more: &'f [Inventory], policy: &LossPolicy) -> Result<Vec<CurvePairing<'f>>> {
    let files = [first].into_iter().chain(more).map(|run| run.artifacts::<CurveFile>());
    files.map(|files| paired_curves(files, files, policy)).collect()
}

fn of_run<'f>(run: &'f CurvePairing<'_>) -> Result<OfRun<'f>> {
    run.pairs.iter().map(|pair| Ok(((pair.metric.clone(), pair.rank), pair.candidate.series.load()?))).collect()
}

/// The curves of a run that a file recorded.
fn of_record(run: &SampleRun) -> OfRun<'static> {
    let of = |curve: &RecordedCurve| {
        let points = curve.steps.iter().copied().zip(curve.values.iter().map(|value| value.0));
        ((curve.metric.clone(), curve.rank), Cow::Owned(Series::by_step(curve.metric.as_str(), points)))
    };
    run.curves.iter().map(of).collect()
}

/// Removes runs without a curve from the sample; damaged files have findings of their own.
fn without_curves(curves: &mut OfRuns<'_>, runs: &mut SampleRuns) -> Vec<Finding> {
    let has = PerSide::of(|side| curves[side].iter().map(|run| !run.is_empty()).collect());
    let found = runs.missing_metric_findings(ID.as_str(), &has);
    for side in Side::BOTH {
        let empty: Vec<usize> = (0..).zip(&has[side]).filter(|(_, has)| !**has).map(|(place, _)| place).collect();
        leave(curves, runs, side, &empty, "no-curve");
    }
    found
}

/// Removes runs with the same values as an earlier run of their side.
fn count_once(curves: &mut OfRuns<'_>, runs: &mut SampleRuns) -> Vec<Finding> {
    let mut found = Vec::new();
    for side in Side::BOTH {
        let same: Vec<usize> = (0..curves[side].len())
            .filter(|place| {
                let (before, own) = curves[side].split_at(*place);
                own.first().is_some_and(|own| before.iter().any(|other| are_same(own, other)))
            })
            .collect();
        if !same.is_empty() {
            let finding = Finding::new(&rules::DUPLICATE, ID.as_str()).with("side", side.as_str());
            found.push(finding.with("count", same.len()).with("runs", runs.names(side, &same)));
            leave(curves, runs, side, &same, "duplicate");
        }
    }
    found
}

fn are_same(one: &OfRun<'_>, other: &OfRun<'_>) -> bool {
    let same = |(own_key, series): (&Key, &Cow<'_, Series>), (other_key, other): (&Key, &Cow<'_, Series>)| {
        let mut values = series.values.iter().zip(&other.values);
        own_key == other_key
            && series.steps == other.steps
            && series.values.len() == other.values.len()
            && values.all(|(a, b)| a.to_bits() == b.to_bits())
    };
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
}

/// Removes runs from the sample; the result keeps their names with the reason.
fn leave(curves: &mut OfRuns<'_>, runs: &mut SampleRuns, side: Side, places: &[usize], reason: &str) {
    // Removed runs move to the end, so that the places of curves and of runs still match.
    let mut kept = Vec::new();
    let mut left = Vec::new();
    for (place, run) in std::mem::take(&mut runs.sides[side]).into_iter().enumerate() {
        match places.contains(&place) {
            true => left.push(SampledRun { left_out: Some(reason.to_owned()), ..run }),
            false => kept.push(run),
        }
    }
    runs.sides[side] = [kept, left].concat();
    let mut place = 0;
    curves[side].retain(|_| {
        place += 1;
        !places.contains(&(place - 1))
    });
    if !places.is_empty() {
        runs.pairs.clear();
    }
}
