//! Whole documents: results and reports.

use crate::error::{Error, ErrorKind, Result};
use crate::fetch::ByteSource;
use crate::read::json::{Json, Parser};

/// Largest document that is held in memory.
const MAX_BYTES: u64 = 128 << 20;
/// Mark at the start of a text in UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Parses a JSON document, which may begin with a mark.
///
/// # Errors
/// A document that is too large or damaged.
pub(super) fn read(source: &dyn ByteSource) -> Result<Json> {
    check_size(source)?;
    let mut parser = Parser::at(source, start(source)?);
    let value = parser.value()?;
    parser.end()?;
    Ok(value)
}

/// Refuses what is too large.
///
/// # Errors
/// More bytes than a document may have.
pub(super) fn check_size(source: &dyn ByteSource) -> Result<()> {
    if source.len() > MAX_BYTES {
        let message = format!("{} bytes, and results are read up to {MAX_BYTES}", source.len());
        return Err(Error::new(ErrorKind::LimitExceeded, source.name(), message));
    }
    Ok(())
}

/// Offset of the first byte behind a mark.
///
/// # Errors
/// Those of reading the source.
pub(super) fn start(source: &dyn ByteSource) -> Result<u64> {
    let mut mark = [0; BYTE_ORDER_MARK.len()];
    if source.len() < mark.len() as u64 {
        return Ok(0);
    }
    source.read_at(0, &mut mark)?;
    Ok(if mark == BYTE_ORDER_MARK { mark.len() as u64 } else { 0 })
}
