//! `tf32-one-sided`: TF32 is set for the GPU, its counterpart HF32 on the NPU is not.

use super::file::File;
use super::flags::Flags;
use super::hit::Hit;
use super::rule::{Family, SourceRule};
use precision_gate_result::verdict::Severity;

pub(super) const RULE: SourceRule = SourceRule::new("tf32-one-sided", Severity::Warn, Family::Numerics);

pub(super) fn find(file: &File<'_>, hits: &mut Vec<Hit>) {
    let mut found = Vec::new();
    for (id, target, value) in file.assignments() {
        if file.is_named(target, "torch.backends.cuda.matmul.allow_tf32") && file.is_true(value) {
            found.push((id, of_matmul(Hit::new(&RULE, id))));
        } else if file.is_named(target, "torch.backends.cudnn.allow_tf32") && file.is_false(value) {
            let hit = Hit::new(&RULE, id).needs(Flags::NPU_PROJECT).unless(Flags::CONV_HF32);
            found.push((id, hit.with("counterpart", "torch.npu.conv.allow_hf32 = False").with("npu_default", "on")));
        }
    }
    for (id, function, arguments) in file.calls() {
        let precision = file.argument(arguments, "precision", 0).and_then(|value| file.text_of(value));
        if file.is_named(function, "torch.set_float32_matmul_precision") && matches!(precision, Some("high" | "medium"))
        {
            found.push((id, of_matmul(Hit::new(&RULE, id))));
        }
    }
    found.sort_by_key(|(id, _)| *id);
    hits.extend(found.into_iter().map(|(_, hit)| hit));
}

fn of_matmul(hit: Hit) -> Hit {
    let hit = hit.unless(Flags::MATMUL_HF32);
    hit.with("counterpart", "torch.npu.matmul.allow_hf32 = True").with("npu_default", "off")
}

#[cfg(test)]
mod tests {
    use super::super::testing::lines;

    #[test]
    fn a_switch_without_its_counterpart_is_found() {
        let code = "\
import torch
torch.backends.cuda.matmul.allow_tf32 = True
torch.set_float32_matmul_precision('high')
torch.backends.cudnn.allow_tf32 = False
torch.backends.cuda.matmul.allow_tf32 = False
torch.set_float32_matmul_precision('highest')
torch.backends.cudnn.allow_tf32 = True
";
        assert_eq!(lines("tf32-one-sided", code), [2, 3]);
        assert_eq!(lines("tf32-one-sided", &format!("{code}import torch_npu\n")), [2, 3, 4]);
        let both = format!(
            "{code}import torch_npu\ntorch.npu.matmul.allow_hf32 = True\ntorch_npu.npu.conv.allow_hf32 = False\n"
        );
        assert!(lines("tf32-one-sided", &both).is_empty());
    }
}
