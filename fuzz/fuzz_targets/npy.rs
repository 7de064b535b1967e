//! `.npy` files: header, shape, order of axes, byte order.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use precision_gate::fetch::MemorySource;
use precision_gate::read::tensor_file::open;

fuzz_target!(|bytes: &[u8]| {
    let Ok(tensor) = open(Arc::new(MemorySource::new("fuzz.npy", bytes.to_vec()))) else { return };
    let count = tensor.elements().min(64);
    let mut block = vec![0; usize::try_from(count).expect("small") * tensor.dtype.size()];
    tensor.read_block(0, &mut block).expect("a tensor's first elements were checked when it was opened");
    let _outside = tensor.read_block(tensor.elements(), &mut [0; 16]);
});
