//! `half-sensitive`: a function that needs float32 gets 16 bits.

use super::dtype::{Format, cast_of, format};
use super::file::File;
use super::hit::Hit;
use super::rule::{Family, SourceRule};
use crate::read::NodeId;
use crate::read::tree::Argument;
use precision_gate_result::verdict::Severity;

pub(super) const RULE: SourceRule = SourceRule::new("half-sensitive", Severity::Warn, Family::Numerics);

/// Sums of exponentials, losses and norms, by their last name.
const FUNCTIONS: &[&str] = &[
    "softmax",
    "log_softmax",
    "logsumexp",
    "cross_entropy",
    "nll_loss",
    "kl_div",
    "mse_loss",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "layer_norm",
];
/// The same as modules.
const CLASSES: &[&str] =
    &["Softmax", "LogSoftmax", "CrossEntropyLoss", "NLLLoss", "KLDivLoss", "MSELoss", "BCELoss", "BCEWithLogitsLoss"];
/// Modules that these functions lie in.
const MODULES: &[&str] = &["torch.", "torch.nn.functional.", "torch.special."];
/// Those that are methods of a tensor too.
const METHODS: &[&str] = &["softmax", "log_softmax", "logsumexp"];
/// Layers that normalise.
const LAYERS: &[&str] = &[
    "LayerNorm",
    "RMSNorm",
    "GroupNorm",
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "SyncBatchNorm",
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "LocalResponseNorm",
];

pub(super) fn find(file: &File<'_>, hits: &mut Vec<Hit>) {
    for (id, function, arguments) in file.calls() {
        let found = of_function(file, function, arguments)
            .or_else(|| of_method(file, id))
            .or_else(|| of_layer(file, id, function, arguments));
        hits.extend(found.map(|(name, format)| Hit::new(&RULE, id).with("name", name).with("format", format.name())));
    }
}

/// A function of a half value, or one that is told to compute in half.
fn of_function<'a>(file: &'a File<'_>, function: NodeId, arguments: &[Argument]) -> Option<(&'a str, Format)> {
    let name = functional(file, function).or_else(|| of_module(file, function))?;
    let value = file.argument(arguments, "input", 0);
    let found = told(file, arguments).or_else(|| value.and_then(|value| cast_of(file, value)));
    found.filter(|format| format.is_half()).map(|format| (name, format))
}

/// A function of torch that needs float32.
fn functional<'a>(file: &'a File<'_>, function: NodeId) -> Option<&'a str> {
    let name = file.tree.last_name(function).filter(|name| FUNCTIONS.contains(name))?;
    let full = file.full_name(function)?;
    MODULES.iter().any(|module| full.strip_prefix(module) == Some(name)).then_some(name)
}

/// The same as a module that is called where it is built, or by the only name that it is given: `nn.CrossEntropyLoss()(x)`.
fn of_module<'a>(file: &'a File<'_>, called: NodeId) -> Option<&'a str> {
    let built = if file.call(called).is_some() { called } else { file.only_value(called)? };
    let (class, _) = file.call(built)?;
    let name = file.tree.last_name(class).filter(|name| CLASSES.contains(name))?;
    file.full_name(class).is_some_and(|full| full.strip_prefix("torch.nn.") == Some(name)).then_some(name)
}

/// The same as a method: `x.half().softmax(-1)`.
fn of_method<'a>(file: &'a File<'_>, id: NodeId) -> Option<(&'a str, Format)> {
    let (value, name, arguments) = file.method(id).filter(|(_, name, _)| METHODS.contains(name))?;
    if file.full_name(value).is_some() {
        return None;
    }
    let found = told(file, arguments).or_else(|| cast_of(file, value));
    found.filter(|format| format.is_half()).map(|format| (name, format))
}

/// A layer that is built in float16, or cast to it where it is built.
fn of_layer<'a>(file: &'a File<'_>, id: NodeId, function: NodeId, arguments: &[Argument]) -> Option<(&'a str, Format)> {
    let layer = |function: NodeId| {
        let name = file.tree.last_name(function).filter(|name| LAYERS.contains(name))?;
        file.full_name(function).is_some_and(|full| full.starts_with("torch.nn.")).then_some(name)
    };
    if let Some(name) = layer(function) {
        return told(file, arguments).filter(|format| *format == Format::Float16).map(|format| (name, format));
    }
    let (built, _, _) = file.method(id)?;
    let name = layer(file.call(built)?.0)?;
    cast_of(file, id).filter(|format| *format == Format::Float16).map(|format| (name, format))
}

/// The format that an argument `dtype` names.
fn told(file: &File<'_>, arguments: &[Argument]) -> Option<Format> {
    file.keyword(arguments, "dtype").and_then(|value| format(file, value))
}

#[cfg(test)]
mod tests {
    use super::super::testing::lines;

    #[test]
    fn functions_methods_and_layers_are_found() {
        let code = "\
import torch
from torch import nn
import torch.nn.functional as F
a = F.softmax(x.half(), dim=-1)
b = F.cross_entropy(x.to(torch.bfloat16), y)
c = x.softmax(-1, dtype=torch.float16)
d = x.bfloat16().log_softmax(-1)
e = torch.logsumexp(x.type(torch.half), 1)
f = nn.LayerNorm(8).half()
g = nn.BatchNorm2d(8, dtype=torch.float16)
h = F.layer_norm(x.to(device, dtype=torch.float16), (8,))
criterion = nn.CrossEntropyLoss()
i = criterion(x.half(), y)
j = nn.Softmax(dim=-1)(x.bfloat16())
";
        assert_eq!(lines("half-sensitive", code), [4, 5, 6, 7, 8, 9, 10, 11, 13, 14]);
    }

    #[test]
    fn float32_and_other_functions_are_silent() {
        let code = "\
import torch
from torch import nn
import torch.nn.functional as F
a = F.softmax(x.float(), dim=-1)
b = F.softmax(x.half(), dim=-1, dtype=torch.float32)
c = F.softmax(x, dim=-1).half()
d = F.relu(x.half())
e = nn.Linear(8, 8).half()
f = nn.LayerNorm(8).bfloat16()
g = other.softmax(x)
";
        assert!(lines("half-sensitive", code).is_empty());
    }
}
