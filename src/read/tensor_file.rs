//! Files that hold tensors, whatever their format.
//!
//! A file is recognised by its first bytes (`torch`, `npy`, `safetensors`), never by its name. No element is read on
//! opening.

use std::sync::Arc;

use super::tensor::{StoredValue, TensorData};
use super::{npy, npz, safetensors, torch};
use crate::error::{Error, Result};
use crate::fetch::{MemorySource, Source, read_all, with_memory_limit};

/// Files up to this size are fetched whole on opening: one read instead of one per part of the container.
const SMALL_FILE: u64 = 128 << 10;

/// Requests early the bytes that [`open`] reads first, the directory at the end of the file; `.npy` files have none.
pub(crate) fn expect_directory(source: &Source) {
    if !source.name().ends_with(".npy") {
        source.prefetch_end();
    }
}

/// Opens a file that holds one tensor: `.pt` (zip or the format before torch 1.6), `.npy`, or a `.safetensors` file
/// with a single entry.
///
/// # Errors
/// `Corrupt` where the file is damaged or of another format, `Unsupported` where it holds anything other than one dense
/// tensor of a known element type.
pub fn open(source: Source) -> Result<TensorData> {
    let source = fetch_small(source)?;
    if npy::recognise(&head(&source)?) {
        return npy::open(source);
    }
    let name = source.name().to_owned();
    let mut stored = open_all(source)?;
    match (stored.pop(), stored.len()) {
        (Some((_, StoredValue::Tensor(tensor))), 0) => Ok(tensor),
        (Some((_, StoredValue::Unsupported(reason))), 0) => Err(Error::unsupported(name, reason)),
        (Some((_, StoredValue::Plain(value))), 0) => {
            Err(Error::unsupported(name, format!("holds the value `{value}`, expected a tensor")))
        }
        (Some((_, StoredValue::Shape(shape))), 0) => {
            Err(Error::unsupported(name, format!("holds the shape {shape:?}, expected a tensor")))
        }
        (Some((_, StoredValue::Part(_))), 0) => {
            Err(Error::unsupported(name, "holds the part that one rank has of a tensor"))
        }
        (_, rest) => Err(Error::unsupported(name, format!("holds {} values, expected one tensor", rest + 1))),
    }
}

/// Opens a file that holds any number of named tensors: a torch file or a safetensors file. Names are paths into
/// nested dictionaries and lists, joined by dots, in the file's order; the name of a bare tensor is empty.
///
/// # Errors
/// `Corrupt` where the file is damaged or of another format, `Unsupported` where it calls a function that no tensor file
/// needs.
pub fn open_all(source: Source) -> Result<Vec<(String, StoredValue)>> {
    let source = fetch_small(source)?;
    let head = head(&source)?;
    if torch::recognise(&head) {
        torch::open(source)
    } else if safetensors::recognise(&head) {
        safetensors::open(source)
    } else {
        Err(Error::corrupt(source.name(), "is not a tensor file (.pt, .npy or .safetensors)")
            .with_help("the file may be cut short or overwritten; copy or dump it again"))
    }
}

/// Opens a file of any format: an array of NumPy under the empty name, the members of its archive, else [`open_all`].
///
/// # Errors
/// As [`open_all`].
pub(crate) fn open_members(source: Source) -> Result<Vec<(String, StoredValue)>> {
    let source = fetch_small(source)?;
    let head = head(&source)?;
    if npy::recognise(&head) {
        return Ok(vec![(String::new(), StoredValue::Tensor(npy::open(source)?))]);
    }
    if npz::recognise(&head, source.as_ref()) { npz::open(source) } else { open_all(source) }
}

/// Whether the file that starts with `head` is a NumPy array or an archive of them.
pub(crate) fn is_numpy_file(head: &[u8], source: &Source) -> bool {
    npy::recognise(head) || npz::recognise(head, source.as_ref())
}

/// Whether `open_members` knows the format of the file that starts with `head`.
pub(crate) fn holds_members(head: &[u8], source: &Source) -> bool {
    is_numpy_file(head, source) || holds_named_tensors(head, source)
}

/// Opens a file like [`open_all`], and also returns the pickled arguments of a run by their names, and separate shapes.
///
/// # Errors
/// As [`open_all`].
pub(crate) fn open_with_facts(source: Source) -> Result<Vec<(String, StoredValue)>> {
    let source = fetch_small(source)?;
    if torch::recognise(&head(&source)?) { torch::open_with_facts(source) } else { open_all(source) }
}

/// Whether the file that starts with `head` has a format that holds named tensors. The content of a zip archive is checked,
/// because many formats are zip archives.
pub(crate) fn holds_named_tensors(head: &[u8], source: &Source) -> bool {
    if head.starts_with(b"PK") {
        return torch::holds_storages(source).is_some();
    }
    torch::recognise(head) || safetensors::recognise(head)
}

/// Whether a torch archive holds no tensor at all: arguments, a scheduler's state.
pub(crate) fn is_without_storages(source: &Source) -> bool {
    torch::holds_storages(source) == Some(false)
}

fn fetch_small(source: Source) -> Result<Source> {
    if source.len() > SMALL_FILE {
        return Ok(source);
    }
    let fetched = MemorySource::new(source.name().to_owned(), read_all(source.as_ref(), SMALL_FILE)?);
    Ok(with_memory_limit(Arc::new(fetched), source.memory_limit()))
}

fn head(source: &Source) -> Result<Vec<u8>> {
    let mut head = vec![0; usize::try_from(source.len().min(16)).unwrap_or(0)];
    source.read_at(0, &mut head)?;
    Ok(head)
}
