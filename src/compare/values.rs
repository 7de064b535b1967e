//! A tensor's elements as numbers, for a second and bounded look at a few tensors.

use pulp::Arch;

use super::closeness::block;
use crate::error::Result;
use crate::read::tensor::TensorData;

/// The first `most` elements in row-major order (all of them, where there are fewer), widened to `f64`; complex
/// numbers give their real parts.
///
/// # Errors
/// What reading gives.
pub fn first_values(tensor: &TensorData, most: u64) -> Result<Vec<f64>> {
    let mut values = Vec::new();
    block(Arch::new(), tensor, 0, tensor.elements().min(most), &mut values)?;
    Ok(values)
}
