//! Does a unit of a dump contradict itself? Its counts, culprit and profile against its findings.

use super::outcome::held;
use super::refusal::{Checked, claims, demand, shown};
use super::said::{Key, Said, number, says, text};
use crate::judge::dump::element_limits::KINDS;
use crate::judge::dump::reference::off_side;
use crate::judge::dump::rules;
use crate::judge::register;
use crate::judge::rule::Rule;
use crate::policy::dump::TensorPreset;
use crate::result::finding::{Finding, verdict_of};
use crate::result::operation::OffSide;
use crate::result::outcome::RuleOutcome;
use crate::result::unit::{Culprit, DumpUnit};
use crate::verdict::{CheckId, Severity, Verdict};

/// Suspects that become findings of their own.
const MOST_FINDINGS: f64 = 20.0;
/// A profile of fewer points has not been thinned: it names every operation.
const WHOLE: usize = 1_000;

/// Refuses a unit that contradicts itself.
pub(super) fn check(unit: &DumpUnit, key: &Key, said: &Said<'_>, at: &str) -> Checked {
    let findings: Vec<&Finding> = said.all(key).collect();
    if unit.data.is_empty() {
        return unread(unit, &findings, at);
    }
    let counting = said.counting(key);
    claims(unit.verdict, verdict_of(counting.iter().copied()), at)?;
    counts(unit, &findings, at)?;
    suspects(&findings, at)?;
    culprits(unit, &findings, at)?;
    references(unit, &findings, at)?;
    profile(unit, &findings, counting, at)?;
    rules_of(unit, &findings, at)
}

/// Nothing of it could be read: it holds nothing.
fn unread(unit: &DumpUnit, findings: &[&Finding], at: &str) -> Checked {
    let nothing = DumpUnit { verdict: unit.verdict, ..DumpUnit::unread(unit.step, unit.rank) };
    demand(*unit == nothing && findings.is_empty(), at, || "could not be read, and holds something".into())?;
    demand(unit.verdict != Verdict::Skipped, at, || "is skipped, which no unit of a dump is".into())
}

/// Checks that findings report values that were not compared or have no partner.
fn counts(unit: &DumpUnit, findings: &[&Finding], at: &str) -> Checked {
    let none = says(findings, &[&rules::NOTHING_COMPARED]);
    demand((unit.compared == 0) == none, at, || format!("compared {} values, which its findings deny", unit.compared))?;
    let unmatched = unit.unmatched_candidate.saturating_add(unit.unmatched_baseline);
    let alone = [&rules::OPERATIONS_MISSING, &rules::TENSOR_UNREADABLE, &rules::VALUE_MISSING];
    demand(unmatched == 0 || says(findings, &alone), at, || {
        format!("has {unmatched} values without a partner, and no finding says so")
    })?;
    evidence(unit, unmatched, findings, at)
}

/// The states of its values add up to its counts, and those that call for a finding have one.
fn evidence(unit: &DumpUnit, unmatched: u64, findings: &[&Finding], at: &str) -> Checked {
    let compared = unit.evidence.compared;
    let one_sided = unit.evidence.alone();
    let all = unit.compared.saturating_add(unit.not_compared).saturating_add(unmatched);
    let fits = unit.evidence.total() == all && compared == unit.compared && one_sided >= unmatched;
    // Results of the first format do not count states.
    demand(unit.evidence.is_empty() || fits, at, || "counts other states of its values than values".into())?;
    let partly = [&rules::STATISTICS_MISSING, &rules::DATA_MISSING, &rules::VALUE_MISSING, &rules::TASK_DIFFERS];
    let is_told = |rules: &[&Rule]| says(findings, rules);
    demand(one_sided <= unmatched || is_told(&partly), at, || {
        format!("{} values are partly missing in one dump, but there is no finding about them", one_sided - unmatched)
    })?;
    let damaged = [&rules::TENSOR_UNREADABLE, &rules::STATISTICS_UNREADABLE];
    let untold = if unit.evidence.is_empty() { unit.not_compared } else { unit.evidence.damaged };
    demand(
        untold == 0 || is_told(&damaged) || unit.evidence.is_empty() && is_told(&[&rules::VALUE_MISSING]),
        at,
        || format!("did not compare {untold} values, and no finding says why"),
    )
}

