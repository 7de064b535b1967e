//! Zip archives: as torch files and as config packs.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use precision_gate::fetch::{MemorySource, Source};
use precision_gate::read::{pack, tensor_file};

fuzz_target!(|bytes: &[u8]| {
    let source: Source = Arc::new(MemorySource::new("fuzz.zip", bytes.to_vec()));
    let _stored = tensor_file::open_all(source.clone());
    if pack::recognise(&source) {
        let _pack = pack::read(source);
    }
});
