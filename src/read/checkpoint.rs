//! Checkpoints: named tensors in one file, or in shards with an index.
//!
//! A file is a checkpoint when it is one of `torch.save` or of safetensors and holds a floating-point tensor; states
//! of random generators, schedulers and arguments, which lie beside it, are not. An index is the JSON that
//! `transformers` writes beside shards: `weight_map`, from a tensor's name to its file.

use std::collections::BTreeMap;

use super::json::{self, Json};
use super::tensor::{Stored, TensorData};
use super::tensor_file;
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::{Files, Source};

/// Place of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointPlace {
    /// The file, or the index, below the side's root.
    pub path: String,
    /// The files with tensors, each with the names the index promises there; none are promised without an index.
    pub shards: BTreeMap<String, Vec<String>>,
}

/// A checkpoint, opened; no element is read yet.
#[derive(Debug, Default)]
pub struct Checkpoint {
    /// Its tensors by name.
    pub parameters: BTreeMap<String, Parameter>,
}

/// One tensor of a checkpoint.
#[derive(Debug)]
pub enum Parameter {
    /// Tensor that can be read.
    Tensor(TensorData),
    /// Reason why a tensor that is there, or promised by an index, cannot be read.
    Unread(String),
}

/// Part of a checkpoint that a file is.
#[derive(Debug)]
pub enum Recognised {
    /// Checkpoint, or a shard of one.
    File,
    /// Index of a checkpoint; the names of tensors by file.
    Index(BTreeMap<String, Vec<String>>),
    /// Reason why a file of a checkpoint's format is none.
    Other(String),
}

/// Looks whether the file that starts with `head` belongs to a checkpoint; `None` for another format.
pub fn recognise(head: &[u8], source: &Source) -> Option<Result<Recognised>> {
    if is_index(head) {
        return Some(read_index(source).map(Recognised::Index));
    }
    if !tensor_file::holds_names(head, source) {
        return None;
    }
    match tensor_file::open_all(source.clone()) {
        Ok(stored) if stored.iter().any(|(_, stored)| is_weight(stored)) => Some(Ok(Recognised::File)),
        Ok(_) => Some(Ok(Recognised::Other("holds no floating-point tensors".into()))),
        // The arguments of a run are pickled objects of the trainer; there is nothing to compare in them.
        Err(error) if error.kind() == ErrorKind::Unsupported && tensor_file::is_without_storages(source) => {
            Some(Ok(Recognised::Other(format!("holds no tensors, and {}", error.message()))))
        }
        Err(error) => Some(Err(error)),
    }
}

fn is_weight(stored: &Stored) -> bool {
    match stored {
        Stored::Tensor(tensor) => tensor.dtype.is_float() || tensor.dtype.is_complex(),
        Stored::Unsupported(_) => true,
        Stored::Plain(_) => false,
    }
}

/// JSON whose first part names a weight map; `metadata` may stand before it.
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
    /// A checkpoint of one file.
    pub fn file(path: String) -> Self {
        Self { shards: BTreeMap::from([(path.clone(), Vec::new())]), path }
    }

    /// The checkpoint that the index at `path` describes.
    pub fn sharded(path: String, shards: BTreeMap<String, Vec<String>>) -> Self {
        let folder = path.rsplit_once('/').map_or(String::new(), |(folder, _)| format!("{folder}/"));
        let shards = shards.into_iter().map(|(file, names)| (format!("{folder}{file}"), names)).collect();
        Self { path, shards }
    }

    /// Opens every file. A shard that cannot be opened leaves its tensors unread.
    ///
    /// # Errors
    /// Where the checkpoint's only file cannot be opened.
    pub fn open(&self, files: &dyn Files) -> Result<Checkpoint> {
        let mut checkpoint = Checkpoint::default();
        for (file, names) in &self.shards {
            match files.open(file).and_then(tensor_file::open_all) {
                Ok(stored) => checkpoint.add(stored),
                Err(error) if names.is_empty() => return Err(error),
                Err(error) => {
                    let unread = names.iter().map(|name| (name.clone(), Parameter::Unread(error.to_string())));
                    checkpoint.parameters.extend(unread);
                }
            }
            for name in names {
                let missing = || Parameter::Unread(format!("the index promises it in {file}, which does not hold it"));
                checkpoint.parameters.entry(name.clone()).or_insert_with(missing);
            }
        }
        Ok(checkpoint)
    }
}

impl Checkpoint {
    fn add(&mut self, stored: Vec<(String, Stored)>) {
        for (name, stored) in stored {
            let parameter = match stored {
                Stored::Tensor(tensor) => Parameter::Tensor(tensor),
                Stored::Unsupported(reason) => Parameter::Unread(reason),
                Stored::Plain(_) => continue,
            };
            self.parameters.entry(name).or_insert(parameter);
        }
    }
}

impl Parameter {
    /// Whether `name` is the state of a random generator, or of what hands out data. A GPU's and an NPU's generators have
    /// different states, of different lengths; weights are floating-point numbers, and a state never is.
    pub fn is_state(&self, name: &str) -> bool {
        let is_number = match self {
            Self::Tensor(tensor) => tensor.dtype.is_float() || tensor.dtype.is_complex(),
            Self::Unread(_) => false,
        };
        !is_number && name.split('.').any(names_state)
    }
}

/// Whether one part of a name is that of such a state: `np_rng_state`, `cuda_rng_state`, `rng_tracker_states`, `generator`.
fn names_state(part: &str) -> bool {
    let part = part.to_ascii_lowercase();
    let mut words = part.split(|c: char| !c.is_ascii_alphanumeric());
    let known = ["random_state", "random_states", "generator", "generator_state", "sampler", "rerun_state_machine"];
    words.any(|word| word == "rng") || known.contains(&part.as_str()) || part.starts_with("dataloader")
}

/// Takes out the single files that are shards of an index beside them.
pub fn without_shards(places: Vec<CheckpointPlace>) -> Vec<CheckpointPlace> {
    let shards: std::collections::BTreeSet<String> = places
        .iter()
        .filter(|place| !place.shards.contains_key(&place.path))
        .flat_map(|place| place.shards.keys().cloned())
        .collect();
    places.into_iter().filter(|place| !shards.contains(&place.path)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::Dtype;
    use crate::fetch::Memory;
    use crate::read::tensor::{ByteOrder, Placement};

    fn parameter(dtype: Dtype) -> Parameter {
        let source = std::sync::Arc::new(Memory::new("rng.pt", vec![0; 8]));
        let placement = Placement { offset: 0, len: 8, strides: None, order: ByteOrder::Little };
        Parameter::Tensor(TensorData::new(source, dtype, vec![1], placement).expect("a tensor"))
    }

    #[test]
    fn states_of_generators_are_told_from_weights() {
        let (bytes, weight) = (parameter(Dtype::U8), parameter(Dtype::F32));
        for name in [
            "rng_state.0.np_rng_state.1",
            "rng_state.0.cuda_rng_state",
            "rng_state.0.rng_tracker_states.model-parallel-rng",
            "dataloader_state_dict.generator",
            "torch_rng_state",
        ] {
            assert!(bytes.is_state(name) && !weight.is_state(name), "{name}");
        }
        for name in ["embeddings.position_ids", "bn.num_batches_tracked", "generator_blocks.0.index", "strange.ring"] {
            assert!(!bytes.is_state(name), "{name}");
        }
    }
}
