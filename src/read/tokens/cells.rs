//! Numbers of one row, in a tensor or in memory.

use half::{bf16, f16};

use crate::dtype::Dtype;
use crate::error::{Error, Result};
use crate::read::tensor::TensorData;

/// Numbers of a row, from a tensor or a list.
pub(super) enum Cells {
    /// A tensor that is read on demand.
    Tensor(TensorData),
    /// A list of numbers in memory.
    Numbers(Vec<f64>),
}

impl Cells {
    /// Number of numbers.
    pub(super) fn len(&self) -> u64 {
        match self {
            Self::Tensor(tensor) => tensor.elements(),
            Self::Numbers(numbers) => numbers.len() as u64,
        }
    }

    /// Appends the numbers from `start` to before `end` to `out`.
    ///
    /// # Errors
    /// Those of reading, and `Corrupt` if the range is beyond the end.
    pub(super) fn read(&self, start: u64, end: u64, raw: &mut Vec<u8>, out: &mut Vec<f64>) -> Result<()> {
        match self {
            Self::Tensor(tensor) => read_tensor(tensor, start, end.saturating_sub(start), raw, out),
            Self::Numbers(numbers) => {
                let range = usize::try_from(start).ok().zip(usize::try_from(end).ok());
                let part = range.and_then(|(start, end)| numbers.get(start..end));
                let part = part.ok_or_else(|| Error::corrupt("list", format!("has no numbers {start} to {end}")))?;
                out.extend_from_slice(part);
                Ok(())
            }
        }
    }

    /// Reads all numbers, at most `most`.
    ///
    /// # Errors
    /// Those of reading.
    pub(super) fn read_all(&self, most: u64) -> Result<Vec<f64>> {
        let mut out = Vec::new();
        self.read(0, self.len().min(most), &mut Vec::new(), &mut out)?;
        Ok(out)
    }
}

/// Whether elements of a type can be read as numbers of a row.
pub(super) fn is_readable(dtype: Dtype) -> bool {
    !dtype.is_complex() && !matches!(dtype, Dtype::F8E4M3 | Dtype::F8E5M2)
}

fn read_tensor(tensor: &TensorData, start: u64, count: u64, raw: &mut Vec<u8>, out: &mut Vec<f64>) -> Result<()> {
    let size = tensor.dtype.size();
    let bytes = usize::try_from(count).ok().and_then(|count| count.checked_mul(size));
    let bytes = bytes.ok_or_else(|| Error::corrupt(tensor.name(), "a row larger than memory"))?;
    raw.clear();
    raw.resize(bytes, 0);
    tensor.read_block(start, raw)?;
    widen(tensor.dtype, raw, out);
    Ok(())
}

/// Converts the values in `raw` to `f64` and appends them to `out`.
#[allow(clippy::cast_precision_loss, reason = "token ids and flags are far below 2^53")]
fn widen(dtype: Dtype, raw: &[u8], out: &mut Vec<f64>) {
    fn each<const SIZE: usize>(raw: &[u8], out: &mut Vec<f64>, value: impl Fn([u8; SIZE]) -> f64) {
        out.extend(raw.as_chunks::<SIZE>().0.iter().map(|bytes| value(*bytes)));
    }
    match dtype {
        Dtype::F64 => each(raw, out, f64::from_le_bytes),
        Dtype::F32 => each(raw, out, |bytes| f64::from(f32::from_le_bytes(bytes))),
        Dtype::F16 => each(raw, out, |bytes| f16::from_le_bytes(bytes).to_f64()),
        Dtype::BF16 => each(raw, out, |bytes| bf16::from_le_bytes(bytes).to_f64()),
        Dtype::I64 => each(raw, out, |bytes| i64::from_le_bytes(bytes) as f64),
        Dtype::I32 => each(raw, out, |bytes| f64::from(i32::from_le_bytes(bytes))),
        Dtype::I16 => each(raw, out, |bytes| f64::from(i16::from_le_bytes(bytes))),
        Dtype::I8 => each(raw, out, |bytes: [u8; 1]| f64::from(i8::from_le_bytes(bytes))),
        Dtype::U64 => each(raw, out, |bytes| u64::from_le_bytes(bytes) as f64),
        Dtype::U32 => each(raw, out, |bytes| f64::from(u32::from_le_bytes(bytes))),
        Dtype::U16 => each(raw, out, |bytes| f64::from(u16::from_le_bytes(bytes))),
        _ => each(raw, out, |[byte]: [u8; 1]| f64::from(byte)),
    }
}
