//! Files of MindSpore's `save`: `step0/rank0/model.embed_tokens_float32_0.npy`, without an order.

use super::part::ToolFile;
use super::place::{ToolPlace, tensor_stem};
use crate::dtype::Dtype;
use crate::read::dump::tool::Tool;

/// Record in the file at `path`, by the names of the file and its folders; `None` for other names.
pub(super) fn recognise(path: &str, head: &[u8]) -> Option<ToolFile> {
    let place = ToolPlace::from_path(path);
    if place.step.is_none() && place.rank.is_none() || !path.ends_with(".npy") {
        return None;
    }
    // With both folders and such a name it counts as a record, whatever it contains.
    let is_sure = place.step.is_some() && place.rank.is_some();
    if !is_sure && !crate::read::npy::recognise(head) {
        return None;
    }
    let (name, count) = tensor_stem(path)?.rsplit_once('_')?;
    let (name, dtype) = name.rsplit_once('_')?;
    let count: u64 = count.parse().ok()?;
    Dtype::parse(dtype).filter(|_| dtype.len() > 3 && !name.is_empty())?;
    Some(ToolFile {
        tool: Tool::Saved,
        path: path.to_owned(),
        group: place.group,
        step: place.step.unwrap_or(0),
        rank: place.rank,
        order: None,
        name: Some(if count == 0 { name.to_owned() } else { format!("{name}#{count}") }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_type_and_count_are_told() {
        let file = recognise("step1/rank0/model.layers.0.mlp_float32_0.npy", b"").expect("a record");
        assert_eq!((file.step, file.rank, file.name.as_deref()), (1, Some(0), Some("model.layers.0.mlp")));
        let again = recognise("step1/rank0/x_bfloat16_3.npy", b"").expect("a record");
        assert_eq!(again.name.as_deref(), Some("x#3"));
        assert_eq!(recognise("step1/rank0/x_1_3.npy", b""), None);
        assert_eq!(recognise("out/x_float32_0.npy", b"\x93NUMPY"), None);
        assert_eq!(recognise("step1/x_float32_0.npy", b"?"), None);
    }
}
