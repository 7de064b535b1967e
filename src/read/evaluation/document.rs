//! Whole documents: results and reports.

use crate::error::{Error, ErrorKind, Result};
use crate::fetch::ByteSource;
use crate::read::json::{Json, Parser};

/// Largest document that is read into memory, in bytes.
const MAX_BYTES: u64 = 128 << 20;
/// Byte order mark of UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Parses a JSON document, which may begin with a byte order mark.
///
/// # Errors
/// If the document is too large or damaged.
pub(super) fn read(source: &dyn ByteSource) -> Result<Json> {
    check_size(source)?;
    let mut parser = Parser::at(source, content_start(source)?);
    let value = parser.value()?;
    parser.end()?;
    Ok(value)
}

/// Checks the size of a document.
///
/// # Errors
/// If the document has too many bytes.
pub(super) fn check_size(source: &dyn ByteSource) -> Result<()> {
    if source.len() > MAX_BYTES {
        let message = format!("{} bytes, and results are read up to {MAX_BYTES}", source.len());
        return Err(Error::new(ErrorKind::LimitExceeded, source.name(), message));
    }
    Ok(())
}

/// Offset of the first byte after a byte order mark; 0 if there is none.
///
/// # Errors
/// Those of reading the source.
pub(super) fn content_start(source: &dyn ByteSource) -> Result<u64> {
    let mut mark = [0; BYTE_ORDER_MARK.len()];
    if source.len() < mark.len() as u64 {
        return Ok(0);
    }
    source.read_at(0, &mut mark)?;
    Ok(if mark == BYTE_ORDER_MARK { mark.len() as u64 } else { 0 })
}
