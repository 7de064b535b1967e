//! Verdicts, added up anew from what a result says, under the target's policy.
//!
//! A finding weighs what its code and the numbers beside it give, never less than the result says, unless the policy has a
//! severity for it. What is waived is what this policy's waivers cover.

use std::collections::{BTreeMap, HashMap};

use super::config::{Part, checker, part};
use super::evaluation;
use super::said::{Key, Said, key, keys, owner, text};
use super::trend;
use super::weight::least;
use super::whole::range;
use crate::gate::first_culprit;
use crate::judge::apply_policy::{apply_policy, waiver_findings};
use crate::judge::rule::{artifacts, policy as policy_rules};
use crate::policy::Policy;
use crate::result::GateResult;
use crate::result::finding::{Finding, verdict_of};
use crate::result::outcome::RuleOutcome;
use crate::result::unit::{AnyUnit, Check, ConfigItem, Culprit, Unit};
use crate::verdict::{CheckId, Severity, Verdict};

/// Adds up the verdicts of `result` anew.
pub(super) fn recount(mut result: GateResult, policy: &Policy) -> GateResult {
    let before = std::mem::take(&mut result.findings);
    let all = raw(&result, before.clone(), policy);
    let applied = apply_policy(all, policy);
    result.findings = applied.findings;
    result.waived = applied.waived;
    let of_policy = waiver_findings(policy, &result.waived);
    result.findings.extend(of_policy);
    keep_order(&mut result.findings, &before);
    let verdicts = units(&result);
    let counts = items(&result, &before);
    for (check, (verdicts, counts)) in result.checks.iter_mut().zip(verdicts.into_iter().zip(counts)) {
        check.units.iter_mut().zip(verdicts).for_each(|(unit, verdict)| unit.set_verdict(verdict));
        check.units.iter_mut().for_each(|unit| name_culprit(unit, &result.findings, policy));
        for (item, (verdict, findings)) in check.items.iter_mut().zip(counts) {
            (item.verdict, item.findings) = (verdict, findings);
        }
        crate::gate::performance::name_culprit(check);
        let (least, most) = range(check, &result.findings);
        check.verdict = check.verdict.max(least).min(most);
    }
    result.identify();
    result.culprit = first_culprit(&result.checks);
    result.verdict = whole(&result);
    result.profile = policy.profile;
    result.today = policy.today.to_string();
    result
}

/// Findings as they were before any policy, as far as that can be told; those of a policy are made anew.
fn raw(result: &GateResult, findings: Vec<Finding>, policy: &Policy) -> Vec<Finding> {
    let units = keys(result);
    let rules = rules(result);
    let in_rl = trend::any_rl(result);
    let of_policy = [&policy_rules::WAIVER_EXPIRED, &policy_rules::WAIVER_UNUSED, &artifacts::REQUIRED_MISSING];
    let is_made = |finding: &Finding| of_policy.iter().any(|rule| rule.code == finding.code);
    let waived = result.waived.iter().map(|waived| waived.finding.clone());
    let mut all: Vec<Finding> = findings.into_iter().chain(waived).filter(|finding| !is_made(finding)).collect();
    for finding in &mut all {
        let own = owner(finding, &units).and_then(|key| rules.get(&key).copied());
        finding.severity = finding.severity.max(least(finding, own.unwrap_or_default(), in_rl, policy));
    }
    all.extend(missing(result, policy));
    all
}

/// The rules of every unit.
fn rules(result: &GateResult) -> BTreeMap<Key, &[RuleOutcome]> {
    let units = result.checks.iter().flat_map(|check| check.units.iter().map(|unit| (check.id, unit)));
    units.map(|(id, unit)| (key(id, unit), unit.rules())).collect()
}

/// Required checks that judged nothing.
fn missing(result: &GateResult, policy: &Policy) -> Vec<Finding> {
    let judged = |id: &CheckId| {
        let check = result.checks.iter().find(|check| check.id == *id);
        check.is_some_and(|check| check.verdict != Verdict::Skipped)
    };
    let missing = policy.required.iter().filter(|id| !judged(id));
    missing.map(|id| Finding::new(&artifacts::REQUIRED_MISSING, id.as_str()).with("check", id.as_str())).collect()
}

