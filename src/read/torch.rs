//! Files of `torch.save`: the zip container of torch 1.6 and later, and the chain of pickles before it.
//!
//! Both hold one pickle that names storages, and the storages' bytes. The pickle is read by [`pickle`], which
//! executes nothing; this module interprets its calls: `_rebuild_tensor_v2(storage, offset, size, stride,
//! …)` is a view of a storage, `_rebuild_tensor_v3` one of untyped bytes with a separate element type. Two
//! tensors may share a storage, and a view may be far smaller than its storage.

mod callable;
mod container;
mod distributed;
mod numpy;
mod storage;
mod tree;

use super::pickle::{PickleNode, PickleValue};
use super::tensor::{ElementPlacement, StoredValue, TensorData};
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::{Budget, Source};
use callable::{DICTIONARIES, FROM_TYPE, NAMESPACE, REBUILD, SHAPE, UNREAD, WRAPPERS, is_allowed};
use storage::{Content, Reference, element_type, unsigned};

pub(crate) use container::{holds_storages, mentions_any, recognise};
pub(crate) use tree::Tree;

/// Deepest nesting of dictionaries and lists that is followed, for names as in nested optimizer states.
const MAX_DEPTH: usize = 64;
/// Largest number of values that are visited in one file; shared references could otherwise multiply without end.
const MAX_VALUES: usize = 1 << 20;
/// Longest text of a plain value that is kept.
const MAX_TEXT: usize = 200;

/// Opens a torch file of either container; see [`open_all`](super::tensor_file::open_all).
pub(crate) fn open(source: Source) -> Result<Vec<(String, StoredValue)>> {
    walk(source, Detail::Tensors)
}

/// Opens a torch file like [`open`], and also returns the arguments of a run, each by its name, and separate shapes.
pub(crate) fn open_with_facts(source: Source) -> Result<Vec<(String, StoredValue)>> {
    walk(source, Detail::Facts)
}

/// Opens a torch file as the tree of its pickled value, with lists of numbers as plain numbers.
///
/// # Errors
/// As [`open`].
pub(crate) fn open_tree(source: Source) -> Result<Tree> {
    let content = container::open(&source)?;
    let budget = Budget::from_source(source.as_ref());
    let detail = Detail::Tensors;
    let mut walk = Walk { source, content: &content, values: Vec::new(), visited: 0, budget, detail };
    walk.grow(content.graph.root(), 0)
}

/// Level of detail for values that are no tensors.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Detail {
    /// Only their class.
    Tensors,
    /// Arguments of a run one by one, and shapes as numbers.
    Facts,
}

fn walk(source: Source, detail: Detail) -> Result<Vec<(String, StoredValue)>> {
    let content = container::open(&source)?;
    let budget = Budget::from_source(source.as_ref());
    let mut walk = Walk { source, content: &content, values: Vec::new(), visited: 0, budget, detail };
    walk.visit(&mut Vec::new(), content.graph.root())?;
    Ok(walk.values)
}

/// The walk from the pickled value to named leaves.
struct Walk<'a> {
    source: Source,
    content: &'a Content,
    values: Vec<(String, StoredValue)>,
    visited: usize,
    budget: Budget,
    detail: Detail,
}

