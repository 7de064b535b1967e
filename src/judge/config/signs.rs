//! Signs of the device that a pack comes from.
//!
//! msprobe takes a pack for an NPU's as soon as one variable's name contains `ASCEND`. Here several signs count.

use super::packages::installed_packages;
use crate::policy::config::Device;
use crate::read::pack::Pack;

/// Device of a pack, from its signs.
pub(super) struct DeviceSigns {
    /// The device that most signs point to; `None` if they are even.
    pub(super) device: Option<Device>,
    /// The signs, by name.
    pub(super) signs: Vec<String>,
}

/// Variables that the CANN toolkit and jobs on NPUs set.
const NPU_VARIABLES: [&str; 8] = [
    "ASCEND_RT_VISIBLE_DEVICES",
    "ASCEND_VISIBLE_DEVICES",
    "ASCEND_DEVICE_ID",
    "ASCEND_LAUNCH_BLOCKING",
    "ASCEND_HOME_PATH",
    "ASCEND_TOOLKIT_HOME",
    "ASCEND_OPP_PATH",
    "ASCEND_AICPU_PATH",
];

/// Variables that CUDA and jobs on GPUs set.
const GPU_VARIABLES: [&str; 5] =
    ["CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "CUDA_LAUNCH_BLOCKING", "CUDA_HOME", "NVIDIA_TF32_OVERRIDE"];

/// Reads the signs of a pack.
pub(super) fn device_signs(pack: &Pack) -> DeviceSigns {
    let mut signs = Vec::new();
    let (mut npu, mut gpu) = (0_usize, 0_usize);
    for (name, _) in pack.variables() {
        let on_npu = NPU_VARIABLES.contains(&name) || name.starts_with("HCCL_");
        let on_gpu = GPU_VARIABLES.contains(&name) || name.starts_with("NCCL_");
        if on_npu || on_gpu {
            signs.push(name.to_owned());
        }
        npu += usize::from(on_npu);
        gpu += usize::from(on_gpu);
    }
    if installed_packages(pack).contains_key("torch-npu") {
        signs.push("torch_npu".into());
        npu += 1;
    }
    // CUDA libraries come with the plain wheel of torch, so they do not show the device.
    let device = match npu.cmp(&gpu) {
        std::cmp::Ordering::Greater => Some(Device::Npu),
        std::cmp::Ordering::Less => Some(Device::Gpu),
        std::cmp::Ordering::Equal => None,
    };
    DeviceSigns { device, signs }
}

/// The device that the signs of a pack point to; `None` if they are even.
pub(crate) fn device_of(pack: &Pack) -> Option<Device> {
    device_signs(pack).device
}
