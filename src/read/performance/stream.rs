//! Sequential reading of files, with unpacking of packed files, which preserves the errors of the source.

use std::io::{self, BufReader, Read};

use flate2::bufread::MultiGzDecoder;

use crate::error::Error;
use crate::fetch::ByteSource;

/// Most bytes read at once.
const BLOCK: usize = 1 << 20;
/// Magic bytes of a gzip file.
const GZIP: &[u8] = b"\x1f\x8b";

/// Sequential reader of a file.
pub(super) struct Stream<'a> {
    source: &'a dyn ByteSource,
    at: u64,
}

impl<'a> Stream<'a> {
    pub(super) fn new(source: &'a dyn ByteSource) -> Self {
        source.prefetch(0..source.len());
        Self { source, at: 0 }
    }
}

impl Read for Stream<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let left = self.source.len().saturating_sub(self.at);
        let len = usize::try_from(left).unwrap_or(BLOCK).min(into.len()).min(BLOCK);
        let part = into.get_mut(..len).unwrap_or_default();
        self.source.read_at(self.at, part).map_err(io::Error::other)?;
        self.at += len as u64;
        Ok(len)
    }
}

/// Returns a sequential reader of a file, which unpacks a gzip file.
pub(super) fn unpacked_reader<'a>(source: &'a dyn ByteSource) -> Box<dyn Read + 'a> {
    let mut head = [0; 2];
    let is_packed = source.len() >= 2 && source.read_at(0, &mut head).is_ok() && head.starts_with(GZIP);
    let stream = Stream::new(source);
    if is_packed { Box::new(MultiGzDecoder::new(BufReader::with_capacity(BLOCK, stream))) } else { Box::new(stream) }
}

/// Error of reading `file`: the source's own error, or one of unpacking.
pub(super) fn read_error(file: &str, failed: io::Error) -> Error {
    let text = failed.to_string();
    match failed.into_inner().and_then(|inner| inner.downcast::<Error>().ok()) {
        Some(error) => *error,
        None => Error::corrupt(file, format!("cannot be unpacked: {text}")),
    }
}
