//! Does the monitor of a rank contradict itself? Its counts, rule, culprit and pictures against its findings.

use super::outcome::held;
use super::refusal::{Checked, claims, demand, shown};
use super::said::{Key, Said, is_of, number, says, text};
use super::weight::severity;
use crate::judge::monitor::precision::Precision;
use crate::judge::monitor::rules;
use crate::judge::rule::Rule;
use crate::result::finding::{Finding, verdict_of};
use crate::result::number::Number;
use crate::result::unit::{Culprit, CulpritKind, MonitorMap, MonitorUnit, unit_place};
use crate::verdict::{Severity, Verdict};

/// The one rule of a monitor.
const RULE: &str = "monitor_jump";
/// Findings about one row, of which the first that counts is the culprit.
const OF_ROWS: [&Rule; 4] = [&rules::JUMP, &rules::NON_FINITE, &rules::DTYPE_DIFFERS, &rules::SHAPE_DIFFERS];

/// Refuses a rank that contradicts itself.
pub(super) fn check(unit: &MonitorUnit, key: &Key, said: &Said<'_>, at: &str) -> Checked {
    let findings: Vec<&Finding> = said.all(key).collect();
    let counting = said.counting(key);
    claims(unit.verdict, verdict_of(counting.iter().copied()), at)?;
    counts(unit, &findings, at)?;
    rule(unit, &findings, at)?;
    culprit(unit, &findings, counting, at)?;
    pictures(unit, &findings, at)
}

/// Rows that were not compared have findings that say so, and the states add up.
fn counts(unit: &MonitorUnit, findings: &[&Finding], at: &str) -> Checked {
    let unread = [&rules::NOTHING_COMPARED, &rules::FILE_DAMAGED, &rules::STEPS_MISSING, &rules::NAMES_MISSING];
    demand(unit.compared > 0 || says(findings, &unread), at, || "compared nothing, and no finding says so".into())?;
    demand(unit.compared == 0 || !says(findings, &[&rules::NOTHING_COMPARED]), at, || {
        format!("compared {} rows, which its findings deny", unit.compared)
    })?;
    let unmatched = unit.unmatched_baseline.saturating_add(unit.unmatched_candidate);
    let alone = [&rules::STEPS_MISSING, &rules::NAMES_MISSING, &rules::FILE_DAMAGED, &rules::VERSIONS_DIFFER];
    demand(unmatched == 0 || says(findings, &alone), at, || {
        format!("has {unmatched} rows without a partner, and no finding says so")
    })?;
    let states = &unit.evidence;
    let adds_up = states.compared == unit.compared && states.alone() == unmatched;
    demand(states.is_empty() || adds_up, at, || "its evidence does not add up to what it compared".into())?;
    let blind = says(findings, &[&rules::BASELINE_NON_FINITE]);
    demand((states.not_compared > 0) == blind, at, || {
        format!("did not compare {} rows, which its findings deny", states.not_compared)
    })?;
    let horizon = findings.iter().find(|finding| finding.code == rules::NOISE_HORIZON.code);
    #[allow(clippy::cast_precision_loss, reason = "steps are far below 2^53")]
    let same = horizon.and_then(|finding| number(finding, "step")) == unit.horizon.map(|step| step as f64);
    demand(same && horizon.is_some() == unit.horizon.is_some(), at, || {
        "its horizon is not that of its findings".into()
    })?;
    let known = unit.dtype.is_empty() || Precision::ALL.into_iter().any(|known| known.as_str() == unit.dtype);
    demand(known, at, || format!("{} is not an element type of a monitor", shown(&unit.dtype)))?;
    demand(unit.kinds.is_sorted_by(|a, b| a < b), at, || "its kinds of tensors are not in order".into())?;
    let steps = unit.steps;
    demand(steps.paired <= steps.baseline.min(steps.candidate), at, || {
        format!("pairs {} steps, more than a side has", steps.paired)
    })
}

