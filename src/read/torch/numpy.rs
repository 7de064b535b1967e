//! NumPy arrays in a pickle, in the form that `numpy.ndarray.__reduce__` writes.
//!
//! An array is pickled as an empty array and a state that fills it: `(version, shape, dtype, is_fortran, elements)`. The elements are
//! bytes. Pickles of protocol 2, which `torch.save` writes, store them as Latin-1 text.

use std::sync::Arc;

use super::storage::unsigned;
use crate::dtype::Dtype;
use crate::fetch::MemorySource;
use crate::read::pickle::{Graph, PickleNode, PickleValue};
use crate::read::tensor::{ByteOrder, ElementPlacement, TensorData};

/// Whether `callable` creates the empty array that a state fills.
pub(super) fn is_array(callable: &str) -> bool {
    matches!(callable, "numpy.core.multiarray _reconstruct" | "numpy._core.multiarray _reconstruct")
}

/// Array that `state` describes, in the file called `name`; `None` if its elements are not numbers, or the state has another form.
pub(super) fn array(graph: &Graph, name: &str, state: &PickleValue) -> Option<TensorData> {
    let [_, shape, dtype, fortran, elements] = graph.sequence(state)? else { return None };
    let shape: Vec<u64> = graph.sequence(shape)?.iter().map(unsigned).collect::<Option<_>>()?;
    let (dtype, order) = element_type(graph, dtype)?;
    let bytes = bytes(graph, elements)?;
    let strides = matches!(fortran, PickleValue::Bool(true)).then(|| column_major(&shape)).flatten();
    let placement = ElementPlacement { offset: 0, len: bytes.len() as u64, strides, order };
    TensorData::new(Arc::new(MemorySource::new(name.to_owned(), bytes)), dtype, shape, placement).ok()
}

/// Element type and byte order of a pickled `numpy.dtype('u4', False, True)`, whose state begins with a version and the byte order.
fn element_type(graph: &Graph, dtype: &PickleValue) -> Option<(Dtype, ByteOrder)> {
    let PickleNode::Call { callable, arguments, state, .. } = graph.node(dtype)? else { return None };
    let (Some(PickleValue::Text(code)), "numpy dtype") = (arguments.first(), callable.as_ref()) else { return None };
    let order = state.as_ref().and_then(|state| graph.sequence(state)?.get(1));
    let order = match order {
        Some(PickleValue::Text(order)) if order.as_ref() == ">" => ByteOrder::Big,
        _ => ByteOrder::Little,
    };
    Some((Dtype::from_numpy_code(code)?, order))
}

/// Bytes of the elements, which are pickled as bytes or as the call `_codecs.encode(text, 'latin1')`.
fn bytes(graph: &Graph, elements: &PickleValue) -> Option<Vec<u8>> {
    if let PickleValue::Bytes(bytes) = elements {
        return Some(bytes.to_vec());
    }
    let PickleNode::Call { callable, arguments, .. } = graph.node(elements)? else { return None };
    let ("_codecs encode", [PickleValue::Text(text), PickleValue::Text(codec)]) =
        (callable.as_ref(), arguments.as_slice())
    else {
        return None;
    };
    let is_latin = matches!(codec.as_ref(), "latin1" | "latin-1" | "iso-8859-1");
    text.chars().map(|c| u8::try_from(u32::from(c)).ok()).collect::<Option<Vec<u8>>>().filter(|_| is_latin)
}

fn column_major(shape: &[u64]) -> Option<Vec<u64>> {
    let mut next = 1_u64;
    let mut strides = Vec::with_capacity(shape.len());
    for len in shape {
        strides.push(next);
        next = next.checked_mul(*len)?;
    }
    Some(strides)
}
