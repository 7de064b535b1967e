//! A tensor's elements as numbers, for a second, bounded examination of a few tensors.

use pulp::Arch;

use super::convert;
use crate::error::Result;
use crate::read::tensor::TensorData;

/// Elements read at once: few enough that the bytes and their converted values stay in the cache.
pub(super) const PIECE: usize = 1 << 14;

/// The first `most` elements in row-major order (all of them, where there are fewer), widened to `f64`; complex
/// numbers give their real parts.
///
/// # Errors
/// Where the tensor cannot be read.
pub(crate) fn first_values(tensor: &TensorData, most: u64) -> Result<Vec<f64>> {
    let count = usize::try_from(tensor.elements().min(most)).unwrap_or(usize::MAX);
    let (mut values, mut bytes) = (vec![0.0; count], Vec::new());
    for (index, piece) in values.chunks_mut(PIECE).enumerate() {
        read(Arch::new(), tensor, (index * PIECE) as u64, &mut bytes, piece)?;
    }
    Ok(values)
}

/// Reads as many elements as `values` has room for, from `start` on; `bytes` is the buffer.
pub(super) fn read(arch: Arch, tensor: &TensorData, start: u64, bytes: &mut Vec<u8>, values: &mut [f64]) -> Result<()> {
    read_part(arch, tensor, start, bytes, false, values)
}

/// As [`read`], the imaginary parts of complex numbers.
pub(super) fn read_imaginary(
    arch: Arch,
    tensor: &TensorData,
    start: u64,
    bytes: &mut Vec<u8>,
    values: &mut [f64],
) -> Result<()> {
    read_part(arch, tensor, start, bytes, true, values)
}

fn read_part(
    arch: Arch,
    tensor: &TensorData,
    start: u64,
    bytes: &mut Vec<u8>,
    imaginary: bool,
    values: &mut [f64],
) -> Result<()> {
    bytes.resize(values.len() * tensor.dtype.size(), 0);
    tensor.read_block(start, bytes)?;
    convert::into_f64(arch, tensor.dtype, bytes, imaginary, values);
    Ok(())
}
