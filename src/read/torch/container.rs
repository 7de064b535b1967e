//! The two container formats of `torch.save`, with the places of the pickle and the storages.

use std::collections::HashMap;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;

use zip::result::ZipResult;
use zip::{CompressionMethod, ZipArchive};

use super::callable::is_allowed;
use super::storage::{Content, Reference, Storage, element_type};
use crate::error::{Error, Result};
use crate::fetch::Source;
use crate::read::archive::AT_START;
use crate::read::pickle::{Graph, PickleInput, PickleNode, PickleValue, parse};
use crate::read::tensor::ByteOrder;

/// First bytes of a zip archive.
const ZIP: &[u8] = b"PK\x03\x04";
/// First bytes of the format before torch 1.6: pickle protocol 2 and the pickled number 0x1950a86a20f9469cfc6c.
const LEGACY: &[u8] = b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";
/// Most bytes of a pickle that are searched for a word.
const MOST_SEARCHED: u64 = 8 << 20;
/// Number of bytes fetched at once while an archive's directory is read.
const FETCH: usize = 16 << 10;

/// Whether a file starting with `head` may be a torch file.
pub(crate) fn recognise(head: &[u8]) -> bool {
    head.starts_with(ZIP) || head.starts_with(LEGACY)
}

/// Whether a zip archive of torch holds storages; `None` if `source` is not such an archive.
pub(crate) fn holds_storages(source: &Source) -> Option<bool> {
    let archive = directory(source).ok()?;
    let inner = |name: &str| archive.file_names().flatten().any(|member| member.contains(name));
    inner("/data.pkl").then(|| inner("/data/"))
}

/// Whether the pickle of a torch file contains one of `words`, for example as a key. In the older format, and in a pickle longer
/// than [`MOST_SEARCHED`], only the beginning is searched.
pub(crate) fn mentions_any(source: &Source, words: &[&str]) -> bool {
    let searched = |offset: u64, len: u64| {
        let len = len.min(MOST_SEARCHED).min(source.len().saturating_sub(offset));
        let mut bytes = vec![0; usize::try_from(len).unwrap_or(0)];
        let is_read = source.read_at(offset, &mut bytes).is_ok();
        is_read && words.iter().any(|word| memchr::memmem::find(&bytes, word.as_bytes()).is_some())
    };
    let mut head = [0; 4];
    if source.read_at(0, &mut head).is_err() {
        return false;
    }
    if head != ZIP {
        return searched(0, source.len());
    }
    let Ok(mut archive) = directory(source) else { return false };
    (0..archive.len()).any(|index| {
        let Ok(entry) = archive.by_index_raw(index) else { return false };
        let is_pickle = entry.name().is_ok_and(|name| name.ends_with("/data.pkl"));
        is_pickle && entry.data_start().is_some_and(|start| searched(start, entry.size()))
    })
}

fn directory(source: &Source) -> ZipResult<ZipArchive<Sequential<'_>>> {
    let at_start = ZipArchive::with_config(AT_START, Sequential::new(source));
    at_start.or_else(|_| ZipArchive::new(Sequential::new(source)))
}

/// Reads the container of `source`.
pub(super) fn open(source: &Source) -> Result<Content> {
    let mut head = [0; 4];
    source.read_at(0, &mut head)?;
    if head == ZIP { open_zip(source) } else { open_legacy(source) }
}

/// Reads the zip format: `<folder>/data.pkl`, `<folder>/data/<key>`, and `<folder>/byteorder` since torch 2.1.
fn open_zip(source: &Source) -> Result<Content> {
    let damaged = |error: zip::result::ZipError| {
        Error::corrupt(source.name(), format!("is not a readable zip archive: {error}"))
            .with_help("the file looks cut short; copy or dump it again")
    };
    let mut archive = directory(source).map_err(damaged)?;
    let (mut pickle, mut order, mut storages) = (None, ByteOrder::Little, HashMap::new());
    for index in 0..archive.len() {
        let entry = archive.by_index_raw(index).map_err(damaged)?;
        let name = entry.name().map_err(damaged)?.into_owned();
        let Some((_, inner)) = name.split_once('/') else { continue };
        let is_storage = inner.strip_prefix("data/");
        if is_storage.is_none() && inner != "data.pkl" && inner != "byteorder" {
            continue;
        }
        if entry.compression() != CompressionMethod::Stored || entry.encrypted() {
            let message = format!("member `{name}` is compressed or encrypted, which torch.save never does");
            return Err(Error::unsupported(source.name(), message).with_help("save it again with torch.save"));
        }
        let offset =
            entry.data_start().ok_or_else(|| Error::corrupt(source.name(), format!("no data for `{name}`")))?;
        let storage = Storage { offset, len: entry.size() };
        if offset.checked_add(storage.len).is_none_or(|end| end > source.len()) {
            return Err(Error::corrupt(source.name(), format!("member `{name}` reaches behind the end of the file")));
        }
        match is_storage {
            Some(key) => drop(storages.insert(Arc::from(key), storage)),
            None if inner == "data.pkl" => pickle = Some(storage),
            None => order = byte_order(source, storage)?,
        }
    }
    let pickle = pickle.ok_or_else(|| {
        Error::unsupported(source.name(), "is a zip archive without data.pkl, not a file of torch.save")
    })?;
    let mut input = PickleInput::new(source.as_ref(), pickle.offset, pickle.offset + pickle.len);
    Ok(Content { graph: parse(&mut input, &is_allowed)?, storages, order })
}

