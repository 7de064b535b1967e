//! Purpose of code: whether a place trains, or validates, converts or generates.

use super::file::File;
use crate::read::words::has_word;
use crate::read::{Kind, NodeId};

/// Words of functions, classes and paths whose numbers train nothing.
const WITHOUT_TRAINING: &[&str] = &[
    "val",
    "valid",
    "validate",
    "validation",
    "eval",
    "evaluate",
    "evaluation",
    "test",
    "infer",
    "inference",
    "predict",
    "generate",
    "generation",
    "sample",
    "sampling",
    "convert",
    "conversion",
    "converter",
    "export",
    "benchmark",
    "demo",
    "visualize",
    "serve",
];

/// Whether a place is part of a training step: its function calls `backward`, and neither it nor what is around it says that it does
/// something else. A helper without a loop is one where its file trains, and nothing says otherwise.
pub(super) fn is_training(file: &File<'_>, id: NodeId) -> bool {
    let says_other = |name: &str| has_word(name, WITHOUT_TRAINING);
    let is_other = file.enclosing_names(id).any(says_other)
        || file.path.rsplit('/').next().is_some_and(|name| says_other(name.trim_end_matches(".py")));
    if is_other {
        return false;
    }
    let function = file.function(id);
    let steps = |id: NodeId| {
        file.method(id).is_some_and(|(_, name, _)| name == "backward")
            || matches!(file.tree.kind(id), Kind::Name(name) if &**name == "training_step")
    };
    file.tree.within(function).any(steps)
}
