//! Findings about the sources of curves.

use std::collections::BTreeMap;

use super::code;
use super::rule_results::RuleResults;
use crate::judge::finding::Finding;
use crate::judge::rule::artifacts;
use crate::pair::curve::align::PairedBy;
use crate::pair::curve::{CurvePair, Unpaired};
use crate::policy::loss::MetricPolicy;
use crate::read::curve::Note;
use crate::read::metric::Role;
use crate::verdict::{CheckId, Severity, Side};

/// Notes about a pair's files and steps.
pub fn notes(pair: &CurvePair<'_>, results: &mut RuleResults) {
    if pair.points.by == PairedBy::Position {
        results.say(&code::BY_POSITION, |finding| finding);
    }
    for (side, source) in [(Side::Baseline, &pair.baseline), (Side::Candidate, &pair.candidate)] {
        if source.series.repeated > 0 {
            results.say(&code::REPEATED, |finding| {
                finding
                    .with("count", source.series.repeated)
                    .with("side", side.as_str())
                    .with("path", source.path.as_str())
            });
        }
        for note in &source.notes {
            match note {
                Note::Truncated => results.say(&code::TRUNCATED, |finding| {
                    finding.with("side", side.as_str()).with("path", source.path.as_str())
                }),
                Note::SkippedLines(count) => results.say(&code::SKIPPED_LINES, |finding| {
                    finding.with("count", *count).with("side", side.as_str()).with("path", source.path.as_str())
                }),
            }
        }
    }
    for (side, used) in [(Side::Baseline, &pair.baseline), (Side::Candidate, &pair.candidate)] {
        let others: Vec<String> =
            pair.duplicates.iter().filter(|(of, _)| *of == side).map(|(_, path)| path.clone()).collect();
        if !others.is_empty() {
            results.say(&code::DUPLICATE, |finding| {
                finding.with("side", side.as_str()).with("path", used.path.as_str()).with("others", others)
            });
        }
    }
}

/// Findings about metrics that could not be paired.
pub fn unpaired(unpaired: &[Unpaired], metrics: &BTreeMap<String, MetricPolicy>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = unpaired.iter().filter_map(|unpaired| finding(unpaired, metrics)).collect();
    findings.extend(shown_alone(unpaired, metrics));
    findings
}

/// One finding of all metrics that nobody would judge and the candidate lacks: had one of them become NaN there, it
/// would have failed. How fast a run was says nothing of what it computed.
fn shown_alone(unpaired: &[Unpaired], policies: &BTreeMap<String, MetricPolicy>) -> Option<Finding> {
    let names = unpaired.iter().filter_map(|unpaired| match unpaired {
        Unpaired::OneSided { metric, role: Role::Other, side: Side::Baseline, .. } => Some(metric),
        _ => None,
    });
    let ignored = |metric: &String| policies.get(metric).is_some_and(|own| own.ignore);
    let metrics: Vec<String> = names.filter(|metric| !ignored(metric)).cloned().collect();
    let first = metrics.first()?.clone();
    Some(Finding::new(&code::METRICS_MISSING, first).with("count", metrics.len()).with("metrics", metrics))
}

fn finding(unpaired: &Unpaired, metrics: &BTreeMap<String, MetricPolicy>) -> Option<Finding> {
    let ignored = |metric: &String| metrics.get(metric).is_some_and(|own| own.ignore);
    match unpaired {
        Unpaired::Ambiguous { metric, side, paths } => {
            let role = crate::read::metric::role(metric);
            if ignored(metric) || role.is_performance() || role == Role::Other {
                return None;
            }
            Some(
                Finding::new(&artifacts::AMBIGUOUS, metric)
                    .of_check(CheckId::Loss)
                    .with("side", side.as_str())
                    .with("kind", "curve")
                    .with("count", paths.len())
                    .with("paths", paths.clone()),
            )
        }
        Unpaired::OneSided { metric, role, side, path } => {
            let severity = match role {
                Role::Loss => Severity::Incomplete,
                Role::EvalLoss | Role::EvalScore | Role::Reward | Role::GradNorm | Role::AuxiliaryLoss => {
                    Severity::Warn
                }
                // A schedule that the candidate does not log cannot be seen to differ; one that the baseline does not log
                // takes nothing away from the loss.
                Role::LearningRate if *side == Side::Baseline => Severity::Warn,
                _ => return None,
            };
            if ignored(metric) {
                return None;
            }
            Some(
                Finding::new(&code::ONE_SIDED, metric)
                    .with_severity(severity)
                    .with("side", side.as_str())
                    .with("path", path.as_str()),
            )
        }
    }
}
