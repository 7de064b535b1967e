//! `cuda-double-tensor`: `transfer_to_npu` maps this type to float32, silently.

use super::file::File;
use super::flags::Flags;
use super::hit::Hit;
use super::rule::{Family, SourceRule};
use precision_gate_result::verdict::Severity;

pub(super) const RULE: SourceRule = SourceRule::new("cuda-double-tensor", Severity::Fail, Family::Numerics);

pub(super) fn find(file: &File<'_>, hits: &mut Vec<Hit>) {
    for (id, function, _) in file.calls() {
        if file.is_named(function, "torch.cuda.DoubleTensor") {
            hits.push(Hit::new(&RULE, id).needs(Flags::TRANSFER));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::lines;

    #[test]
    fn only_under_transfer_is_it_another_type() {
        let code = "import torch\nfrom torch import cuda\ntorch.cuda.DoubleTensor([1])\ncuda.DoubleTensor([1])\ntorch.DoubleTensor([1])\n";
        assert!(lines("cuda-double-tensor", code).is_empty());
        assert_eq!(lines("cuda-double-tensor", &format!("{code}import mindspeed_llm\n")), [3, 4]);
    }
}