/// The worst error over its limit follows the findings about jumps.
fn rule(unit: &MonitorUnit, findings: &[&Finding], at: &str) -> Checked {
    let outcome = match unit.rules.as_slice() {
        // Models that differ are not judged.
        [] => return demand(unit.compared == 0, at, || "lacks its rule".into()),
        [outcome] => outcome,
        _ => return demand(false, at, || "has more rules than one".into()),
    };
    let is_known = outcome.rule == RULE && outcome.fail.is_none() && outcome.warn == Some(Number(1.0));
    demand(is_known, at, || format!("the rule {} does not exist, or has other limits", shown(&outcome.rule)))?;
    held(outcome, at)?;
    let jumps = findings.iter().filter(|finding| finding.code == rules::JUMP.code).count();
    let jumped = outcome.value.is_some_and(|Number(ratio)| ratio > 1.0);
    demand(!jumped || jumps > 0, at, || "an error lies above its limit, and no finding says so".into())?;
    let follows = match severity(outcome.verdict) {
        None => outcome.verdict == Verdict::Pass && jumps == 0,
        Some(severity) => severity != Severity::Incomplete && jumps > 0,
    };
    demand(follows, at, || "its rule's verdict does not follow from its findings".into())
}

/// The culprit is of this rank, is a finding of it, and is there where a finding about a row counts.
fn culprit(unit: &MonitorUnit, findings: &[&Finding], counting: &[&Finding], at: &str) -> Checked {
    let counts = counting.iter().any(|finding| finding.severity > Severity::Info && is_of(finding, &OF_ROWS));
    let Some(culprit) = &unit.culprit else {
        let drawn = unit.culprit_series.is_none();
        return demand(!counts && drawn, at, || "a finding about a row counts, and it has no culprit".into());
    };
    let here = culprit.rank == Some(unit.rank) && culprit.check == crate::verdict::CheckId::Monitor;
    let is_row = matches!(culprit.kind, CulpritKind::Monitor(_)) && culprit.op == culprit.tensor;
    let facts = culprit.monitor.as_ref().is_some_and(|facts| facts.name == culprit.tensor);
    demand(here && is_row && facts, at, || "its culprit belongs to another unit".into())?;
    let place = unit_place(culprit.step, culprit.rank);
    let is_own = |finding: &&&Finding| {
        let same = finding.code == culprit.code && finding.place == culprit.tensor;
        same && text(finding, "unit") == Some(&place) && says_the_same(finding, culprit)
    };
    let named = findings.iter().any(|finding| is_own(&finding)) && culprit.finding == culprit.own_finding();
    let of_rows = OF_ROWS.iter().any(|rule| rule.code == culprit.code);
    demand(named && of_rows, at, || format!("its culprit {} has no finding", shown(&culprit.tensor)))
}

/// Whether a finding repeats the culprit's cause, statistic and numbers.
fn says_the_same(finding: &Finding, culprit: &Culprit) -> bool {
    let Some(facts) = &culprit.monitor else { return false };
    let words = text(finding, "cause") == Some(facts.cause.as_str())
        && text(finding, "statistic") == Some(&facts.statistic)
        && matches!(culprit.kind, CulpritKind::Monitor(kind) if text(finding, "kind") == Some(kind.as_str()));
    let same = |name: &str| {
        let own = culprit.metrics.get(name).map(|number| number.0).filter(|number| number.is_finite());
        number(finding, name) == own
    };
    words && ["error", "limit", "wrong", "before"].into_iter().all(same) && number(finding, "factor") == facts.factor
}

/// Maps and series have the form that drawing expects, and show no jump that nobody tells.
fn pictures(unit: &MonitorUnit, findings: &[&Finding], at: &str) -> Checked {
    let in_order = unit.series.is_sorted_by(|a, b| (a.step, a.kind) <= (b.step, b.kind));
    demand(in_order, at, || "its series is not in order".into())?;
    if let Some(series) = &unit.culprit_series {
        let len = series.step.len();
        let equal = series.baseline.len() == len && series.candidate.len() == len;
        demand(equal && series.step.is_sorted_by(|a, b| a < b), at, || {
            "the series of its culprit differ in length, or do not rise".into()
        })?;
    }
    let Some(MonitorMap { steps, layers, cells }) = &unit.heatmap else { return Ok(()) };
    let fits = cells.len() == layers.len() && cells.iter().all(|row| row.len() == steps.len());
    demand(fits && steps.is_sorted_by(|a, b| a < b), at, || "its map of errors has rows of other lengths".into())?;
    let above = cells.iter().flatten().flatten().any(|ratio| ratio.0 > 1.0);
    demand(!above || unit.horizon.is_some() || says(findings, &OF_ROWS), at, || {
        "its map shows an error above its limit, and no finding says so".into()
    })
}
