//! Binding of a call's arguments to its signature: by position, by name, or by default.
//!
//! A dump holds a call as it was written. `sum(x, -1)` and `sum(x, dim=-1)` are the same call, `gelu(x)` and
//! `gelu(x, approximate="tanh")` are not, and `sum(x)` and `sum(x, -1)` are calls of two overloads. The signatures are those of a
//! release of PyTorch (`signature/make.py` writes them); calls that are not among them are held against each other as written.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::LazyLock;

use crate::kind::TensorKind;
use crate::read::dump::name::{Direction, OpName};
use crate::read::dump::{Dump, Leaf, Operation, Operations};
use crate::read::json::{Json, parse_bytes};

/// One overload of a call.
#[derive(Debug)]
pub(super) struct Signature {
    parameters: Vec<Parameter>,
    /// Parameters that may be given by position.
    positional: usize,
}

#[derive(Debug)]
struct Parameter {
    name: &'static str,
    /// Default value; `Some(None)` for a default that is not known, `None` for a required parameter.
    default: Option<Option<Json>>,
}

/// Overloads by call.
static SIGNATURES: LazyLock<HashMap<&'static str, Vec<Signature>>> = LazyLock::new(|| {
    let mut known: HashMap<&str, Vec<Signature>> = HashMap::new();
    for line in include_str!("signature/signatures.txt").lines().filter(|line| !line.starts_with('#')) {
        let (call, parameters) = line.split_once(' ').unwrap_or((line, ""));
        known.entry(call).or_default().push(Signature::parse(parameters));
    }
    known
});

impl Signature {
    fn parse(text: &'static str) -> Self {
        let words = || text.split(' ').filter(|word| !word.is_empty());
        let parameter = |word: &'static str| {
            let (name, default) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
            let value = |text: &str| (text != "?").then(|| parse_bytes("", text.as_bytes()).ok()).flatten();
            Parameter { name, default: default.map(value) }
        };
        let parameters: Vec<Parameter> = words().filter(|word| *word != "*").map(parameter).collect();
        let positional = words().position(|word| word == "*").unwrap_or(parameters.len());
        Self { parameters, positional }
    }

    /// The parameter at a place of a call: a position, or a name.
    fn parameter(&self, place: &str) -> Option<&Parameter> {
        match place.parse::<usize>() {
            Ok(position) => self.parameters.get(position).filter(|_| position < self.positional),
            Err(_) => self.parameters.iter().find(|parameter| parameter.name == place),
        }
    }

    /// Whether a call fits this overload: the overload has every given argument, and every required one is given.
    fn accepts(&self, given: &BTreeSet<&str>) -> bool {
        let names: Option<BTreeSet<&str>> =
            given.iter().map(|place| self.parameter(place).map(|parameter| parameter.name)).collect();
        let is_there = |parameter: &Parameter, names: &BTreeSet<&str>| {
            parameter.default.is_some() || names.contains(parameter.name)
        };
        names.is_some_and(|names| self.parameters.iter().all(|parameter| is_there(parameter, &names)))
    }
}

/// The known overloads of the function that both calls are of; `None` for calls of different or unknown functions.
fn overloads(baseline: Operation<'_>, candidate: Operation<'_>) -> Option<&'static [Signature]> {
    let [left, right] = [baseline, candidate].map(|operation| OpName::parse(operation.name));
    let is_call = left.base == right.base && [left.direction, right.direction] == [Some(Direction::Forward); 2];
    SIGNATURES.get(left.base).filter(|_| is_call).map(Vec::as_slice)
}

/// Whether a function takes an argument of this name; `None` for a function whose signature is not known.
pub(crate) fn takes_argument(call: &str, name: &str) -> Option<bool> {
    let overloads = SIGNATURES.get(call)?;
    Some(overloads.iter().any(|overload| overload.parameters.iter().any(|parameter| parameter.name == name)))
}

/// Name of the argument that a value of a call is, or whose gradient it is; `None` where the signature does not tell. `operations` are
/// those of the value's dump.
pub(crate) fn argument_of(operation: Operation<'_>, leaf: Leaf<'_>, operations: &Operations) -> Option<String> {
    let name = OpName::parse(operation.name);
    match (name.direction?, leaf.kind) {
        (Direction::Forward, TensorKind::Input) => argument_name(name.base, leaf.row.below_operation()),
        (Direction::Backward, TensorKind::Output) => argument_of_gradient(&name, leaf, operations),
        _ => None,
    }
}

