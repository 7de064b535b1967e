//! Distributed checkpoints of torch, and the `torch_dist` format of Megatron, which is one.
//!
//! `.metadata` is a pickle of plain classes. It gives the size and the chunks of each tensor, and for each chunk the file, the
//! offset and the length of the `torch.save` archive that holds only this chunk. The pickle is parsed as data ([`pickle`]);
//! nothing in it is called. Chunks are joined when they are read.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::arguments::Arguments;
use super::gathered::{DESCRIPTION, file_of, number_behind};
use super::megatron_names::unstacked_names;
use super::opened::{Checkpoint, CheckpointParameter, ModelFacts};
use super::place::CheckpointPlace;
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::{ByteSource, Files, Source};
use crate::layout::{Layout, LayoutSource};
use crate::read::joined::join_grid;
use crate::read::pickle::{Graph, PickleInput, PickleNode, PickleValue, parse};
use crate::read::tensor::{StoredValue, TensorData};
use crate::read::{tensor_file, torch};

/// Classes that the pickled description may name.
const CLASSES: [&str; 19] = [
    "torch.distributed.checkpoint.metadata Metadata",
    "torch.distributed.checkpoint.metadata TensorStorageMetadata",
    "torch.distributed.checkpoint.metadata BytesStorageMetadata",
    "torch.distributed.checkpoint.metadata ChunkStorageMetadata",
    "torch.distributed.checkpoint.metadata TensorProperties",
    "torch.distributed._shard.sharded_tensor.metadata TensorProperties",
    "torch.distributed.checkpoint.metadata MetadataIndex",
    "torch.distributed.checkpoint.metadata StorageMeta",
    "torch.distributed.checkpoint.metadata _MEM_FORMAT_ENCODING",
    "torch.distributed._shard.sharded_tensor.metadata MEM_FORMAT_ENCODING",
    "torch.distributed.checkpoint.filesystem _StorageInfo",
    "torch.distributed.checkpoint.filesystem _StoragePrefix",
    "torch.serialization _get_layout",
    "torch Size",
    "torch device",
    "collections OrderedDict",
    "pathlib PosixPath",
    "pathlib PurePosixPath",
    "pathlib WindowsPath",
];

/// Most tensors (layers times experts) that a stacked tensor is split into.
const MAX_STACKED: u64 = 1 << 16;

/// Whether the file at `path` that starts with `head` describes a distributed checkpoint.
pub(super) fn is_description(path: &str, head: &[u8]) -> bool {
    const CLASS: &[u8] = b"torch.distributed.checkpoint.metadata";
    let start = head.get(..256).unwrap_or(head);
    file_of(path) == DESCRIPTION && head.starts_with(b"\x80") && memchr::memmem::find(start, CLASS).is_some()
}

/// Opens the description and all chunks.
///
/// # Errors
/// If the description is missing, is damaged, or names data outside of the files.
pub(super) fn open(place: &CheckpointPlace, files: &dyn Files) -> Result<Checkpoint> {
    let folder = place.folder();
    let path = format!("{folder}{DESCRIPTION}");
    let missing = || {
        Error::corrupt(&place.path, format!("{path}, which describes its files, is missing"))
            .with_help("copy the folder with its hidden files")
    };
    let listed = files.list().iter().any(|entry| entry.path == path);
    let source = if listed { files.open(&path)? } else { return Err(missing()) };
    let graph = parse(&mut PickleInput::new(source.as_ref(), 0, source.len()), &|name| CLASSES.contains(&name))?;
    let description = Description { graph: &graph, name: source.name() };
    let stored = description.stored()?;
    let (mut checkpoint, mut opened) = (Checkpoint::default(), Opened::new(&folder, files));
    for (name, size, offsets) in description.tensors()? {
        let parameter = tensor(&name, &size, &offsets, &stored, &mut opened);
        if let Some(name) = weight_name(&name) {
            insert(&mut checkpoint.parameters, &name, parameter?);
        }
    }
    let ranks: BTreeSet<u32> = stored.values().filter_map(|at| number_behind(&at.file, "__")).collect();
    let dp = u32::try_from(ranks.len().max(1)).unwrap_or(u32::MAX);
    checkpoint.layout = Some(Layout { dp, ..Layout::single(LayoutSource::Files) });
    checkpoint.facts = facts(&folder, files);
    checkpoint.missing = opened.missing.into_iter().collect();
    Ok(checkpoint)
}

