//! Patterns that explain a loss that differs: one factor throughout, a running mean on one side, or a fall back to earlier
//! weights.
//!
//! Only a curve with findings about its level is looked at: these findings explain others and decide no verdict by themselves.

use super::code;
use super::rule_results::RuleResults;
use crate::compare::curve::factor::{FactorOrigin, factor};
use crate::compare::curve::finite_points;
use crate::compare::curve::rank::change_correlation;
use crate::compare::curve::rollback::rollback;
use crate::compare::curve::smoothing::{RunningMean, smoothing};
use crate::judge::rule::Rule;
use crate::pair::curve::CurvePair;
use crate::result::finding::Finding;
use crate::verdict::{Severity, Side};

/// Findings that a pattern explains.
const EXPLAINED: [&Rule; 5] = [&code::MEAN, &code::TAIL, &code::SPREAD, &code::DEPARTURE, &code::HEAD];

/// Adds the finding about the pattern of a loss, if there are findings about its level.
pub fn judge(pair: &CurvePair<'_>, results: &mut RuleResults) {
    note_steps_ahead(pair, results);
    let explained = results.findings.iter().filter(|finding| finding.is_any(&EXPLAINED));
    let Some(worst) = explained.map(|finding| finding.severity).max() else { return };
    if !scaled(pair, worst, results) && !rolled_back(pair, worst, results) {
        smoothed(pair, results);
    }
}

/// Adds to a finding about other data by how many steps one side reads the other's batches earlier, where that is why.
fn note_steps_ahead(pair: &CurvePair<'_>, results: &mut RuleResults) {
    /// Most steps that are tried, and the least correlation of the changes that shows the same batches.
    const MOST: usize = 3;
    const SAME: f64 = 0.9;
    let Some(finding) = results.findings.iter_mut().find(|finding| finding.is(&code::ORDER)) else { return };
    let (_, baseline, candidate) = finite_points(&pair.points);
    let agrees = |ahead: &[f64], behind: &[f64]| {
        let common = ahead.len().min(behind.len());
        let both = ahead.get(..common).zip(behind.get(..common));
        both.and_then(|(one, other)| change_correlation(one, other)).is_some_and(|found| found > SAME)
    };
    let found = (1..=MOST.min(baseline.len().saturating_sub(3))).find_map(|steps| {
        let of = |values: &[f64]| values.get(steps..).map(<[f64]>::to_vec).unwrap_or_default();
        if agrees(&of(&baseline), &candidate) {
            Some((steps, Side::Candidate))
        } else {
            agrees(&of(&candidate), &baseline).then_some((steps, Side::Baseline))
        }
    });
    if let Some((steps, side)) = found {
        finding.facts.extend([("ahead".into(), (steps as u64).into()), ("side".into(), side.as_str().into())]);
    }
}

fn scaled(pair: &CurvePair<'_>, severity: Severity, results: &mut RuleResults) -> bool {
    let (_, baseline, candidate) = finite_points(&pair.points);
    let Some(found) = factor(&baseline, &candidate) else { return false };
    let (known, size) = match found.origin() {
        Some(FactorOrigin::PowerOfTwo(size)) => ("power-of-two", size),
        Some(FactorOrigin::Whole(size)) => ("whole", size),
        Some(FactorOrigin::Bits) => ("bits", 0),
        None => ("", 0),
    };
    let larger = if found.value > 1.0 { Side::Candidate } else { Side::Baseline };
    results.add_finding(&code::SCALED, |finding| {
        finding
            .with_severity(severity)
            .with("factor", found.value)
            .with("rest", found.rest)
            .with("known", known)
            .with("size", u64::from(size))
            .with("side", larger.as_str())
    });
    true
}

fn rolled_back(pair: &CurvePair<'_>, severity: Severity, results: &mut RuleResults) -> bool {
    let (steps, baseline, candidate) = finite_points(&pair.points);
    let Some(found) = rollback(&baseline, &candidate) else { return false };
    let (Some(step), Some(to)) = (steps.get(found.at), steps.get(found.at.saturating_sub(found.back))) else {
        return false;
    };
    results.add_finding(&code::ROLLBACK, |finding| {
        finding
            .with_severity(severity)
            .with("step", step.to_string())
            .with("to", to.to_string())
            .with("explained", 1.0 - found.left)
            .with("replays", u64::from(found.replays))
    });
    true
}

fn smoothed(pair: &CurvePair<'_>, results: &mut RuleResults) {
    let (_, baseline, candidate) = finite_points(&pair.points);
    let Some(found) = smoothing(&baseline, &candidate) else { return };
    let side = if found.of_baseline { Side::Baseline } else { Side::Candidate };
    let kind = |finding: Finding| match found.mean {
        RunningMean::Cumulative => finding.with("mean", "cumulative"),
        RunningMean::Window(steps) => finding.with("mean", "window").with("steps", steps),
        RunningMean::Exponential(kept) => finding.with("mean", "exponential").with("kept", kept),
    };
    results.add_finding(&code::SMOOTHED, |finding| {
        kind(finding.with("side", side.as_str()).with("explained", 1.0 - found.left))
    });
}
