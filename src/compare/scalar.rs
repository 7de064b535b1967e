//! Pairs of single values, measured in their own type as msprobe does.

use half::f16;
use pulp::Arch;
use serde::{Deserialize, Serialize};

use super::convert::{self, fits_f32};
use crate::dtype::Dtype;
use crate::error::Result;
use crate::read::tensor::TensorData;

/// The two numbers msprobe gives for 0-d tensors (after squeezing).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScalarPair {
    /// |c−b| in the tensors' own type: unsigned integers wrap around, `float16` rounds to `float16`, booleans and
    /// pairs of two types go through `f64`. NaN where a side is.
    #[serde(with = "super::exact")]
    pub max_abs_diff: f64,
    /// |(c−b)/b| in `f32` for types that fit it and in `f64` otherwise, with that type's epsilon added to both where
    /// the baseline is zero. NaN where a side is.
    #[serde(with = "super::exact")]
    pub max_relative: f64,
}

/// Compares the first element of each side as msprobe compares 0-d tensors; `None` where a side is empty.
///
/// # Errors
/// Where a side cannot be read.
pub fn scalar_pair(baseline: &TensorData, candidate: &TensorData) -> Result<Option<ScalarPair>> {
    if baseline.elements() == 0 || candidate.elements() == 0 {
        return Ok(None);
    }
    let raw = |tensor: &TensorData| {
        let mut bytes = vec![0; tensor.dtype.size()];
        tensor.read_block(0, &mut bytes).map(|()| bytes)
    };
    let (b, c) = (raw(baseline)?, raw(candidate)?);
    let types = (baseline.dtype, candidate.dtype);
    let max_abs_diff = own_type_difference(types, &b, &c).unwrap_or_else(|| difference(types, &b, &c));
    Ok(Some(ScalarPair { max_abs_diff, max_relative: relative(types, &b, &c) }))
}

/// |c−b| for two values of one integer type or of `float16`, which calculate in their own width. msprobe has widened
/// bf16 and float8 before.
#[allow(clippy::cast_precision_loss, reason = "a cell shows the number as f64")]
fn own_type_difference(types: (Dtype, Dtype), b: &[u8], c: &[u8]) -> Option<f64> {
    macro_rules! wrapping {
        ($type:ty, $magnitude:expr) => {{
            let value = |raw: &[u8]| Some(<$type>::from_le_bytes(raw.try_into().ok()?));
            Some($magnitude(value(c)?.wrapping_sub(value(b)?)) as f64)
        }};
    }
    match types {
        (Dtype::U8, Dtype::U8) => wrapping!(u8, std::convert::identity),
        (Dtype::U16, Dtype::U16) => wrapping!(u16, std::convert::identity),
        (Dtype::U32, Dtype::U32) => wrapping!(u32, std::convert::identity),
        (Dtype::U64, Dtype::U64) => wrapping!(u64, std::convert::identity),
        (Dtype::I8, Dtype::I8) => wrapping!(i8, i8::wrapping_abs),
        (Dtype::I16, Dtype::I16) => wrapping!(i16, i16::wrapping_abs),
        (Dtype::I32, Dtype::I32) => wrapping!(i32, i32::wrapping_abs),
        (Dtype::I64, Dtype::I64) => wrapping!(i64, i64::wrapping_abs),
        (Dtype::F16, Dtype::F16) => {
            let value = |raw: &[u8]| Some(f16::from_le_bytes(raw.try_into().ok()?).to_f32());
            // The exact difference of two float16 fits f32 to more than twice the digits: rounding twice is safe.
            Some(f16::from_f32((value(c)? - value(b)?).abs()).to_f64())
        }
        _ => None,
    }
}

fn difference(types: (Dtype, Dtype), b: &[u8], c: &[u8]) -> f64 {
    if fits_f32(types.0) && fits_f32(types.1) {
        return f64::from((narrow(types.1, c) - narrow(types.0, b)).abs());
    }
    let part = |imaginary| wide(types.1, c, imaginary) - wide(types.0, b, imaginary);
    let (real, imaginary) = (part(false), part(true));
    match types {
        (Dtype::C64, Dtype::C64) => f64::from(narrow_hypot(real, imaginary)),
        _ => real.hypot(imaginary),
    }
}

#[allow(clippy::cast_possible_truncation, reason = "a complex64 is calculated with in f32")]
fn narrow_hypot(real: f64, imaginary: f64) -> f32 {
    (real as f32).hypot(imaginary as f32)
}

fn relative(types: (Dtype, Dtype), b: &[u8], c: &[u8]) -> f64 {
    if fits_f32(types.0) && fits_f32(types.1) {
        let (b, c) = (narrow(types.0, b), narrow(types.1, c));
        let shift = if b.abs() > 0.0 || b.is_nan() { 0.0 } else { f32::EPSILON };
        return f64::from((((c + shift) - (b + shift)) / (b + shift)).abs());
    }
    let (b, c) = (wide(types.0, b, false), wide(types.1, c, false));
    let shift = if b.abs() > 0.0 || b.is_nan() { 0.0 } else { f64::EPSILON };
    (((c + shift) - (b + shift)) / (b + shift)).abs()
}

fn narrow(dtype: Dtype, raw: &[u8]) -> f32 {
    let mut value = Vec::with_capacity(1);
    convert::to_f32(Arch::new(), dtype, raw, &mut value);
    value.first().copied().unwrap_or(f32::NAN)
}

fn wide(dtype: Dtype, raw: &[u8], imaginary: bool) -> f64 {
    let mut value = Vec::with_capacity(1);
    convert::to_f64(Arch::new(), dtype, raw, imaginary, &mut value);
    value.first().copied().unwrap_or(f64::NAN)
}
