//! Conversion of stored elements to numbers: inside the kernel's loop for the common types, into a small buffer for the
//! rest.

use half::{bf16, f16};
use pulp::Arch;

use crate::dtype::Dtype;

/// The value of a `float8_e4m3fn`: no infinity, NaN is all ones.
#[inline(always)]
fn widen_e4m3(raw: u8) -> f32 {
    let sign = u32::from(raw & 0x80) << 24;
    let magnitude = u32::from(raw & 0x7f) << 20;
    let scaled = (f32::from_bits(magnitude) * f32::from_bits((254 - 7) << 23)).to_bits();
    let special = if raw & 0x7f == 0x7f { 0x7fc0_0000 } else { 0 };
    f32::from_bits(scaled | special | sign)
}

/// The value of a `float8_e5m2`: the upper byte of a `float16`.
#[inline(always)]
fn widen_e5m2(raw: u8) -> f32 {
    f16::from_bits(u16::from(raw) << 8).to_f32_const()
}

/// Writes the values of `bytes` as `f32`; only for types of which `f32` holds every value ([`fits_f32`]).
pub(crate) fn to_f32(arch: Arch, dtype: Dtype, bytes: &[u8], out: &mut Vec<f32>) {
    out.resize(if fits_f32(dtype) { bytes.len() / dtype.size() } else { 0 }, 0.0);
    into_f32(arch, dtype, bytes, out);
}

/// [`to_f32`] into a slice of exactly as many elements.
pub(super) fn into_f32(arch: Arch, dtype: Dtype, bytes: &[u8], out: &mut [f32]) {
    match dtype {
        Dtype::F32 => each(arch, bytes, out, f32::from_le_bytes),
        Dtype::BF16 => each(arch, bytes, out, |raw| f32::from_bits(u32::from(u16::from_le_bytes(raw)) << 16)),
        Dtype::F16 => halves(arch, bytes, out),
        Dtype::F8E5M2 => each(arch, bytes, out, |[raw]| widen_e5m2(raw)),
        Dtype::F8E4M3 => each(arch, bytes, out, |[raw]| widen_e4m3(raw)),
        _ => {}
    }
}

/// Writes what `widen` makes of every element of `SIZE` bytes.
fn each<const SIZE: usize, T: Copy>(arch: Arch, bytes: &[u8], out: &mut [T], widen: impl Fn([u8; SIZE]) -> T) {
    let raws = bytes.as_chunks::<SIZE>().0;
    arch.dispatch(
        #[inline(always)]
        || out.iter_mut().zip(raws).for_each(|(out, raw)| *out = widen(*raw)),
    );
}

/// Writes the values of `float16`s: with the hardware instruction where the widest vector unit is available, else by
/// shifting their bits, which the compiler vectorises. Infinity and NaN are rare and take two more steps.
fn halves(arch: Arch, bytes: &[u8], out: &mut [f32]) {
    const INFINITY: u16 = 0x7c00;
    let done = hardware_halves(arch, bytes, out);
    let (rest, out) = (bytes.get(done * 2..).unwrap_or_default(), out.get_mut(done..).unwrap_or_default());
    let magnitude = |raw: &[u8; 2]| u16::from_le_bytes(*raw) & 0x7fff;
    let largest = arch.dispatch(
        #[inline(always)]
        || rest.as_chunks().0.iter().map(magnitude).fold(0, u16::max),
    );
    if largest < INFINITY {
        each(arch, rest, out, |raw| widen_finite_half(u16::from_le_bytes(raw)));
    } else {
        each(arch, rest, out, |raw| widen_half(u16::from_le_bytes(raw)));
    }
}

/// The value of a finite `float16`: its bits are moved to their position in an `f32` and the exponent's bias is
/// corrected by a multiplication, which also gives subnormal numbers their value.
#[inline(always)]
pub(super) fn widen_finite_half(raw: u16) -> f32 {
    let bits = (i32::from(raw.cast_signed()) << 13).cast_unsigned() & 0x8fff_e000;
    f32::from_bits(bits) * f32::from_bits((254 - 15) << 23)
}

/// The value of any `float16`: an exponent of all ones (infinity, NaN) becomes that of `f32`.
#[inline(always)]
pub(super) fn widen_half(raw: u16) -> f32 {
    let exponent = if raw & 0x7c00 == 0x7c00 { 0x7f80_0000 } else { 0 };
    f32::from_bits(widen_finite_half(raw).to_bits() | exponent)
}

/// Converts whole registers of `float16`s where the widest vector unit is available; returns the number of converted
/// elements.
#[cfg(target_arch = "x86_64")]
fn hardware_halves(arch: Arch, bytes: &[u8], out: &mut [f32]) -> usize {
    let Arch::V4(simd) = arch else { return 0 };
    let raws = bytes.as_chunks::<32>().0;
    simd.vectorize(
        #[inline(always)]
        || {
            for (raw, out) in raws.iter().zip(out.as_chunks_mut::<16>().0) {
                *out = pulp::cast(simd.avx512f._mm512_cvtph_ps(pulp::cast(*raw)));
            }
        },
    );
    raws.len() * 16
}

