//! Rules about the evidence for a verdict, from the accounts of its units; the same for every check.
//!
//! They add nothing where a check has already said that too little was compared.

use std::collections::BTreeSet;

use crate::judge::rule::Rule;
use crate::judge::rule::evidence::{CONTRADICTING, COVERAGE, DAMAGED, FALLBACK, LEFT_OUT, MISSING, SINGLE};
use crate::result::finding::Finding;
use crate::result::observation::Observation;
use crate::result::unit::{Check, Evidence, Unit};
use crate::verdict::{CheckId, Severity, Verdict};

/// Least share of the offered places that has to be compared.
const LEAST_COVERAGE: f64 = 0.95;

/// Observations about the evidence for the verdict of `check`.
pub(super) fn check_observations(check: &Check) -> Vec<Observation> {
    let mut said = Vec::new();
    for (place, unit) in check.units.iter().enumerate() {
        let Some(evidence) = unit.evidence() else { continue };
        let of_unit = |finding: Finding| Observation::of_unit(check.id, place, finding.with("unit", unit.place()));
        said.extend(of_account(check.id, unit, evidence).into_iter().map(of_unit));
    }
    for (place, item) in check.items.iter().enumerate().filter(|(_, item)| item.evidence.left_out > 0) {
        let finding = left_out(check.id, &item.name, &item.evidence);
        said.push(Observation::of_item(check.id, place, finding));
    }
    if is_untold(check) {
        said.push(Observation::of_check(check.id, evidence_finding(&MISSING, check.id, check.id.as_str())));
    }
    said
}

/// The finding about observations that the policy leaves out by their codes; `None` where there are none.
pub(super) fn ignored_codes_finding(check: CheckId, ignored: &[&Observation]) -> Option<Finding> {
    let codes: BTreeSet<&str> = ignored.iter().map(|one| one.finding.code.as_str()).collect();
    let examples: Vec<String> = codes.into_iter().take(Evidence::EXAMPLES).map(str::to_owned).collect();
    let finding =
        || evidence_finding(&LEFT_OUT, check, check.as_str()).with("count", ignored.len()).with("examples", examples);
    (!ignored.is_empty()).then(finding)
}

/// The finding about a run in which only a single number was compared, in all of its checks together.
pub(super) fn run_findings(checks: &[Check]) -> Vec<Finding> {
    let accounts = || checks.iter().flat_map(|check| &check.units).filter_map(|unit| unit.evidence());
    let telling: u64 = accounts().map(Evidence::telling).fold(0, u64::saturating_add);
    let blocks = checks.iter().any(|check| check.verdict.blocks());
    let Some(check) = checks.iter().find(|check| check.verdict > Verdict::Skipped && rests_on_numbers(check)) else {
        return Vec::new();
    };
    let is_single = telling == 1
        && !blocks
        && !checks.iter().flat_map(|check| &check.units).any(holds_many_numbers)
        && checks.iter().all(|check| check.verdict == Verdict::Skipped || rests_on_numbers(check));
    is_single.then(|| evidence_finding(&SINGLE, check.id, check.id.as_str())).into_iter().collect()
}

/// Whether each place of a unit is a whole tensor, so that it stands for many numbers.
fn holds_many_numbers(unit: &Unit) -> bool {
    match unit {
        Unit::Checkpoint(_) | Unit::Sync(_) => true,
        Unit::Dump(unit) => unit.data == "tensor",
        _ => false,
    }
}

/// Whether the check would pass although nothing that it compared could have shown a difference.
fn is_untold(check: &Check) -> bool {
    let telling = check.units.iter().filter_map(|unit| unit.evidence()).map(Evidence::telling);
    rests_on_numbers(check)
        && matches!(check.verdict, Verdict::Pass | Verdict::Warn)
        && telling.fold(0, u64::saturating_add) == 0
}

/// Whether all units of a check have an account, as in checks of numbers.
fn rests_on_numbers(check: &Check) -> bool {
    !check.units.is_empty() && check.units.iter().all(|unit| unit.evidence().is_some())
}

fn evidence_finding(rule: &Rule, check: CheckId, place: &str) -> Finding {
    Finding::new(rule, place).of_check(check).with("check", check.as_str())
}

fn of_account(check: CheckId, unit: &Unit, evidence: &Evidence) -> Vec<Finding> {
    let place = unit.place();
    let about = |rule: &Rule, count: u64, kinds: &[&str]| {
        let examples = kinds.iter().filter_map(|kind| evidence.examples.get(*kind)).flatten().cloned();
        let examples: Vec<String> = examples.take(Evidence::EXAMPLES).collect();
        evidence_finding(rule, check, &place).with("count", count).with("examples", examples)
    };
    let mut findings = Vec::new();
    // What is unread is judged by its shape, where its readers kept an account of it.
    if evidence.damaged > 0 && !unit.verdict().blocks() {
        findings.push(about(&DAMAGED, evidence.damaged, &["damaged"]));
    }
    if evidence.contradicting > 0 {
        findings.push(about(&CONTRADICTING, evidence.contradicting, &["contradicting"]));
    }
    findings.extend(evidence.fallbacks.iter().map(|way| about(&FALLBACK, 1, &[way]).with("way", way.as_str())));
    if evidence.left_out > 0 {
        findings.push(left_out(check, &place, evidence));
    }
    findings.extend(coverage(check, unit, evidence));
    findings
}

