//! Recognition of files of log-probabilities by their keys.

use super::keys::{is_measured, measured_keys, role_of_key};
use super::place::{TokensFile, TokensFormat, key_of};
use crate::fetch::{Files, Source};
use crate::read::archive::{Archive, ArchiveLimits};
use crate::read::evaluation::cursor::Cursor;
use crate::read::{npy, safetensors, torch};

/// Longest header of a safetensors file that is inspected, in bytes. A batch has few arrays, a model has many.
const MOST_HEADER: u64 = 64 << 10;
/// Most members of an archive that is inspected.
const MOST_MEMBERS: usize = 4096;
/// Most bytes of a line that are inspected if its first bytes do not decide.
const MOST_LINE: usize = 16 << 20;

/// File at `path` that starts with `head`, if it holds log-probabilities of an engine or of a trainer.
pub fn recognise(path: &str, head: &[u8], source: &Source, files: &dyn Files) -> Option<TokensFile> {
    let format = format_of(path, head, source, files)?;
    Some(TokensFile { path: path.to_owned(), format })
}

fn format_of(path: &str, head: &[u8], source: &Source, files: &dyn Files) -> Option<TokensFormat> {
    if npy::recognise(head) {
        let key = key_of(path);
        let is_one = is_measured(key) || (role_of_key(key).is_some() && is_beside_one(path, key, files));
        return is_one.then(|| TokensFormat::Npy(key.to_owned()));
    }
    if safetensors::recognise(head) {
        return is_safetensors(head, source).then_some(TokensFormat::Safetensors);
    }
    if torch::recognise(head) {
        if torch::holds_storages(source).is_none() && head.starts_with(b"PK") {
            return is_npz(source).then_some(TokensFormat::Npz);
        }
        return is_torch(source).then_some(TokensFormat::Torch);
    }
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    (text.first() == Some(&b'{') && is_lines(text, source)).then_some(TokensFormat::Lines)
}

/// Whether the folder also holds an array of log-probabilities of the same batch, whose name differs only in the key.
fn is_beside_one(path: &str, key: &str, files: &dyn Files) -> bool {
    let (folder, name) = path.rsplit_once('/').map_or(("", path), |(folder, name)| (folder, name));
    let list = files.list();
    measured_keys().any(|other| {
        let name = name.replacen(key, other, 1);
        let path = if folder.is_empty() { name } else { format!("{folder}/{name}") };
        list.binary_search_by(|entry| entry.path.as_str().cmp(&path)).is_ok()
    })
}

fn is_safetensors(head: &[u8], source: &Source) -> bool {
    let length = head.first_chunk::<8>().map_or(u64::MAX, |length| u64::from_le_bytes(*length));
    let may_hold = || measured_keys().any(|key| memchr::memmem::find(head, key.as_bytes()).is_some());
    length <= MOST_HEADER
        && may_hold()
        && safetensors::open(source.clone()).is_ok_and(|all| all.iter().any(|(key, _)| is_measured(key)))
}

fn is_npz(source: &Source) -> bool {
    let limits = ArchiveLimits { members: MOST_MEMBERS, total_bytes: u64::MAX };
    let Ok(archive) = Archive::open(source.clone(), limits) else { return false };
    archive.members().iter().any(|member| member.name().strip_suffix(".npy").is_some_and(is_measured))
}

/// Whether a torch file holds log-probabilities: its pickle has one of the keys, with an array as value.
fn is_torch(source: &Source) -> bool {
    let keys: Vec<&str> = measured_keys().collect();
    torch::mentions_any(source, &keys)
        && torch::open_tree(source.clone()).is_ok_and(|tree| super::open::holds_records(&tree))
}

/// Whether a file holds JSON lines of log-probabilities, by its first object, which may be longer than the head.
fn is_lines(text: &[u8], source: &Source) -> bool {
    let line = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let is_cut = line.len() == text.len() && (source.len() > text.len() as u64);
    match keys_of(line) {
        Keys::Measured => true,
        // A line with token ids but without log-probabilities so far may be another record, so the whole line is inspected.
        Keys::Related if is_cut => {
            let len = usize::try_from(source.len()).map_or(MOST_LINE, |len| len.min(MOST_LINE));
            let mut bytes = vec![0; len];
            if source.read_at(0, &mut bytes).is_err() {
                return false;
            }
            let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes).trim_ascii_start();
            let line = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
            matches!(keys_of(line), Keys::Measured)
        }
        _ => second_line_is(text),
    }
}

/// Whether the first line is damaged and the second one is a record.
fn second_line_is(text: &[u8]) -> bool {
    let mut lines = text.split(|byte| *byte == b'\n');
    let (first, second) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    let is_damaged = {
        let mut cursor = Cursor::new(first);
        cursor.object(|_, cursor| cursor.skip()).is_err()
    };
    is_damaged && second.starts_with(b"{") && matches!(keys_of(second), Keys::Measured)
}

/// Result of inspecting the keys of an object.
enum Keys {
    /// At least one key holds log-probabilities.
    Measured,
    /// A key holds other data of an answer.
    Related,
    /// No known key.
    Other,
}

fn keys_of(line: &[u8]) -> Keys {
    let mut keys = Keys::Other;
    let mut cursor = Cursor::new(line);
    let _ = cursor.object(|key, cursor| {
        if is_measured(key) && cursor.peek() == Some(b'[') {
            keys = Keys::Measured;
        } else if role_of_key(key).is_some() && matches!(keys, Keys::Other) {
            keys = Keys::Related;
        }
        cursor.skip()
    });
    keys
}
