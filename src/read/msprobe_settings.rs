//! The configuration that msprobe is started with (`config.json`).
//!
//! It often lies beside the dump that it asked for, and names its task as `dump.json` does. It holds no data.

use super::json::{self, Json};

/// Whether a file that begins with `head` is such a configuration: it names a task and where dumps go, and has no records.
pub fn recognise(head: &[u8]) -> bool {
    let start = head.trim_ascii_start();
    // Most files are no configuration, and this is cheaper to find out than by parsing them.
    if !start.starts_with(b"{") || memchr::memmem::find(start, b"\"dump_path\"").is_none() {
        return false;
    }
    let Ok(Json::Object(entries)) = json::parse_bytes("", head) else { return false };
    let has = |wanted: &str| entries.iter().any(|(key, _)| key == wanted);
    has("task") && has("dump_path") && !has("data")
}

#[cfg(test)]
mod tests {
    use super::recognise;

    #[test]
    fn a_configuration_is_told_from_a_dump() {
        assert!(recognise(br#"{"task": "statistics", "dump_path": "./dump", "rank": [], "step": [0]}"#));
        assert!(!recognise(br#"{"task": "statistics", "level": "L1", "dump_path": "x", "data": {}}"#));
        assert!(!recognise(br#"{"task": "statistics", "dump_path": "x", "da"#));
        assert!(!recognise(br#"{"task": "statistics", "data": {}}"#));
        assert!(!recognise(b""));
    }
}
