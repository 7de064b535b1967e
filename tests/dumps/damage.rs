//! Damaged records: an error or a table, never a panic.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use precision_gate::error::Result;
use precision_gate::fetch::{FileEntry, Files, MemorySource, Source};
use precision_gate::gate::discover;
use precision_gate::gate::{Quiet, search};
use precision_gate::read::dump::DumpFolder;

use crate::changes::Random;
use crate::dumps::support::fixtures;

/// One records file with changed bytes, at its place.
struct Changed {
    location: String,
    entries: Vec<FileEntry>,
    bytes: Vec<u8>,
}

impl Files for Changed {
    fn location(&self) -> &str {
        &self.location
    }

    fn list(&self) -> &[FileEntry] {
        &self.entries
    }

    fn skipped(&self) -> &[(String, String)] {
        &[]
    }

    fn open(&self, path: &str) -> Result<Source> {
        Ok(Arc::new(MemorySource::new(path, self.bytes.clone())))
    }
}

/// Reads records from changed bytes; the number of dumps found, and of those that could be read.
fn read(path: &str, bytes: Vec<u8>) -> (usize, usize) {
    let entries = vec![FileEntry { path: path.to_owned(), len: bytes.len() as u64 }];
    let inventory =
        discover::inventory_of_files(Arc::new(Changed { location: "x".into(), entries, bytes }), search(None), &Quiet)
            .expect("listed");
    let dumps = inventory.artifacts::<DumpFolder>();
    (dumps.len(), dumps.iter().filter(|dump| dump.read().is_ok()).count())
}

/// Every records file below a folder.
fn records(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("readable").flatten() {
        let path = entry.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        if path.is_dir() && name != "expected" && name != "dump_tensor_data" {
            records(&path, found);
        } else if matches!(name.as_str(), "dump.json" | "debug.json" | "stack.json" | "construct.json")
            || name.ends_with(".pkl")
        {
            found.push(path);
        }
    }
}

#[test]
fn cut_and_changed_records_never_panic() {
    let mut files = Vec::new();
    records(&fixtures(), &mut files);
    files.sort();
    assert!(files.len() > 100, "{} files", files.len());
    let mut random = Random(7);
    for path in &files {
        let mut bytes = fs::read(path).expect("readable");
        bytes.truncate(24 * 1024);
        let name = path.strip_prefix(fixtures()).expect("below").to_str().expect("UTF-8");
        // Read as records and, in the place of the file, as whatever its content says.
        let as_records = format!("{}/dump.json", name.rsplit_once('/').expect("in a folder").0);
        for _ in 0..6 {
            let mut cut = bytes.clone();
            cut.truncate(random.below(bytes.len()));
            let mut changed = bytes.clone();
            for _ in 0..1 + random.below(8) {
                let (at, byte) = (random.below(changed.len()), random.below(256));
                changed[at] = u8::try_from(byte).expect("a byte");
            }
            for bytes in [cut, changed] {
                read(name, bytes.clone());
                read(&as_records, bytes);
            }
        }
    }
}

#[test]
fn cut_records_are_damaged_and_keep_their_place() {
    let path = fixtures().join("broken_truncated_dump_json");
    let inventory = crate::dumps::support::look(&path.join("npu"));
    let dumps = inventory.artifacts::<DumpFolder>();
    assert_eq!(dumps.len(), 1);
    let error = dumps[0].read().expect_err("cut");
    assert!(error.message().contains("the file ends here") && error.help().is_some(), "{error}");
    let whole = crate::dumps::support::look(&path.join("gpu"));
    assert_eq!(dumps[0].step, whole.artifacts::<DumpFolder>()[0].step);
}

#[test]
fn empty_records_count_as_damaged_where_records_lie() {
    assert_eq!(read("step0/rank0/dump.json", b"{".to_vec()), (1, 0));
    assert_eq!(read("step0/rank0/other.json", b"{".to_vec()), (0, 0));
    assert_eq!(read("dump.json", b"{}".to_vec()), (0, 0));
}