/// Facts from Megatron's `common.pt`, completed by a `config.json` in the same folder.
fn facts(folder: &str, files: &dyn Files) -> ModelFacts {
    let path = format!("{folder}common.pt");
    let common = files.list().iter().find(|entry| entry.path == path);
    let values = common.and_then(|entry| tensor_file::open_with_facts(files.open(&entry.path).ok()?).ok());
    let told = values.map(|values| Arguments::among(&values).facts()).unwrap_or_default();
    told.or(&super::arguments::configuration_facts(folder, files))
}

/// Name of a weight, or of an optimizer's moment as `weight@exp_avg`; `None` for other states of an optimizer.
fn weight_name(name: &str) -> Option<String> {
    let state = ["optimizer.state.", "optim.state.", "optimizer.optim.state."];
    let Some(rest) = state.iter().find_map(|prefix| name.strip_prefix(prefix)) else {
        let is_optimizer = name.starts_with("optimizer.") || name.starts_with("optim.");
        return (!is_optimizer && !name.ends_with("_extra_state")).then(|| name.to_owned());
    };
    const MOMENTS: [&str; 2] = ["exp_avg", "exp_avg_sq"];
    MOMENTS.iter().find_map(|moment| {
        let before = || rest.strip_prefix(moment)?.strip_prefix('.');
        let behind = || rest.strip_suffix(moment)?.strip_suffix('.');
        before().or_else(behind).map(|weight| format!("{weight}@{moment}"))
    })
}

/// Adds a tensor. A tensor that stacks all layers is split into one tensor per layer.
fn insert(parameters: &mut BTreeMap<String, CheckpointParameter>, name: &str, parameter: CheckpointParameter) {
    let (weight, moment) = name.split_once('@').map_or((name, None), |(weight, moment)| (weight, Some(moment)));
    let Some((has_experts, layer_name)) = unstacked_names(weight.strip_prefix("model.").unwrap_or(weight)) else {
        parameters.insert(name.to_owned(), parameter);
        return;
    };
    let named = |layer, expert| {
        let name = layer_name(layer, expert);
        moment.map_or(name.clone(), |moment| format!("{name}@{moment}"))
    };
    let CheckpointParameter::Tensor(stack) = parameter else {
        parameters.insert(named(0, 0), parameter);
        return;
    };
    let layers = stack.shape.first().copied().unwrap_or(0);
    let experts = if has_experts { stack.shape.get(1).copied().unwrap_or(0) } else { 1 };
    if layers.checked_mul(experts).is_none_or(|count| count > MAX_STACKED) {
        let reason = format!("it stacks {layers} layers and {experts} experts, and {MAX_STACKED} are read at most");
        parameters.insert(named(0, 0), CheckpointParameter::Unread(reason));
        return;
    }
    for layer in 0..layers {
        for expert in 0..experts {
            let part = of_stacked(&stack, layer, has_experts.then_some(expert));
            let part =
                part.map_or_else(|error| CheckpointParameter::Unread(error.to_string()), CheckpointParameter::Tensor);
            parameters.insert(named(layer, expert), part);
        }
    }
}

/// Part of a stacked tensor that belongs to one layer, or to one expert of that layer.
fn of_stacked(stack: &TensorData, layer: u64, expert: Option<u64>) -> Result<TensorData> {
    let mut part = stack.narrowed(0, layer, 1)?;
    let mut axes = 1;
    if let Some(expert) = expert {
        part = part.narrowed(1, expert, 1)?;
        axes = 2;
    }
    let shape = part.shape.iter().skip(axes).copied().collect();
    part.reshaped(shape)
}

