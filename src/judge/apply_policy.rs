//! Decision of the policy on one finding: its severity, and the waiver that covers it.

use crate::policy::Policy;
use crate::policy::waiver::Waiver;
use crate::verdict::{Profile, Severity};

/// Decision of the policy on one finding.
#[derive(Clone, Copy, Debug)]
pub struct Decision<'a> {
    /// Severity by the policy.
    pub severity: Severity,
    /// The waiver that covers it; a finding of mere information is never covered.
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

/// Places of the findings that are shown of a list of decisions, in rising order. They are the worst `most` that no waiver covers, the
/// first `most` that a waiver covers, the worst `most` of those that may follow from a covered one, and all places in `kept`. The
/// groups are counted separately, so that waived findings and their consequences never displace findings that count.
pub(crate) fn shown_places(
    decisions: &[Decision<'_>],
    may_follow: impl Fn(usize) -> bool,
    most: usize,
    kept: &[usize],
) -> Vec<usize> {
    let at = |place: &usize| decisions.get(*place);
    let is_waived = |place: &usize| at(place).is_some_and(|one| one.waiver.is_some());
    let (waived, counting): (Vec<usize>, Vec<usize>) = (0..decisions.len()).partition(is_waived);
    let (following, own): (Vec<usize>, Vec<usize>) = counting.into_iter().partition(|place| may_follow(*place));
    let mut shown: Vec<usize> = waived.into_iter().take(most).chain(kept.iter().copied()).collect();
    for mut group in [own, following] {
        group.sort_by_key(|place| std::cmp::Reverse(at(place).map(|one| one.severity)));
        shown.extend(group.into_iter().take(most));
    }
    shown.sort_unstable();
    shown.dedup();
    shown
}
