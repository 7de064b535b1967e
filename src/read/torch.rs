//! Files of `torch.save`: the zip container of torch 1.6 and later, and the chain of pickles before it.
//!
//! Both hold one pickle that names storages, and the storages' bytes. The pickle is followed by [`pickle`], which
//! executes nothing; here its calls are read for what they mean: `_rebuild_tensor_v2(storage, offset, size, stride,
//! …)` is a view of a storage, `_rebuild_tensor_v3` the same of untyped bytes with an element type beside them. Two
//! tensors may share a storage, and a view may be far smaller than its storage.

mod container;
mod numpy;

use std::collections::HashMap;
use std::sync::Arc;

use super::pickle::{Graph, Node, Value};
use super::tensor::{ByteOrder, Placement, Stored, TensorData};
use crate::dtype::Dtype;
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::Source;

pub(crate) use container::{holds_storages, recognise};

/// Deepest nesting of dictionaries and lists that is followed, for names as in nested optimizer states.
const MAX_DEPTH: usize = 64;
/// Most values that are visited in one file; shared references could otherwise multiply without end.
const MAX_VALUES: usize = 1 << 20;
/// Longest text of a plain value that is kept.
const MAX_TEXT: usize = 200;

/// Callables that give a dense tensor from a storage.
const REBUILD: [&str; 4] = [
    "torch._utils _rebuild_tensor",
    "torch._utils _rebuild_tensor_v2",
    "torch._utils _rebuild_tensor_v3",
    "torch_npu.utils.storage _rebuild_npu_tensor",
];

/// Callables that wrap a tensor given as their first argument.
const WRAPPERS: [&str; 3] = [
    "torch._utils _rebuild_parameter",
    "torch._utils _rebuild_parameter_with_state",
    "torch._utils _rebuild_device_tensor_from_cpu_tensor",
];

/// Calls another callable and sets the type of the result.
const FROM_TYPE: &str = "torch._tensor _rebuild_from_type_v2";

/// Callables whose result is a dictionary.
const DICTIONARIES: [&str; 3] = ["collections OrderedDict", "collections defaultdict", "builtins dict"];

/// Tensors that are recognised and not read, with what they are.
const UNREAD: [(&str, &str); 9] = [
    ("torch._utils _rebuild_sparse_tensor", "a sparse tensor"),
    ("torch._utils _rebuild_sparse_csr_tensor", "a sparse tensor"),
    ("torch._utils _rebuild_nested_tensor", "a nested tensor"),
    ("torch._utils _rebuild_qtensor", "a quantised tensor"),
    ("torch._utils _rebuild_meta_tensor_no_storage", "a meta tensor without elements"),
    ("torch._utils _rebuild_wrapper_subclass", "a tensor subclass without its own storage"),
    ("torch._utils _rebuild_device_tensor_from_numpy", "a tensor pickled through NumPy"),
    ("numpy.core.multiarray _reconstruct", "a pickled NumPy array of an unknown kind"),
    ("numpy._core.multiarray _reconstruct", "a pickled NumPy array of an unknown kind"),
];

/// Harmless callables whose result is shown as their name.
const PLAIN: [&str; 9] = [
    "torch Size",
    "torch device",
    "torch.serialization _get_layout",
    "argparse Namespace",
    "builtins set",
    "numpy dtype",
    "numpy.core.multiarray scalar",
    "numpy._core.multiarray scalar",
    "_codecs encode",
];

/// Whether a pickle may name `callable` in a call.
fn is_allowed(callable: &str) -> bool {
    REBUILD.contains(&callable)
        || WRAPPERS.contains(&callable)
        || callable == FROM_TYPE
        || DICTIONARIES.contains(&callable)
        || UNREAD.iter().any(|(name, _)| *name == callable)
        || PLAIN.contains(&callable)
}

/// A storage: bytes that tensors are views of.
#[derive(Clone, Copy, Debug)]
struct Storage {
    offset: u64,
    len: u64,
}

/// Parts of a container: the pickled value and where the storages lie.
struct Content {
    graph: Graph,
    storages: HashMap<Arc<str>, Storage>,
    order: ByteOrder,
}

/// Opens a torch file of either container; see [`open_all`](super::tensor_file::open_all).
pub(crate) fn open(source: Source) -> Result<Vec<(String, Stored)>> {
    let content = container::open(&source)?;
    let mut walk = Walk { source, content: &content, values: Vec::new(), visited: 0 };
    walk.visit(&mut Vec::new(), content.graph.root())?;
    Ok(walk.values)
}

