//! Content digests of data and weight files.
//!
//! Files are named relative to the given path, not by its location, so that two machines agree:
//! `data/corpus/part0.bin` for `part0.bin` in `--data /mnt/x/corpus`.

use std::path::Path;

use rayon::prelude::*;
use sha2::{Digest, Sha256};

use super::request::CollectRequest;
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::local::LocalFiles;
use crate::fetch::{ByteSource, Files};

/// Bytes read at once.
const BLOCK: usize = 1 << 20;

/// Digests by name, sorted by name.
pub(super) fn file_digests(request: &CollectRequest, notes: &mut Vec<String>) -> Result<Vec<(String, String)>> {
    let mut digests = Vec::new();
    for (kind, paths) in [("data", &request.data), ("weights", &request.weights)] {
        for path in paths {
            digests.extend(of_path(kind, path, notes)?);
        }
    }
    digests.sort();
    if let Some(pair) = digests.windows(2).find(|pair| matches!(pair, [a, b] if a.0 == b.0)) {
        let name = pair.first().map_or("", |(name, _)| name);
        return Err(Error::new(ErrorKind::Usage, name, "two files would be recorded under this name")
            .with_help("name a folder that contains both, so that their names differ"));
    }
    Ok(digests)
}

fn of_path(kind: &str, path: &Path, notes: &mut Vec<String>) -> Result<Vec<(String, String)>> {
    let location = path.display().to_string();
    let files = LocalFiles::open(&location)?;
    notes.extend(files.skipped().iter().map(|(name, reason)| format!("{location}/{name}: {reason}")));
    let base =
        path.canonicalize().ok().as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    let folder = if path.is_dir() { format!("{kind}/{}", base.unwrap_or_default()) } else { kind.to_owned() };
    let digest = |entry: &crate::fetch::FileEntry| {
        let source = files.open(&entry.path)?;
        Ok((format!("{folder}/{}", entry.path), of_source(source.as_ref())?))
    };
    files.list().par_iter().map(digest).collect()
}

fn of_source(source: &dyn ByteSource) -> Result<String> {
    let mut hash = Sha256::new();
    let mut buffer = vec![0; BLOCK];
    let mut offset = 0;
    while offset < source.len() {
        let left = source.len() - offset;
        let len = usize::try_from(left).map_or(BLOCK, |left| left.min(BLOCK));
        let part = buffer.get_mut(..len).unwrap_or_default();
        source.read_at(offset, part)?;
        hash.update(&*part);
        offset += len as u64;
    }
    Ok(format!("sha256:{:x}", hash.finalize()))
}
