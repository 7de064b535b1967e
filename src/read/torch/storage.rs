//! Storages of a container, and references to them in a pickle.

use std::collections::HashMap;
use std::sync::Arc;

use crate::dtype::Dtype;
use crate::read::pickle::{Graph, PickleValue};
use crate::read::tensor::ByteOrder;

/// A storage: bytes that tensors are views of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Storage {
    pub(super) offset: u64,
    pub(super) len: u64,
}

/// Content of a container: the pickled value, and the places of the storages.
pub(super) struct Content {
    pub(super) graph: Graph,
    pub(super) storages: HashMap<Arc<str>, Storage>,
    pub(super) order: ByteOrder,
}

/// Persistent id of a storage: `('storage', torch.FloatStorage, key, location, elements)`.
pub(super) struct Reference<'a> {
    pub(super) kind: &'a str,
    pub(super) key: &'a str,
}

impl<'a> Reference<'a> {
    pub(super) fn from_id(graph: &'a Graph, id: &'a PickleValue) -> Option<Self> {
        let [PickleValue::Text(tag), PickleValue::Global(kind), PickleValue::Text(key), ..] = graph.sequence(id)?
        else {
            return None;
        };
        (tag.as_ref() == "storage").then_some(Self { kind: kind.rsplit(' ').next().unwrap_or_default(), key })
    }
}

pub(super) fn unsigned(value: &PickleValue) -> Option<u64> {
    match value {
        PickleValue::Int(number) => u64::try_from(*number).ok(),
        _ => None,
    }
}

/// Element type of a storage class (`FloatStorage`) or of a `torch.dtype` (`float8_e4m3fn`).
pub(super) fn element_type(kind: &str) -> Option<Dtype> {
    Some(match kind.strip_suffix("Storage") {
        Some("Double") => Dtype::F64,
        Some("Float") => Dtype::F32,
        Some("Half") => Dtype::F16,
        Some("BFloat16") => Dtype::BF16,
        Some("Long") => Dtype::I64,
        Some("Int") => Dtype::I32,
        Some("Short") => Dtype::I16,
        Some("Char") => Dtype::I8,
        Some("Byte") => Dtype::U8,
        Some("Bool") => Dtype::Bool,
        Some("ComplexFloat") => Dtype::C64,
        Some("ComplexDouble") => Dtype::C128,
        Some(_) => return None,
        None => return Dtype::parse(kind),
    })
}
