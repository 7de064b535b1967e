//! `fp16-optimizer-eps`: the optimizer's eps is 0 in float16, so it divides by zero.

use super::dtype::is_float16;
use super::file::File;
use super::hit::Hit;
use super::rule::{Family, SourceRule};
use crate::read::NodeId;
use precision_gate_result::verdict::Severity;

pub(super) const RULE: SourceRule = SourceRule::new("fp16-optimizer-eps", Severity::Fail, Family::Numerics);

/// The smallest positive float16, 2^-24.
pub(super) const SMALLEST: f64 = 5.96e-8;
/// Optimizers that add eps to a root, 1e-8 unless they are told otherwise (PyTorch 2.7).
const OPTIMIZERS: &[&str] = &["Adam", "AdamW", "NAdam", "RAdam", "Adamax", "RMSprop"];

pub(super) fn find(file: &File<'_>, hits: &mut Vec<Hit>) {
    for (id, function, arguments) in file.calls() {
        let Some(name) = file.tree.last_name(function).filter(|name| OPTIMIZERS.contains(name)) else { continue };
        if !file.full_name(function).is_some_and(|full| full.starts_with("torch.optim.")) {
            continue;
        }
        let eps = file.keyword(arguments, "eps");
        let is_small = match eps {
            Some(eps) => file.number(eps).is_some_and(|eps| eps < SMALLEST),
            // Unpacked arguments may hold it.
            None => !arguments.iter().any(|argument| argument.is_unpacked),
        };
        let Some(parameters) = file.argument(arguments, "params", 0) else { continue };
        if is_small && is_of_half(file, parameters, id) {
            hits.push(Hit::new(&RULE, id).with("name", name));
        }
    }
}

/// Whether parameters are those of a model in float16.
fn is_of_half(file: &File<'_>, parameters: NodeId, at: NodeId) -> bool {
    file.tree.within(parameters).any(|id| match file.method(id) {
        Some((model, "parameters" | "named_parameters", _)) => is_float16(file, model, at),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::lines;

    #[test]
    fn optimizers_of_float16_are_found() {
        let code = "\
import torch
from torch.optim import AdamW
def a(net):
    net = net.half().to(device)
    return torch.optim.Adam(net.parameters(), lr=1e-4)
def b(self):
    self.model.half()
    self.opt = AdamW(params=self.model.parameters(), eps=1e-8)
model = Net().to(torch.float16)
opt = torch.optim.RMSprop(filter(lambda p: p.requires_grad, model.parameters()))
opt = AdamW(Net().half().parameters())
";
        assert_eq!(lines("fp16-optimizer-eps", code), [5, 8, 10, 11]);
    }

    #[test]
    fn float32_larger_eps_and_other_optimizers_are_silent() {
        let code = "\
import torch
from torch.optim import AdamW
def a(net, other):
    opt = AdamW(net.parameters())
    net.half()
    other.half()
    other.float()
    one = AdamW(other.parameters())
    two = AdamW(net.parameters(), eps=1e-4)
    three = torch.optim.SGD(net.parameters())
    four = AdamW(net.parameters(), eps=args.eps)
    return AdamW(Net().half().float().parameters())
def b(net):
    net.bfloat16()
    return AdamW(net.parameters())
";
        assert!(lines("fp16-optimizer-eps", code).is_empty());
    }
}
