//! Tables of the variables that are compared.

use crate::policy::config::Device;

/// Variables of both platforms that mean the same.
pub(super) struct Pair {
    pub(super) npu: &'static str,
    pub(super) gpu: Option<&'static str>,
    /// Meaning of an unset variable, in the normalised spelling.
    pub(super) default: &'static str,
    pub(super) kind: Kind,
}

impl Pair {
    /// The pair as a place: `HCCL_ALGO / NCCL_ALGO`.
    pub(super) fn title(&self) -> String {
        self.gpu.map_or_else(|| self.npu.to_owned(), |gpu| format!("{} / {gpu}", self.npu))
    }
}

/// Comparison of a pair's values.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// By their meaning.
    Value,
    /// By their meaning on the same platform; not across platforms.
    OwnNames,
    /// Read on NPUs only.
    NpuOnly,
    /// Lists of devices.
    Devices,
}

/// The pairs of msprobe's table, whose entry for PCIe names the RoCE variable by mistake.
pub(super) const PAIRS: [Pair; 6] = [
    Pair { npu: "HCCL_DETERMINISTIC", gpu: Some("NCCL_DETERMINISTIC"), default: "false", kind: Kind::Value },
    Pair { npu: "HCCL_ALGO", gpu: Some("NCCL_ALGO"), default: "", kind: Kind::OwnNames },
    Pair { npu: "HCCL_INTRA_ROCE_ENABLE", gpu: None, default: "false", kind: Kind::NpuOnly },
    Pair { npu: "HCCL_INTRA_PCIE_ENABLE", gpu: None, default: "true", kind: Kind::NpuOnly },
    Pair { npu: "ASCEND_LAUNCH_BLOCKING", gpu: Some("CUDA_LAUNCH_BLOCKING"), default: "false", kind: Kind::Value },
    Pair { npu: "ASCEND_RT_VISIBLE_DEVICES", gpu: Some("CUDA_VISIBLE_DEVICES"), default: "", kind: Kind::Devices },
];

/// A variable that changes numbers or the data a run sees.
pub(super) struct Watched {
    pub(super) name: &'static str,
    /// The only platform that reads it; `None` for both.
    pub(super) device: Option<Device>,
    /// Meaning of an unset variable; `None` where it is not documented.
    pub(super) default: Option<&'static str>,
}

const fn both(name: &'static str, default: Option<&'static str>) -> Watched {
    Watched { name, device: None, default }
}

const fn only(device: Device, name: &'static str, default: Option<&'static str>) -> Watched {
    Watched { name, device: Some(device), default }
}

/// The watch list; values of these variables are shown.
pub(super) const WATCHED: [Watched; 21] = [
    both("PYTHONHASHSEED", Some("random")),
    both("OMP_NUM_THREADS", None),
    both("MKL_NUM_THREADS", None),
    both("WORLD_SIZE", None),
    both("LOCAL_WORLD_SIZE", None),
    both("HF_HUB_OFFLINE", Some("false")),
    both("TRANSFORMERS_OFFLINE", Some("false")),
    both("HF_DATASETS_OFFLINE", Some("false")),
    both("TORCH_DETERMINISTIC", Some("false")),
    only(Device::Gpu, "NVIDIA_TF32_OVERRIDE", None),
    only(Device::Gpu, "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", Some("false")),
    only(Device::Gpu, "CUBLAS_WORKSPACE_CONFIG", None),
    only(Device::Gpu, "CUDNN_DETERMINISTIC", Some("false")),
    only(Device::Npu, "INF_NAN_MODE_ENABLE", None),
    only(Device::Npu, "LCCL_DETERMINISTIC", Some("false")),
    only(Device::Npu, "CLOSE_MATMUL_K_SHIFT", Some("false")),
    only(Device::Npu, "ATB_MATMUL_SHUFFLE_K_ENABLE", Some("true")),
    only(Device::Npu, "ALLOW_FP32_TO_FP16", None),
    only(Device::Npu, "ALLOW_MATMUL_HF32", None),
    only(Device::Npu, "ALLOW_CONV_HF32", None),
    only(Device::Npu, "ASCEND_ENABLE_HF32", None),
];
