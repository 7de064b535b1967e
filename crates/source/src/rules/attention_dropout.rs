//! `attention-dropout`: dropout inside a fused operator, which msprobe does not switch off.

use super::file::File;
use super::hit::Hit;
use super::rule::{Family, SourceRule};
use crate::read::{Kind, NodeId};
use precision_gate_result::verdict::Severity;

pub(super) const RULE: SourceRule = SourceRule::new("attention-dropout", Severity::Info, Family::Comparability);

/// Attention, with the place of its dropout among the arguments.
const ATTENTION: &[(&str, usize)] =
    &[("torch.nn.functional.scaled_dot_product_attention", 4), ("torch._C._nn.scaled_dot_product_attention", 4)];
/// Attention of the package `flash_attn`, by its last name.
const FLASH: &[(&str, usize)] = &[
    ("flash_attn_func", 3),
    ("flash_attn_kvpacked_func", 2),
    ("flash_attn_qkvpacked_func", 1),
    ("flash_attn_varlen_func", 7),
    ("flash_attn_varlen_kvpacked_func", 6),
    ("flash_attn_varlen_qkvpacked_func", 3),
];
const FUSION: &str = "torch_npu.npu_fusion_attention";

pub(super) fn find(file: &File<'_>, hits: &mut Vec<Hit>) {
    for (_, function, arguments) in file.calls() {
        let last = file.tree.last_name(function).unwrap_or_default();
        let place = ATTENTION.iter().find(|(name, _)| file.is_named(function, name)).map(|(_, place)| *place);
        let place = place.or_else(|| FLASH.iter().find(|(name, _)| *name == last).map(|(_, place)| *place));
        let found = match place {
            Some(place) => {
                file.argument(arguments, "dropout_p", place).and_then(|value| literal(file, value, |p| p > 0.0))
            }
            None if file.is_named(function, FUSION) => {
                file.keyword(arguments, "keep_prob").and_then(|value| literal(file, value, |p| p < 1.0))
            }
            None => None,
        };
        hits.extend(found.map(|id| Hit::new(&RULE, id)));
    }
}

/// The number that an argument is, or is under one condition, if it fits.
fn literal(file: &File<'_>, id: NodeId, fits: fn(f64) -> bool) -> Option<NodeId> {
    match file.tree.kind(id) {
        Kind::Conditional { body, otherwise, .. } => {
            literal(file, *body, fits).or_else(|| literal(file, *otherwise, fits))
        }
        _ => file.number(id).filter(|value| fits(*value)).map(|_| id),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::lines;

    #[test]
    fn dropout_is_found_by_place_and_name() {
        let code = "\
import torch.nn.functional as F
import torch_npu
from flash_attn import flash_attn_func
F.scaled_dot_product_attention(q, k, v, dropout_p=0.1)
F.scaled_dot_product_attention(q, k, v, None, 0.1)
F.scaled_dot_product_attention(
    q, k, v,
    dropout_p=0.1 if self.training else 0.0)
flash_attn_func(q, k, v, 0.1)
torch_npu.npu_fusion_attention(q, k, v, 8, 'BSH', keep_prob=0.9)
F.scaled_dot_product_attention(q, k, v, dropout_p=0.0)
F.scaled_dot_product_attention(q, k, v, dropout_p=self.dropout)
torch_npu.npu_fusion_attention(q, k, v, 8, 'BSH', keep_prob=1.0)
F.dropout(x, 0.1)
";
        assert_eq!(lines("attention-dropout", code), [4, 5, 8, 9, 10]);
    }
}