/// Every suspect is listed, up to twenty that no waiver covers, as many that one covers, and the culprits; and each says how
/// many there are.
fn suspects(findings: &[&Finding], at: &str) -> Checked {
    let told: Vec<f64> = findings.iter().filter_map(|finding| number(finding, "suspects")).collect();
    let Some(total) = told.first() else { return Ok(()) };
    #[allow(clippy::cast_precision_loss, reason = "a count of findings")]
    let listed = told.len() as f64;
    let same = told.iter().all(|other| other.to_bits() == total.to_bits());
    demand(same && (total.min(MOST_FINDINGS)..=*total).contains(&listed), at, || {
        format!("lists {listed} suspects of {total}")
    })
}

fn culprits(unit: &DumpUnit, findings: &[&Finding], at: &str) -> Checked {
    demand(unit.inherited_from.is_none() || unit.culprit.is_none(), at, || {
        "has a culprit, and inherits its error".into()
    })?;
    demand(unit.runner_up.is_none() || unit.culprit.is_some(), at, || "has a second culprit, and no first".into())?;
    for culprit in unit.culprit.iter().chain(&unit.runner_up) {
        culprit_of(unit, culprit, findings, at)?;
    }
    let other = unit.culprit.as_ref().zip(unit.runner_up.as_ref()).is_none_or(|(one, other)| one.op != other.op);
    demand(other, at, || "names one operation as both culprits".into())
}

/// A culprit is of its unit and is a finding of it.
fn culprit_of(unit: &DumpUnit, culprit: &Culprit, findings: &[&Finding], at: &str) -> Checked {
    let here = culprit.step == unit.step && culprit.rank == unit.rank;
    demand(here, at, || "its culprit belongs to another unit".into())?;
    let known = register::find(&culprit.code).is_some_and(|rule| rule.check == CheckId::Dump);
    demand(known, at, || format!("its culprit has the code {}, which no dump has", shown(&culprit.code)))?;
    let fits = |finding: &&&Finding| {
        finding.code == culprit.code && finding.place == culprit.tensor && text(finding, "op") == Some(&culprit.op)
    };
    let found = findings.iter().find(fits);
    let named = found.is_some() && culprit.finding == culprit.own_finding();
    demand(named, at, || format!("its culprit {} has no finding", shown(&culprit.tensor)))?;
    let error = found.and_then(|finding| number(finding, "error"));
    let same = error.is_none_or(|error| {
        let own = culprit.metrics.get("error").map_or(f64::NAN, |number| number.0);
        own.to_bits() == error.to_bits() || own.is_nan() && error.is_nan()
    });
    demand(same, at, || "its culprit and the finding of it have different errors".into())
}

/// The side that is off follows from the errors against the reference, and a baseline that is off has a finding.
fn references(unit: &DumpUnit, findings: &[&Finding], at: &str) -> Checked {
    let culprits = || unit.culprit.iter().chain(&unit.runner_up);
    for (culprit, errors) in culprits().filter_map(|culprit| Some((culprit, culprit.reference?))) {
        let limit = culprit.metrics.get("limit").map_or(f64::NAN, |limit| limit.0);
        let follows = errors.off_side == off_side(errors.baseline.0, errors.candidate.0, limit);
        demand(follows, at, || "the side that is off does not follow from the errors against the reference".into())?;
    }
    let mut named: Vec<&str> =
        findings.iter().filter(|one| one.code == rules::BASELINE_OFF.code).map(|one| one.place.as_str()).collect();
    let is_off = |culprit: &&Culprit| culprit.reference.is_some_and(|errors| errors.off_side == OffSide::Baseline);
    let mut off: Vec<&str> = culprits().filter(is_off).map(|culprit| culprit.tensor.as_str()).collect();
    named.sort_unstable();
    off.sort_unstable();
    demand(named == off, at, || "its findings name other places at which the baseline is off than its culprits".into())
}

/// The culprit is a suspected operation of the profile, none before it has a finding that counts, and every suspected one is
/// somebody's.
fn profile(unit: &DumpUnit, findings: &[&Finding], counting: &[&Finding], at: &str) -> Checked {
    demand(unit.profile.is_sorted_by(|a, b| a.order < b.order), at, || "its profile is not in order".into())?;
    let counts =
        |op: &str| counting.iter().any(|finding| finding.severity > Severity::Info && text(finding, "op") == Some(op));
    let mut suspected = unit.profile.iter().filter(|point| point.suspect);
    let first = suspected.clone().find(|point| counts(&point.op));
    demand(first.is_none() || unit.culprit.is_some(), at, || {
        "an operation of its profile is suspected, and it has no culprit".into()
    })?;
    let Some(culprit) = unit.culprit.as_ref().filter(|_| unit.profile.len() < WHOLE) else { return Ok(()) };
    let its_own = suspected.any(|point| point.op == culprit.op && point.order == culprit.order);
    demand(its_own && first.is_none_or(|point| point.order >= culprit.order), at, || {
        "its culprit is not the first suspected operation of its profile".into()
    })?;
    let many = findings.iter().any(|finding| number(finding, "suspects").is_some_and(|total| total > MOST_FINDINGS));
    let told = |op: &str| many || findings.iter().any(|finding| text(finding, "op") == Some(op));
    let untold = unit.profile.iter().find(|point| point.suspect && !told(&point.op));
    demand(untold.is_none(), at, || "an operation of its profile is suspected, and no finding names it".into())
}

