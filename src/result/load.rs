//! An earlier result, read again for new documents.
//!
//! A result may come from an untrusted run: it is only data here, and every text in it is escaped where it is
//! shown.

use std::fs;
use std::path::Path;

use super::advice::from_here;
use super::upgrade;
use crate::error::{Error, ErrorKind, Result};
use crate::result::unit::{DumpUnit, Unit};
use crate::result::{GateResult, SCHEMA_VERSION};

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
    result.file = from_here(Path::new(name));
    link(&mut result);
    Ok(result)
}

/// Names findings by what they are about, whatever the file calls them, and links culprits of older results, which carry
/// neither the id of their finding nor their place in execution order.
fn link(result: &mut GateResult) {
    result.identify();
    let units = result.checks.iter_mut().flat_map(|check| &mut check.units);
    for unit in units {
        let Unit::Dump(unit) = unit else { continue };
        let DumpUnit { culprit, runner_up, profile, .. } = unit.as_mut();
        for culprit in culprit.iter_mut().chain(runner_up) {
            if culprit.finding.is_empty() {
                culprit.finding = culprit.own_finding();
                culprit.order = profile.iter().find(|point| point.op == culprit.op).map_or(0, |point| point.order);
            }
        }
    }
    if let Some(culprit) = result.culprit.as_mut().filter(|culprit| culprit.finding.is_empty()) {
        let units = result.checks.iter().flat_map(|check| &check.units);
        let of_unit = units.filter_map(|unit| match unit {
            Unit::Dump(unit) => unit.culprit.as_ref(),
            _ => None,
        });
        let mut same = of_unit.filter(|one| (one.step, one.rank, &one.op) == (culprit.step, culprit.rank, &culprit.op));
        if let Some(linked) = same.next() {
            *culprit = linked.clone();
        }
    }
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
