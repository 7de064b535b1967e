//! Values in or next to a checkpoint that are not tensors: the configurations of model, adapter and generation, and the numbers
//! of trainer, optimizer and scheduler in torch files.

use std::collections::BTreeMap;

use super::gathered::file_of;
use super::place::{CheckpointFormat, CheckpointPlace};
use crate::fetch::Files;
use crate::read::json::{self, Json};
use crate::read::tensor::{StoredValue, TensorData};
use crate::read::tensor_file;

/// Configuration files that libraries write next to a checkpoint.
pub(crate) const CONFIGURATIONS: [&str; 3] = ["config.json", "adapter_config.json", "generation_config.json"];
/// Subfolders of a checkpoint's folder in which trainers keep these files.
const FOLDERS: [&str; 2] = ["", "huggingface/"];
/// Largest configuration and largest file of plain values that is read, in bytes.
const MAX_FILE: u64 = 4 << 20;
/// Most files of plain values that are read next to a checkpoint.
const MAX_BESIDE: usize = 32;
/// Most values of a checkpoint.
const MAX_VALUES: usize = 1 << 16;
/// Deepest nesting of a configuration.
const MAX_DEPTH: usize = 8;
/// Longest list that is shown as one value. A longer list is a table and is shown by its length only.
const MAX_LIST: usize = 1 << 10;

/// Plain values of a checkpoint.
#[derive(Debug, Default)]
pub struct PlainValues {
    /// Values inside the checkpoint's own files, by their names there.
    pub inside: BTreeMap<String, String>,
    /// Values of the files next to it, by name of the file and name of the value.
    pub beside: BTreeMap<String, BTreeMap<String, String>>,
    /// Damaged configuration files, each with the reason.
    pub damaged: Vec<(String, String)>,
    /// Names of tensors that share their elements with another tensor, and the name of that tensor; `None` if the format does not
    /// record sharing.
    pub tied: Option<BTreeMap<String, String>>,
}

impl PlainValues {
    /// Adds the plain values of a file and, for a torch file, the names of tensors that share their elements.
    pub(super) fn add_file(&mut self, values: &[(String, StoredValue)], is_torch: bool) {
        let room = MAX_VALUES.saturating_sub(self.inside.len());
        self.inside.extend(plain(values).take(room));
        if !is_torch {
            return;
        }
        let tied = self.tied.get_or_insert_default();
        let mut seen: BTreeMap<(u64, &[u64]), &str> = BTreeMap::new();
        let tensors = values.iter().filter_map(|(name, stored)| match stored {
            StoredValue::Tensor(tensor) if tensor.elements() > 1 => Some((name.as_str(), tensor)),
            _ => None,
        });
        for (name, tensor) in tensors {
            let TensorData { shape, .. } = tensor;
            match seen.get(&(tensor.offset(), shape.as_slice())) {
                Some(first) if tensor.dtype.is_float() => drop(tied.insert(name.to_owned(), (*first).to_owned())),
                _ => drop(seen.insert((tensor.offset(), shape), name)),
            }
        }
    }

    /// Reads the files next to those of `place`, and the plain values of the first and the last rank.
    pub(super) fn read_beside(&mut self, place: &CheckpointPlace, files: &dyn Files) {
        let folder = place.folder();
        for entry in files.list() {
            let Some(inner) = entry.path.strip_prefix(&folder) else { continue };
            let is_configuration = FOLDERS
                .iter()
                .any(|below| inner.strip_prefix(below).is_some_and(|name| CONFIGURATIONS.contains(&name)));
            if is_configuration {
                self.read_configuration(&entry.path, entry.len, files);
            } else if !inner.contains('/') && entry.len <= MAX_FILE && self.beside.len() < MAX_BESIDE {
                self.read_values(&entry.path, place, files);
            }
        }
        if place.format == CheckpointFormat::Whole {
            return;
        }
        let (first, last) =
            (place.shards.keys().next(), place.shards.keys().next_back().filter(|_| place.shards.len() > 1));
        for path in first.into_iter().chain(last).filter(|path| is_torch(path)) {
            let opened = files.open(path).and_then(tensor_file::open_with_facts);
            // Damage of these files is reported where their tensors are read.
            if let Ok(values) = opened {
                self.inside.extend(plain(&values).take(MAX_VALUES.saturating_sub(self.inside.len())));
            }
        }
    }

