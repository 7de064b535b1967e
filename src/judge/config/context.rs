//! Two packs that are judged, with the policy.

use super::signs::device_signs;
use crate::policy::config::{ConfigPolicy, Device};
use crate::read::pack::Pack;
use crate::redact::Redactor;
use crate::verdict::Side;

/// Two packs that are judged, with the policy.
#[derive(Clone, Copy)]
pub struct PackContext<'a> {
    /// The trusted run's pack.
    pub baseline: &'a Pack,
    /// The pack to judge.
    pub candidate: &'a Pack,
    /// The policy's section.
    pub policy: &'a ConfigPolicy,
    /// Replaces secrets in values.
    pub redactor: &'a Redactor,
}

impl<'a> PackContext<'a> {
    /// Both sides.
    pub(super) fn sides(&self) -> [(Side, &'a Pack); 2] {
        [(Side::Baseline, self.baseline), (Side::Candidate, self.candidate)]
    }

    /// The kind of device that a side ran on: the declared one, or else the one that its pack shows.
    pub(super) fn device(&self, side: Side) -> Option<Device> {
        let (declared, pack) = match side {
            Side::Baseline => (self.policy.devices.baseline, self.baseline),
            Side::Candidate => (self.policy.devices.candidate, self.candidate),
        };
        declared.or_else(|| device_signs(pack).device)
    }
}
