//! Pickles: as the legacy format of torch files, and as the `data.pkl` of a torch archive around them.
#![no_main]

use std::io::{Cursor, Write};
use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use precision_gate::fetch::MemorySource;
use precision_gate::read::tensor::StoredValue;
use precision_gate::read::tensor_file::open_all;
use zip::write::SimpleFileOptions;

fuzz_target!(|bytes: &[u8]| {
    read(bytes.to_vec());
    read(archive(bytes));
});

fn read(file: Vec<u8>) {
    let Ok(stored) = open_all(Arc::new(MemorySource::new("fuzz.pt", file))) else { return };
    for (_, stored) in stored {
        if let StoredValue::Tensor(tensor) = stored
            && tensor.elements() > 0
        {
            let mut element = vec![0; tensor.dtype.size()];
            let _outcome = tensor.read_block(tensor.elements() - 1, &mut element);
        }
    }
}

/// A torch archive whose only pickle is `pickle`, with one storage of 64 bytes.
fn archive(pickle: &[u8]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let stored = SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    for (name, content) in [("x/data.pkl", pickle), ("x/version", b"3\n"), ("x/data/0", &[1; 64])] {
        writer.start_file(name, stored).expect("a new member");
        writer.write_all(content).expect("memory");
    }
    writer.finish().expect("memory").into_inner()
}
