//! Settling: what the policy makes of raw findings.
//!
//! Severities the policy overrides are set, and findings that a valid waiver covers are taken out. Judges settle a
//! unit's findings before they derive its verdict.

use super::finding::{Finding, WaivedFinding};
use super::rule::policy as rules;
use crate::policy::Policy;
use crate::policy::waiver::Waiver;
use crate::verdict::{Profile, Severity};

/// Findings after the policy.
#[derive(Debug, Default)]
pub struct Settled {
    /// What counts.
    pub findings: Vec<Finding>,
    /// What a waiver covers.
    pub waived: Vec<WaivedFinding>,
}

/// Applies severities, waivers and profile of `policy`.
pub fn settle(findings: Vec<Finding>, policy: &Policy) -> Settled {
    let mut settled = Settled::default();
    for mut finding in findings {
        if let Some(severity) = policy.severity.get(&finding.code) {
            finding.severity = *severity;
        }
        if policy.profile == Profile::Release && finding.severity == Severity::Warn {
            finding.severity = Severity::Fail;
        }
        let covers =
            |waiver: &&Waiver| !waiver.is_expired(policy.today) && waiver.covers(&finding.code, &finding.place);
        match policy.waivers.iter().find(covers).filter(|_| finding.severity > Severity::Info) {
            Some(waiver) => settled.waived.push(WaivedFinding {
                waiver: waiver.name(),
                finding,
                reason: waiver.reason.clone(),
                owner: waiver.owner.clone(),
                expires: waiver.expires.to_string(),
            }),
            None => settled.findings.push(finding),
        }
    }
    settled
}

/// What is to be said of the waivers themselves: expired ones fail, unused ones are reported.
pub fn waiver_findings(policy: &Policy, waived: &[WaivedFinding]) -> Vec<Finding> {
    let finding = |waiver: &Waiver| {
        let rule = if waiver.is_expired(policy.today) {
            &rules::WAIVER_EXPIRED
        } else if waived.iter().any(|used| used.waiver == waiver.name()) {
            return None;
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
