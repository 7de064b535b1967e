//! `dump.json`: records, streamed and flattened.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use precision_gate::error::{Error, ErrorKind, Result};
use precision_gate::fetch::{FileEntry, Files, MemorySource, Source};
use precision_gate::read::dump::{DumpFolder, DumpFormat};

/// A folder with one file.
struct One {
    entry: [FileEntry; 1],
    bytes: Vec<u8>,
}

impl Files for One {
    fn location(&self) -> &str {
        "fuzz"
    }

    fn list(&self) -> &[FileEntry] {
        &self.entry
    }

    fn skipped(&self) -> &[(String, String)] {
        &[]
    }

    fn open(&self, path: &str) -> Result<Source> {
        if path == "dump.json" {
            return Ok(Arc::new(MemorySource::new(path, self.bytes.clone())));
        }
        Err(Error::new(ErrorKind::NotFound, path, "is not there"))
    }
}

fuzz_target!(|bytes: &[u8]| {
    let entry = FileEntry { path: "dump.json".into(), len: bytes.len() as u64 };
    let folder = DumpFolder {
        files: Arc::new(One { entry: [entry], bytes: bytes.to_vec() }),
        path: String::new(),
        records: "dump.json".into(),
        format: DumpFormat::Msprobe,
        step: 0,
        rank: None,
        assembled: None,
        tool_dump: None,
    };
    let _dump = folder.read();
});
