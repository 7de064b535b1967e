//! `triton-kernel`: a kernel in a tree that knows no NPU; there another path may run.

use super::file::File;
use super::flags::Flags;
use super::hit::Hit;
use super::rule::{Family, SourceRule};
use precision_gate_result::verdict::Severity;

pub(super) const RULE: SourceRule = SourceRule::new("triton-kernel", Severity::Info, Family::Portability).per_file();

const DECORATORS: &[&str] = &[
    "triton.jit",
    "triton.autotune",
    "triton.heuristics",
    "triton.runtime.jit.jit",
    "triton.runtime.autotuner.autotune",
];

pub(super) fn find(file: &File<'_>, hits: &mut Vec<Hit>) {
    for (id, function) in file.decorators() {
        if file.is_any(function, DECORATORS) && !file.is_vendor_place(id) {
            hits.push(Hit::new(&RULE, id).unless(Flags::NPU_FILE));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::lines;

    #[test]
    fn kernels_are_found_by_their_decorators() {
        let code = "\
import triton
from triton import jit
@triton.autotune(configs=[], key=[])
@triton.jit
def a(): pass
@jit
def b(): pass
@torch.jit.script
def c(): pass
";
        assert_eq!(lines("triton-kernel", code), [3, 4, 6]);
        assert!(lines("triton-kernel", &format!("{code}npu = 1\n")).is_empty());
    }
}
