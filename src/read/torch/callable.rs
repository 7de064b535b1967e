//! Callables that pickles of tensors may name, grouped by the meaning of their calls.

/// Callables that return a dense tensor on a storage.
pub(super) const REBUILD: [&str; 4] = [
    "torch._utils _rebuild_tensor",
    "torch._utils _rebuild_tensor_v2",
    "torch._utils _rebuild_tensor_v3",
    "torch_npu.utils.storage _rebuild_npu_tensor",
];

/// Callables that wrap a tensor given as their first argument.
pub(super) const WRAPPERS: [&str; 3] = [
    "torch._utils _rebuild_parameter",
    "torch._utils _rebuild_parameter_with_state",
    "torch._utils _rebuild_device_tensor_from_cpu_tensor",
];

/// Callable that calls another callable and sets the type of the result.
pub(super) const FROM_TYPE: &str = "torch._tensor _rebuild_from_type_v2";

/// Callables whose result is a dictionary.
pub(super) const DICTIONARIES: [&str; 3] = ["collections OrderedDict", "collections defaultdict", "builtins dict"];

/// Callables of tensors that are recognised but not read, each with a description.
pub(super) const UNREAD: [(&str, &str); 9] = [
    ("torch._utils _rebuild_sparse_tensor", "a sparse tensor"),
    ("torch._utils _rebuild_sparse_csr_tensor", "a sparse tensor"),
    ("torch._utils _rebuild_nested_tensor", "a nested tensor"),
    ("torch._utils _rebuild_qtensor", "a quantised tensor"),
    ("torch._utils _rebuild_meta_tensor_no_storage", "a meta tensor without elements"),
    ("torch._utils _rebuild_wrapper_subclass", "a tensor subclass without its own storage"),
    ("torch._utils _rebuild_device_tensor_from_numpy", "a tensor pickled through NumPy"),
    ("numpy.core.multiarray _reconstruct", "a pickled NumPy array of an unknown kind"),
    ("numpy._core.multiarray _reconstruct", "a pickled NumPy array of an unknown kind"),
];

/// Callable whose result is a mapping of names to values: the arguments of a run.
pub(super) const NAMESPACE: &str = "argparse Namespace";

/// Callable whose result is a shape.
pub(super) const SHAPE: &str = "torch Size";

/// Harmless callables, whose results are shown by name only.
const PLAIN: [&str; 16] = [
    SHAPE,
    "torch device",
    "torch.serialization _get_layout",
    NAMESPACE,
    "_io BytesIO",
    "deepspeed.runtime.fp16.loss_scaler DynamicLossScaler",
    "deepspeed.runtime.fp16.loss_scaler LossScaler",
    "deepspeed.runtime.zero.config ZeroStageEnum",
    "megatron.core.enums ModelType",
    "megatron.core.transformer.enums AttnBackend",
    "pathlib PosixPath",
    "builtins set",
    "numpy dtype",
    "numpy.core.multiarray scalar",
    "numpy._core.multiarray scalar",
    "_codecs encode",
];

/// Whether a pickle may call `callable`.
pub(super) fn is_allowed(callable: &str) -> bool {
    REBUILD.contains(&callable)
        || WRAPPERS.contains(&callable)
        || callable == FROM_TYPE
        || DICTIONARIES.contains(&callable)
        || UNREAD.iter().any(|(name, _)| *name == callable)
        || PLAIN.contains(&callable)
        || super::distributed::is_class(callable)
}
