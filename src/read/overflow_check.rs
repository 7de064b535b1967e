//! Results of msprobe's `overflow_check`: `anomaly_analyze_<ns>.json`, which names operations by rank.

use crate::error::{Error, Result};
use crate::fetch::{ByteSource, read_all};

/// Largest result that is read, in bytes.
const MOST_BYTES: u64 = 64 << 20;

/// Whether a file is such a result, by its first bytes.
pub fn recognise(head: &[u8]) -> bool {
    let has = |word: &str| memchr::memmem::find(head, word.as_bytes()).is_some();
    let is_answer = has("\"rank_") && has("\"op_name\"") && has("\"data_info\"");
    head.trim_ascii_start().starts_with(b"{") && is_answer
}

/// The operations that a result names, as `rank 0: Torch.log.0.forward`, in its order.
///
/// # Errors
/// `Corrupt` where it is no valid JSON, `LimitExceeded` where it is too long.
pub fn read(source: &dyn ByteSource) -> Result<Vec<String>> {
    let bytes = read_all(source, MOST_BYTES)?;
    let parsed: serde_json::Value =
        serde_json::from_slice(&bytes).map_err(|error| Error::corrupt(source.name(), error))?;
    let ranks = parsed.as_object().into_iter().flatten();
    let names = ranks.flat_map(|(rank, entries)| {
        let names = entries.as_array().into_iter().flatten().filter_map(|entry| entry.get("op_name")?.as_str());
        names.map(move |name| format!("{}: {name}", rank.replacen('_', " ", 1)))
    });
    Ok(names.collect())
}
