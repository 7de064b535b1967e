//! Findings about the sources of curves.

use std::collections::BTreeMap;

use super::code;
use super::completeness::must_be_whole;
use super::rule_results::RuleResults;
use super::settings::own_policy;
use crate::judge::rule::Rule;
use crate::judge::rule::artifacts;
use crate::kind::{Role, curve_name};
use crate::pair::curve::align::{PairedBy, PairingObstacle};
use crate::pair::curve::source::CurveSource;
use crate::pair::curve::{CurvePair, CurvePairing, UnpairedCurve};
use crate::policy::loss::MetricPolicy;
use crate::read::curve::CurveNote;
use crate::read::metric::{role, role_in_rl};
use crate::result::finding::{Fact, Finding};
use crate::verdict::{CheckId, Severity, Side};

/// Adds the finding about a pair whose points could not be paired.
pub(crate) fn add_obstacle(pair: &CurvePair<'_>, results: &mut RuleResults) {
    let (baseline, candidate) = (&pair.baseline.series, &pair.candidate.series);
    match pair.obstacle() {
        Some(PairingObstacle::Counters) => results.add_finding(&code::COUNTERS, |finding| {
            finding.with("baseline", baseline.counter.as_str()).with("candidate", candidate.counter.as_str())
        }),
        Some(PairingObstacle::Lengths) => results.add_finding(&code::BY_POSITION, |finding| {
            let (b, c) = (baseline.steps.len(), candidate.steps.len());
            finding.with_severity(Severity::Incomplete).with("baseline", b).with("candidate", c)
        }),
        None => {}
    }
}

/// Adds notes about a pair's files and steps.
pub(crate) fn add_source_notes(pair: &CurvePair<'_>, results: &mut RuleResults) {
    if pair.points.by == PairedBy::Position && pair.obstacle().is_none() {
        let sides = [&pair.baseline, &pair.candidate];
        let counted = sides.into_iter().find(|source| source.notes.contains(&CurveNote::UnusedCounter));
        let blocks = must_be_whole(pair.role, pair.is_rl);
        results.add_finding(&code::BY_POSITION, |finding| {
            let finding = finding.with("paired", pair.points.len());
            let Some(source) = counted else { return finding };
            let severity = if blocks { Severity::Incomplete } else { Severity::Warn };
            finding.with_severity(severity).with("counted", source.path.as_str())
        });
    }
    if pair.shift != 0 {
        results.add_finding(&code::STEP_OFFSET, |finding| {
            let lower = if pair.shift > 0 { Side::Candidate } else { Side::Baseline };
            finding.with("side", lower.as_str()).with("by", pair.shift.unsigned_abs())
        });
    }
    intervals(pair, results);
    for (side, source) in [(Side::Baseline, &pair.baseline), (Side::Candidate, &pair.candidate)] {
        order(side, source, results);
        for note in &source.notes {
            match note {
                CurveNote::Truncated => results.add_finding(&code::SOURCE_CUT, |finding| {
                    finding.with("side", side.as_str()).with("path", source.path.as_str())
                }),
                CurveNote::EncodingGuessed(encoding) => results.add_finding(&code::ENCODING_GUESSED, |finding| {
                    finding
                        .with("encoding", encoding.to_uppercase())
                        .with("side", side.as_str())
                        .with("path", source.path.as_str())
                }),
                CurveNote::NulBytes => results.add_finding(&code::SOURCE_CUT, |finding| {
                    let finding = finding.with_severity(Severity::Info).with("nul", 1_u64);
                    finding.with("side", side.as_str()).with("path", source.path.as_str())
                }),
                CurveNote::LongLines(count) => results.add_finding(&code::SOURCE_CUT, |finding| {
                    let finding = finding.with_severity(Severity::Info).with("long", *count);
                    finding.with("side", side.as_str()).with("path", source.path.as_str())
                }),
                // It matters for zeros only.
                CurveNote::RoundedZeros(_) | CurveNote::Decimals(..) => {}
                // It matters for curves that are paired by position only.
                CurveNote::UnusedCounter => {}
                CurveNote::SkippedLines(count) => results.add_finding(&code::SKIPPED_LINES, |finding| {
                    finding.with("count", *count).with("side", side.as_str()).with("path", source.path.as_str())
                }),
            }
        }
    }
    for (side, used) in [(Side::Baseline, &pair.baseline), (Side::Candidate, &pair.candidate)] {
        let others: Vec<String> =
            pair.duplicates.iter().filter(|(of, _)| *of == side).map(|(_, path)| path.clone()).collect();
        if !others.is_empty() {
            results.add_finding(&code::DUPLICATE, |finding| {
                finding.with("side", side.as_str()).with("path", used.path.as_str()).with("others", others)
            });
        }
    }
}

/// Notes sides that log at different intervals: they are compared at the steps, or over the windows, that both have.
fn intervals(pair: &CurvePair<'_>, results: &mut RuleResults) {
    let (b, c) = (pair.baseline.interval, pair.candidate.interval);
    let enough = pair.baseline.series.steps.len() > 1 && pair.candidate.series.steps.len() > 1;
    if b != c && enough && !pair.points.is_empty() && pair.points.is_numbered() {
        results.add_finding(&code::INTERVAL, |finding| {
            let finding = finding.with("baseline", b).with("candidate", c).with("paired", pair.points.len());
            finding.with("by", pair.points.by.as_str())
        });
    }
}