/// Joins the chunks of a tensor. Only a contradiction to the files is an error; if a file is missing, the tensor is `Unread`.
fn tensor(
    name: &str,
    size: &[u64],
    offsets: &[(Vec<u64>, Vec<u64>)],
    stored: &BTreeMap<(String, Vec<u64>), StorageInfo>,
    opened: &mut Opened<'_>,
) -> Result<CheckpointParameter> {
    let mut parts = Vec::new();
    for (offset, lens) in offsets {
        let Some(at) = stored.get(&(name.to_owned(), offset.clone())) else {
            return Ok(CheckpointParameter::Unread(format!("no file is named for its chunk at {offset:?}")));
        };
        match opened.chunk(at)? {
            Ok(chunk) if chunk.shape == *lens => parts.push((offset.clone(), chunk)),
            Ok(chunk) => {
                let reason = format!("its chunk at {offset:?} is {:?}, described as {lens:?}", chunk.shape);
                return Ok(CheckpointParameter::Unread(reason));
            }
            Err(reason) => return Ok(CheckpointParameter::Unread(reason)),
        }
    }
    Ok(join_grid(name, size, parts)
        .map_or_else(|error| CheckpointParameter::Unread(error.message().to_owned()), CheckpointParameter::Tensor))
}

/// Files with chunks, each opened only once.
struct Opened<'a> {
    folder: &'a str,
    files: &'a dyn Files,
    sources: BTreeMap<String, Option<Source>>,
    missing: BTreeSet<String>,
}

impl<'a> Opened<'a> {
    fn new(folder: &'a str, files: &'a dyn Files) -> Self {
        Self { folder, files, sources: BTreeMap::new(), missing: BTreeSet::new() }
    }

    /// Reads the tensor at a place, or returns the reason why it cannot be read.
    fn chunk(&mut self, at: &StorageInfo) -> Result<std::result::Result<TensorData, String>> {
        let path = format!("{}{}", self.folder, at.file);
        if !self.sources.contains_key(&path) {
            let listed = self.files.list().iter().any(|entry| entry.path == path);
            let source = if listed { Some(self.files.open(&path)?) } else { None };
            self.sources.insert(path.clone(), source);
        }
        let Some(Some(source)) = self.sources.get(&path) else {
            self.missing.insert(path.clone());
            return Ok(Err(format!("{path} is missing")));
        };
        if at.offset.checked_add(at.len).is_none_or(|end| end > source.len()) {
            let message = format!(
                "{DESCRIPTION} places {} bytes at {} of {}, which has {}",
                at.len,
                at.offset,
                at.file,
                source.len()
            );
            return Err(Error::corrupt(&path, message).with_help("the file looks cut short; copy it again"));
        }
        let part: Source = Arc::new(Part { source: source.clone(), offset: at.offset, len: at.len });
        let mut values = match torch::open(part) {
            Ok(values) => values,
            Err(error) => return Ok(Err(error.to_string())),
        };
        Ok(match (values.pop(), values.is_empty()) {
            (Some((_, StoredValue::Tensor(tensor))), true) => Ok(tensor),
            (Some((_, StoredValue::Unsupported(reason))), true) => Err(reason),
            _ => Err(format!("{path} holds no single tensor at {}", at.offset)),
        })
    }
}

/// Part of another source, from an offset on.
struct Part {
    source: Source,
    offset: u64,
    len: u64,
}

impl ByteSource for Part {
    fn name(&self) -> &str {
        self.source.name()
    }

    fn len(&self) -> u64 {
        self.len
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        if offset.checked_add(buffer.len() as u64).is_none_or(|end| end > self.len) {
            return Err(Error::corrupt(self.name(), format!("{} bytes at {offset} leave the chunk", buffer.len())));
        }
        self.source.read_at(self.offset + offset, buffer)
    }

    fn memory_limit(&self) -> u64 {
        self.source.memory_limit()
    }
}

/// Place of a chunk: file, and offset and length in bytes.
struct StorageInfo {
    file: String,
    offset: u64,
    len: u64,
}

/// Description of a tensor: its name, its size, and the offset and size of each chunk.
type Described = (String, Vec<u64>, Vec<(Vec<u64>, Vec<u64>)>);

/// The pickled description.
struct Description<'a> {
    graph: &'a Graph,
    name: &'a str,
}