/// Published rules, and limits that count elements, follow from their values and limits.
fn rules_of(unit: &DumpUnit, findings: &[&Finding], at: &str) -> Checked {
    let (limits, presets): (Vec<&RuleOutcome>, Vec<&RuleOutcome>) =
        unit.rules.iter().partition(|outcome| KINDS.contains(&outcome.rule.as_str()));
    unit.rules.iter().try_for_each(|outcome| held(outcome, at))?;
    preset_of(&presets, findings, at)?;
    demand(presets.is_empty() || limits.is_empty(), at, || "has a preset, and limits that count elements".into())?;
    limits_of(&limits, findings, at)
}

fn preset_of(presets: &[&RuleOutcome], findings: &[&Finding], at: &str) -> Checked {
    demand(presets.len() <= 1, at, || "has more than one preset".into())?;
    let Some(outcome) = presets.first() else {
        return demand(!says(findings, &[&rules::PRESET_NOT_MET]), at, || "lacks the preset that is not met".into());
    };
    let preset = preset(&outcome.rule);
    demand(preset.is_some(), at, || format!("preset {} does not exist", shown(&outcome.rule)))?;
    // The cosine of msprobe's rule may lie below its limit where the largest difference is small.
    let least = (preset == Some(TensorPreset::Msprobe)).then_some(0.9);
    demand(follows(outcome, least), at, || "its preset's verdict does not follow from its value and limit".into())?;
    let unmet = says(findings, &[&rules::PRESET_NOT_MET]);
    demand(unmet == (outcome.verdict == Verdict::Fail), at, || "its preset and its findings disagree".into())
}

/// Whether a rule that only fails passed within its limit, or at least `least` where that is given.
fn follows(outcome: &RuleOutcome, least: Option<f64>) -> bool {
    let (value, limit) =
        outcome.value.zip(outcome.fail).map_or((f64::NAN, f64::NAN), |(value, limit)| (value.0, limit.0));
    let within = least.map_or_else(|| outcome.direction.keeps(value, limit), |least| value >= least);
    outcome.warn.is_none() && (outcome.verdict == Verdict::Fail || outcome.verdict == Verdict::Pass && within)
}

/// Each kind of limit stands once, with the value that lies farthest on the wrong side, and findings name what lies beyond.
fn limits_of(limits: &[&RuleOutcome], findings: &[&Finding], at: &str) -> Checked {
    let once = |kind: &&str| limits.iter().filter(|outcome| outcome.rule == **kind).count() <= 1;
    demand(KINDS.iter().all(once), at, || "holds a limit that counts elements twice".into())?;
    demand(limits.iter().all(|outcome| follows(outcome, None)), at, || {
        "has a limit whose verdict does not follow from its value".into()
    })?;
    let is_missed = limits.iter().any(|outcome| outcome.verdict == Verdict::Fail);
    let is_told = says(findings, &[&rules::LIMIT_NOT_MET]);
    // Of many suspects the worst are listed.
    let many = findings.iter().any(|finding| number(finding, "suspects").is_some_and(|total| total > MOST_FINDINGS));
    demand(is_missed || !is_told, at, || "lacks the limit that is not met".into())?;
    demand(!is_missed || is_told || many || is_exact(findings), at, || {
        "has a value beyond a limit, and no finding says so".into()
    })
}

/// Whether a value differs exactly, which is said in place of the limit that it misses too.
fn is_exact(findings: &[&Finding]) -> bool {
    says(findings, &[&rules::NON_FINITE_DIFFERS, &rules::DTYPE_DIFFERS, &rules::REQUIRES_GRAD_DIFFERS])
}

/// The preset with this name.
fn preset(name: &str) -> Option<TensorPreset> {
    use TensorPreset::{CannDouble, CannMixed, Msprobe, Numpy, Pcc, Polygraphy, TorchAssertClose};
    let all = [TorchAssertClose, Numpy, Polygraphy, Pcc, CannMixed, CannDouble, Msprobe];
    all.into_iter().find(|preset| preset.as_str() == name)
}