/// Adds notes about the changes that were made to bring the steps of one side into order.
fn order(side: Side, source: &CurveSource<'_>, results: &mut RuleResults) {
    let order = &source.series.order;
    let mut say = |rule: &'static Rule, add: &dyn Fn(Finding) -> Finding| {
        results
            .add_finding(rule, |finding| add(finding.with("side", side.as_str()).with("path", source.path.as_str())));
    };
    if order.repeated > 0 {
        say(&code::REPEATED, &|finding| finding.with("count", order.repeated));
    }
    if let Some((from, to)) = order.resumes.first() {
        let times = order.resumes.len();
        say(&code::RESUMED, &|finding| {
            finding.with("count", order.resumed).with("from", *from).with("to", *to).with("times", times)
        });
    }
    if order.restarts > 0 {
        say(&code::RESTARTED, &|finding| finding.with("epochs", order.restarts + 1));
    }
    if !source.continued_in.is_empty() {
        say(&code::JOINED, &|finding| finding.with("others", source.continued_in.clone()));
    }
    if source.series.rank.is_some() {
        say(&code::RANKS, &|finding| finding);
    }
}

/// Findings about metrics of one run for which several files could be meant; `pairing` pairs the files of the run with themselves.
pub(crate) fn unclear_file_findings(
    pairing: &CurvePairing<'_>,
    metrics: &BTreeMap<String, MetricPolicy>,
) -> Vec<Finding> {
    unpaired_findings(pairing, metrics).into_iter().filter(is_of_candidate).collect()
}

/// Adds notes about the file of a curve of one run.
pub(crate) fn add_candidate_notes(pair: &CurvePair<'_>, results: &mut RuleResults) {
    add_source_notes(pair, results);
    results.findings.retain(is_of_candidate);
}

fn is_of_candidate(finding: &Finding) -> bool {
    finding.facts.get("side").is_some_and(|side| *side == Fact::from(Side::Candidate.as_str()))
}

/// Findings about metrics that could not be paired.
pub(crate) fn unpaired_findings(pairing: &CurvePairing<'_>, metrics: &BTreeMap<String, MetricPolicy>) -> Vec<Finding> {
    let (unpaired, in_rl) = (&pairing.unpaired, pairing.has_rl());
    let mut findings: Vec<Finding> = unpaired.iter().filter_map(|unpaired| finding(unpaired, in_rl, metrics)).collect();
    findings.extend(missing_metrics_finding(unpaired, metrics));
    findings
}

/// One finding about all metrics that no rule judges and only the baseline has: if one had become NaN on the candidate, it would
/// have failed. Metrics of speed are left out, because they say nothing of the numbers that a run computed.
fn missing_metrics_finding(unpaired: &[UnpairedCurve], policies: &BTreeMap<String, MetricPolicy>) -> Option<Finding> {
    let names = unpaired.iter().filter_map(|unpaired| match unpaired {
        UnpairedCurve::OneSided { metric, role, is_rl, side: Side::Baseline, .. } if is_listed(*role, *is_rl) => {
            Some(metric)
        }
        _ => None,
    });
    let ignored = |metric: &String| own_policy(policies, metric).is_some_and(|own| own.ignore);
    let metrics: Vec<String> = names.filter(|metric| !ignored(metric)).cloned().collect();
    let first = metrics.first()?.clone();
    Some(Finding::new(&code::METRICS_MISSING, first).with("count", metrics.len()).with("metrics", metrics))
}

/// Whether a metric that only the baseline has belongs into the one finding that lists such metrics.
fn is_listed(role: Role, is_rl: bool) -> bool {
    let named = [
        Role::Reward,
        Role::EvalScore,
        Role::GradNorm,
        Role::LearningRate,
        Role::EvalLoss,
        Role::AuxiliaryLoss,
        Role::ValueLoss,
    ];
    role == Role::Other || is_rl && role.is_judged() && !named.contains(&role)
}

fn finding(unpaired: &UnpairedCurve, in_rl: bool, metrics: &BTreeMap<String, MetricPolicy>) -> Option<Finding> {
    let ignored = |metric: &String| own_policy(metrics, metric).is_some_and(|own| own.ignore);
    let is_shown = |metric: &str| {
        let role = if in_rl { role_in_rl(metric) } else { role(metric) };
        !role.is_judged()
    };
    let ambiguous = |metric: &String, rank: Option<u64>, side: Side, kind: &str, paths: &[String]| {
        let finding = Finding::new(&artifacts::AMBIGUOUS, curve_name(metric, rank)).of_check(CheckId::Loss);
        let finding = finding.with("side", side.as_str()).with("kind", kind).with("count", paths.len().max(2));
        (!ignored(metric) && !is_shown(metric)).then(|| finding.with("paths", paths.to_vec()))
    };
    match unpaired {
        UnpairedCurve::SeveralRuns { metric, rank, side, path } => {
            ambiguous(metric, *rank, *side, "runs", std::slice::from_ref(path))
        }
        UnpairedCurve::Ambiguous { metric, rank, side, paths } => ambiguous(metric, *rank, *side, "curve", paths),
        UnpairedCurve::OneSided { metric, rank, role, is_rl, side, path } => {
            let severity = match role {
                Role::Reward | Role::EvalScore | Role::GradNorm if *is_rl => Severity::Incomplete,
                Role::Loss => Severity::Incomplete,
                Role::EvalLoss
                | Role::EvalScore
                | Role::Reward
                | Role::GradNorm
                | Role::AuxiliaryLoss
                | Role::ValueLoss => Severity::Warn,
                // If the candidate does not log its schedule, a difference stays unseen. If the baseline does not log its
                // own, the loss can be judged all the same.
                Role::LearningRate if *side == Side::Baseline => Severity::Warn,
                _ => return None,
            };
            if ignored(metric) {
                return None;
            }
            Some(
                Finding::new(&code::ONE_SIDED, curve_name(metric, *rank))
                    .with_severity(severity)
                    .with("side", side.as_str())
                    .with("path", path.as_str()),
            )
        }
    }
}
