//! Words that rules look for, in lower case.

/// The platform.
pub(super) const NPU: &[&str] = &["npu", "ascend"];
/// Its communication.
pub(super) const HCCL: &[&str] = &["hccl"];
/// Devices of any kind: a test on one of them knows that there are several.
pub(super) const DEVICE: &[&str] =
    &["npu", "ascend", "cuda", "device", "devices", "gpu", "hccl", "nccl", "is_available", "backend", "accelerator"];
pub(super) const CUDA_TEST: &[&str] = &["npu", "ascend", "cuda", "device", "is_available"];
/// Places that are meant for one vendor's device.
pub(super) const VENDOR: &[&str] =
    &["cuda", "nvidia", "rocm", "cutlass", "cutedsl", "cutile", "hopper", "blackwell", "nvml", "nvtx", "ascend", "npu"];
/// NVIDIA's devices.
pub(super) const GPU: &[&str] = &["cuda", "gpu", "nvidia"];