    fn read_configuration(&mut self, path: &str, len: u64, files: &dyn Files) {
        let parsed = if len > MAX_FILE {
            Err(format!("it has {len} bytes, and {MAX_FILE} are read"))
        } else {
            let parsed = files.open(path).and_then(|source| json::parse(source.as_ref()));
            parsed.map_err(|error| error.message().to_owned())
        };
        match parsed {
            Ok(object @ Json::Object(_)) => {
                let mut values = BTreeMap::new();
                flatten(String::new(), &object, 0, &mut values);
                self.beside.insert(file_of(path).to_owned(), values);
            }
            Ok(_) => self.damaged.push((path.to_owned(), "it is no object".into())),
            Err(reason) => self.damaged.push((path.to_owned(), reason)),
        }
    }

    /// Adds the values of a torch file next to the checkpoint that holds no model, such as those of a scheduler or trainer. The
    /// files of several ranks get one name; the first file counts.
    fn read_values(&mut self, path: &str, place: &CheckpointPlace, files: &dyn Files) {
        if place.shards.contains_key(path) || !is_torch(path) {
            return;
        }
        let name = without_rank(file_of(path));
        if self.beside.contains_key(&name) {
            return;
        }
        let Ok(values) = files.open(path).and_then(tensor_file::open_all) else { return };
        let is_model = |(_, stored): &(String, StoredValue)| match stored {
            StoredValue::Tensor(tensor) => tensor.dtype.is_float(),
            StoredValue::Part(_) | StoredValue::Unsupported(_) => true,
            StoredValue::Plain(_) | StoredValue::Shape(_) => false,
        };
        if !values.iter().any(is_model) {
            self.beside.insert(name, plain(&values).take(MAX_VALUES).collect());
        }
    }
}

/// Whether a file has an extension that `torch.save` is used with.
pub(super) fn is_torch(path: &str) -> bool {
    let ending = path.rsplit_once('.').map_or("", |(_, ending)| ending);
    matches!(ending, "pt" | "pth" | "bin" | "ckpt")
}

/// File name without the rank and the number of ranks.
fn without_rank(file: &str) -> String {
    let (stem, ending) = file.rsplit_once('.').unwrap_or((file, ""));
    let end = ["_world_size_", "_rank_"].iter().filter_map(|word| stem.find(word)).min().unwrap_or(stem.len());
    format!("{}.{ending}", stem.get(..end).unwrap_or(stem))
}

/// Plain values of a file, without states of random generators and without numbered lists of parameters.
fn plain(values: &[(String, StoredValue)]) -> impl Iterator<Item = (String, String)> {
    let is_listed = |name: &str| {
        let mut parts = name.rsplit('.');
        let (last, before) = (parts.next().unwrap_or_default(), parts.next());
        before == Some("params") && last.bytes().all(|letter| letter.is_ascii_digit())
    };
    values.iter().filter_map(move |(name, stored)| match stored {
        StoredValue::Plain(value) if !is_listed(name) && !name.split('.').any(names_state) => {
            Some((name.clone(), value.clone()))
        }
        _ => None,
    })
}

/// Adds the values of a configuration under their keys, joined by dots. A list is one value.
fn flatten(name: String, value: &Json, depth: usize, into: &mut BTreeMap<String, String>) {
    if into.len() >= MAX_VALUES {
        return;
    }
    match value {
        Json::Object(items) if depth < MAX_DEPTH => {
            for (key, item) in items.iter() {
                let inner = if name.is_empty() { key.clone() } else { format!("{name}.{key}") };
                flatten(inner, item, depth + 1, into);
            }
        }
        value => drop(into.insert(name, text(value, 0))),
    }
}

/// Text of a value, as Python prints it.
fn text(value: &Json, depth: usize) -> String {
    match value {
        Json::Null => "None".into(),
        Json::Bool(true) => "True".into(),
        Json::Bool(false) => "False".into(),
        Json::Int(number) => number.to_string(),
        Json::BigInt(digits) => digits.clone(),
        Json::Float(number) => format!("{number:?}"),
        Json::Text(text) => text.clone(),
        Json::Array(items) if depth < MAX_DEPTH && items.len() <= MAX_LIST => {
            let items: Vec<String> = items.iter().map(|item| text(item, depth + 1)).collect();
            format!("[{}]", items.join(", "))
        }
        Json::Array(items) => format!("a list of {}", items.len()),
        Json::Object(items) => format!("an object of {}", items.len()),
    }
}

/// Whether one part of a name belongs to a random generator or a data loader: `np_rng_state`, `cuda_rng_state`,
/// `rng_tracker_states`, `generator`.
pub(super) fn names_state(part: &str) -> bool {
    let part = part.to_ascii_lowercase();
    let mut words = part.split(|c: char| !c.is_ascii_alphanumeric());
    let known = ["random_state", "random_states", "generator", "generator_state", "sampler", "rerun_state_machine"];
    words.any(|word| word == "rng") || known.contains(&part.as_str()) || part.starts_with("dataloader")
}
