//! Training curves: values per step, from whatever a trainer writes.

use crate::error::{Error, Result};
use crate::fetch::{ByteSource, Source};

/// One file with curves.
#[derive(Clone, Debug)]
pub struct CurveFile {
    /// Path below the side's root.
    pub path: String,
    /// What kind of file it is, for people: `HF trainer_state.json`.
    pub format: &'static str,
}

/// The format of a curve file, from its first bytes (at most 64 KiB of `source`, in `head`).
pub fn recognise(_head: &[u8], _source: &dyn ByteSource) -> Option<Format> {
    None
}

/// A curve format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {}

/// Reads a curve file.
pub fn read(source: Source, _format: Format) -> Result<CurveFile> {
    Err(Error::unsupported(source.name(), "reading curves is not built yet"))
}