fn byte_order(source: &Source, member: Storage) -> Result<ByteOrder> {
    let mut text = vec![0; usize::try_from(member.len.min(8)).unwrap_or(0)];
    source.read_at(member.offset, &mut text)?;
    match text.trim_ascii() {
        b"little" => Ok(ByteOrder::Little),
        b"big" => Ok(ByteOrder::Big),
        _ => Err(Error::corrupt(source.name(), "member `byteorder` is neither `little` nor `big`")),
    }
}

/// Reads the format before torch 1.6: five pickles (magic number, version, machine, value, storage keys), then for each storage, in
/// the order of the keys, its element count and its bytes.
fn open_legacy(source: &Source) -> Result<Content> {
    let mut input = PickleInput::new(source.as_ref(), 0, source.len());
    let mut next = || parse(&mut input, &is_allowed);
    let (_, _, machine, graph, keys) = (next()?, next()?, next()?, next()?, next()?);
    let little = match machine.node(machine.root()) {
        Some(PickleNode::Dict(items)) => !items.iter().any(|(key, value)| {
            *key == PickleValue::Text("little_endian".into()) && *value == PickleValue::Bool(false)
        }),
        _ => true,
    };
    let order = if little { ByteOrder::Little } else { ByteOrder::Big };
    let storages = legacy_storages(source, &graph, &keys, input.position(), order)?;
    Ok(Content { graph, storages, order })
}

fn legacy_storages(
    source: &Source,
    graph: &Graph,
    keys: &Graph,
    start: u64,
    order: ByteOrder,
) -> Result<HashMap<Arc<str>, Storage>> {
    let damaged = || Error::corrupt(source.name(), "its storages do not fit the file").with_help("copy it again");
    let kinds: HashMap<&str, &str> = graph
        .persistent_ids()
        .filter_map(|id| Reference::from_id(graph, id))
        .map(|reference| (reference.key, reference.kind))
        .collect();
    let mut storages = HashMap::new();
    let mut offset = start;
    for key in keys.sequence(keys.root()).ok_or_else(damaged)? {
        let PickleValue::Text(key) = key else { return Err(damaged()) };
        let mut count = [0; 8];
        source.read_at(offset, &mut count)?;
        let count = if order == ByteOrder::Little { u64::from_le_bytes(count) } else { u64::from_be_bytes(count) };
        let size = match kinds.get(key.as_ref()).copied() {
            Some("UntypedStorage") => 1,
            Some(kind) => match element_type(kind) {
                Some(dtype) => dtype.size() as u64,
                None => {
                    return Err(Error::unsupported(source.name(), format!("storages of kind `{kind}` are not read")));
                }
            },
            None => return Err(damaged()),
        };
        let len = count.checked_mul(size).ok_or_else(damaged)?;
        storages.insert(key.clone(), Storage { offset: offset + 8, len });
        offset = offset.checked_add(8).and_then(|at| at.checked_add(len)).ok_or_else(damaged)?;
        if offset > source.len() {
            return Err(damaged());
        }
    }
    Ok(storages)
}

/// Reader of a source with a small buffer, for the zip reader.
struct Sequential<'a> {
    source: &'a Source,
    at: u64,
    buffer: Vec<u8>,
    buffer_at: u64,
}

impl<'a> Sequential<'a> {
    fn new(source: &'a Source) -> Self {
        Self { source, at: 0, buffer: Vec::new(), buffer_at: 0 }
    }

    /// Bytes of the buffer from the current position on; empty if the position is outside of it.
    fn buffered(&self) -> &[u8] {
        let skip = self.at.checked_sub(self.buffer_at).and_then(|skip| usize::try_from(skip).ok());
        skip.and_then(|skip| self.buffer.get(skip..)).unwrap_or_default()
    }
}

impl Read for Sequential<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.buffered().is_empty() {
            let len = usize::try_from(self.source.len().saturating_sub(self.at)).unwrap_or(FETCH).min(FETCH);
            self.buffer.resize(len, 0);
            self.buffer_at = self.at;
            self.source.read_at(self.at, &mut self.buffer).map_err(io::Error::other)?;
        }
        let buffered = self.buffered();
        let len = buffered.len().min(into.len());
        into.iter_mut().zip(buffered).for_each(|(to, from)| *to = *from);
        self.at += len as u64;
        Ok(len)
    }
}

impl Seek for Sequential<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let target = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => self.source.len().checked_add_signed(by),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
        };
        self.at = target.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        Ok(self.at)
    }
}
