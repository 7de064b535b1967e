//! Reports of pointers, such as `ptr_before_after_step1_rank0.json` of msprobe's recipe. The rows count, not the `status`.

use super::record::{PointerRow, SyncDamage, WHOLE};
use crate::error::Result;
use crate::fetch::Source;
use crate::read::json::{Json, Parser};

/// Most parameters of a report that are read.
const MOST_ROWS: usize = 1 << 20;

/// Whether a text begins like a report of pointers.
pub(super) fn is_report(head: &[u8]) -> bool {
    let has = |word: &[u8]| memchr::memmem::find(head, word).is_some();
    head.trim_ascii_start().starts_with(b"{")
        && has(b"\"details\"")
        && has(b"\"ptr_before\"")
        && (has(b"\"ptr_after\"") || has(b"\"synced\""))
}

/// Reads the rows of a report. If it is cut, the rows before the cut are read.
pub(super) fn read(path: &str, source: &Source) -> (Vec<PointerRow>, Vec<SyncDamage>) {
    let (mut rows, mut lost) = (Vec::new(), 0_u64);
    let end = rows_of(source, &mut rows, &mut lost);
    let damage = |reason: String, count| SyncDamage { path: path.to_owned(), reason, help: WHOLE, count };
    let mut damages = Vec::new();
    if lost > 0 {
        damages.push(damage(format!("{lost} of its rows say neither two pointers nor whether it was synced"), lost));
    }
    if let Err(error) = end {
        damages.push(damage(error.message().to_owned(), 1));
    }
    (rows, damages)
}

fn rows_of(source: &Source, rows: &mut Vec<PointerRow>, lost: &mut u64) -> Result<()> {
    let mut parser = Parser::new(source.as_ref());
    parser.object(|key, parser| {
        if key != "details" {
            return parser.value().map(drop);
        }
        parser.array(|parser| {
            match row(&parser.value()?) {
                Some(row) if rows.len() < MOST_ROWS => rows.push(row),
                _ => *lost += 1,
            }
            Ok(())
        })
    })?;
    parser.end()
}

/// Reads a row with a name and with both pointers or `synced`; `None` if these are missing.
fn row(value: &Json) -> Option<PointerRow> {
    let name = value.get("name")?.as_str()?.to_owned();
    let pointer = |key: &str| value.get(key).filter(|value| !matches!(value, Json::Null));
    let moved = pointer("ptr_before").zip(pointer("ptr_after")).map(|(before, after)| before != after);
    let told = value.get("synced").and_then(Json::as_bool);
    let is_synced = match (moved, told) {
        (None, None) => return None,
        (moved, told) => moved.unwrap_or(true) && told.unwrap_or(true),
    };
    Some(PointerRow { name, is_synced })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::fetch::MemorySource;

    fn read_text(text: &str) -> (Vec<(String, bool)>, usize) {
        let source: Source = Arc::new(MemorySource::new("ptr.json", text.as_bytes().to_vec()));
        let (rows, damages) = read("ptr.json", &source);
        (rows.into_iter().map(|row| (row.name, row.is_synced)).collect(), damages.len())
    }

    #[test]
    fn rows_count_and_not_the_status() {
        let text = r#"{"status": "pass", "details": [{"name": "a", "ptr_before": 1, "ptr_after": 1, "synced": true},
            {"name": "b", "ptr_before": 1, "ptr_after": 2}, {"name": "c", "synced": false}, {"name": "d"}]}"#;
        assert!(is_report(text.as_bytes()));
        let named = |name: &str, synced| (name.to_owned(), synced);
        assert_eq!(read_text(text), (vec![named("a", false), named("b", true), named("c", false)], 1));
    }

    #[test]
    fn a_cut_report_gives_the_rows_before_the_cut() {
        let text = r#"{"details": [{"name": "a", "ptr_before": 1, "ptr_after": 2}, {"name": "b", "ptr_bef"#;
        assert_eq!(read_text(text), (vec![("a".to_owned(), true)], 1));
    }
}
