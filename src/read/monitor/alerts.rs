//! Anomalies that the monitor itself reported: `anomaly_detected/rank<R>/anomaly.json`.

use std::collections::BTreeSet;

use crate::error::{Error, Result};
use crate::fetch::{ByteSource, read_all};

/// Largest file of anomalies that is read, in bytes.
const MOST_BYTES: u64 = 64 << 20;

/// Anomalies of one file, each as tensor, step and rule.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Alerts(pub BTreeSet<(String, u64, String)>);

/// Whether a file holds anomalies, by its first bytes.
pub fn recognise(head: &[u8]) -> bool {
    let has = |word: &str| memchr::memmem::find(head, word.as_bytes()).is_some();
    head.trim_ascii_start().starts_with(b"{") && has("\"tag_name\"") && has("\"group_mates\"")
}

/// Reads a file of anomalies.
///
/// # Errors
/// `Corrupt` if it is not JSON, `LimitExceeded` if it is too long.
pub fn read(source: &dyn ByteSource) -> Result<Alerts> {
    let bytes = read_all(source, MOST_BYTES)?;
    let parsed: serde_json::Value =
        serde_json::from_slice(&bytes).map_err(|error| Error::corrupt(source.name(), error))?;
    let entries = parsed.as_object().into_iter().flatten();
    let alert = |(_, entry): (&String, &serde_json::Value)| {
        let tag = entry.get("tag_name")?.as_str()?.to_owned();
        let message = entry.get("message").and_then(serde_json::Value::as_str).unwrap_or_default();
        let rule = message.split_whitespace().nth(1).unwrap_or_default().to_owned();
        Some((tag, entry.get("step")?.as_u64()?, rule))
    };
    Ok(Alerts(entries.filter_map(alert).collect()))
}
