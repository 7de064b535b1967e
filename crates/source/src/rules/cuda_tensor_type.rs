//! `cuda-tensor-type`: a tensor type by CUDA's name.

use super::file::File;
use super::flags::Flags;
use super::guard::is_guarded;
use super::hit::Hit;
use super::rule::{Family, SourceRule};
use super::words::CUDA_TEST;
use crate::read::NodeId;
use precision_gate_result::verdict::Severity;

pub(super) const RULE: SourceRule = SourceRule::new("cuda-tensor-type", Severity::Warn, Family::Portability).per_file();

pub(super) fn find(file: &File<'_>, hits: &mut Vec<Hit>) {
    for (id, function, arguments) in file.calls() {
        let is_type = |id: NodeId| {
            let is_tensor = file.tree.last_name(id).is_some_and(|name| name.ends_with("Tensor"));
            is_tensor
                && file
                    .full_name(id)
                    .is_some_and(|name| name.strip_prefix("torch.cuda.").is_some_and(|name| !name.contains('.')))
        };
        let is_text = |id: NodeId| file.text_of(id).is_some_and(|text| text.starts_with("torch.cuda."));
        let is_default = file.is_named(function, "torch.set_default_tensor_type")
            && arguments.iter().any(|argument| is_type(argument.value) || is_text(argument.value));
        let is_asked = || {
            file.is_builtin(function, "isinstance")
                && file.positional(arguments, 1).is_some_and(|types| file.tree.within(types).any(is_type))
        };
        if file.is_vendor_place(id) || is_guarded(file, id, CUDA_TEST) {
            continue;
        }
        if is_default {
            hits.push(Hit::new(&RULE, id));
        } else if is_type(function) || is_asked() {
            hits.push(Hit::new(&RULE, id).unless(Flags::TRANSFER));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::lines;

    #[test]
    fn types_are_found_where_they_make_or_ask() {
        let code = "\
import torch
torch.cuda.FloatTensor([1])
isinstance(x, (torch.FloatTensor, torch.cuda.HalfTensor))
torch.set_default_tensor_type('torch.cuda.FloatTensor')
torch.set_default_tensor_type(torch.cuda.HalfTensor)
torch.set_default_tensor_type(torch.FloatTensor)
torch.FloatTensor([1])
";
        assert_eq!(lines("cuda-tensor-type", code), [2, 3, 4, 5]);
        let code = code.replace("import torch", "import torch, mindspeed.megatron_adaptor");
        assert_eq!(lines("cuda-tensor-type", &code), [4, 5]);
    }
}
