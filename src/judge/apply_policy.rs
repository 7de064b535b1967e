//! Decision of the policy on one finding: its severity, and the waiver that covers it.

use crate::policy::Policy;
use crate::policy::waiver::Waiver;
use crate::verdict::{Profile, Severity};

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
    let mut severity = policy.severity.get(code).copied().unwrap_or(severity);
    if policy.profile == Profile::Release && severity == Severity::Warn {
        severity = Severity::Fail;
    }
    let mut waivers = policy.waivers.covering(code, place).filter(|waiver| !waiver.is_expired(policy.today));
    Decision { severity, waiver: if severity > Severity::Info { waivers.next() } else { None } }
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
