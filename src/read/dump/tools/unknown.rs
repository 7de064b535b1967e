//! Dumps of an unknown tool: tensors that are named by a path of modules or start with a number, and that are not parameters.

use super::names::{Activations, activations, is_module_path, is_parameter};
use super::part::ToolFile;
use super::place::{ToolPlace, tensor_stem};
use crate::fetch::Source;
use crate::read::dump::tool::Tool;
use crate::read::tensor::StoredValue;
use crate::read::{npy, tensor_file, torch};

/// Record in the file at `path`, by the file's name; `None` for other names, and for files of several tensors.
pub(super) fn recognise(path: &str, head: &[u8], source: &Source) -> Option<ToolFile> {
    let stem = tensor_stem(path)?;
    let (order, name) = match numbered(stem) {
        Some((order, name)) => (Some(order), name),
        None => (None, stem),
    };
    if is_parameter(name) || order.is_none() && !is_module_path(name) {
        return None;
    }
    // A name with both a number and a module path counts as a record, whatever the file contains.
    let is_sure = order.is_some() && is_module_path(name);
    let is_bare = npy::recognise(head)
        || torch::recognise(head) && tensor_file::open_all(source.clone()).map_or(is_sure, |stored| is_single(&stored))
        || is_sure && (head.is_empty() || !path.ends_with(".bin") && !tensor_file::holds_named_tensors(head, source));
    is_bare.then(|| file(path, order, Some(name.to_owned())))
}

/// Dump that the members of the file at `path` form; `None` if they are something else.
pub(super) fn recognise_members(path: &str, head: &[u8], source: &Source) -> Option<ToolFile> {
    if !tensor_file::holds_members(head, source) {
        return None;
    }
    let stored = tensor_file::open_members(source.clone()).ok()?;
    (activations(path, &stored) == Some(Activations::Modules)).then(|| file(path, None, None))
}

fn file(path: &str, order: Option<u64>, name: Option<String>) -> ToolFile {
    let place = ToolPlace::from_path(path);
    ToolFile {
        tool: Tool::Unknown,
        path: path.to_owned(),
        group: place.group,
        step: place.step.unwrap_or(0),
        rank: place.rank,
        order,
        name,
    }
}

/// Number at the start of a name, and the rest, which must contain a letter.
fn numbered(stem: &str) -> Option<(u64, &str)> {
    let digits = stem.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = (stem.get(..digits)?, stem.get(digits..)?);
    let name = rest.strip_prefix(['_', '-', '.', ' '])?.trim_start_matches(['_', '-', '.', ' ']);
    name.bytes().any(|byte| byte.is_ascii_alphabetic()).then_some((number.parse().ok()?, name))
}

/// Whether a file holds exactly one tensor, either bare or under `value`.
fn is_single(stored: &[(String, StoredValue)]) -> bool {
    let mut tensors = stored.iter().filter(|(_, stored)| matches!(stored, StoredValue::Tensor(_)));
    tensors.next().is_some_and(|(name, _)| name.is_empty() || name == "value") && tensors.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leading_number_is_the_order() {
        assert_eq!(numbered("00010_model.layers.1.mlp"), Some((10, "model.layers.1.mlp")));
        assert_eq!(numbered("3-logits"), Some((3, "logits")));
        for none in ["00000", "0_0", "logits", "12345678901234567890123_x", ""] {
            assert_eq!(numbered(none), None, "{none}");
        }
    }
}