/// The walk from the pickled value to named leaves.
struct Walk<'a> {
    source: Source,
    content: &'a Content,
    values: Vec<(String, Stored)>,
    visited: usize,
}

impl Walk<'_> {
    fn visit(&mut self, path: &mut Vec<String>, value: &Value) -> Result<()> {
        self.visited += 1;
        if path.len() > MAX_DEPTH || self.visited > MAX_VALUES {
            let message = format!("nests deeper than {MAX_DEPTH} or holds more than {MAX_VALUES} values");
            return Err(Error::new(ErrorKind::LimitExceeded, self.source.name(), message));
        }
        let content = self.content;
        match content.graph.node(value) {
            Some(Node::Tuple(items) | Node::List(items)) => {
                let indexed = items.iter().enumerate();
                indexed.into_iter().try_for_each(|(index, item)| self.enter(path, index.to_string(), item))
            }
            Some(Node::Dict(items)) => self.visit_items(path, items),
            Some(Node::Call { callable, items, arguments, .. }) if DICTIONARIES.contains(&callable.as_ref()) => {
                arguments.iter().try_for_each(|argument| self.visit_pairs(path, argument))?;
                self.visit_items(path, items)
            }
            _ => {
                let stored = self.leaf(value)?;
                self.values.push((path.join("."), stored));
                Ok(())
            }
        }
    }

    fn visit_items(&mut self, path: &mut Vec<String>, items: &[(Value, Value)]) -> Result<()> {
        items.iter().try_for_each(|(key, item)| self.enter(path, key_text(key), item))
    }

    /// The pairs an ordered dictionary of old Python was built from.
    fn visit_pairs(&mut self, path: &mut Vec<String>, argument: &Value) -> Result<()> {
        let content = self.content;
        for pair in content.graph.sequence(argument).unwrap_or_default() {
            if let Some([key, item]) = content.graph.sequence(pair) {
                self.enter(path, key_text(key), item)?;
            }
        }
        Ok(())
    }

    fn enter(&mut self, path: &mut Vec<String>, key: String, value: &Value) -> Result<()> {
        path.push(key);
        let visited = self.visit(path, value);
        path.pop();
        visited
    }

    fn leaf(&self, value: &Value) -> Result<Stored> {
        let Some(Node::Call { callable, arguments, state, .. }) = self.content.graph.node(value) else {
            return Ok(Stored::Plain(plain_text(value)));
        };
        let state = state.as_ref().filter(|_| numpy::is_array(callable));
        match state.and_then(|state| numpy::array(&self.content.graph, self.source.name(), state)) {
            Some(array) => Ok(Stored::Tensor(array)),
            None => self.tensor(callable, arguments, MAX_DEPTH),
        }
    }

    /// The tensor that `callable(arguments)` stands for; wrappers are followed up to `depth` times.
    fn tensor(&self, callable: &str, arguments: &[Value], depth: usize) -> Result<Stored> {
        if REBUILD.contains(&callable) {
            return self.view(callable, arguments);
        }
        if let Some((_, what)) = UNREAD.iter().find(|(name, _)| *name == callable) {
            return Ok(Stored::Unsupported(format!("{what} (`{}`) is not read", callable.replace(' ', "."))));
        }
        if depth == 0 {
            return Err(self.corrupt("a tensor wrapped too many times"));
        }
        if callable == FROM_TYPE {
            let (Some(Value::Global(inner)), Some(inner_arguments)) =
                (arguments.first(), arguments.get(2).and_then(|value| self.content.graph.sequence(value)))
            else {
                return Err(self.corrupt("a tensor subclass of unknown layout"));
            };
            if !is_allowed(inner) {
                let message = format!("asks to call `{}`, which no tensor file needs", inner.replace(' ', "."));
                return Err(Error::unsupported(self.source.name(), message));
            }
            return self.tensor(inner, inner_arguments, depth - 1);
        }
        if WRAPPERS.contains(&callable) {
            let inner = arguments.first().and_then(|value| self.content.graph.node(value));
            if let Some(Node::Call { callable, arguments, .. }) = inner {
                return self.tensor(callable, arguments, depth - 1);
            }
            return Err(self.corrupt("a parameter without a tensor"));
        }
        Ok(Stored::Plain(callable.replace(' ', ".")))
    }

    /// A view of a storage: `(storage, offset, size, stride, …)`.
    fn view(&self, callable: &str, arguments: &[Value]) -> Result<Stored> {
        let graph = &self.content.graph;
        let [storage, offset, size, stride, ..] = arguments else {
            return Err(self.corrupt("a tensor with too few arguments"));
        };
        let reference = match graph.node(storage) {
            Some(Node::Persistent(id)) => Reference::of(graph, id),
            _ => None,
        };
        let reference = reference.ok_or_else(|| self.corrupt("a tensor without a storage"))?;
        let kind = match arguments.get(6) {
            Some(Value::Global(dtype)) if callable.ends_with("_v3") => dtype.rsplit(' ').next().unwrap_or_default(),
            _ => reference.kind,
        };
        let Some(dtype) = element_type(kind) else {
            return Ok(Stored::Unsupported(format!("elements of type `{kind}` are not read")));
        };
        let (Some(offset), Some(shape), Some(strides)) =
            (unsigned(offset), self.unsigned_list(size), self.unsigned_list(stride))
        else {
            return Err(self.corrupt("a tensor whose offset, size or stride is not a positive number"));
        };
        let storage = self
            .content
            .storages
            .get(reference.key)
            .ok_or_else(|| self.corrupt(&format!("storage `{}` is missing", reference.key)))?;
        let skipped = offset.checked_mul(dtype.size() as u64).filter(|skipped| *skipped <= storage.len);
        let skipped = skipped.ok_or_else(|| self.corrupt("a tensor that begins behind its storage"))?;
        let placement = Placement {
            offset: storage.offset + skipped,
            len: storage.len - skipped,
            strides: Some(strides),
            order: self.content.order,
        };
        match TensorData::new(self.source.clone(), dtype, shape, placement) {
            // The file's other tensors are read as usual.
            Err(error) if error.kind() == ErrorKind::LimitExceeded => {
                Ok(Stored::Unsupported(error.message().to_owned()))
            }
            tensor => tensor.map(Stored::Tensor),
        }
    }

    fn unsigned_list(&self, value: &Value) -> Option<Vec<u64>> {
        let value = match self.content.graph.node(value) {
            // torch.Size((2, 3))
            Some(Node::Call { callable, arguments, .. }) if callable.as_ref() == "torch Size" => arguments.first()?,
            _ => value,
        };
        self.content.graph.sequence(value)?.iter().map(unsigned).collect()
    }

    fn corrupt(&self, message: &str) -> Error {
        Error::corrupt(self.source.name(), format!("its pickle describes {message}"))
    }
}