impl Walk<'_> {
    fn visit(&mut self, path: &mut Vec<String>, value: &PickleValue) -> Result<()> {
        self.visited += 1;
        if path.len() > MAX_DEPTH || self.visited > MAX_VALUES {
            let message = format!("nests deeper than {MAX_DEPTH} or holds more than {MAX_VALUES} values");
            return Err(Error::new(ErrorKind::LimitExceeded, self.source.name(), message));
        }
        let content = self.content;
        match content.graph.node(value) {
            Some(PickleNode::Tuple(items) | PickleNode::List(items)) => {
                let indexed = items.iter().enumerate();
                indexed.into_iter().try_for_each(|(index, item)| self.enter(path, index.to_string(), item))
            }
            Some(PickleNode::Dict(items)) => self.visit_items(path, items),
            Some(PickleNode::Call { callable, items, arguments, .. }) if DICTIONARIES.contains(&callable.as_ref()) => {
                arguments.iter().try_for_each(|argument| self.visit_pairs(path, argument))?;
                self.visit_items(path, items)
            }
            // The arguments of a run: a mapping from names to values of any class.
            Some(PickleNode::Call { callable, state: Some(state), .. })
                if self.detail == Detail::Facts
                    && callable.as_ref() == NAMESPACE
                    && matches!(content.graph.node(state), Some(PickleNode::Dict(_))) =>
            {
                self.visit(path, state)
            }
            _ => {
                let stored = self.leaf(value)?;
                // A key that many values share is stored with each of them, and counts each time.
                let name = path.iter().map(|key| key.len() + 1).sum();
                self.budget.reserve_value::<(String, StoredValue)>(name)?;
                self.values.push((path.join("."), stored));
                Ok(())
            }
        }
    }

    /// The value as a tree. Values other than tensors, numbers, texts and containers become [`Tree::Other`].
    fn grow(&mut self, value: &PickleValue, depth: usize) -> Result<Tree> {
        self.visited += 1;
        if depth > MAX_DEPTH || self.visited > MAX_VALUES {
            let message = format!("nests deeper than {MAX_DEPTH} or holds more than {MAX_VALUES} values");
            return Err(Error::new(ErrorKind::LimitExceeded, self.source.name(), message));
        }
        self.budget.reserve_value::<Tree>(0)?;
        let content = self.content;
        if let Some(number) = number(value) {
            return Ok(Tree::Number(number));
        }
        match content.graph.node(value) {
            Some(PickleNode::Tuple(items) | PickleNode::List(items)) => {
                let numbers: Option<Vec<f64>> = items.iter().map(number_or_nothing).collect();
                if let Some(numbers) = numbers {
                    self.budget.reserve(numbers.len().saturating_mul(size_of::<f64>()))?;
                    return Ok(Tree::Numbers(numbers));
                }
                let grown: Result<Vec<Tree>> = items.iter().map(|item| self.grow(item, depth + 1)).collect();
                Ok(Tree::List(grown?))
            }
            Some(PickleNode::Dict(items)) => self.grow_items(items, depth),
            Some(PickleNode::Call { callable, items, .. }) if DICTIONARIES.contains(&callable.as_ref()) => {
                self.grow_items(items, depth)
            }
            Some(PickleNode::Call { .. }) => Ok(match self.leaf(value)? {
                StoredValue::Tensor(tensor) => Tree::Tensor(tensor),
                StoredValue::Unsupported(_) | StoredValue::Part(_) => Tree::Unread,
                StoredValue::Plain(_) | StoredValue::Shape(_) => Tree::Other,
            }),
            _ => Ok(match value {
                PickleValue::Text(text) => Tree::Text(text.chars().take(MAX_TEXT).collect()),
                _ => Tree::Other,
            }),
        }
    }

    fn grow_items(&mut self, items: &[(PickleValue, PickleValue)], depth: usize) -> Result<Tree> {
        let grown = items.iter().map(|(key, item)| Ok((key_text(key), self.grow(item, depth + 1)?)));
        Ok(Tree::Map(grown.collect::<Result<_>>()?))
    }

    fn visit_items(&mut self, path: &mut Vec<String>, items: &[(PickleValue, PickleValue)]) -> Result<()> {
        items.iter().try_for_each(|(key, item)| self.enter(path, key_text(key), item))
    }

    /// The pairs an ordered dictionary of old Python was built from.
    fn visit_pairs(&mut self, path: &mut Vec<String>, argument: &PickleValue) -> Result<()> {
        let content = self.content;
        for pair in content.graph.sequence(argument).unwrap_or_default() {
            if let Some([key, item]) = content.graph.sequence(pair) {
                self.enter(path, key_text(key), item)?;
            }
        }
        Ok(())
    }

    fn enter(&mut self, path: &mut Vec<String>, key: String, value: &PickleValue) -> Result<()> {
        path.push(key);
        let visited = self.visit(path, value);
        path.pop();
        visited
    }

    fn leaf(&self, value: &PickleValue) -> Result<StoredValue> {
        let Some(PickleNode::Call { callable, arguments, state, .. }) = self.content.graph.node(value) else {
            return Ok(StoredValue::Plain(plain_text(value)));
        };
        if self.detail == Detail::Facts
            && callable.as_ref() == SHAPE
            && let Some(shape) = self.unsigned_list(value)
        {
            return Ok(StoredValue::Shape(shape));
        }
        let state = state.as_ref().filter(|_| numpy::is_array(callable));
        match state.and_then(|state| numpy::array(&self.content.graph, self.source.name(), state)) {
            Some(array) => Ok(StoredValue::Tensor(array)),
            None => self.tensor(callable, arguments, MAX_DEPTH),
        }
    }

    /// The tensor that `callable(arguments)` stands for; wrappers are followed up to `depth` times.
    fn tensor(&self, callable: &str, arguments: &[PickleValue], depth: usize) -> Result<StoredValue> {
        if REBUILD.contains(&callable) {
            return self.view(callable, arguments);
        }
        if let Some((_, what)) = UNREAD.iter().find(|(name, _)| *name == callable) {
            return Ok(StoredValue::Unsupported(format!("{what} (`{}`) is not read", callable.replace(' ', "."))));
        }
        if depth == 0 {
            return Err(self.corrupt("a tensor wrapped too many times"));
        }
        if callable == FROM_TYPE
            && let Some(part) = self.part(arguments, depth)
        {
            return part;
        }
        if callable == FROM_TYPE {
            let (Some(PickleValue::Global(inner)), Some(inner_arguments)) =
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
            if let Some(PickleNode::Call { callable, arguments, .. }) = inner {
                return self.tensor(callable, arguments, depth - 1);
            }
            return Err(self.corrupt("a parameter without a tensor"));
        }
        Ok(StoredValue::Plain(callable.replace(' ', ".")))
    }

    /// The part of a tensor that one rank holds: `(_rebuild_wrapper_subclass, class, (class, dtype, size, ...), state)`; `None` for
    /// tensors of other classes.
    fn part(&self, arguments: &[PickleValue], depth: usize) -> Option<Result<StoredValue>> {
        let graph = &self.content.graph;
        let state = arguments.get(3)?;
        let local = distributed::local_part(graph, state)?;
        let shape = graph.sequence(arguments.get(2)?)?.get(2).and_then(|size| self.unsigned_list(size))?;
        let Some(PickleNode::Call { callable, arguments, .. }) = graph.node(local) else { return None };
        let tensor = match self.tensor(callable, arguments, depth - 1) {
            Ok(StoredValue::Tensor(tensor)) => tensor,
            other => return Some(other),
        };
        let unknown = || StoredValue::Unsupported("a distributed tensor whose parts do not tell their places".into());
        Some(Ok(distributed::rank_part(graph, state, shape, tensor).map_or_else(unknown, StoredValue::Part)))
    }

    /// A view of a storage: `(storage, offset, size, stride, …)`.
    fn view(&self, callable: &str, arguments: &[PickleValue]) -> Result<StoredValue> {
        let graph = &self.content.graph;
        let [storage, offset, size, stride, ..] = arguments else {
            return Err(self.corrupt("a tensor with too few arguments"));
        };
        let reference = match graph.node(storage) {
            Some(PickleNode::Persistent(id)) => Reference::from_id(graph, id),
            _ => None,
        };
        let reference = reference.ok_or_else(|| self.corrupt("a tensor without a storage"))?;
        let kind = match arguments.get(6) {
            Some(PickleValue::Global(dtype)) if callable.ends_with("_v3") => {
                dtype.rsplit(' ').next().unwrap_or_default()
            }
            _ => reference.kind,
        };
        let Some(dtype) = element_type(kind) else {
            return Ok(StoredValue::Unsupported(format!("elements of type `{kind}` are not read")));
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
        let placement = ElementPlacement {
            offset: storage.offset + skipped,
            len: storage.len - skipped,
            strides: Some(strides),
            order: self.content.order,
        };
        match TensorData::new(self.source.clone(), dtype, shape, placement) {
            // The file's other tensors are read as usual.
            Err(error) if error.kind() == ErrorKind::LimitExceeded => {
                Ok(StoredValue::Unsupported(error.message().to_owned()))
            }
            tensor => tensor.map(StoredValue::Tensor),
        }
    }

    fn unsigned_list(&self, value: &PickleValue) -> Option<Vec<u64>> {
        let value = match self.content.graph.node(value) {
            // torch.Size((2, 3))
            Some(PickleNode::Call { callable, arguments, .. }) if callable.as_ref() == SHAPE => arguments.first()?,
            _ => value,
        };
        self.content.graph.sequence(value)?.iter().map(unsigned).collect()
    }

    fn corrupt(&self, message: &str) -> Error {
        Error::corrupt(self.source.name(), format!("its pickle describes {message}"))
    }
}

