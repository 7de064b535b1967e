//! A tensor's elements as numbers, for a second and bounded look at a few tensors.

use pulp::Arch;

use super::closeness::block;
use crate::error::Result;
use crate::read::tensor::TensorData;

/// Elements read at once: what is read and converted on the way stays in the cache.
const PIECE: usize = 1 << 16;

/// The first `most` elements in row-major order (all of them, where there are fewer), widened to `f64`; complex
/// numbers give their real parts.
///
/// # Errors
/// What reading gives.
pub fn first_values(tensor: &TensorData, most: u64) -> Result<Vec<f64>> {
    let count = tensor.elements().min(most);
    let (mut values, mut piece) = (Vec::with_capacity(usize::try_from(count).unwrap_or(0)), Vec::new());
    for start in (0..count).step_by(PIECE) {
        block(Arch::new(), tensor, start, (count - start).min(PIECE as u64), &mut piece)?;
        values.extend_from_slice(&piece);
    }
    Ok(values)
}
