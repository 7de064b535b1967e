//! Profiles: whatever is in a file, reading ends without a panic, and what was read has times that can be added up.
//!
//! The first byte chooses the kind of file.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use precision_gate::compare::performance::recording::ProfileRecording;
use precision_gate::error::Result;
use precision_gate::fetch::{FileEntry, Files, MemorySource, Source};
use precision_gate::read::performance::{ProfileFile, ProfileFileKind, ProfileFiles, read_profile};

/// One file.
struct One(Source);

impl Files for One {
    fn location(&self) -> &str {
        "fuzz"
    }

    fn list(&self) -> &[FileEntry] {
        &[]
    }

    fn open(&self, _: &str) -> Result<Source> {
        Ok(self.0.clone())
    }
}

fuzz_target!(|bytes: &[u8]| {
    let [kind, content @ ..] = bytes else { return };
    let kind = ProfileFileKind::ALL[usize::from(*kind) % ProfileFileKind::ALL.len()];
    let _ = ProfileFile::recognise("table.csv", content, "runs");
    let file = ProfileFile { path: "p/file".to_owned(), profile: "p".to_owned(), kind };
    let files = One(Arc::new(MemorySource::new("p/file", content.to_vec())));
    let profile = read_profile(&files, &ProfileFiles { profile: "p".to_owned(), files: vec![file] });
    let recording = ProfileRecording::from_profile(profile);
    assert!(recording.by_kernels.iter().all(|step| step.period > 0.0 && step.free >= 0.0));
});