/// Name of the argument that a row below its operation holds, with the place in a list: `dim`, `tensors[1]`.
fn argument_name(call: &str, row: &str) -> Option<String> {
    let place = argument(row)?;
    let of_position = || {
        let overloads = SIGNATURES.get(call.replacen('_', ".", usize::from(!call.contains('.'))).as_str())?;
        let mut names = overloads.iter().filter_map(|overload| overload.parameter(place)).map(|known| known.name);
        names.next().filter(|name| names.all(|other| other == *name))
    };
    let name = if place.parse::<usize>().is_ok() { of_position()? } else { place };
    let item = row.split_once(&format!(".{place}.")).map(|(_, item)| format!("[{item}]"));
    Some(format!("{name}{}", item.unwrap_or_default()))
}

/// Calls whose gradients stand in the order of their first arguments, which have one shape.
const IN_ORDER: [&str; 1] = ["scaled_dot_product_attention"];

/// Name of the argument that a gradient belongs to: the only one of its shape. Hooks give the gradients of some calls in another order
/// than the arguments, and that of a matrix transposed.
fn argument_of_gradient(call: &OpName<'_>, gradient: Leaf<'_>, operations: &Operations) -> Option<String> {
    if IN_ORDER.contains(&call.function()) {
        let position = gradient.row.last_part();
        return SIGNATURES.get(call.base)?.first()?.parameter(position).map(|parameter| parameter.name.to_owned());
    }
    let names = call.forward_names();
    let forward = operations.iter().find(|operation| names.iter().any(|name| name == operation.name))?;
    let shape = gradient.tensor()?.shape;
    let only = |is_alike: &dyn Fn(&[u64]) -> bool| {
        let inputs = forward.leaves.iter().filter(|leaf| leaf.kind == TensorKind::Input);
        let mut alike = inputs.filter(|leaf| leaf.tensor().is_some_and(|record| is_alike(record.shape)));
        alike.next().filter(|_| alike.next().is_none())
    };
    let is_transposed = |other: &[u64]| shape.len() == 2 && other.iter().rev().eq(shape);
    let input = only(&|other| other == shape).or_else(|| only(&is_transposed))?;
    argument_name(call.base, input.row.below_operation())
}

/// The overload that fits both calls; `None` where there is none, or their function is not known.
pub(super) fn common_signature(baseline: Operation<'_>, candidate: Operation<'_>) -> Option<&'static Signature> {
    let [left, right] = [baseline, candidate].map(given);
    let both = |signature: &&Signature| signature.accepts(&left) && signature.accepts(&right);
    overloads(baseline, candidate)?.iter().find(both)
}

impl Signature {
    /// Rewrites a place within a call so that its argument has a name: `input.1.0` becomes `input.dim.0`.
    pub(super) fn named(&self, place: String) -> String {
        let Some(rest) = place.strip_prefix("input.") else { return place };
        let (argument, below) = rest.split_once('.').map_or((rest, ""), |(argument, below)| (argument, below));
        let Some(Parameter { name, .. }) = self.parameter(argument) else { return place };
        if below.is_empty() { format!("input.{name}") } else { format!("input.{name}.{below}") }
    }
}

/// Places of the arguments that a call is given: positions and names.
fn given(operation: Operation<'_>) -> BTreeSet<&str> {
    operation
        .leaves
        .iter()
        .filter(|leaf| leaf.kind == TensorKind::Input)
        .filter_map(|leaf| argument(leaf.row.below_operation()))
        .collect()
}

/// The argument that a row below its operation belongs to.
fn argument(row: &str) -> Option<&str> {
    let rest = [".input.", "_input.", ".kwargs."].iter().find_map(|start| row.strip_prefix(start))?;
    Some(rest.split_once('.').map_or(rest, |(argument, _)| argument))
}

/// Arguments that a call lacks, by row, with their values.
type Defaults = Vec<(String, Json)>;

/// Adds to paired calls the arguments that only the other side gives: their defaults, or null for calls of different
/// overloads. `pairs` are indices of the operations; `None` where no argument was added.
pub(crate) fn bind_arguments(
    baseline: &Dump,
    candidate: &Dump,
    pairs: impl Iterator<Item = (usize, usize)>,
) -> Option<[Operations; 2]> {
    let (mut of_baseline, mut of_candidate) = (BTreeMap::new(), BTreeMap::new());
    for (left, right) in pairs {
        let (Some(baseline_call), Some(candidate_call)) =
            (baseline.operations.get(left), candidate.operations.get(right))
        else {
            continue;
        };
        if baseline_call.leaves.len() == candidate_call.leaves.len() {
            continue;
        }
        let Some(overloads) = overloads(baseline_call, candidate_call) else { continue };
        for (own, other, place, defaults) in [
            (baseline_call, candidate_call, left, &mut of_baseline),
            (candidate_call, baseline_call, right, &mut of_candidate),
        ] {
            let lacking = lacking(own, other, overloads);
            if !lacking.is_empty() {
                defaults.insert(place, lacking);
            }
        }
    }
    (!of_baseline.is_empty() || !of_candidate.is_empty())
        .then(|| [baseline.operations.with_arguments(&of_baseline), candidate.operations.with_arguments(&of_candidate)])
}

