//! Does a table of operator tests contradict itself? Its counts and culprit against its findings, and limits against the policy.

use super::refusal::{Checked, claims, demand, shown};
use super::said::{Key, Said, everything, is_of, number, says, text};
use crate::compare::operators::RatioKind;
use crate::judge::operators::{limit_of, rules, table};
use crate::judge::rule::Rule;
use crate::kind::Direction;
use crate::policy::Policy;
use crate::result::GateResult;
use crate::result::finding::{Finding, verdict_of};
use crate::result::unit::{Culprit, OperatorsUnit};
use crate::verdict::{CheckId, Severity, Verdict};

/// Refuses a test that contradicts itself.
pub(super) fn check(unit: &OperatorsUnit, key: &Key, said: &Said<'_>, at: &str) -> Checked {
    let findings: Vec<&Finding> = said.all(key).collect();
    let counting = said.counting(key);
    claims(unit.verdict, verdict_of(counting.iter().copied()), at)?;
    counts(unit, &findings, at)?;
    statuses(unit, &findings, at)?;
    worst(unit, &findings, at)?;
    culprit(unit, &findings, counting, at)
}

/// Outputs that were not judged have findings that say so, and the states add up.
fn counts(unit: &OperatorsUnit, findings: &[&Finding], at: &str) -> Checked {
    demand(unit.compared == unit.counts.judged(), at, || {
        format!("judged {} outputs, and its statuses add up to {}", unit.compared, unit.counts.judged())
    })?;
    let blind = [&rules::NOTHING_CHECKED, &rules::FILE_DAMAGED, &rules::MISSING];
    demand(unit.compared > 0 || says(findings, &blind), at, || "judged nothing, and no finding says so".into())?;
    demand(unit.compared == 0 || !says(findings, &[&rules::NOTHING_CHECKED]), at, || {
        format!("judged {} outputs, which its findings deny", unit.compared)
    })?;
    let unmatched = unit.unmatched_baseline.saturating_add(unit.unmatched_candidate);
    let alone = [&rules::MISSING, &rules::FILE_DAMAGED];
    demand(unmatched == 0 || says(findings, &alone), at, || {
        format!("has {unmatched} outputs without a partner, and no finding says so")
    })?;
    demand(unmatched > 0 || !says(findings, &[&rules::MISSING]), at, || {
        "has a partner for every output, which its findings deny".into()
    })?;
    let states = &unit.evidence;
    let adds_up =
        states.compared == unit.compared && states.not_compared == unit.counts.skip && states.alone() == unmatched;
    demand(states.is_empty() && unit.compared == 0 || adds_up, at, || {
        "its evidence does not add up to what it judged".into()
    })
}

/// Outputs that are wrong or doubtful have a finding each, up to the most that are told.
fn statuses(unit: &OperatorsUnit, findings: &[&Finding], at: &str) -> Checked {
    let [errors, warnings] = rules::of_rows();
    let told = |rules: &[&Rule]| findings.iter().filter(|finding| is_of(finding, rules)).count() as u64;
    let (wrong, doubtful) = (told(errors), told(warnings));
    let all = unit.counts.error.saturating_add(unit.counts.warning);
    let fits = wrong <= unit.counts.error && doubtful <= unit.counts.warning;
    let is_whole = wrong + doubtful == all || wrong + doubtful >= table::MOST_FINDINGS as u64;
    // What fails is told before what only warns.
    let has_error = unit.counts.error == 0 || wrong > 0;
    demand(fits && is_whole && has_error, at, || {
        format!("has {all} outputs that are wrong or doubtful, and {} findings about outputs", wrong + doubtful)
    })
}

/// The largest ratio over its limit follows the findings about ratios.
fn worst(unit: &OperatorsUnit, findings: &[&Finding], at: &str) -> Checked {
    let is_above = unit.worst.is_some_and(|worst| worst.0 > 1.0);
    let is_said = says(findings, &[&rules::INACCURATE]);
    let is_number = unit.worst.is_none_or(|worst| worst.0 >= 0.0);
    demand(is_number && (is_above || !is_said), at, || "its largest error is not that of its findings".into())?;
    let [errors, _] = rules::of_rows();
    demand(!is_above || says(findings, errors), at, || "an error lies above its limit, and no finding says so".into())
}

/// The culprit is of this test, is a finding of it, and is there where a finding about a wrong output counts.
fn culprit(unit: &OperatorsUnit, findings: &[&Finding], counting: &[&Finding], at: &str) -> Checked {
    let [errors, _] = rules::of_rows();
    let counts = counting.iter().any(|finding| finding.severity > Severity::Info && is_of(finding, errors));
    let Some(culprit) = &unit.culprit else {
        return demand(!counts, at, || "a finding about a wrong output counts, and it has no culprit".into());
    };
    let facts = culprit.operator.as_ref().filter(|facts| facts.table == unit.table && facts.row == culprit.tensor);
    let here = culprit.check == CheckId::Operators && culprit.rank == unit.rank && culprit.step == 0;
    demand(here && facts.is_some() && culprit.monitor.is_none(), at, || "its culprit belongs to another unit".into())?;
    let is_own = |finding: &&&Finding| {
        finding.code == culprit.code && finding.place == culprit.tensor && says_the_same(finding, culprit)
    };
    let named = findings.iter().any(|finding| is_own(&finding)) && culprit.finding == culprit.own_finding();
    demand(named && errors.iter().any(|rule| rule.code == culprit.code), at, || {
        format!("its culprit {} has no finding", shown(&culprit.tensor))
    })
}

/// Whether a finding repeats the culprit's operator, rule and numbers.
fn says_the_same(finding: &Finding, culprit: &Culprit) -> bool {
    let Some(facts) = &culprit.operator else { return false };
    let words = text(finding, "api") == Some(&facts.api)
        && text(finding, "op") == Some(&culprit.op)
        && text(finding, "direction") == facts.direction.map(Direction::as_str)
        && text(finding, "rule") == culprit.metrics.rule.as_deref();
    let same = |name: &str| {
        let own = culprit.metrics.get(name).map(|number| number.0).filter(|number| number.is_finite());
        number(finding, name).filter(|number| number.is_finite()) == own
    };
    words && same("value") && same("limit")
}

/// Refuses findings about ratios whose limits are not those of the target's policy.
pub(super) fn fits(unit: &OperatorsUnit, result: &GateResult, policy: &Policy, at: &str) -> Checked {
    let of_unit = everything(result).filter(|finding| {
        is_of(finding, &[&rules::INACCURATE, &rules::MAX_RELATIVE]) && text(finding, "unit") == Some(&unit.table)
    });
    for finding in of_unit {
        let ratio = RatioKind::ALL.into_iter().find(|kind| text(finding, "rule") == Some(kind.as_str()));
        let direction = [Direction::Forward, Direction::Backward];
        let direction = direction.into_iter().find(|one| text(finding, "direction") == Some(one.as_str()));
        let known = text(finding, "api").zip(ratio).zip(direction);
        let limit = known.map(|((api, kind), direction)| limit_of(api, direction, kind, &policy.operators));
        let same = limit.zip(number(finding, "limit")).is_some_and(|(one, other)| one.to_bits() == other.to_bits());
        demand(same, at, || format!("{} has another limit than the target's policy", shown(&finding.place)))?;
    }
    demand(unit.verdict != Verdict::Skipped, at, || "was not judged".into())
}
