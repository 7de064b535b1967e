//! Applies the policy to findings: sets overridden severities, and separates findings that a valid waiver covers.
//!
//! No waiver covers an absence (something that was not read or not compared), and no severity in the policy makes it less than a warning.

use std::collections::HashSet;

use crate::judge::apply_policy::decide;
use crate::judge::register;
use crate::judge::rule::policy as rules;
use crate::policy::Policy;
use crate::policy::waiver::Waiver;
use crate::result::finding::{Finding, WaivedFinding};
use crate::verdict::Severity;

/// Findings after the policy was applied.
#[derive(Debug, Default)]
pub struct AppliedPolicy {
    /// Findings that count.
    pub findings: Vec<Finding>,
    /// Findings that a waiver covers.
    pub waived: Vec<WaivedFinding>,
    /// Names of waivers that match an absence, which they cannot cover.
    pub absences: Vec<String>,
}

/// Whether a finding of `code` with its own `severity` is an absence: something was not read or not compared.
pub(super) fn is_absence(code: &str, severity: Severity) -> bool {
    severity == Severity::Incomplete && register::find(code).is_some_and(|rule| rule.is_absence)
}

impl AppliedPolicy {
    /// Adds the findings of another part of the run.
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
            // A finding that does not count needs no waiver, and no profile makes it worse.
            finding.severity = policy.severity.get(&finding.code).copied().unwrap_or(finding.severity);
            applied.findings.push(finding);
            continue;
        }
        let is_absence = is_absence(&finding.code, finding.severity);
        if is_absence {
            let waivers = policy.waivers.covering(&finding.code, &finding.place);
            applied.absences.extend(waivers.map(Waiver::name));
        }
        let decision = decide(&finding.code, &finding.place, finding.severity, policy);
        finding.severity = if is_absence { decision.severity.max(Severity::Warn) } else { decision.severity };
        match decision.waiver.filter(|_| !is_absence) {
            Some(waiver) => applied.waived.push(waived_finding(finding, waiver, false)),
            None => applied.findings.push(finding),
        }
    }
    applied
}

/// A finding that `waiver` covers: by its own pattern, or because it `follows` from the defect that the waiver names.
pub(super) fn waived_finding(finding: Finding, waiver: &Waiver, follows: bool) -> WaivedFinding {
    WaivedFinding {
        waiver: waiver.name(),
        finding,
        reason: waiver.reason.clone(),
        owner: waiver.owner.clone(),
        expires: waiver.expires.to_string(),
        follows,
    }
}

/// Findings about the waivers themselves: expired ones, unused ones, and those that match only an absence.
pub(super) fn waiver_findings(policy: &Policy, applied: &AppliedPolicy) -> Vec<Finding> {
    let used: HashSet<&str> = applied.waived.iter().map(|waived| waived.waiver.as_str()).collect();
    let absences: HashSet<&str> = applied.absences.iter().map(String::as_str).collect();
    let finding = |waiver: &Waiver| {
        let rule = if waiver.is_expired(policy.today) {
            &rules::WAIVER_EXPIRED
        } else if used.contains(&*waiver.name()) {
            return None;
        } else if absences.contains(&*waiver.name()) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::rule::artifacts::DAMAGED;

    #[test]
    fn no_waiver_covers_an_absence_and_none_is_weighed_away() {
        let text = "severity: {artifact-damaged: info}\nwaivers: [{code: 'artifact-*', where: '*', reason: r, owner: o, expires: 2099-01-01}]\n";
        let policy = Policy::parse("p.yml", text, &["artifact-damaged"]).expect("sound");
        let applied = apply([Finding::new(&DAMAGED, "dump.json")], &policy);
        assert_eq!((applied.findings[0].severity, applied.waived.len()), (Severity::Warn, 0));
        let of_policy = waiver_findings(&policy, &applied);
        assert_eq!(of_policy[0].code, "waiver-of-absence");
    }
}
