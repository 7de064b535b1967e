//! Global random generators: what seeds them and what draws from them.

use super::file::File;
use crate::read::NodeId;
use crate::read::words::has_word;

/// A generator that a process has one of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Generator {
    Torch,
    Numpy,
    Python,
}

impl Generator {
    pub(super) const ALL: [Self; 3] = [Self::Torch, Self::Numpy, Self::Python];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Torch => "torch",
            Self::Numpy => "numpy",
            Self::Python => "random",
        }
    }

    /// Call that seeds it.
    pub(super) fn seeding(self) -> &'static str {
        match self {
            Self::Torch => "torch.manual_seed(seed)",
            Self::Numpy => "numpy.random.seed(seed)",
            Self::Python => "random.seed(seed)",
        }
    }
}

const TORCH_SEEDS: &[&str] = &[
    "torch.manual_seed",
    "torch.random.manual_seed",
    "torch.cuda.manual_seed",
    "torch.cuda.manual_seed_all",
    "torch.npu.manual_seed",
    "torch.npu.manual_seed_all",
    "torch.seed",
];
const TORCH_DRAWS: &[&str] = &[
    "rand",
    "randn",
    "randint",
    "randperm",
    "normal",
    "bernoulli",
    "multinomial",
    "poisson",
    "rand_like",
    "randn_like",
    "randint_like",
];
const NUMPY_DRAWS: &[&str] = &[
    "rand",
    "randn",
    "randint",
    "random",
    "random_sample",
    "random_integers",
    "ranf",
    "sample",
    "choice",
    "shuffle",
    "permutation",
    "bytes",
    "normal",
    "standard_normal",
    "uniform",
    "beta",
    "binomial",
    "poisson",
    "multinomial",
    "multivariate_normal",
    "exponential",
    "gamma",
    "geometric",
    "dirichlet",
    "laplace",
    "lognormal",
    "logistic",
    "gumbel",
];
const PYTHON_DRAWS: &[&str] = &[
    "random",
    "randint",
    "randrange",
    "choice",
    "choices",
    "shuffle",
    "sample",
    "uniform",
    "gauss",
    "normalvariate",
    "betavariate",
    "expovariate",
    "triangular",
    "lognormvariate",
    "getrandbits",
    "randbytes",
    "vonmisesvariate",
];

/// The generator that a call seeds by name.
pub(super) fn seeded(file: &File<'_>, function: NodeId) -> Option<Generator> {
    match () {
        () if file.is_any(function, TORCH_SEEDS) => Some(Generator::Torch),
        () if file.is_named(function, "numpy.random.seed") => Some(Generator::Numpy),
        () if file.is_named(function, "random.seed") => Some(Generator::Python),
        () => None,
    }
}

/// The global generator that a call draws from.
pub(super) fn drawn(file: &File<'_>, id: NodeId) -> Option<Generator> {
    let (function, arguments) = file.call(id)?;
    let last = file.tree.last_name(function)?;
    let full = file.full_name(function)?;
    let module = full.strip_suffix(last)?;
    let is_own = file.keyword(arguments, "generator").is_some();
    match module {
        "torch." if TORCH_DRAWS.contains(&last) && !is_own => Some(Generator::Torch),
        "numpy.random." if NUMPY_DRAWS.contains(&last) => Some(Generator::Numpy),
        "random." if PYTHON_DRAWS.contains(&last) => Some(Generator::Python),
        _ => None,
    }
}

/// Whether a name is a seed's.
pub(super) fn is_seed_name(name: &str) -> bool {
    has_word(name, &["seed", "seeds"])
}

/// The name that a node gives a value, where it is a target, a keyword or a text key.
pub(super) fn target_name<'a>(file: &'a File<'_>, target: NodeId) -> Option<&'a str> {
    use crate::read::Kind;
    match file.tree.kind(target) {
        Kind::Subscript { index, .. } => file.text_of(*index),
        _ => file.tree.last_name(target),
    }
}
