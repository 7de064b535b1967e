//! Devices of the packs: whether each one comes from an NPU or a GPU.
//!
//! Signs of another device are a finding only if the policy declares the device.

use super::context::PackContext;
use super::listed::first_names;
use super::rules::{DEVICE_DIFFERS, SIDES_SWAPPED};
use super::signs::device_signs;
use crate::policy::config::Device;
use crate::result::finding::Finding;

pub(super) fn judge(context: &PackContext<'_>) -> Vec<Finding> {
    let declared = [context.policy.devices.baseline, context.policy.devices.candidate];
    let judged = context.sides().into_iter().zip(declared).filter_map(|((side, pack), declared)| {
        let shown = device_signs(pack);
        let (declared, found) = (declared?, shown.device?);
        (declared != found).then(|| {
            Finding::new(&DEVICE_DIFFERS, &pack.path)
                .with("side", side.as_str())
                .with("declared", declared.as_str())
                .with("found", found.as_str())
                .with("signs", first_names(shown.signs))
        })
    });
    judged.chain(swapped(context)).collect()
}

/// The finding that the packs show an NPU as the baseline and a GPU as the candidate, if the policy declares neither.
fn swapped(context: &PackContext<'_>) -> Option<Finding> {
    let declared = &context.policy.devices;
    if declared.baseline.is_some() || declared.candidate.is_some() {
        return None;
    }
    let [baseline, candidate] = [context.baseline, context.candidate].map(device_signs);
    (baseline.device == Some(Device::Npu) && candidate.device == Some(Device::Gpu)).then(|| {
        Finding::new(&SIDES_SWAPPED, &context.candidate.path)
            .with("baseline_signs", first_names(baseline.signs))
            .with("candidate_signs", first_names(candidate.signs))
    })
}
