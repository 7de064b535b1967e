//! Tables of operator tests: whatever is in them, reading ends without a panic, and a row that was read has an operator.
//!
//! The first byte chooses the kind of table.
#![no_main]

use libfuzzer_sys::fuzz_target;
use precision_gate::fetch::MemorySource;
use precision_gate::read::operators::{TableKind, read_compared, read_details, read_results};

fuzz_target!(|bytes: &[u8]| {
    let [kind, text @ ..] = bytes else { return };
    let source = MemorySource::new("fuzz", text.to_vec());
    let kind = TableKind::ALL[usize::from(*kind) % TableKind::ALL.len()];
    let _ = TableKind::recognise("table.csv", text);
    match kind {
        TableKind::Details => {
            let rows = read_details(&source).expect("a small table").rows;
            assert!(rows.iter().all(|row| !row.api().is_empty() && row.name.starts_with(row.api())));
        }
        TableKind::ComparedDetails => {
            let rows = read_compared(&source).expect("a small table").rows;
            assert!(rows.iter().all(|row| !row.api().is_empty()));
        }
        TableKind::Results | TableKind::ComparedResults => {
            let rows = read_results(&source, kind).expect("a small table").rows;
            assert!(rows.iter().all(|row| !row.api.is_empty()));
        }
    }
});
