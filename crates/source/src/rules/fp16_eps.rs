//! `fp16-eps`: a guard against zero that is zero itself in float16.

use super::dtype::is_float16;
use super::file::File;
use super::fp16_optimizer_eps::SMALLEST;
use super::hit::Hit;
use super::rule::{Family, SourceRule};
use crate::read::tree::Operator;
use crate::read::{Kind, NodeId};
use precision_gate_result::verdict::Severity;

pub(super) const RULE: SourceRule = SourceRule::new("fp16-eps", Severity::Warn, Family::Numerics);

/// Functions that keep values above a bound, with the place of the bound behind the value.
const CLAMPS: &[&str] = &["clamp", "clamp_", "clamp_min", "clamp_min_", "clip"];

pub(super) fn find(file: &File<'_>, hits: &mut Vec<Hit>) {
    for id in file.tree.ids() {
        let found = match file.tree.kind(id) {
            Kind::Binary { left, operator: Operator::Add, right } => {
                is_small(file, *right) && is_float16(file, *left, id)
                    || is_small(file, *left) && is_float16(file, *right, id)
            }
            Kind::AugmentedAssign { target, operator: Operator::Add, value } => {
                is_small(file, *value) && is_float16(file, *target, id)
            }
            Kind::Call { .. } => clamps_half(file, id),
            _ => false,
        };
        if found {
            hits.push(Hit::new(&RULE, id));
        }
    }
}

fn is_small(file: &File<'_>, id: NodeId) -> bool {
    file.number(id).is_some_and(|value| value > 0.0 && value < SMALLEST)
}

/// Whether a call keeps a value in float16 above a number that is 0 there.
fn clamps_half(file: &File<'_>, id: NodeId) -> bool {
    let method = file.method(id).filter(|(_, name, _)| CLAMPS.contains(name));
    let Some((value, _, arguments)) = method else { return false };
    let is_function = file.is_named(value, "torch");
    let bound = file.argument(arguments, "min", usize::from(is_function));
    let value = if is_function { file.positional(arguments, 0) } else { Some(value) };
    bound.is_some_and(|bound| is_small(file, bound)) && value.is_some_and(|value| is_float16(file, value, id))
}

#[cfg(test)]
mod tests {
    use super::super::testing::lines;

    #[test]
    fn guards_of_half_values_are_found() {
        let code = "\
import torch
def f(x):
    y = x.half()
    a = y / (y + 1e-8)
    b = y.clamp(min=1e-12)
    c = torch.clamp(y, 1e-10)
    d = 1e-8 + x.to(torch.float16)
    y += 1e-9
    e = y.clamp_min(1e-12)
";
        assert_eq!(lines("fp16-eps", code), [4, 5, 6, 7, 8, 9]);
    }

    #[test]
    fn larger_numbers_and_wider_values_are_silent() {
        let code = "\
import torch
def f(x, z):
    y = x.half()
    a = y + 1e-6
    b = x + 1e-12
    c = y.float() + 1e-12
    d = x.bfloat16() + 1e-12
    e = y.clamp(max=1e-12)
    y = y.float()
    g = y + 1e-12
def h(y):
    return y + 1e-12
";
        assert!(lines("fp16-eps", code).is_empty());
    }
}
