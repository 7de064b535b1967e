//! The policy applied to findings: severities that it overrides are set, and what a valid waiver covers is taken out.
//!
//! What was not read or not compared is an absence: no waiver covers it, and no severity makes it less than a warning.

use super::register;
use super::rule::policy as rules;
use crate::policy::Policy;
use crate::policy::waiver::Waiver;
use crate::result::finding::{Finding, WaivedFinding};
use crate::verdict::{Profile, Severity};

/// Findings after the policy.
#[derive(Debug, Default)]
pub struct AppliedPolicy {
    /// Findings that count.
    pub findings: Vec<Finding>,
    /// Findings that a waiver covers.
    pub waived: Vec<WaivedFinding>,
    /// Names of waivers that fit an absence, which they do not cover.
    pub absences: Vec<String>,
}

/// Decision of the policy on one finding.
#[derive(Clone, Copy, Debug)]
pub struct Decision<'a> {
    /// Severity by the policy.
    pub severity: Severity,
    /// The waiver that covers it; one of information is never covered.
    pub waiver: Option<&'a Waiver>,
}

impl Decision<'_> {
    /// Whether it counts: it is neither covered by a waiver nor mere information.
    pub fn counts(&self) -> bool {
        self.waiver.is_none() && self.severity > Severity::Info
    }
}

/// Decides on a finding of `code` at `place` whose own severity is `severity`.
pub fn decide<'a>(code: &str, place: &str, severity: Severity, policy: &'a Policy) -> Decision<'a> {
    let is_absence = is_absence(code, severity);
    let mut severity = policy.severity.get(code).copied().unwrap_or(severity);
    if is_absence {
        severity = severity.max(Severity::Warn);
    }
    if policy.profile == Profile::Release && severity == Severity::Warn {
        severity = Severity::Fail;
    }
    let covers = |waiver: &&Waiver| !waiver.is_expired(policy.today) && waiver.covers(code, place);
    let waiver = policy.waivers.iter().find(covers).filter(|_| severity > Severity::Info && !is_absence);
    Decision { severity, waiver }
}

/// Whether a finding of `code` that weighs `severity` by its numbers says that something was not read or not compared.
fn is_absence(code: &str, severity: Severity) -> bool {
    severity == Severity::Incomplete && register::find(code).is_some_and(|rule| rule.is_absence)
}

/// The places in a list of those that are shown of it, in order: the worst `most` that no waiver covers, the first `most`
/// that one covers, and whatever is to be `kept`. Nothing that a waiver covers takes the place of what counts.
pub fn shown(decision: &[Decision<'_>], most: usize, kept: &[usize]) -> Vec<usize> {
    let places = |is_waived: bool| {
        let fits = move |place: &usize| decision.get(*place).is_some_and(|one| one.waiver.is_some() == is_waived);
        (0..decision.len()).filter(fits)
    };
    let severity = |place: &usize| std::cmp::Reverse(decision.get(*place).map(|one| one.severity));
    let mut shown: Vec<usize> = places(false).collect();
    shown.sort_by_key(severity);
    shown.truncate(most);
    shown.extend(places(true).take(most));
    shown.extend(kept);
    shown.sort_unstable();
    shown.dedup();
    shown
}

impl AppliedPolicy {
    /// Adds what another part of the run has.
    pub(super) fn join(&mut self, other: Self) {
        self.findings.extend(other.findings);
        self.waived.extend(other.waived);
        self.absences.extend(other.absences);
    }
}

/// Applies severities, waivers and profile of `policy`.
pub fn apply(findings: impl IntoIterator<Item = Finding>, policy: &Policy) -> AppliedPolicy {
    let mut applied = AppliedPolicy::default();
    for mut finding in findings {
        if !finding.counts() {
            // No waiver has to cover it, and no profile makes it worse.
            finding.severity = policy.severity.get(&finding.code).copied().unwrap_or(finding.severity);
            applied.findings.push(finding);
            continue;
        }
        if is_absence(&finding.code, finding.severity) {
            let waivers = policy.waivers.iter().filter(|waiver| waiver.covers(&finding.code, &finding.place));
            applied.absences.extend(waivers.map(Waiver::name));
        }
        let decision = decide(&finding.code, &finding.place, finding.severity, policy);
        finding.severity = decision.severity;
        match decision.waiver {
            Some(waiver) => applied.waived.push(covered(finding, waiver, false)),
            None => applied.findings.push(finding),
        }
    }
    applied
}

/// A finding that `waiver` covers: by its own pattern, or because it `follows` from the defect that the waiver names.
pub(super) fn covered(finding: Finding, waiver: &Waiver, follows: bool) -> WaivedFinding {
    WaivedFinding {
        waiver: waiver.name(),
        finding,
        reason: waiver.reason.clone(),
        owner: waiver.owner.clone(),
        expires: waiver.expires.to_string(),
        follows,
    }
}

/// Findings about the waivers themselves: expired ones fail, unused ones are reported, and so are those of an absence.
pub(super) fn waiver_findings(policy: &Policy, applied: &AppliedPolicy) -> Vec<Finding> {
    let finding = |waiver: &Waiver| {
        let rule = if waiver.is_expired(policy.today) {
            &rules::WAIVER_EXPIRED
        } else if applied.waived.iter().any(|used| used.waiver == waiver.name()) {
            return None;
        } else if applied.absences.contains(&waiver.name()) {
            &rules::WAIVER_OF_ABSENCE
        } else {
            &rules::WAIVER_UNUSED
        };
        Some(
            Finding::new(rule, waiver.name())
                .with("owner", waiver.owner.as_str())
                .with("reason", waiver.reason.as_str())
                .with("expires", waiver.expires.to_string()),
        )
    };
    policy.waivers.iter().filter_map(finding).collect()
}
