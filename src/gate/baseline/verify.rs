//! Verification of every byte of a baseline against its manifest.

use std::collections::BTreeMap;
use std::io::Read;

use rayon::prelude::*;

use super::manifest::{FileFact, Manifest};
use crate::error::Result;
use crate::fetch::progress::Progress;
use crate::fetch::{ByteSource, Digest, Files};

/// Bytes read at once.
const BLOCK: usize = 1 << 20;

/// Digests of every file.
pub fn file_facts(files: &dyn Files, progress: &dyn Progress) -> Result<BTreeMap<String, FileFact>> {
    progress.begin("reading every file", files.list().len() as u64);
    let of = |entry: &crate::fetch::FileEntry| {
        let source = files.open(&entry.path)?;
        let fact = FileFact { bytes: source.len(), sha256: digest(source.as_ref())? };
        progress.advance(1);
        Ok((entry.path.clone(), fact))
    };
    files.list().par_iter().map(of).collect()
}

fn digest(source: &dyn ByteSource) -> Result<Digest> {
    let mut failure = None;
    let mut reader = Sequential { source, at: 0, failure: &mut failure };
    let found = Digest::of_reader(&mut reader);
    match failure {
        Some(error) => Err(error),
        None => found.map_err(|error| crate::error::Error::io(source.name(), &error)),
    }
}

/// Reader of a source from its start, which keeps the source's own error for the caller.
struct Sequential<'a> {
    source: &'a dyn ByteSource,
    at: u64,
    failure: &'a mut Option<crate::error::Error>,
}

impl Read for Sequential<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let left = self.source.len() - self.at;
        let len = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len()).min(BLOCK);
        let part = buffer.get_mut(..len).unwrap_or_default();
        if let Err(error) = self.source.read_at(self.at, part) {
            *self.failure = Some(error);
            return Err(std::io::ErrorKind::Other.into());
        }
        self.at += len as u64;
        Ok(len)
    }
}

/// Differences between the manifest and the files as they are now, one line each.
pub fn differences(manifest: &Manifest, found: &BTreeMap<String, FileFact>) -> Vec<String> {
    let mut lines = Vec::new();
    for (path, fact) in &manifest.files {
        match found.get(path) {
            None => lines.push(format!("{path}: is gone")),
            Some(now) if now.bytes != fact.bytes => {
                lines.push(format!("{path}: has {} bytes, recorded {}", now.bytes, fact.bytes));
            }
            Some(now) if now.sha256 != fact.sha256 => {
                lines.push(format!("{path}: has {}, recorded {}", now.sha256, fact.sha256));
            }
            Some(_) => {}
        }
    }
    let added = found.keys().filter(|path| !manifest.files.contains_key(*path));
    lines.extend(added.map(|path| format!("{path}: is not in the manifest")));
    lines
}