/// Persistent id of a storage: `('storage', torch.FloatStorage, key, location, elements)`.
struct Reference<'a> {
    kind: &'a str,
    key: &'a str,
}

impl<'a> Reference<'a> {
    fn of(graph: &'a Graph, id: &'a Value) -> Option<Self> {
        let [Value::Text(tag), Value::Global(kind), Value::Text(key), ..] = graph.sequence(id)? else { return None };
        (tag.as_ref() == "storage").then_some(Self { kind: kind.rsplit(' ').next().unwrap_or_default(), key })
    }
}

fn unsigned(value: &Value) -> Option<u64> {
    match value {
        Value::Int(number) => u64::try_from(*number).ok(),
        _ => None,
    }
}

/// Element type of a storage class (`FloatStorage`) or of a `torch.dtype` (`float8_e4m3fn`).
fn element_type(kind: &str) -> Option<Dtype> {
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

fn key_text(key: &Value) -> String {
    match key {
        Value::Text(text) => text.to_string(),
        other => plain_text(other),
    }
}

/// A plain value as Python prints it, shortened.
fn plain_text(value: &Value) -> String {
    match value {
        Value::None => "None".into(),
        Value::Bool(true) => "True".into(),
        Value::Bool(false) => "False".into(),
        Value::Int(number) => number.to_string(),
        Value::BigInt => "an integer beyond 64 bits".into(),
        Value::Float(number) => format!("{number:?}"),
        Value::Text(text) => text.chars().take(MAX_TEXT).collect(),
        Value::Bytes(bytes) => format!("{} bytes", bytes.len()),
        Value::Global(name) => name.replace(' ', "."),
        Value::Node(_) => "a value with several parts".into(),
    }
}
