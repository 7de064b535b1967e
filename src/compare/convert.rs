//! Stored elements to numbers: in the kernel's loop for the common types, into a small buffer for the rest.

use half::{bf16, f16};

use super::kernel::Load;
use crate::dtype::Dtype;

/// `float32`
pub(crate) struct F32;
/// `float64`
pub(crate) struct F64;
/// `float16`
pub(crate) struct F16;
/// `bfloat16`
pub(crate) struct Bf16;

impl Load<f32> for F32 {
    type Raw = f32;

    #[inline(always)]
    fn load(raw: f32) -> f32 {
        raw
    }
}

impl Load<f64> for F64 {
    type Raw = f64;

    #[inline(always)]
    fn load(raw: f64) -> f64 {
        raw
    }
}

impl Load<f32> for Bf16 {
    type Raw = u16;

    #[inline(always)]
    fn load(raw: u16) -> f32 {
        f32::from_bits(u32::from(raw) << 16)
    }
}

impl Load<f32> for F16 {
    type Raw = u16;

    #[inline(always)]
    fn load(raw: u16) -> f32 {
        widen_f16(raw)
    }
}

/// The value of a `float16`: its exponent and fraction, moved to where `f32` has them, scaled by the difference of
/// the exponents' biases. Exact for subnormal numbers too, and free of branches.
#[inline(always)]
fn widen_f16(raw: u16) -> f32 {
    let sign = u32::from(raw & 0x8000) << 16;
    let magnitude = u32::from(raw & 0x7fff) << 13;
    let scaled = (f32::from_bits(magnitude) * f32::from_bits((254 - 15) << 23)).to_bits();
    let special = if magnitude >= 0x7c00 << 13 { 0xff << 23 } else { 0 };
    f32::from_bits(scaled | special | sign)
}

/// The value of a `float8_e4m3fn`: no infinity, NaN is all ones.
#[inline(always)]
fn widen_e4m3(raw: u8) -> f32 {
    let sign = u32::from(raw & 0x80) << 24;
    let magnitude = u32::from(raw & 0x7f) << 20;
    let scaled = (f32::from_bits(magnitude) * f32::from_bits((254 - 7) << 23)).to_bits();
    let special = if raw & 0x7f == 0x7f { 0x7fc0_0000 } else { 0 };
    f32::from_bits(scaled | special | sign)
}

/// Writes the values of `bytes` as `f32`; only for types whose every value is one ([`fits_f32`]).
pub(crate) fn to_f32(dtype: Dtype, bytes: &[u8], out: &mut Vec<f32>) {
    out.clear();
    match dtype {
        Dtype::F32 => out.extend(bytes.as_chunks().0.iter().map(|raw| f32::from_le_bytes(*raw))),
        Dtype::F16 => out.extend(bytes.as_chunks().0.iter().map(|raw| widen_f16(u16::from_le_bytes(*raw)))),
        Dtype::BF16 => out.extend(bytes.as_chunks().0.iter().map(|raw| bf16::from_le_bytes(*raw).to_f32())),
        // The upper byte of a float16.
        Dtype::F8E5M2 => out.extend(bytes.iter().map(|raw| widen_f16(u16::from(*raw) << 8))),
        Dtype::F8E4M3 => out.extend(bytes.iter().map(|raw| widen_e4m3(*raw))),
        _ => {}
    }
}

/// Whether [`to_f32`] serves, and relative errors are taken in `f32`.
pub(crate) fn fits_f32(dtype: Dtype) -> bool {
    matches!(dtype, Dtype::F32 | Dtype::F16 | Dtype::BF16 | Dtype::F8E5M2 | Dtype::F8E4M3)
}

/// Writes the values of `bytes` as `f64`; of complex numbers the real part, or the imaginary part with `imaginary`
/// (which is 0 for all others). 64-bit integers are rounded.
#[allow(clippy::cast_precision_loss, reason = "what converting to f64 means; equality is taken elsewhere")]
pub(crate) fn to_f64(dtype: Dtype, bytes: &[u8], imaginary: bool, out: &mut Vec<f64>) {
    out.clear();
    if imaginary && !dtype.is_complex() {
        return out.resize(bytes.len() / dtype.size(), 0.0);
    }
    macro_rules! each {
        ($type:ty, $widen:expr) => {
            out.extend(bytes.as_chunks().0.iter().map(|raw| $widen(<$type>::from_le_bytes(*raw))))
        };
    }
    let part = usize::from(imaginary);
    match dtype {
        Dtype::Bool => out.extend(bytes.iter().map(|raw| f64::from(u8::from(*raw != 0)))),
        Dtype::U8 => each!(u8, f64::from),
        Dtype::U16 => each!(u16, f64::from),
        Dtype::U32 => each!(u32, f64::from),
        Dtype::U64 => each!(u64, |value| value as f64),
        Dtype::I8 => each!(i8, f64::from),
        Dtype::I16 => each!(i16, f64::from),
        Dtype::I32 => each!(i32, f64::from),
        Dtype::I64 => each!(i64, |value| value as f64),
        Dtype::F16 => each!(f16, f16::to_f64),
        Dtype::BF16 => each!(bf16, bf16::to_f64),
        Dtype::F32 => each!(f32, f64::from),
        Dtype::F64 => each!(f64, std::convert::identity),
        Dtype::F8E5M2 => out.extend(bytes.iter().map(|raw| f64::from(widen_f16(u16::from(*raw) << 8)))),
        Dtype::F8E4M3 => out.extend(bytes.iter().map(|raw| f64::from(widen_e4m3(*raw)))),
        Dtype::C64 => {
            let parts = bytes.as_chunks::<4>().0.as_chunks::<2>().0;
            out.extend(
                parts.iter().map(|pair| f64::from(f32::from_le_bytes(if part == 0 { pair[0] } else { pair[1] }))),
            );
        }
        Dtype::C128 => {
            let parts = bytes.as_chunks::<8>().0.as_chunks::<2>().0;
            out.extend(parts.iter().map(|pair| f64::from_le_bytes(if part == 0 { pair[0] } else { pair[1] })));
        }
    }
}

/// The largest finite value of a type with infinities, to recognise saturation.
pub(crate) fn largest_finite(dtype: Dtype) -> Option<f64> {
    Some(match dtype {
        Dtype::F8E4M3 => 448.0,
        Dtype::F8E5M2 => 57344.0,
        Dtype::F16 => 65504.0,
        Dtype::BF16 => f64::from(bf16::MAX.to_f32()),
        Dtype::F32 | Dtype::C64 => f64::from(f32::MAX),
        Dtype::F64 | Dtype::C128 => f64::MAX,
        _ => return None,
    })
}

/// An integer or boolean, exactly; `None` for other types.
pub(crate) fn integer(dtype: Dtype, raw: &[u8]) -> Option<i128> {
    macro_rules! value {
        ($type:ty) => {
            i128::from(<$type>::from_le_bytes(raw.try_into().ok()?))
        };
    }
    Some(match dtype {
        Dtype::Bool => i128::from(*raw.first()? != 0),
        Dtype::U8 => value!(u8),
        Dtype::U16 => value!(u16),
        Dtype::U32 => value!(u32),
        Dtype::U64 => value!(u64),
        Dtype::I8 => value!(i8),
        Dtype::I16 => value!(i16),
        Dtype::I32 => value!(i32),
        Dtype::I64 => value!(i64),
        _ => return None,
    })
}