/// Arguments that only the other call is given, with their values for this one.
fn lacking(own: Operation<'_>, other: Operation<'_>, overloads: &[Signature]) -> Defaults {
    let (own_arguments, other_arguments) = (given(own), given(other));
    let signature =
        overloads.iter().find(|signature| signature.accepts(&own_arguments) && signature.accepts(&other_arguments));
    let is_known = |place: &str| {
        overloads.iter().any(|signature| signature.accepts(&other_arguments) && signature.parameter(place).is_some())
    };
    let has = |place: &str| match signature {
        Some(signature) => {
            let name = signature.parameter(place).map(|parameter| parameter.name);
            own_arguments.iter().any(|own| signature.parameter(own).map(|parameter| parameter.name) == name)
        }
        None => own_arguments.contains(place),
    };
    let mut lacking = Vec::new();
    for leaf in other.leaves.iter().filter(|leaf| leaf.kind == TensorKind::Input && leaf.record().is_none()) {
        let row = leaf.row.below_operation();
        let Some(place) = argument(row).filter(|place| !has(place) && is_known(place)) else { continue };
        let value = match signature.map(|signature| signature.parameter(place).and_then(|known| known.default.as_ref()))
        {
            Some(Some(Some(default))) => item_of(default, row),
            // The default is not a plain value, so the argument stays missing.
            Some(_) => continue,
            None => Json::Null,
        };
        lacking.push((format!("{}{row}", own.name), value));
    }
    lacking
}

/// The part of a default that a row stands for: the item at its index for a list, else the whole value.
fn item_of(default: &Json, row: &str) -> Json {
    let index = row.rsplit_once('.').and_then(|(_, last)| last.parse::<usize>().ok());
    match (default, index) {
        (Json::Array(items), Some(index)) => items.get(index).cloned().unwrap_or(Json::Null),
        _ => default.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepts(call: &str, given: &[&str]) -> Vec<usize> {
        let given: BTreeSet<&str> = given.iter().copied().collect();
        let overloads = SIGNATURES.get(call).map(Vec::as_slice).unwrap_or_default();
        (0..overloads.len()).filter(|place| overloads.get(*place).is_some_and(|one| one.accepts(&given))).collect()
    }

    #[test]
    fn an_argument_has_the_name_of_the_signature() {
        for (call, row, name) in [
            ("Functional.linear", ".input.1", Some("weight")),
            ("Functional_embedding", "_input.1", Some("weight")),
            ("Torch.cat", ".input.0.1", Some("tensors[1]")),
            ("Functional.max_pool2d", ".input.ceil_mode", Some("ceil_mode")),
            ("Custom.call", ".input.0", None),
        ] {
            assert_eq!(argument_name(call, row).as_deref(), name, "{call}{row}");
        }
    }

    #[test]
    fn arguments_are_bound_by_position_and_by_name() {
        assert_eq!(accepts("Torch.sum", &["0", "1"]), accepts("Torch.sum", &["0", "dim"]));
        let (whole, along) = (accepts("Torch.sum", &["0"]), accepts("Torch.sum", &["0", "1"]));
        assert!(!whole.is_empty() && !along.is_empty() && whole.iter().all(|one| !along.contains(one)));
        assert!(accepts("Torch.sum", &["0", "nonsense"]).is_empty() && accepts("Torch.nonsense", &["0"]).is_empty());
    }

    #[test]
    fn defaults_are_those_of_the_framework() {
        let default = |call: &str, name: &str| {
            let overloads = SIGNATURES.get(call).expect("a known call");
            let parameter = overloads.iter().find_map(|one| one.parameter(name)).expect("a parameter");
            parameter.default.clone().flatten()
        };
        assert_eq!(default("Functional.gelu", "approximate"), Some(Json::Text("none".into())));
        assert_eq!(default("Functional.layer_norm", "eps"), Some(Json::Float(1e-5)));
        assert_eq!(default("Functional.embedding_bag", "mode"), Some(Json::Text("mean".into())));
        assert_eq!(default("Functional.softmax", "dtype"), Some(Json::Null));
    }
}
