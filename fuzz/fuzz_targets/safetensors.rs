//! safetensors files: the header, and places of tensors.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use precision_gate::fetch::MemorySource;
use precision_gate::read::tensor::StoredValue;
use precision_gate::read::tensor_file::open_all;

fuzz_target!(|bytes: &[u8]| {
    let Ok(stored) = open_all(Arc::new(MemorySource::new("fuzz.safetensors", bytes.to_vec()))) else { return };
    for (_, stored) in stored {
        if let StoredValue::Tensor(tensor) = stored
            && tensor.elements() > 0
        {
            let mut element = vec![0; tensor.dtype.size()];
            let _outcome = tensor.read_block(tensor.elements() - 1, &mut element);
        }
    }
});
