//! Does a profile contradict itself? Its step time against its steps, its findings against its rules, limits against the policy.

use super::refusal::{Checked, claims, demand, shown};
use super::said::{Key, Said, everything, is_of, says, text};
use crate::compare::performance::statistics::{median, rank_test};
use crate::judge::performance::test::{Limits, StepTimeTest};
use crate::judge::performance::{culprit, rules};
use crate::judge::rule::Rule;
use crate::policy::Policy;
use crate::result::GateResult;
use crate::result::finding::{Finding, verdict_of};
use crate::result::number::Number;
use crate::result::outcome::RuleOutcome;
use crate::result::unit::{Check, PerformanceUnit, StepTime, profile_place, profiles};
use crate::verdict::{CheckId, Severity, Verdict};

/// Names of the rules of a profile.
const STEP_TIME: &str = "step_time";
const MEMORY_PEAK: &str = "memory_peak";
/// Part by which a number that was written and read again may differ.
const SAME: f64 = 1e-9;
/// Findings without which nothing may stay unjudged.
const BLIND: [&Rule; 6] = [
    &rules::FILE_DAMAGED,
    &rules::FILE_MISSING,
    &rules::NO_DEVICE,
    &rules::WORKLOAD_DIFFERS,
    &rules::STEPS_TWICE,
    &rules::FEW_STEPS,
];

/// Refuses a profile that contradicts itself.
pub(super) fn check(unit: &PerformanceUnit, key: &Key, said: &Said<'_>, at: &str) -> Checked {
    let findings: Vec<&Finding> = said.all(key).collect();
    claims(unit.verdict, verdict_of(said.counting(key).iter().copied()), at)?;
    let Some(time) = &unit.step_time else {
        let bare = unit.rules.is_empty() && unit.phases.is_none() && unit.periods.is_none() && unit.culprit.is_none();
        demand(bare && unit.operators.is_empty(), at, || "has no step time, and numbers made of one".into())?;
        return demand(says(&findings, &BLIND), at, || "judged no step time, and no finding says why".into());
    };
    times(unit, time, at)?;
    outcomes(unit, time, &findings, at)?;
    of_unit(unit, &findings, at)
}

fn is_same(one: f64, other: f64) -> bool {
    one.to_bits() == other.to_bits() || (one - other).abs() <= SAME * one.abs().max(other.abs())
}

/// Medians, ratio, noise and probability follow from the steps, where all of them are there.
fn times(unit: &PerformanceUnit, time: &StepTime, at: &str) -> Checked {
    let is_time = |number: Number| number.0 > 0.0 && number.0.is_finite();
    demand(is_time(time.baseline) && is_time(time.candidate), at, || "has a step time that is none".into())?;
    let ratio = time.candidate.0 / time.baseline.0;
    demand(is_same(ratio, time.ratio.0), at, || "its ratio is not that of its step times".into())?;
    demand(time.noise.0 >= 0.01 && time.noise.0.is_finite(), at, || "its noise is none".into())?;
    let Some(periods) = &unit.periods else {
        return demand(false, at, || "has a step time without its steps".into());
    };
    let values = periods.each_ref().map(|side| side.iter().map(|period| period.1.0).collect::<Vec<f64>>());
    let [ours, theirs] = &values;
    let whole = [ours.len() as u64, theirs.len() as u64] == unit.steps;
    demand(whole || unit.steps.iter().any(|steps| *steps > 2000), at, || "lacks some of its steps".into())?;
    if !whole {
        return Ok(());
    }
    let test = StepTimeTest::of(ours, theirs, time.repeats.map(|repeats| repeats.0));
    let same = is_same(median(ours), time.baseline.0)
        && is_same(median(theirs), time.candidate.0)
        && is_same(test.noise, time.noise.0)
        && is_same(rank_test(ours, theirs), time.p.0);
    demand(same, at, || "its step time does not follow from its steps".into())
}

/// Rules follow from the numbers, and findings from the rules.
fn outcomes(unit: &PerformanceUnit, time: &StepTime, findings: &[&Finding], at: &str) -> Checked {
    let find = |name: &str| unit.rules.iter().find(|outcome| outcome.rule == name);
    let Some(outcome) = find(STEP_TIME) else {
        return demand(false, at, || "has no rule about its step time".into());
    };
    let value = outcome.value.map_or(f64::NAN, |value| value.0);
    demand(is_same(value, time.ratio.0 - time.noise.0), at, || "its rule has another value".into())?;
    let limit = |limit: Option<Number>| limit.map(|limit| limit.0);
    let limits = Limits { warn: limit(outcome.warn), fail: limit(outcome.fail) };
    let test = tested(unit, time);
    demand(test.is_none_or(|test| test.verdict(limits) == outcome.verdict), at, || {
        "its rule has another verdict than its steps".into()
    })?;
    demand((outcome.verdict > Verdict::Pass) == says(findings, &[&rules::SLOWER]), at, || {
        "its rule about step time and its findings differ".into()
    })?;
    let slower = findings.iter().find(|finding| is_of(finding, &[&rules::SLOWER]));
    let noticed = slower.is_none_or(|finding| {
        let number = |name: &str| super::said::number(finding, name).unwrap_or(f64::NAN);
        is_same(number("baseline"), time.baseline.0) && is_same(number("candidate"), time.candidate.0)
    });
    demand(noticed, at, || "its finding has other step times".into())?;
    memory(unit, find(MEMORY_PEAK), findings, at)
}

fn tested(unit: &PerformanceUnit, time: &StepTime) -> Option<StepTimeTest> {
    let periods = unit.periods.as_ref()?;
    let values = periods.each_ref().map(|side| side.iter().map(|period| period.1.0).collect::<Vec<f64>>());
    let [ours, theirs] = &values;
    let is_whole = [ours.len() as u64, theirs.len() as u64] == unit.steps;
    is_whole.then(|| StepTimeTest::of(ours, theirs, time.repeats.map(|repeats| repeats.0)))
}

