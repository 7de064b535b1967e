//! The one thing that an opening is about.

use super::culprit::is_of_its_backward;
use super::settings;
use crate::judge::loss::{code as curve_rules, rl};
use crate::report::{checks, curve};
use crate::result::GateResult;
use crate::result::diagnosis::{Diagnosis, Sureness};
use crate::result::finding::{Fact, Finding};
use crate::result::unit::{AnyUnit, Culprit, CurveUnit};
use crate::verdict::{CheckId, Severity};

/// The one thing that leads.
pub(super) enum Lead<'a> {
    /// A culprit, with its finding and its cause.
    Culprit(&'a Culprit, &'a Finding, Option<&'a Diagnosis>),
    /// Settings that differ, of one kind.
    Settings(Vec<&'a Finding>),
    /// A training curve.
    Curve(&'a CurveUnit, &'a Finding),
    /// Any other finding, with its cause.
    Finding(&'a Finding, Option<&'a Diagnosis>),
    /// Nothing counts against the candidate.
    Nothing,
}

impl<'a> Lead<'a> {
    /// The check that what leads is about; `None` where nothing does.
    pub(super) fn check(&self) -> Option<CheckId> {
        match self {
            Lead::Culprit(_, finding, _) | Lead::Finding(finding, _) | Lead::Curve(_, finding) => Some(finding.check),
            Lead::Settings(findings) => findings.first().map(|finding| finding.check),
            Lead::Nothing => None,
        }
    }

    /// Selects the thing that leads, among everything as severe as the worst finding: a cause before a culprit before anything else.
    pub(super) fn from_result(result: &'a GateResult) -> Self {
        let worst = result.counting().map(|finding| finding.severity).max();
        let Some(worst) = worst.filter(|worst| *worst >= Severity::Warn) else { return Lead::Nothing };
        let of_worst = || result.counting().filter(|finding| finding.severity == worst);
        // Wrong numbers come before slowness: they have to be repaired first.
        let is_of_numbers = of_worst().any(|finding| !checks::compares_times(finding.check));
        let heavy = || of_worst().filter(|finding| !is_of_numbers || !checks::compares_times(finding.check));
        // The early end of a run explains everything that is missing after it.
        if let Some(finding) = heavy().find(|finding| finding.is(&curve_rules::RUN_ENDED_WITH_ERROR)) {
            return Lead::Finding(finding, None);
        }
        let likely = result.diagnoses.iter().find(|cause| cause.sureness >= Sureness::Likely);
        let caused = likely.and_then(|cause| heavy().find(|finding| finding.place == cause.place));
        let of_culprit = result.culprit.as_ref().and_then(|culprit| {
            let own = heavy().find(|finding| culprit.stands_for(finding));
            let finding = own.or_else(|| {
                let is_behind = heavy().next().is_some_and(|first| is_of_its_backward(culprit, first));
                result.counting().find(|finding| is_behind && culprit.stands_for(finding))
            })?;
            Some(Lead::Culprit(culprit, finding, cause_of(culprit, result)))
        });
        match (caused, of_culprit) {
            (Some(finding), _) if checks::compares_settings(finding.check) => of_finding(finding, result),
            (_, Some(lead)) => lead,
            (Some(finding), None) => of_finding(finding, result),
            (None, None) => heavy().next().map_or(Lead::Nothing, |finding| of_finding(finding, result)),
        }
    }
}

/// The cause of a culprit: the likeliest that is not about settings or curves.
fn cause_of<'a>(culprit: &Culprit, result: &'a GateResult) -> Option<&'a Diagnosis> {
    let is_elsewhere = |cause: &Diagnosis| {
        cause.place != culprit.tensor
            && result.counting().any(|finding| finding.check != culprit.check && finding.place == cause.place)
    };
    result.diagnoses.iter().find(|cause| !is_elsewhere(cause))
}

fn of_finding<'a>(finding: &'a Finding, result: &'a GateResult) -> Lead<'a> {
    let settings = settings::similar_settings_findings(finding, &result.findings);
    match of_curve(finding, result) {
        _ if !settings.is_empty() => Lead::Settings(settings),
        Some(lead) => lead,
        None => Lead::Finding(finding, result.diagnoses.iter().find(|cause| cause.place == finding.place)),
    }
}

/// The finding that is further beyond its limit.
fn further<'a>(one: &'a Finding, other: &'a Finding) -> &'a Finding {
    let times = |finding: &Finding| {
        let number = |name: &str| match finding.facts.get(name) {
            Some(Fact::Number(number)) => Some(number.0.abs()),
            _ => None,
        };
        number("value").zip(number("limit")).map_or(0.0, |(value, limit)| value / limit)
    };
    if times(other) > times(one) { other } else { one }
}

/// The curve that reports show first, where findings as severe as `finding` are about it or about `finding`'s own.
fn of_curve<'a>(finding: &'a Finding, result: &'a GateResult) -> Option<Lead<'a>> {
    let shown = curve::leading_curve(result).filter(|_| curve::is_judged_by(result, finding.check))?;
    let is_about = |other: &&Finding, unit: &CurveUnit| {
        other.check == finding.check && other.severity == finding.severity && other.place == unit.name()
    };
    let mut about = result.counting().filter(|other| is_about(other, shown));
    // The curve furthest over its limit leads; a reward that teaches nothing comes before the amount by which it is lower.
    let is_by_far = shown.mode == rl::MODE && !result.counting().any(|other| other.is(&curve_rules::RL_REWARD_DEAD));
    let first = about.next();
    let lead = if is_by_far { first.map(|first| about.fold(first, further)) } else { first };
    match lead {
        Some(first) => Some(Lead::Curve(shown, first)),
        None => curve::curve_by_name(result, &finding.place).map(|unit| Lead::Curve(unit, finding)),
    }
}
