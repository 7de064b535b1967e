//! An earlier result, read again.
//!
//! A result may come from an untrusted run: it is only data here, and every text in it is escaped where it is
//! shown.

use std::fs;
use std::path::Path;

use super::upgrade;
use crate::error::{Error, ErrorKind, Result};
use crate::{GateResult, SCHEMA_VERSION};

/// Bytes of a result that are read; a run of a thousand ranks stays far below.
const MOST_BYTES: u64 = 256 << 20;

/// Reads `result.json`.
pub fn result(path: &Path) -> Result<GateResult> {
    parse(&path.display().to_string(), &text(path)?)
}

/// The text of a `result.json`.
pub fn text(path: &Path) -> Result<String> {
    read(path)
}

/// The result that `text` holds; messages call it `name`.
pub fn parse(name: &str, text: &str) -> Result<GateResult> {
    let version = serde_json::from_str::<Version>(text).map(|version| version.schema_version);
    let parsed = match version {
        Ok(upgrade::FROM) => serde_json::from_str(text).map(upgrade::upgraded).and_then(serde_json::from_value),
        Ok(other) if other > SCHEMA_VERSION || other == 0 => {
            let message =
                format!("has schema version {other}; this version reads {} to {SCHEMA_VERSION}", upgrade::FROM);
            return Err(Error::new(ErrorKind::Unsupported, name, message)
                .with_help("render it with the version that wrote it; `tool.version` in the file names it"));
        }
        _ => serde_json::from_str(text),
    };
    let mut result: GateResult = parsed
        .map_err(|error| Error::corrupt(name, error).with_help("give a `result.json` as precision-gate wrote it"))?;
    result.claimed_version = version.ok().filter(|version| *version < SCHEMA_VERSION);
    Ok(result)
}

#[derive(serde::Deserialize)]
struct Version {
    schema_version: u32,
}

fn read(path: &Path) -> Result<String> {
    let name = path.display().to_string();
    let metadata = fs::metadata(path).map_err(|error| Error::io(&name, &error))?;
    if !metadata.is_file() {
        return Err(Error::new(ErrorKind::Usage, name, "is not a regular file")
            .with_help("give a `result.json` as precision-gate wrote it"));
    }
    let len = metadata.len();
    if len > MOST_BYTES {
        return Err(Error::new(ErrorKind::LimitExceeded, name, format!("{len} bytes; at most {MOST_BYTES} are read")));
    }
    fs::read_to_string(path).map_err(|error| Error::io(&name, &error))
}