/// A plain value as a number.
fn number(value: &PickleValue) -> Option<f64> {
    #[allow(clippy::cast_precision_loss, reason = "token ids, lengths and steps are far below 2^53")]
    match value {
        PickleValue::Bool(flag) => Some(f64::from(u8::from(*flag))),
        PickleValue::Int(number) => Some(*number as f64),
        PickleValue::Float(number) => Some(*number),
        _ => None,
    }
}

/// [`number`], with NaN for None: a list of log-probabilities begins with one.
fn number_or_nothing(value: &PickleValue) -> Option<f64> {
    if *value == PickleValue::None { Some(f64::NAN) } else { number(value) }
}

fn key_text(key: &PickleValue) -> String {
    match key {
        PickleValue::Text(text) => text.to_string(),
        other => plain_text(other),
    }
}

/// A plain value as Python prints it, shortened.
fn plain_text(value: &PickleValue) -> String {
    match value {
        PickleValue::None => "None".into(),
        PickleValue::Bool(true) => "True".into(),
        PickleValue::Bool(false) => "False".into(),
        PickleValue::Int(number) => number.to_string(),
        PickleValue::BigInt => "an integer beyond 64 bits".into(),
        PickleValue::Float(number) => format!("{number:?}"),
        PickleValue::Text(text) => text.chars().take(MAX_TEXT).collect(),
        PickleValue::Bytes(bytes) => format!("{} bytes", bytes.len()),
        PickleValue::Global(name) => name.replace(' ', "."),
        PickleValue::Node(_) => "a value with several parts".into(),
    }
}
