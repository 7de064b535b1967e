//! Scales stored beside the codes of quantised weights: found by name and shape, and removed from the list of parameters.
//!
//! A code means nothing without its scale. Writers name it `weight_scale_inv` (fp8 in blocks of 128, to be multiplied with),
//! `weight_scale`, `scale`, or `SCB` (the largest number of a row, which 127 stands for).

use std::collections::BTreeMap;

use crate::dtype::Dtype;
use crate::read::checkpoint::{BlockNumbers, Checkpoint, CheckpointParameter, WeightScale};
use crate::read::tensor::TensorData;

/// Side of the blocks that fp8 weights are scaled in where their number does not divide the axis.
const USUAL_BLOCK: u64 = 128;

/// Largest code that a scale of [`PER_ROW_MAXIMUM`] stands for.
const LARGEST_INT8: f32 = 127.0;

/// Name of a scale that is the largest number of a row.
const PER_ROW_MAXIMUM: &str = "SCB";

/// Moves the scales and zero points of quantised weights from the parameters to the weights' scales.
pub(crate) fn take_scales(checkpoint: &mut Checkpoint) {
    let quantised: Vec<String> = checkpoint
        .parameters
        .iter()
        .filter(|(_, parameter)| matches!(parameter, CheckpointParameter::Tensor(tensor) if holds_codes(tensor.dtype)))
        .map(|(name, _)| name.clone())
        .collect();
    for name in quantised {
        let Some((scale, taken)) = scale_of(&name, &checkpoint.parameters) else { continue };
        taken.iter().for_each(|name| drop(checkpoint.parameters.remove(name)));
        checkpoint.scales.insert(name, scale);
    }
}

/// Whether elements of this type may be codes.
fn holds_codes(dtype: Dtype) -> bool {
    matches!(dtype, Dtype::I8 | Dtype::U8 | Dtype::F8E4M3 | Dtype::F8E5M2)
}

/// The scale of a weight, and the names of the tensors that it consists of.
fn scale_of(name: &str, parameters: &BTreeMap<String, CheckpointParameter>) -> Option<(WeightScale, Vec<String>)> {
    let codes = tensor(parameters, name)?;
    let module = name.rsplit_once('.').map_or("", |(module, _)| module);
    let find = |names: &[String]| {
        names.iter().find_map(|name| Some((name.clone(), spread(tensor(parameters, name)?, &codes.shape)?)))
    };
    let scales = [
        format!("{name}_scale_inv"),
        format!("{name}_scale"),
        format!("{name}.scale_inv"),
        format!("{name}.scale"),
        format!("{module}.scale"),
        format!("{module}.scales"),
        format!("{module}.{PER_ROW_MAXIMUM}"),
    ];
    let zeros = [format!("{name}_zero_point"), format!("{name}_offset"), format!("{name}.zero_point")];
    let (scale_name, factors) = find(&scales)?;
    let zero = find(&zeros);
    let divisor = if scale_name.ends_with(PER_ROW_MAXIMUM) { LARGEST_INT8 } else { 1.0 };
    let own = scale_name.rsplit('.').next().unwrap_or_default().to_owned();
    let taken = std::iter::once(scale_name).chain(zero.iter().map(|(name, _)| name.clone())).collect();
    Some((WeightScale { name: own, factors, zeros: zero.map(|(_, zeros)| zeros), divisor }, taken))
}

fn tensor<'a>(parameters: &'a BTreeMap<String, CheckpointParameter>, name: &str) -> Option<&'a TensorData> {
    match parameters.get(name)? {
        CheckpointParameter::Tensor(tensor) => Some(tensor),
        _ => None,
    }
}

/// The spread of a small tensor over codes of `shape`: one number for all, for each row, or for each block. `None` where its
/// shape is none of these.
fn spread(numbers: &TensorData, shape: &[u64]) -> Option<BlockNumbers> {
    if !(numbers.dtype.is_float() || matches!(numbers.dtype, Dtype::I8 | Dtype::U8 | Dtype::I32)) {
        return None;
    }
    let mut own = if numbers.elements() == 1 { vec![1; shape.len()] } else { numbers.shape.clone() };
    if own.len() < shape.len() && shape.starts_with(&own) {
        own.resize(shape.len(), 1);
    }
    if own.len() != shape.len() {
        return None;
    }
    let blocks = shape.iter().zip(&own).map(|(len, count)| block(*len, *count)).collect::<Option<Vec<u64>>>()?;
    let row = own.last().copied().unwrap_or(1);
    Some(BlockNumbers { numbers: numbers.new_handle(), blocks, counts: own, row })
}

/// Length of the blocks that cut an axis of `len` into `count`.
fn block(len: u64, count: u64) -> Option<u64> {
    match count {
        0 => None,
        1 => Some(len.max(1)),
        _ if count == len => Some(1),
        _ if len.div_ceil(USUAL_BLOCK) == count => Some(USUAL_BLOCK),
        _ => (len > count && len.is_multiple_of(count)).then(|| len / count),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::fetch::MemorySource;
    use crate::read::tensor::{ByteOrder, ElementPlacement};

    fn parameter(dtype: Dtype, shape: &[u64]) -> CheckpointParameter {
        let len = shape.iter().product::<u64>() * dtype.size() as u64;
        let bytes = vec![0; usize::try_from(len).expect("small")];
        let placement = ElementPlacement { offset: 0, len, strides: None, order: ByteOrder::Little };
        CheckpointParameter::Tensor(
            TensorData::new(Arc::new(MemorySource::new("t", bytes)), dtype, shape.to_vec(), placement)
                .expect("a tensor"),
        )
    }

    /// The blocks of the scale of `a.weight`, of `shape`, that is called `name`; `None` where it stays a parameter.
    fn blocks(shape: &[u64], name: &str, scale: &[u64]) -> Option<Vec<u64>> {
        let parameters = [("a.weight", parameter(Dtype::I8, shape)), (name, parameter(Dtype::F32, scale))];
        let parameters = parameters.map(|(name, parameter)| (name.to_owned(), parameter)).into();
        let mut checkpoint = Checkpoint { parameters, ..Checkpoint::default() };
        take_scales(&mut checkpoint);
        assert_eq!(checkpoint.parameters.contains_key(name), checkpoint.scales.is_empty());
        Some(checkpoint.scales.remove("a.weight")?.factors.blocks)
    }

    #[test]
    fn a_scale_is_spread_over_tensor_rows_blocks_and_groups() {
        assert_eq!(blocks(&[6, 4], "a.weight_scale", &[1]), Some(vec![6, 4]));
        assert_eq!(blocks(&[6, 4], "a.weight_scale", &[]), Some(vec![6, 4]));
        assert_eq!(blocks(&[6, 4], "a.SCB", &[6]), Some(vec![1, 4]));
        assert_eq!(blocks(&[6, 4], "a.weight_scale", &[6, 1]), Some(vec![1, 4]));
        assert_eq!(blocks(&[6, 8], "a.scales", &[6, 2]), Some(vec![1, 4]));
        assert_eq!(blocks(&[300, 256], "a.weight_scale_inv", &[3, 2]), Some(vec![128, 128]));
        assert_eq!(blocks(&[2, 6, 4], "a.weight_scale", &[2, 6]), Some(vec![1, 1, 4]));
    }

    #[test]
    fn what_does_not_fit_stays_a_parameter() {
        assert_eq!(blocks(&[6, 4], "a.weight_scale", &[4]), None);
        assert_eq!(blocks(&[6, 4], "a.weight_scale", &[5, 1]), None);
        assert_eq!(blocks(&[6, 4], "b.weight_scale", &[1]), None);
    }
}
