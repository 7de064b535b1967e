//! `inv-freq-on-host`: frequencies of rotary embeddings by float32 `pow` on the host, which differs between x86 and aarch64.

use super::dtype::{Format, format};
use super::file::File;
use super::hit::Hit;
use super::rule::{Family, SourceRule};
use crate::read::tree::Operator;
use crate::read::{Kind, NodeId};
use precision_gate_result::verdict::Severity;

pub(super) const RULE: SourceRule = SourceRule::new("inv-freq-on-host", Severity::Warn, Family::Numerics);

pub(super) fn find(file: &File<'_>, hits: &mut Vec<Hit>) {
    for id in file.tree.ids() {
        let exponent = match file.tree.kind(id) {
            Kind::Binary { left, operator: Operator::Divide, right } if is_one(file, *left) => {
                power(file, *right).filter(|exponent| !is_negative(file, *exponent))
            }
            Kind::Binary { operator: Operator::Power, .. } | Kind::Call { .. } => {
                power(file, id).filter(|exponent| is_negative(file, *exponent))
            }
            _ => None,
        };
        let Some(exponent) = exponent else { continue };
        let parts = parts(file, id, exponent);
        let has_range = parts.iter().any(|part| is_range(file, *part));
        if has_range && !parts.iter().any(|part| is_moved_or_wide(file, *part)) && !is_in_device_context(file, id) {
            hits.push(Hit::new(&RULE, id));
        }
    }
}

// A comparison of a constant that was written, not of a result.
#[allow(clippy::float_cmp, reason = "the literal 1 and 1.0 are exact")]
fn is_one(file: &File<'_>, id: NodeId) -> bool {
    file.number(id) == Some(1.0)
}

/// The exponent of `b ** x` and `torch.pow(b, x)`.
fn power(file: &File<'_>, id: NodeId) -> Option<NodeId> {
    match file.tree.kind(id) {
        Kind::Binary { operator: Operator::Power, right, .. } => Some(*right),
        Kind::Call { function, arguments } if file.is_named(*function, "torch.pow") => {
            file.argument(arguments, "exponent", 1)
        }
        _ => None,
    }
}

/// Whether an exponent has a sign before it: `b ** -(x / d)`, `b ** (-x / d)`.
fn is_negative(file: &File<'_>, id: NodeId) -> bool {
    match file.tree.kind(id) {
        Kind::Negative(_) => true,
        Kind::Binary { left, operator: Operator::Divide | Operator::Other, right } => {
            is_negative(file, *left) || is_negative(file, *right) && file.number(*right).is_none()
        }
        _ => false,
    }
}

/// Nodes of a name's value that are looked at.
const MOST_OF_VALUE: usize = 200;

/// Nodes of an expression, and of the only value of each name in its exponent.
fn parts(file: &File<'_>, id: NodeId, exponent: NodeId) -> Vec<NodeId> {
    let mut parts: Vec<NodeId> = file.tree.within(id).collect();
    for name in file.tree.within(exponent) {
        if matches!(file.tree.kind(name), Kind::Name(_))
            && let Some(value) = file.only_value(name)
            && file.function(value) == file.function(id)
        {
            parts.extend(file.tree.within(value).take(MOST_OF_VALUE));
        }
    }
    parts
}

fn is_range(file: &File<'_>, id: NodeId) -> bool {
    file.call(id).is_some_and(|(function, _)| file.is_named(function, "torch.arange"))
}

/// Whether a part takes the work from the host or to float64.
fn is_moved_or_wide(file: &File<'_>, id: NodeId) -> bool {
    if format(file, id) == Some(Format::Float64) {
        return true;
    }
    let Some((_, arguments)) = file.call(id) else { return false };
    let is_host = |device: NodeId| file.is_device(device, "cpu") || matches!(file.tree.kind(device), Kind::None);
    if file.keyword(arguments, "device").is_some_and(|device| !is_host(device)) {
        return true;
    }
    match file.method(id) {
        Some((_, "double" | "cuda" | "npu", _)) => true,
        Some((_, "to", arguments)) => arguments.iter().any(|argument| {
            let is_option = argument.name.as_deref().is_some_and(|name| name != "device");
            !is_option
                && !is_host(argument.value)
                && format(file, argument.value).is_none()
                && !is_format_name(file, argument.value)
        }),
        _ => false,
    }
}

/// Whether a value is a number format by its name: `dtype`, `x.dtype`, `torch.int64`.
fn is_format_name(file: &File<'_>, id: NodeId) -> bool {
    let of_torch = file.full_name(id).is_some_and(|name| name.starts_with("torch."));
    of_torch || file.tree.last_name(id).is_some_and(|name| crate::read::words::has_word(name, &["dtype"]))
}

/// Whether a `with torch.device(…)` of another device than the host is around.
fn is_in_device_context(file: &File<'_>, id: NodeId) -> bool {
    file.tree.enclosing(id).any(|(outer, _)| match file.tree.kind(outer) {
        Kind::With { contexts, .. } => contexts.iter().any(|context| {
            file.call(*context).is_some_and(|(function, _)| file.is_named(function, "torch.device"))
                && !file.is_device(*context, "cpu")
        }),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::lines;

    #[test]
    fn powers_on_the_host_are_found_by_every_spelling() {
        let code = "\
import torch
a = 1.0 / (base ** (torch.arange(0, dim, 2).float() / dim))
b = 1 / base ** (torch.arange(0, dim, 2, dtype=torch.float32) / dim)
c = 1.0 / torch.pow(base, torch.arange(0, dim, 2, device='cpu') / dim)
d = base ** -(torch.arange(0, dim, 2).float() / dim)
e = base ** (-torch.arange(0, dim, 2).float() / dim)
def f(dim):
    steps = torch.arange(0, dim, 2).to(torch.float32)
    return 1.0 / (10000 ** (steps / dim))
g = (1.0 / (base ** (torch.arange(0, dim, 2).float() / dim))).to(device)
";
        assert_eq!(lines("inv-freq-on-host", code), [2, 3, 4, 5, 6, 9, 10]);
    }

    #[test]
    fn float64_and_devices_are_silent() {
        let code = "\
import torch
import numpy as np
a = 1.0 / (base ** (torch.arange(0, dim, 2, dtype=torch.float64) / dim))
b = 1.0 / (base ** (torch.arange(0, dim, 2, device=device).float() / dim))
c = 1.0 / (base ** (torch.arange(0, dim, 2).float().to(x.device) / dim))
d = 1.0 / (base ** (torch.arange(0, dim, 2).double() / dim))
with torch.device('cuda'):
    e = 1.0 / (base ** (torch.arange(0, dim, 2).float() / dim))
f = 1.0 / (base ** (dim / 2))
g = 1.0 / (base ** (np.arange(0, dim, 2) / dim))
h = base ** (torch.arange(0, dim, 2).float() / dim)
i = 2.0 / (base ** (torch.arange(0, dim, 2).float() / dim))
";
        assert!(lines("inv-freq-on-host", code).is_empty());
    }
}