/// Worst first; those that were there before stay in their order.
fn keep_order(findings: &mut [Finding], before: &[Finding]) {
    // Ranks have tensors of the same names.
    let unit = |finding: &Finding| text(finding, "unit").map(str::to_owned);
    let name = |finding: &Finding| (finding.check, finding.code.clone(), finding.place.clone(), unit(finding));
    let made = |finding: &Finding| finding.check == CheckId::Policy || finding.code == artifacts::REQUIRED_MISSING.code;
    if before.iter().any(made) {
        let mut places = HashMap::new();
        before.iter().enumerate().for_each(|(place, finding)| {
            places.entry(name(finding)).or_insert(place);
        });
        findings.sort_by_cached_key(|finding| places.get(&name(finding)).copied().unwrap_or(usize::MAX));
    }
    findings.sort_by_key(|finding| (!finding.counts(), std::cmp::Reverse(finding.severity)));
}

/// The verdict of each unit of each check.
fn units(result: &GateResult) -> Vec<Vec<Verdict>> {
    let said = Said::of(result);
    let damaged = |finding: &&Finding| finding.check == CheckId::Dump && finding.code == artifacts::DAMAGED.code;
    let unreadable = result.findings.iter().filter(damaged).map(|finding| finding.severity.verdict()).max();
    let verdict = |id: CheckId, unit: &Unit| match unit {
        Unit::Curve(unit) if unit.verdict == Verdict::Skipped => Verdict::Skipped,
        // What could not be read stays unread, unless a waiver covers every reason.
        Unit::Dump(unit) if unit.data.is_empty() => {
            unreadable.map_or(Verdict::Pass, |verdict| unit.verdict.max(verdict))
        }
        Unit::Evaluation(unit) => evaluation::verdict(unit, &said, said.counting(&(id, unit.place()))),
        Unit::Generation(unit) => evaluation::of_generations(unit, said.counting(&(id, unit.place()))),
        unit => verdict_of(said.counting(&key(id, unit)).iter().copied()),
    };
    let of_check = |check: &Check| check.units.iter().map(|unit| verdict(check.id, unit)).collect();
    result.checks.iter().map(of_check).collect()
}

/// Verdict and number of findings of each checker of each check.
fn items(result: &GateResult, before: &[Finding]) -> Vec<Vec<(Verdict, usize)>> {
    let of = |item: &ConfigItem| {
        let own = |finding: &&Finding| checker(item).is_some_and(|checker| part(finding) == Some(Part::Of(checker)));
        let now: Vec<&Finding> = result.findings.iter().filter(own).collect();
        let any = result.findings.iter().filter(|finding| part(finding) == Some(Part::Any));
        let shared = item.verdict.min(verdict_of(any));
        let count = item.findings.saturating_sub(before.iter().filter(own).count()).saturating_add(now.len());
        // A pack without a readable partner, and a checker that nobody has.
        let untouched = item.findings == 0 && now.is_empty();
        (if untouched { item.verdict } else { verdict_of(now).max(shared) }, count)
    };
    result.checks.iter().map(|check| check.items.iter().map(of).collect()).collect()
}

/// Passes over a culprit that the policy waives or takes for mere information, as judging does; where the runner-up is passed
/// over too, the result does not say who is next.
fn name_culprit(unit: &mut Unit, findings: &[Finding], policy: &Policy) {
    let stands = |culprit: &Culprit| {
        let place = culprit.unit();
        let is_own = |finding: &&Finding| {
            finding.code == culprit.code && finding.place == culprit.tensor && text(finding, "unit") == Some(&place)
        };
        let own = findings.iter().find(is_own);
        own.is_some_and(|finding| finding.severity > Severity::Info || policy.dump.preset.is_some())
    };
    let unit = match unit {
        Unit::Dump(unit) => unit,
        Unit::Monitor(unit) => {
            unit.culprit = unit.culprit.take().filter(stands);
            return;
        }
        Unit::Operators(unit) => {
            unit.culprit = unit.culprit.take().filter(stands);
            return;
        }
        Unit::Performance(unit) => {
            unit.culprit = unit.culprit.take().filter(stands);
            unit.cause = unit.cause.take().filter(|_| unit.culprit.is_some());
            return;
        }
        _ => return,
    };
    unit.runner_up = unit.runner_up.take().filter(stands);
    if !unit.culprit.as_ref().is_none_or(stands) {
        unit.culprit = unit.runner_up.take();
    }
}

/// The verdict of the whole; where no check has judged anything it is incomplete.
fn whole(result: &GateResult) -> Verdict {
    let checks = Verdict::of_all(result.checks.iter().map(|check| check.verdict));
    let all = checks.max(verdict_of(&result.findings));
    if checks == Verdict::Skipped { all.max(Verdict::Incomplete) } else { all }
}
