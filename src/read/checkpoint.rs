//! Checkpoints: named tensors in one file, or in shards with an index.
//!
//! A file is a checkpoint when it is one of `torch.save` or of safetensors and holds a floating-point tensor; states
//! of random generators, schedulers and arguments, which are stored beside it, are not. An index is the JSON that
//! `transformers` writes beside shards: `weight_map`, from a tensor's name to its file. The folders that Megatron, torch's
//! distributed checkpoints and DeepSpeed write for the ranks of a run are one checkpoint each; their tensors are joined when
//! they are read.

mod arguments;
mod dcp;
mod fsdp;
mod gathered;
mod megatron;
mod megatron_names;
mod opened;
mod place;
mod settings;
mod zero;

use std::collections::BTreeMap;

use super::dump::activations;
use super::json::{self, Json};
use super::tensor::StoredValue;
use super::tensor_file;
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::{Files, Source};

pub(crate) use gathered::{gather_folders, without_shards};
pub use opened::{
    BlockNumbers, Checkpoint, CheckpointParameter, ModelFacts, ParameterPiece, ParameterPieces, WeightScale,
};
pub use place::{CheckpointFormat, CheckpointPlace};
pub(crate) use settings::CONFIGURATIONS;
pub use settings::PlainValues;

/// Part of a checkpoint that a file is.
#[derive(Debug)]
pub enum CheckpointFileKind {
    /// Checkpoint, or a shard of one.
    File,
    /// One rank's part of a checkpoint.
    Part,
    /// Index of a checkpoint; the names of tensors by file.
    Index(BTreeMap<String, Vec<String>>),
    /// Reason why a file in a checkpoint's format is not part of one.
    Other(String),
}

/// Recognises the file at `path` that starts with `head` as part of a checkpoint; `None` for another format.
pub fn recognise(path: &str, head: &[u8], source: &Source) -> Option<Result<CheckpointFileKind>> {
    if dcp::is_description(path, head) {
        return Some(Ok(CheckpointFileKind::File));
    }
    if is_index(head) {
        return Some(read_index(source).map(CheckpointFileKind::Index));
    }
    if !tensor_file::holds_named_tensors(head, source) {
        return None;
    }
    match tensor_file::open_all(source.clone()) {
        // Arrays and activations are no parameters.
        Ok(stored) if activations(path, &stored).is_some() => None,
        Ok(stored) if stored.iter().any(|(_, stored)| matches!(stored, StoredValue::Part(_))) => {
            Some(Ok(CheckpointFileKind::Part))
        }
        Ok(stored) if stored.iter().any(|(_, stored)| is_weight(stored)) => Some(Ok(CheckpointFileKind::File)),
        Ok(_) if gathered::is_description(path) => Some(Ok(CheckpointFileKind::File)),
        Ok(_) => Some(Ok(CheckpointFileKind::Other("holds no floating-point tensors".into()))),
        // The arguments of a run are pickled objects of the trainer; there is nothing to compare in them.
        Err(error) if error.kind() == ErrorKind::Unsupported && tensor_file::is_without_storages(source) => {
            Some(Ok(CheckpointFileKind::Other(format!("holds no tensors, and {}", error.message()))))
        }
        Err(error) => Some(Err(error)),
    }
}

fn is_weight(stored: &StoredValue) -> bool {
    match stored {
        StoredValue::Tensor(tensor) => tensor.dtype.is_float() || tensor.dtype.is_complex(),
        StoredValue::Unsupported(_) | StoredValue::Part(_) => true,
        StoredValue::Plain(_) | StoredValue::Shape(_) => false,
    }
}

/// Whether a file begins with JSON that has a weight map, possibly after `metadata`.
fn is_index(head: &[u8]) -> bool {
    let start = head.trim_ascii_start();
    let has = |word: &[u8]| memchr::memmem::find(start, word).is_some();
    start.starts_with(b"{") && (has(b"\"weight_map\"")) && !has(b"\"log_history\"")
}

fn read_index(source: &Source) -> Result<BTreeMap<String, Vec<String>>> {
    let damaged = |message: &str| {
        Error::corrupt(source.name(), message).with_help("write the checkpoint's index again, or give a single file")
    };
    let parsed = json::parse(source.as_ref())?;
    let Some(Json::Object(map)) = parsed.get("weight_map") else {
        return Err(damaged("its `weight_map` is not an object"));
    };
    let mut shards: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, file) in map.iter() {
        let Json::Text(file) = file else { return Err(damaged("its `weight_map` names a file by no text")) };
        if file.split('/').any(|part| part.is_empty() || part == "..") {
            return Err(damaged("its `weight_map` leads out of its folder"));
        }
        shards.entry(file.clone()).or_default().push(name.clone());
    }
    Ok(shards)
}

impl CheckpointPlace {
    /// Opens every file. A shard that cannot be opened leaves its tensors unread.
    ///
    /// # Errors
    /// Where the checkpoint's only file cannot be opened, or the folder's files contradict each other.
    pub fn open(&self, files: &dyn Files) -> Result<Checkpoint> {
        let mut checkpoint = match self.format {
            CheckpointFormat::Whole => self.open_whole(files),
            CheckpointFormat::Megatron => megatron::open(self, files),
            CheckpointFormat::Dcp => dcp::open(self, files),
            CheckpointFormat::Zero => zero::open(self, files),
            CheckpointFormat::Fsdp => fsdp::open(self, files),
        }?;
        checkpoint.plain.read_beside(self, files);
        Ok(checkpoint)
    }

    fn open_whole(&self, files: &dyn Files) -> Result<Checkpoint> {
        let mut checkpoint = Checkpoint::default();
        for (file, names) in &self.shards {
            match files.open(file).and_then(tensor_file::open_with_facts) {
                Ok(stored) => {
                    checkpoint.plain.add_file(&stored, settings::is_torch(file));
                    checkpoint.add_stored(stored);
                }
                Err(error) if names.is_empty() => return Err(error),
                Err(error) => {
                    let unread =
                        names.iter().map(|name| (name.clone(), CheckpointParameter::Unread(error.to_string())));
                    checkpoint.parameters.extend(unread);
                }
            }
            for name in names {
                let missing =
                    || CheckpointParameter::Unread(format!("the index promises it in {file}, which does not hold it"));
                checkpoint.parameters.entry(name.clone()).or_insert_with(missing);
            }
        }
        checkpoint.facts = arguments::configuration_facts(&self.folder(), files);
        Ok(checkpoint)
    }
}