fn memory(unit: &PerformanceUnit, outcome: Option<&RuleOutcome>, findings: &[&Finding], at: &str) -> Checked {
    let peaks = unit.memory_peak.filter(|[ours, _]| unit.equal_hardware && ours.0 > 0.0);
    demand(peaks.is_some() == outcome.is_some(), at, || "its memory and its rules differ".into())?;
    let Some(([ours, theirs], outcome)) = peaks.zip(outcome) else { return Ok(()) };
    let value = outcome.value.map_or(f64::NAN, |value| value.0);
    let number = |limit: Option<Number>| limit.map(|limit| limit.0);
    let follows = outcome.direction.verdict(value, number(outcome.warn), number(outcome.fail));
    let fits = is_same(value, theirs.0 / ours.0) && follows == outcome.verdict;
    demand(fits, at, || "its rule about memory does not follow from its peaks".into())?;
    demand((outcome.verdict > Verdict::Pass) == says(findings, &[&rules::MEMORY_PEAK]), at, || {
        "its rule about memory and its findings differ".into()
    })
}

/// The culprit is this rank's and has its finding.
fn of_unit(unit: &PerformanceUnit, findings: &[&Finding], at: &str) -> Checked {
    let counts =
        |finding: &&&Finding| finding.severity > Severity::Info && is_of(finding, &[&rules::SLOWER, &rules::AICPU]);
    let Some(culprit) = &unit.culprit else {
        return demand(unit.cause.is_none(), at, || "has a cause and no culprit".into());
    };
    let here = culprit.check == CheckId::Performance
        && culprit.rank == unit.rank
        && culprit.tensor == profile_place(unit.rank)
        && culprit.performance == unit.cause
        && culprit.monitor.is_none()
        && culprit.operator.is_none();
    demand(here, at, || "its culprit belongs to another unit".into())?;
    let named = findings.iter().filter(counts).any(|finding| finding.code == culprit.code);
    demand(named && culprit.finding == culprit.own_finding(), at, || {
        format!("its culprit {} has no finding", shown(&culprit.tensor))
    })
}

/// The culprit of the check follows from those of its units; other checks have none of this kind.
pub(super) fn culprit_of_check(check: &Check, at: &str) -> Checked {
    if check.id != CheckId::Performance {
        return demand(check.culprit.is_none(), at, || "has a culprit of another check".into());
    }
    let units: Vec<&PerformanceUnit> = profiles(std::slice::from_ref(check)).collect();
    demand(culprit::of_check(&units) == check.culprit, at, || "its culprit does not follow from its units".into())
}

/// Refuses limits, repeats and hardware that are not those of the target's policy.
pub(super) fn fits(unit: &PerformanceUnit, result: &GateResult, policy: &Policy, at: &str) -> Checked {
    let own = &policy.performance;
    let has_repeats = unit.step_time.as_ref().is_some_and(|time| time.repeats.is_some());
    demand(!has_repeats || !own.repeats.is_empty(), at, || {
        "counts repeats as noise, and the policy declares none".into()
    })?;
    let place = profile_place(unit.rank);
    let other = everything(result)
        .any(|finding| finding.code == rules::OTHER_HARDWARE.code && text(finding, "unit") == Some(&place));
    let [ours, theirs] = &unit.devices;
    let labels = [&policy.baseline.label, &policy.candidate.label];
    let hardware = [&policy.loss.hardware.baseline, &policy.loss.hardware.candidate];
    let differ = |[ours, theirs]: [&String; 2]| !ours.is_empty() && !theirs.is_empty() && ours != theirs;
    let is_other = ours != theirs || differ(labels) || differ(hardware);
    demand(unit.equal_hardware || is_other, at, || "says that the hardware differs, and nothing shows it".into())?;
    demand(unit.step_time.is_none() || other != unit.equal_hardware, at, || {
        "its hardware and its findings differ".into()
    })?;
    let of = |limit: Option<crate::policy::performance::Ratio>| limit.map(|limit| Number(limit.get()));
    for outcome in &unit.rules {
        let wanted = match (outcome.rule.as_str(), unit.equal_hardware) {
            (STEP_TIME, true) => (of(Some(own.step_time.warn)), of(Some(own.step_time.fail))),
            (STEP_TIME, false) => (of(own.other_hardware.step_time.warn), of(own.other_hardware.step_time.fail)),
            (MEMORY_PEAK, _) => (of(Some(own.memory_peak.warn)), of(own.memory_peak.fail)),
            _ => return demand(false, at, || "has a rule that no profile has".into()),
        };
        demand((outcome.warn, outcome.fail) == wanted, at, || {
            format!("the rule {} has other limits than the target's policy", shown(&outcome.rule))
        })?;
    }
    demand(unit.verdict != Verdict::Skipped, at, || "was not judged".into())
}

/// Severity of a finding before any policy: that of its rule's outcome, where one decides.
pub(super) fn weight(finding: &Finding, rule: &Rule, outcomes: &[RuleOutcome]) -> Severity {
    let of = |name: &str| {
        let verdict = outcomes.iter().find(|outcome| outcome.rule == name).map(|outcome| outcome.verdict);
        if verdict == Some(Verdict::Warn) { Severity::Warn } else { Severity::Fail }
    };
    match () {
        () if rule.code == rules::SLOWER.code => of(STEP_TIME),
        () if rule.code == rules::MEMORY_PEAK.code => of(MEMORY_PEAK),
        () if rule.code == rules::FEW_STEPS.code && text(finding, "blind").is_some() => Severity::Incomplete,
        () => rule.severity,
    }
}
