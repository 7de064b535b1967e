//! Operations that a script can run alone, recognised by their names.
//!
//! Names come from a dump. They are looked up in a list of functions that only compute (`runnable/names.txt`), so that
//! no record can make a script call anything else: `torch.load`, for one, executes the file that it reads.

use std::collections::HashSet;
use std::sync::LazyLock;

use crate::read::dump::name::{Direction, OpName};

/// The functions, by section.
static NAMES: LazyLock<HashSet<(Root, &'static str)>> = LazyLock::new(|| {
    let mut root = Root::Functional;
    let mut names = HashSet::new();
    for line in include_str!("runnable/names.txt").lines().filter(|line| !line.starts_with('#')) {
        match line {
            "[functional]" => root = Root::Functional,
            "[tensor]" => root = Root::Tensor,
            "[torch]" => root = Root::Torch,
            names_of_root => names.extend(names_of_root.split(' ').map(|name| (root, name))),
        }
    }
    names
});

/// Classes of `torch.nn` that compute the same with the default arguments of their constructor, which no dump holds.
const MODULES: [&str; 25] = [
    "Bilinear",
    "CELU",
    "ELU",
    "Embedding",
    "Flatten",
    "GELU",
    "Hardsigmoid",
    "Hardswish",
    "Identity",
    "L1Loss",
    "LayerNorm",
    "Linear",
    "LogSigmoid",
    "MSELoss",
    "Mish",
    "PReLU",
    "RMSNorm",
    "ReLU",
    "ReLU6",
    "SELU",
    "SiLU",
    "Sigmoid",
    "Softplus",
    "Softsign",
    "Tanh",
];

/// Functions that draw random numbers, unless an argument says otherwise.
const RANDOM: [&str; 29] = [
    "alpha_dropout",
    "alpha_dropout_",
    "bernoulli",
    "bernoulli_",
    "binomial",
    "cauchy_",
    "dropout",
    "dropout1d",
    "dropout2d",
    "dropout3d",
    "dropout_",
    "exponential_",
    "feature_alpha_dropout",
    "feature_alpha_dropout_",
    "feature_dropout",
    "feature_dropout_",
    "fractional_max_pool2d",
    "fractional_max_pool2d_with_indices",
    "fractional_max_pool3d",
    "fractional_max_pool3d_with_indices",
    "geometric_",
    "gumbel_softmax",
    "log_normal_",
    "multinomial",
    "normal",
    "normal_",
    "poisson",
    "rrelu",
    "rrelu_",
];

/// Place that a function is looked up in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Root {
    /// `torch.nn.functional`
    Functional,
    /// `torch.Tensor`
    Tensor,
    /// `torch`
    Torch,
    /// A class of `torch.nn`.
    Module,
}

impl Root {
    /// The word that scripts use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Functional => "functional",
            Self::Tensor => "tensor",
            Self::Torch => "torch",
            Self::Module => "module",
        }
    }
}

/// An operation that a script can run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Runnable {
    /// Place that its function is looked up in.
    pub root: Root,
    /// The function, or the class of the module.
    pub function: String,
    /// Whether it is the backward call.
    pub is_backward: bool,
    /// Name of the forward call in the dump.
    pub forward: String,
    /// Name of the backward call in the dump.
    pub backward: String,
}

/// Reason why an operation cannot run alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// The name is that of a value saved by hand, or another name without a call.
    NoCall,
    /// A gradient of a parameter, which many calls add up to.
    ParameterGradient,
    /// A call of `torch.distributed`, which needs the other ranks.
    Communication,
    /// A function of `torch_npu`, which no CPU has.
    DeviceFunction,
    /// An operation of MindSpore.
    Framework,
    /// A module whose code or constructor arguments the dump does not hold.
    Module,
    /// A function that is not in the list.
    UnknownFunction,
    /// A name as ptdbg_ascend writes it, whose dumps do not tell positional arguments from others.
    OldName,
}

impl Obstacle {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::NoCall,
        Self::ParameterGradient,
        Self::Communication,
        Self::DeviceFunction,
        Self::Framework,
        Self::Module,
        Self::UnknownFunction,
        Self::OldName,
    ];

    /// The code of its text.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoCall => "no-call",
            Self::ParameterGradient => "parameter-gradient",
            Self::Communication => "communication",
            Self::DeviceFunction => "device-function",
            Self::Framework => "framework",
            Self::Module => "module",
            Self::UnknownFunction => "unknown-function",
            Self::OldName => "old-name",
        }
    }
}

