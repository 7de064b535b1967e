//! Removals from a folder that bytes choose: a fuzzer's, or a generator's.

use std::fs;
use std::io::{Cursor, Read, Write};
use std::path::Path;

use super::places::{places, replaced};
use super::tree::files;

/// Bytes that choose one removal.
pub(crate) const CHOICE: usize = 6;

/// Takes from `folder` what `choices` say, one removal after the other.
pub(crate) fn remove(folder: &Path, choices: &[u8]) {
    for choice in choices.chunks_exact(CHOICE) {
        let there = files(folder);
        let number = |range: std::ops::Range<usize>| {
            choice[range].iter().fold(0_usize, |number, byte| number << 8 | usize::from(*byte))
        };
        let Some(file) = there.get(number(0..2) % there.len().max(1)) else { return };
        let bytes = fs::read(file).expect("readable");
        match removed(&bytes, choice[2], number(3..6)) {
            Some(rest) => fs::write(file, rest).expect("written"),
            None => fs::remove_file(file).expect("removed"),
        }
    }
}

/// Rest of a file; `None` where the file goes.
fn removed(bytes: &[u8], action: u8, number: usize) -> Option<Vec<u8>> {
    match action % 8 {
        0 => None,
        1 => Some(bytes[..number % bytes.len().max(1)].to_vec()),
        _ => Some(
            of_archive(bytes, number, |_| true)
                .or_else(|| of_safetensors(bytes, action, number))
                .unwrap_or_else(|| of_text(bytes, action, number)),
        ),
    }
}

/// A text without one of its values, or with a blank in its place.
fn of_text(bytes: &[u8], action: u8, number: usize) -> Vec<u8> {
    let found = if std::str::from_utf8(bytes).is_ok() { places(bytes) } else { Vec::new() };
    match found.get(number % found.len().max(1)) {
        Some(place) if action.is_multiple_of(2) => replaced(bytes, &place.value, b"null"),
        Some(place) => replaced(bytes, &place.cut(bytes), b""),
        None => bytes[..number % bytes.len().max(1)].to_vec(),
    }
}

/// A safetensors file with something removed from its header.
fn of_safetensors(bytes: &[u8], action: u8, number: usize) -> Option<Vec<u8>> {
    with_header(bytes, |header| of_text(header, action, number))
}

/// A safetensors file with another header.
pub(crate) fn with_header(bytes: &[u8], change: impl FnOnce(&[u8]) -> Vec<u8>) -> Option<Vec<u8>> {
    let (len, rest) = bytes.split_first_chunk::<8>()?;
    let (header, data) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*len)).ok()?)?;
    let header = change(header.starts_with(b"{").then_some(header)?);
    Some([&(header.len() as u64).to_le_bytes()[..], &header, data].concat())
}

/// An archive without one of its members of which `may_go` holds.
pub(crate) fn of_archive(bytes: &[u8], number: usize, may_go: impl Fn(&str) -> bool) -> Option<Vec<u8>> {
    let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).ok()?;
    let mut rest = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let mut candidates: Vec<usize> = (0..archive.len()).collect();
    candidates
        .retain(|index| archive.name_for_index(*index).and_then(|name| name.ok()).is_some_and(|name| may_go(&name)));
    let gone = *candidates.get(number % candidates.len().max(1))?;
    for index in (0..archive.len()).filter(|index| *index != gone) {
        let mut member = archive.by_index(index).ok()?;
        let stored = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
        let name = member.name().ok()?.into_owned();
        rest.start_file(name, stored).ok()?;
        let mut content = Vec::new();
        member.read_to_end(&mut content).ok()?;
        rest.write_all(&content).ok()?;
    }
    Some(rest.finish().ok()?.into_inner())
}
