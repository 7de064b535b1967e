//! msprobe config packs (`config-check.md` section 2).

use crate::error::{Error, Result};
use crate::fetch::{ByteSource, Source};

/// One pack.
#[derive(Clone, Debug)]
pub struct Pack {
    /// Path below the side's root.
    pub path: String,
}

/// Whether a zip archive is a config pack, by its members.
pub fn recognise(_source: &dyn ByteSource) -> bool {
    false
}

/// Reads a pack.
pub fn read(source: Source) -> Result<Pack> {
    Err(Error::unsupported(source.name(), "reading config packs is not built yet"))
}