/// The call that `op` names, where a script can run it.
///
/// # Errors
/// The reason why it cannot.
pub fn runnable(op: &str) -> Result<Runnable, Obstacle> {
    let name = OpName::parse(op);
    let (is_backward, call) = match (name.direction, name.call) {
        (Some(Direction::Forward), Some(call)) => (false, call),
        (Some(Direction::Backward), Some(call)) => (true, call),
        (Some(Direction::ParametersGradient), _) => return Err(Obstacle::ParameterGradient),
        _ => return Err(Obstacle::NoCall),
    };
    let base = &name.base;
    let Some((prefix, function)) = base.split_once('.') else { return Err(Obstacle::OldName) };
    let root = match prefix {
        "Functional" => Root::Functional,
        "Tensor" => Root::Tensor,
        "Torch" => Root::Torch,
        "Module" => Root::Module,
        "Distributed" => return Err(Obstacle::Communication),
        "NPU" => return Err(Obstacle::DeviceFunction),
        "Cell" | "Mint" | "MintFunctional" | "MintDistributed" | "Primitive" | "Jit" => {
            return Err(Obstacle::Framework);
        }
        _ => return Err(Obstacle::UnknownFunction),
    };
    if root == Root::Module {
        let class = name.api();
        if !MODULES.contains(&class) {
            return Err(Obstacle::Module);
        }
        let [forward, backward] = ["forward", "backward"].map(|direction| format!("{base}.{direction}.{call}"));
        return Ok(Runnable { root, function: class.to_owned(), is_backward, forward, backward });
    }
    let Some((_, function)) = NAMES.get(&(root, function)) else { return Err(Obstacle::UnknownFunction) };
    let [forward, backward] = ["forward", "backward"].map(|direction| format!("{base}.{call}.{direction}"));
    Ok(Runnable { root, function: (*function).to_owned(), is_backward, forward, backward })
}

impl Runnable {
    /// Whether it may draw random numbers, so that no two runs agree.
    pub(crate) fn is_random(&self) -> bool {
        RANDOM.contains(&self.function.as_str())
    }

    /// Whether it writes to its first argument.
    pub(crate) fn is_in_place(&self) -> bool {
        let name = self.function.as_str();
        let is_dunder = name.starts_with("__");
        let is_assignment = name == "__setitem__" || (name.starts_with("__i") && name != "__invert__");
        if is_dunder { is_assignment } else { name.ends_with('_') }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_found_with_both_directions() {
        for (op, root, function, is_backward, forward, backward) in [
            (
                "Functional.linear.0.forward",
                Root::Functional,
                "linear",
                false,
                "Functional.linear.0.forward",
                "Functional.linear.0.backward",
            ),
            (
                "Tensor.__getitem__.3.backward",
                Root::Tensor,
                "__getitem__",
                true,
                "Tensor.__getitem__.3.forward",
                "Tensor.__getitem__.3.backward",
            ),
            (
                "Torch.linalg.norm.1.forward",
                Root::Torch,
                "linalg.norm",
                false,
                "Torch.linalg.norm.1.forward",
                "Torch.linalg.norm.1.backward",
            ),
            (
                "Module.layers.0.fc.Linear.backward.2",
                Root::Module,
                "Linear",
                true,
                "Module.layers.0.fc.Linear.forward.2",
                "Module.layers.0.fc.Linear.backward.2",
            ),
        ] {
            let found = runnable(op).expect("it can run");
            assert_eq!((found.root, found.function.as_str(), found.is_backward), (root, function, is_backward), "{op}");
            assert_eq!((found.forward.as_str(), found.backward.as_str()), (forward, backward), "{op}");
        }
    }

    #[test]
    fn what_cannot_run_has_its_reason() {
        for (op, obstacle) in [
            ("hidden.0.debug", Obstacle::NoCall),
            ("Module.lm_head.Linear.parameters_grad.0", Obstacle::ParameterGradient),
            ("Distributed.all_reduce.0.forward", Obstacle::Communication),
            ("NPU.npu_rms_norm.0.forward", Obstacle::DeviceFunction),
            ("Cell.fc.Dense.forward.0", Obstacle::Framework),
            ("Module.layers.0.GLMBlock.forward.0", Obstacle::Module),
            ("Torch.load.0.forward", Obstacle::UnknownFunction),
            ("Torch.from_file.0.forward", Obstacle::UnknownFunction),
            ("Torch.hub.load.0.forward", Obstacle::UnknownFunction),
            ("Tensor.__reduce_ex__.0.forward", Obstacle::UnknownFunction),
            ("Torch.__import__('os').system('id').0.forward", Obstacle::UnknownFunction),
            ("MindSpeed.fused.0.forward", Obstacle::UnknownFunction),
            ("Functional_linear_0_forward", Obstacle::OldName),
        ] {
            assert_eq!(runnable(op), Err(obstacle), "{op}");
        }
    }

    #[test]
    fn the_list_names_functions_only() {
        assert!(NAMES.len() > 1000, "{}", NAMES.len());
        let is_name =
            |name: &str| name.split('.').all(|part| part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'));
        assert!(NAMES.iter().all(|(_, name)| is_name(name)));
        for writes_or_runs in
            ["load", "save", "from_file", "compile", "jit.load", "hub.load", "apply_", "map_", "numpy"]
        {
            assert!(NAMES.iter().all(|(_, name)| *name != writes_or_runs), "{writes_or_runs}");
        }
    }

    #[test]
    fn calls_that_write_to_their_argument_are_known() {
        for (op, is_in_place) in [
            ("Tensor.add_.0.forward", true),
            ("Tensor.__iadd__.0.forward", true),
            ("Tensor.__setitem__.0.forward", true),
            ("Tensor.__invert__.0.forward", false),
            ("Tensor.__mul__.0.forward", false),
            ("Functional.relu_.0.forward", true),
            ("Functional.relu.0.forward", false),
        ] {
            assert_eq!(runnable(op).expect("it can run").is_in_place(), is_in_place, "{op}");
        }
    }
}
