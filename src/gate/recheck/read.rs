//! Reading a result that another job left behind, bounded in size, memory and time before anything in it is trusted.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use crate::error::{Error, ErrorKind, Result};
use crate::fetch::Digest;
use crate::output::documents;
use crate::read::json::JsonLimits;
use crate::result::GateResult;
use crate::result::load;

/// Bytes of a result. A unit takes at most some 350 KB (a profile of 2000 points), so that this is the result of a hundred ranks; the
/// largest of the examples and fixtures takes 0.4 MB.
const MOST_BYTES: u64 = 32 << 20;
/// A unit has at most 20 000 values. Each takes 32 bytes while it is read, so that two million stay far below 500 MB together
/// with what is made of them. A comment holds no longer text.
const LIMITS: JsonLimits = JsonLimits { values: 2_000_000, text: 65_536 };
/// Bytes of the operations beside it, whose digest is taken.
const MOST_OPERATIONS: u64 = 1 << 30;

/// Reads the `result.json` at `path`.
///
/// # Errors
/// `NotFound`; `LimitExceeded` where it is larger than a result can be; `Usage` where it is no plain file, `Corrupt` where
/// it is not a result.
pub fn read(path: &Path) -> Result<GateResult> {
    let name = path.display().to_string();
    let len = plain_file(path)?;
    if len > MOST_BYTES {
        return Err(too_large(&name, format!("{len} bytes; at most {MOST_BYTES} are read")));
    }
    let mut text = String::new();
    let file = File::open(path).map_err(|error| Error::io(&name, &error))?;
    file.take(MOST_BYTES).read_to_string(&mut text).map_err(|error| Error::io(&name, &error))?;
    parse(&name, &text)
}

/// The result that `text` holds; messages call it `name`.
///
/// # Errors
/// `LimitExceeded` where it holds more than a result can hold, `Corrupt` where it is not a result.
pub fn parse(name: &str, text: &str) -> Result<GateResult> {
    LIMITS.check(text).map_err(|error| too_large(name, error))?;
    load::parse(name, text)
}

/// The digest of the lines (`operations.jsonl`, also compressed) beside a result (`sha256:…`), where one lies there.
///
/// # Errors
/// `Usage` where it is not a plain file, `LimitExceeded` where it is larger than a gigabyte.
pub fn operations_digest(result: &Path) -> Result<Option<String>> {
    let Some(path) = documents::lines_beside(result) else { return Ok(None) };
    let name = path.display().to_string();
    let len = plain_file(&path)?;
    if len > MOST_OPERATIONS {
        return Err(too_large(&name, format!("{len} bytes; at most {MOST_OPERATIONS} are read")));
    }
    let mut file = File::open(&path).map_err(|error| Error::io(&name, &error))?.take(len);
    Digest::of_reader(&mut file).map(|digest| Some(digest.to_string())).map_err(|error| Error::io(&name, &error))
}

/// The length of a file that is neither a link, a pipe nor a device.
fn plain_file(path: &Path) -> Result<u64> {
    let name = path.display().to_string();
    let metadata = fs::symlink_metadata(path).map_err(|error| Error::io(&name, &error))?;
    if metadata.is_file() {
        return Ok(metadata.len());
    }
    Err(Error::new(ErrorKind::Usage, name, "is not a regular file")
        .with_help("unpack the artifact into a separate folder, and name the file in it"))
}

fn too_large(name: &str, message: String) -> Error {
    Error::new(ErrorKind::LimitExceeded, name, message).with_help(
        "a result of so many units is not published as a whole: publish one of fewer steps or ranks, or judge the \
         uploaded artifacts here: `precision-gate publish --judge DIR`",
    )
}