impl Description<'_> {
    fn tensors(&self) -> Result<Vec<Described>> {
        let all = self.field(self.graph.root(), "state_dict_metadata").and_then(|value| self.items(value));
        let mut tensors = Vec::new();
        for (name, metadata) in all.ok_or_else(|| self.damaged("names no tensors"))? {
            if !self.is_of(metadata, "TensorStorageMetadata") {
                continue;
            }
            let described = self.tensor(name, metadata);
            tensors.push(described.ok_or_else(|| self.damaged("describes a tensor without a size or chunks"))?);
        }
        Ok(tensors)
    }

    fn tensor(&self, name: &PickleValue, metadata: &PickleValue) -> Option<Described> {
        let PickleValue::Text(name) = name else { return None };
        let size = self.numbers(self.field(metadata, "size")?)?;
        let chunks = self.graph.sequence(self.field(metadata, "chunks")?)?;
        let chunk =
            |chunk| Some((self.numbers(self.field(chunk, "offsets")?)?, self.numbers(self.field(chunk, "sizes")?)?));
        Some((name.to_string(), size, chunks.iter().map(chunk).collect::<Option<_>>()?))
    }

    /// Places of all chunks, by the tensor's name and the chunk's offset.
    fn stored(&self) -> Result<BTreeMap<(String, Vec<u64>), StorageInfo>> {
        let all = self.field(self.graph.root(), "storage_data").and_then(|value| self.items(value));
        let mut stored = BTreeMap::new();
        for (index, info) in all.ok_or_else(|| self.damaged("places no tensors in files"))? {
            let (key, info) = self.place(index, info).ok_or_else(|| self.damaged("places a tensor nowhere"))?;
            if info.file.split('/').any(|part| part.is_empty() || part == "..") {
                return Err(self.damaged(&format!("names {}, which leads out of its folder", info.file)));
            }
            stored.insert(key, info);
        }
        Ok(stored)
    }

    fn place(&self, index: &PickleValue, info: &PickleValue) -> Option<((String, Vec<u64>), StorageInfo)> {
        let PickleValue::Text(name) = self.field(index, "fqn")? else { return None };
        let offset = match self.field(index, "offset") {
            None | Some(PickleValue::None) => Vec::new(),
            Some(offset) => self.numbers(offset)?,
        };
        let PickleValue::Text(file) = self.field(info, "relative_path")? else { return None };
        let (at, len) = (unsigned(self.field(info, "offset")?)?, unsigned(self.field(info, "length")?)?);
        Some(((name.to_string(), offset), StorageInfo { file: file.to_string(), offset: at, len }))
    }

    /// Value of a field of an instance. The state of the instance is a dictionary, or a pair whose second part is one.
    fn field(&self, instance: &PickleValue, name: &str) -> Option<&PickleValue> {
        let PickleNode::Call { state: Some(state), .. } = self.graph.node(instance)? else { return None };
        let state = match self.graph.sequence(state) {
            Some([_, state]) => state,
            _ => state,
        };
        self.items(state)?
            .iter()
            .find(|(key, _)| matches!(key, PickleValue::Text(key) if key.as_ref() == name))
            .map(|(_, value)| value)
    }

    fn is_of(&self, instance: &PickleValue, class: &str) -> bool {
        matches!(self.graph.node(instance), Some(PickleNode::Call { callable, .. }) if callable.ends_with(class))
    }

    fn items(&self, value: &PickleValue) -> Option<&[(PickleValue, PickleValue)]> {
        match self.graph.node(value)? {
            PickleNode::Dict(items) | PickleNode::Call { items, .. } => Some(items),
            _ => None,
        }
    }

    fn numbers(&self, value: &PickleValue) -> Option<Vec<u64>> {
        let value = match self.graph.node(value) {
            Some(PickleNode::Call { arguments, .. }) => arguments.first()?,
            _ => value,
        };
        self.graph.sequence(value)?.iter().map(unsigned).collect()
    }

    fn damaged(&self, message: &str) -> Error {
        Error::new(ErrorKind::Corrupt, self.name, message).with_help("copy the checkpoint again, with its hidden file")
    }
}

fn unsigned(value: &PickleValue) -> Option<u64> {
    match value {
        PickleValue::Int(number) => u64::try_from(*number).ok(),
        _ => None,
    }
}