fn left_out(check: CheckId, place: &str, evidence: &Evidence) -> Finding {
    let examples = evidence.examples.get("left-out").cloned().unwrap_or_default();
    evidence_finding(&LEFT_OUT, check, place).with("count", evidence.left_out).with("examples", examples)
}

/// Finding about the coverage of a unit; curves have a rule of their own.
fn coverage(check: CheckId, unit: &Unit, evidence: &Evidence) -> Option<Finding> {
    let offered = evidence.offered.saturating_sub(evidence.behind_waived);
    // In a dump, places behind a waiver were compared but are not judged, so they do not make up for missing ones.
    let unjudged = if matches!(unit, Unit::Dump(_)) { evidence.behind_waived } else { 0 };
    let compared = evidence.compared.saturating_sub(unjudged);
    if offered == 0 || compared >= offered || unit.verdict().blocks() || matches!(unit, Unit::Curve(_)) {
        return None;
    }
    let needed = LEAST_COVERAGE;
    #[allow(clippy::cast_precision_loss, reason = "no run offers 2^53 places")]
    let share = compared as f64 / offered as f64;
    let severity = if share < needed { Severity::Incomplete } else { Severity::Warn };
    let finding = evidence_finding(&COVERAGE, check, &unit.place()).with_severity(severity);
    Some(finding.with("compared", compared).with("offered", offered).with("needed", needed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::settle::settle_check;
    use crate::policy::Policy;
    use crate::result::unit::CheckpointUnit;

    fn codes(evidence: Evidence) -> (Verdict, Vec<String>) {
        let unit = CheckpointUnit { evidence, ..CheckpointUnit::empty("model") };
        let units = vec![Unit::Checkpoint(Box::new(unit))];
        let mut check = Check {
            id: CheckId::Checkpoint,
            verdict: Verdict::Skipped,
            culprit: None,
            items: vec![],
            samples: None,
            units,
        };
        let applied = settle_check(&mut check, &[], &Policy::default());
        (check.verdict, applied.findings.into_iter().map(|finding| finding.code).collect())
    }

    #[test]
    fn a_verdict_follows_from_the_account() {
        let whole = Evidence { offered: 100, compared: 100, ..Evidence::default() };
        let of = |change: &dyn Fn(&mut Evidence)| {
            let mut evidence = whole.clone();
            change(&mut evidence);
            codes(evidence)
        };
        let (pass, warn, incomplete) = (Verdict::Pass, Verdict::Warn, Verdict::Incomplete);
        for (verdict, code, found) in [
            (incomplete, "evidence-missing", of(&|one| one.equal_trivially = 100)),
            (warn, "evidence-coverage", of(&|one| one.compared = 95)),
            (incomplete, "evidence-coverage", of(&|one| one.compared = 94)),
            (warn, "evidence-damaged", of(&|one| one.damaged = 1)),
            (warn, "evidence-contradicting", of(&|one| one.contradicting = 1)),
            (warn, "evidence-fallback", of(&|one| one.fall_back("position", "line 1"))),
            (pass, "evidence-left-out", of(&|one| one.left_out = 3)),
        ] {
            assert_eq!(found, (verdict, vec![code.to_owned()]));
        }
        assert_eq!(codes(whole), (pass, vec![]));
    }

    #[test]
    fn codes_that_the_policy_leaves_out_are_told_and_an_absence_stays() {
        use crate::judge::checkpoint::rules;
        use crate::judge::rule::artifacts::DAMAGED;

        let settled = |rule: &'static Rule| {
            let policy = format!("health: {{ignore: [{}]}}", rule.code);
            let policy = Policy::parse("p.yml", &policy, &[rule.code]).expect("sound");
            let evidence = Evidence { offered: 9, compared: 9, ..Evidence::default() };
            let unit = CheckpointUnit { evidence, ..CheckpointUnit::empty("model") };
            let units = vec![Unit::Checkpoint(Box::new(unit))];
            let id = CheckId::Checkpoint;
            let mut check = Check { id, verdict: Verdict::Skipped, culprit: None, items: vec![], samples: None, units };
            let observation = Observation::of_unit(id, 0, Finding::new(rule, "w"));
            let applied = settle_check(&mut check, &[&observation], &policy);
            (check.verdict, applied.findings.into_iter().map(|finding| finding.code).collect::<Vec<_>>())
        };
        assert_eq!(settled(&rules::NON_FINITE), (Verdict::Pass, vec!["evidence-left-out".to_owned()]));
        assert_eq!(settled(&DAMAGED), (Verdict::Incomplete, vec!["artifact-damaged".to_owned()]));
    }

    #[test]
    fn a_run_that_rests_on_one_number_is_told() {
        let mut unit = crate::result::unit::CurveUnit::empty();
        let of = |unit: &crate::result::unit::CurveUnit| {
            let units = vec![Unit::Curve(Box::new(unit.clone()))];
            let check =
                Check { id: CheckId::Loss, verdict: Verdict::Pass, culprit: None, items: vec![], samples: None, units };
            run_findings(&[check]).into_iter().map(|finding| finding.code).collect::<Vec<_>>()
        };
        unit.evidence.compared = 1;
        assert_eq!(of(&unit), ["evidence-single-place"]);
        unit.evidence.compared = 2;
        assert!(of(&unit).is_empty());
    }
}
