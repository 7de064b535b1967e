//! CRC-32 of a tensor's elements, which msprobe records of every tensor in a checksum dump
//! (`docs/formats/msprobe-dump.md`, Items), taken here of tensors that were saved. It tells equal bits from unequal
//! ones at the speed of reading, and nothing else.

use crc32fast::Hasher;

use super::tensor::{BLOCK_BYTES, CHUNK, parallel_results};
use crate::error::Result;
use crate::read::tensor::TensorData;

/// The checksum of all elements, in row-major order and as stored, little-endian. Large tensors are cut as they are for a
/// comparison, in parallel; the checksum is that of one pass.
///
/// # Errors
/// Where the tensor cannot be read.
pub(super) fn checksum(tensor: &TensorData) -> Result<u32> {
    let elements = tensor.elements();
    tensor.expect();
    let parts = parallel_results(elements.div_ceil(CHUNK), |index| {
        part(tensor, index * CHUNK, elements.min((index + 1) * CHUNK))
    });
    let mut whole = Hasher::new();
    for part in parts {
        whole.combine(&part?);
    }
    Ok(whole.finalize())
}

fn part(tensor: &TensorData, start: u64, end: u64) -> Result<Hasher> {
    let size = tensor.dtype.size();
    let block = (BLOCK_BYTES / size) as u64;
    let mut buffer = vec![0; BLOCK_BYTES];
    let mut hash = Hasher::new();
    let mut at = start;
    while at < end {
        let count = block.min(end - at);
        let len = usize::try_from(count).unwrap_or(0) * size;
        let bytes = buffer.get_mut(..len).unwrap_or_default();
        tensor.read_block(at, bytes)?;
        hash.update(bytes);
        at += count;
    }
    Ok(hash)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::fetch::MemorySource;

    /// An `.npy` file of one axis.
    fn npy(description: &str, elements: usize, bytes: &[u8]) -> TensorData {
        let header = format!("{{'descr': '{description}', 'fortran_order': False, 'shape': ({elements},), }}\n");
        let mut file = b"\x93NUMPY\x01\x00".to_vec();
        file.extend(u16::try_from(header.len()).expect("short").to_le_bytes());
        file.extend(header.as_bytes());
        file.extend(bytes);
        crate::read::tensor_file::open(Arc::new(MemorySource::new("x.npy", file))).expect("a tensor")
    }

    #[test]
    fn it_is_the_crc_that_python_gives() {
        // zlib.crc32(b"123456789")
        assert_eq!(checksum(&npy("|u1", 9, b"123456789")).expect("read"), 0xcbf4_3926);
        assert_eq!(checksum(&npy("<f4", 0, b"")).expect("read"), 0);
    }

    #[test]
    fn pieces_of_a_large_tensor_join_to_the_checksum_of_one_pass() {
        let elements = usize::try_from(CHUNK).expect("small") * 2 + 7;
        let bytes: Vec<u8> = (0..=250).cycle().take(elements * 2).collect();
        assert_eq!(checksum(&npy("<i2", elements, &bytes)).expect("read"), crc32fast::hash(&bytes));
    }
}