/// Converts nothing: other machines have no such instruction.
#[cfg(not(target_arch = "x86_64"))]
fn hardware_halves(_: Arch, _: &[u8], _: &mut [f32]) -> usize {
    0
}

/// Whether [`to_f32`] can convert the type, so that relative errors are taken in `f32`.
pub(crate) fn fits_f32(dtype: Dtype) -> bool {
    matches!(dtype, Dtype::F32 | Dtype::F16 | Dtype::BF16 | Dtype::F8E5M2 | Dtype::F8E4M3)
}

/// Writes the values of `bytes` as `f64`; of complex numbers the real part, or the imaginary part with `imaginary`
/// (which is 0 for all others). 64-bit integers are rounded.
pub(crate) fn to_f64(arch: Arch, dtype: Dtype, bytes: &[u8], imaginary: bool, out: &mut Vec<f64>) {
    out.resize(bytes.len() / dtype.size(), 0.0);
    into_f64(arch, dtype, bytes, imaginary, out);
}

/// [`to_f64`] into a slice of exactly as many elements.
#[allow(clippy::cast_precision_loss, reason = "what converting to f64 means; equality is taken elsewhere")]
pub(super) fn into_f64(arch: Arch, dtype: Dtype, bytes: &[u8], imaginary: bool, out: &mut [f64]) {
    if imaginary && !dtype.is_complex() {
        return out.fill(0.0);
    }
    macro_rules! each {
        ($type:ty, $widen:expr) => {
            each(arch, bytes, out, |raw| $widen(<$type>::from_le_bytes(raw)))
        };
    }
    match dtype {
        Dtype::Bool => each(arch, bytes, out, |[raw]| f64::from(u8::from(raw != 0))),
        Dtype::U8 => each!(u8, f64::from),
        Dtype::U16 => each!(u16, f64::from),
        Dtype::U32 => each!(u32, f64::from),
        Dtype::U64 => each!(u64, |value| value as f64),
        Dtype::I8 => each!(i8, f64::from),
        Dtype::I16 => each!(i16, f64::from),
        Dtype::I32 => each!(i32, f64::from),
        Dtype::I64 => each!(i64, |value| value as f64),
        Dtype::F16 => each!(u16, |raw| f64::from(widen_half(raw))),
        Dtype::BF16 => each!(u16, |raw| f64::from(f32::from_bits(u32::from(raw) << 16))),
        Dtype::F32 => each!(f32, f64::from),
        Dtype::F64 => each!(f64, std::convert::identity),
        Dtype::F8E5M2 => each(arch, bytes, out, |[raw]| f64::from(widen_e5m2(raw))),
        Dtype::F8E4M3 => each(arch, bytes, out, |[raw]| f64::from(widen_e4m3(raw))),
        Dtype::C64 => each(arch, bytes, out, |raw: [u8; 8]| {
            let [a, b, c, d, e, f, g, h] = raw;
            f64::from(f32::from_le_bytes(if imaginary { [e, f, g, h] } else { [a, b, c, d] }))
        }),
        Dtype::C128 => each(arch, bytes, out, |raw: [u8; 16]| {
            let both = u128::from_le_bytes(raw);
            let bits = if imaginary { both >> 64 } else { both & u128::from(u64::MAX) };
            f64::from_bits(u64::try_from(bits).unwrap_or_default())
        }),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn converted(raws: &[u16]) -> Vec<f32> {
        let bytes: Vec<u8> = raws.iter().flat_map(|raw| raw.to_le_bytes()).collect();
        let mut out = Vec::new();
        to_f32(Arch::new(), Dtype::F16, &bytes, &mut out);
        out
    }

    #[test]
    fn every_half_has_its_value_with_and_without_infinities_beside_it() {
        let same = |value: f32, raw: u16| {
            let expected = f16::from_bits(raw).to_f32_const();
            value.to_bits() == expected.to_bits() || value.is_nan() && expected.is_nan()
        };
        let (finite, all): (Vec<u16>, Vec<u16>) =
            ((0..=u16::MAX).filter(|raw| raw & 0x7c00 != 0x7c00).collect(), (0..=u16::MAX).collect());
        for raws in [finite, all] {
            let values = converted(&raws);
            assert_eq!(values.len(), raws.len());
            assert!(values.iter().zip(&raws).all(|(value, raw)| same(*value, *raw)));
        }
    }

    #[test]
    fn every_number_of_16_bits_widens_to_itself() {
        let bytes: Vec<u8> = (0..=u16::MAX).flat_map(u16::to_le_bytes).collect();
        let same =
            |value: f64, expected: f64| value.to_bits() == expected.to_bits() || value.is_nan() && expected.is_nan();
        let widened = |dtype| {
            let mut values = Vec::new();
            to_f64(Arch::new(), dtype, &bytes, false, &mut values);
            values.into_iter().zip(0..=u16::MAX)
        };
        assert!(widened(Dtype::F16).all(|(value, raw)| same(value, f16::from_bits(raw).to_f64())));
        assert!(widened(Dtype::BF16).all(|(value, raw)| same(value, bf16::from_bits(raw).to_f64())));
    }
}
