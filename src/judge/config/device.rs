//! Devices of the packs: whether each one comes from an NPU or a GPU.
//!
//! Signs of another device are a finding only if the policy declares the device.

use super::context::Context;
use super::listed::listed;
use super::rules::{DEVICE_DIFFERS, SIDES_SWAPPED};
use super::signs::shown_by;
use crate::policy::config::Device;
use crate::result::finding::Finding;

pub(super) fn judge(context: &Context<'_>) -> Vec<Finding> {
    let declared = [context.policy.devices.baseline, context.policy.devices.candidate];
    let judged = context.sides().into_iter().zip(declared).filter_map(|((side, pack), declared)| {
        let shown = shown_by(pack);
        let (declared, found) = (declared?, shown.device?);
        (declared != found).then(|| {
            Finding::new(&DEVICE_DIFFERS, &pack.path)
                .with("side", side.as_str())
                .with("declared", declared.as_str())
                .with("found", found.as_str())
                .with("signs", listed(shown.signs))
        })
    });
    judged.chain(swapped(context)).collect()
}

/// The finding that the packs show an NPU as the baseline and a GPU as the candidate, if the policy declares neither.
fn swapped(context: &Context<'_>) -> Option<Finding> {
    let declared = &context.policy.devices;
    if declared.baseline.is_some() || declared.candidate.is_some() {
        return None;
    }
    let [baseline, candidate] = [context.baseline, context.candidate].map(shown_by);
    (baseline.device == Some(Device::Npu) && candidate.device == Some(Device::Gpu)).then(|| {
        Finding::new(&SIDES_SWAPPED, &context.candidate.path)
            .with("baseline_signs", listed(baseline.signs))
            .with("candidate_signs", listed(candidate.signs))
    })
}
