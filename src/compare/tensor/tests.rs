//! The kernel against a naive computation, element by element in `f64`.
#![allow(
    clippy::indexing_slicing,
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::float_cmp,
    reason = "a test that panics has failed, and exact numbers are what is tested"
)]

use std::sync::Arc;

use half::{bf16, f16};
use proptest::prelude::*;

use super::{CHUNK, PairStats, compare, compare_on, scalar_pair};
use crate::dtype::Dtype;
use crate::fetch::{ByteSource, MemorySource};
use crate::read::tensor::{ByteOrder, ElementPlacement, TensorData};

const DTYPES: [Dtype; 17] = [
    Dtype::Bool,
    Dtype::U8,
    Dtype::U16,
    Dtype::U32,
    Dtype::U64,
    Dtype::I8,
    Dtype::I16,
    Dtype::I32,
    Dtype::I64,
    Dtype::F8E4M3,
    Dtype::F8E5M2,
    Dtype::F16,
    Dtype::BF16,
    Dtype::F32,
    Dtype::F64,
    Dtype::C64,
    Dtype::C128,
];

/// A tensor over `bytes`, which begin `shift` bytes into their source.
fn shifted(dtype: Dtype, bytes: &[u8], shift: usize) -> TensorData {
    let mut all = vec![0xee; shift];
    all.extend_from_slice(bytes);
    let placement =
        ElementPlacement { offset: shift as u64, len: bytes.len() as u64, strides: None, order: ByteOrder::Little };
    let shape = vec![(bytes.len() / dtype.size()) as u64];
    TensorData::new(Arc::new(MemorySource::new("test", all)), dtype, shape, placement).expect("a sound tensor")
}

fn tensor(dtype: Dtype, bytes: &[u8]) -> TensorData {
    shifted(dtype, bytes, 0)
}

fn f32s(values: &[f32]) -> TensorData {
    tensor(Dtype::F32, bytemuck::cast_slice(values))
}

fn f16s(values: &[f32]) -> TensorData {
    let raw: Vec<f16> = values.iter().map(|value| f16::from_f32(*value)).collect();
    tensor(Dtype::F16, bytemuck::cast_slice(&raw))
}

fn bf16s(values: &[f32]) -> TensorData {
    let raw: Vec<bf16> = values.iter().map(|value| bf16::from_f32(*value)).collect();
    tensor(Dtype::BF16, bytemuck::cast_slice(&raw))
}

/// One element, decoded without the code under test.
fn decode(dtype: Dtype, raw: &[u8]) -> [f64; 2] {
    macro_rules! read {
        ($type:ty) => {
            <$type>::from_le_bytes(raw.try_into().expect("width"))
        };
    }
    let f8 = |exponent_bits: i32, mantissa_bits: i32| {
        let (sign, rest) = (raw[0] >> 7, i32::from(raw[0] & 0x7f));
        let (exponent, mantissa) = (rest >> mantissa_bits, rest & ((1 << mantissa_bits) - 1));
        let bias = (1 << (exponent_bits - 1)) - 1;
        let fraction = f64::from(mantissa) / f64::from(1 << mantissa_bits);
        let value = match exponent {
            31 if exponent_bits == 5 && mantissa == 0 => f64::INFINITY,
            31 if exponent_bits == 5 => f64::NAN,
            _ if exponent_bits == 4 && rest == 0x7f => f64::NAN,
            0 => fraction * 2f64.powi(1 - bias),
            _ => (1.0 + fraction) * 2f64.powi(exponent - bias),
        };
        if sign == 1 { -value } else { value }
    };
    match dtype {
        Dtype::Bool => [f64::from(u8::from(raw[0] != 0)), 0.0],
        Dtype::U8 => [f64::from(raw[0]), 0.0],
        Dtype::U16 => [f64::from(read!(u16)), 0.0],
        Dtype::U32 => [f64::from(read!(u32)), 0.0],
        Dtype::U64 => [read!(u64) as f64, 0.0],
        Dtype::I8 => [f64::from(read!(i8)), 0.0],
        Dtype::I16 => [f64::from(read!(i16)), 0.0],
        Dtype::I32 => [f64::from(read!(i32)), 0.0],
        Dtype::I64 => [read!(i64) as f64, 0.0],
        Dtype::F8E4M3 => [f8(4, 3), 0.0],
        Dtype::F8E5M2 => [f8(5, 2), 0.0],
        Dtype::F16 => [read!(f16).to_f64(), 0.0],
        Dtype::BF16 => [read!(bf16).to_f64(), 0.0],
        Dtype::F32 => [f64::from(read!(f32)), 0.0],
        Dtype::F64 => [read!(f64), 0.0],
        Dtype::C64 => [0, 4].map(|at| f64::from(f32::from_le_bytes(raw[at..at + 4].try_into().expect("width")))),
        Dtype::C128 => [0, 8].map(|at| f64::from_le_bytes(raw[at..at + 8].try_into().expect("width"))),
    }
}

fn equal(b: f64, c: f64) -> bool {
    b == c || (b.is_nan() && c.is_nan())
}

/// The relative error of one pair of real parts.
fn relative(b: f64, c: f64, narrow: bool) -> f64 {
    if narrow {
        let (b, c) = (b as f32, c as f32);
        let shift = if b == 0.0 { f32::EPSILON } else { 0.0 };
        f64::from((((c + shift) - (b + shift)) / (b + shift)).abs())
    } else {
        let shift = if b == 0.0 { f64::EPSILON } else { 0.0 };
        (((c + shift) - (b + shift)) / (b + shift)).abs()
    }
}

/// Checks every field of `stats` against what a plain loop over the elements says.
fn check_against_naive(types: (Dtype, Dtype), b: &[u8], c: &[u8], stats: &PairStats) -> Result<(), TestCaseError> {
    let values = |dtype: Dtype, bytes: &[u8]| -> Vec<[f64; 2]> {
        bytes.chunks_exact(dtype.size()).map(|raw| decode(dtype, raw)).collect()
    };
    let (bs, cs) = (values(types.0, b), values(types.1, c));
    let narrow = |dtype| matches!(dtype, Dtype::F32 | Dtype::F16 | Dtype::BF16 | Dtype::F8E4M3 | Dtype::F8E5M2);
    let narrow = narrow(types.0) && narrow(types.1);
    let parts = if types.0.is_complex() || types.1.is_complex() { 2 } else { 1 };
    let mut dot = 0.0;
    let (mut ss_b, mut ss_c, mut ss_d, mut sum_d, mut abs_d) = (0.0, 0.0, 0.0, 0.0, 0.0);
    let (mut max_diff, mut max_relative, mut below, mut below_five) = (0f64, 0f64, 0, 0);
    for (b, c) in bs.iter().zip(&cs) {
        for part in 0..parts {
            let (mut x, mut y) = (b[part], c[part]);
            if !x.is_finite() || !y.is_finite() {
                (x, y) = (0.0, 0.0);
            }
            dot += x * y;
            ss_b += x * x;
            ss_c += y * y;
            ss_d += (y - x) * (y - x);
            sum_d += y - x;
            abs_d += (y - x).abs();
            max_diff = max_diff.max((y - x).abs());
            if part == 0 {
                let error = relative(x, y, narrow);
                max_relative = max_relative.max(error);
                let limits = if narrow { (f64::from(0.001f32), f64::from(0.005f32)) } else { (0.001, 0.005) };
                below += u64::from(error < limits.0);
                below_five += u64::from(error < limits.1);
            }
        }
    }
    let close = |a: f64, b: f64, scale: f64| a == b || (a - b).abs() <= 1e-12 * scale || !scale.is_finite();
    prop_assert!(close(stats.dot, dot, (ss_b * ss_c).sqrt()), "dot {} {dot}", stats.dot);
    prop_assert!(close(stats.sum_sq_baseline, ss_b, ss_b));
    prop_assert!(close(stats.sum_sq_candidate, ss_c, ss_c));
    prop_assert!(close(stats.sum_sq_diff, ss_d, ss_d));
    prop_assert!(close(stats.sum_diff, sum_d, abs_d));
    prop_assert_eq!(stats.max_abs_diff, max_diff);
    prop_assert_eq!(stats.msprobe.max_relative, max_relative);
    prop_assert_eq!((stats.msprobe.below_thousandth, stats.msprobe.below_five_thousandths), (below, below_five));
    check_counts(types, &bs, &cs, b, c, stats)
}

fn check_counts(
    types: (Dtype, Dtype),
    bs: &[[f64; 2]],
    cs: &[[f64; 2]],
    b: &[u8],
    c: &[u8],
    stats: &PairStats,
) -> Result<(), TestCaseError> {
    let count = |values: &[[f64; 2]], test: &dyn Fn(&[f64; 2]) -> bool| {
        values.iter().filter(|value| test(value)).count() as u64
    };
    let nan = |value: &[f64; 2]| value[0].is_nan() || value[1].is_nan();
    let inf = |value: &[f64; 2]| !nan(value) && (value[0].is_infinite() || value[1].is_infinite());
    prop_assert_eq!((stats.nan_baseline, stats.nan_candidate), (count(bs, &nan), count(cs, &nan)));
    prop_assert_eq!((stats.inf_baseline, stats.inf_candidate), (count(bs, &inf), count(cs, &inf)));
    let is_exact = |dtype: Dtype| !dtype.is_float() && !dtype.is_complex() && dtype != Dtype::Bool;
    let unequal: Vec<u64> = (0..bs.len())
        .filter(|i| {
            if types.0 == types.1 && is_exact(types.0) {
                let size = types.0.size();
                return b[i * size..(i + 1) * size] != c[i * size..(i + 1) * size];
            }
            let (x, y) = (&bs[*i], &cs[*i]);
            !((nan(x) && nan(y)) || (equal(x[0], y[0]) && equal(x[1], y[1])))
        })
        .map(|i| i as u64)
        .collect();
    prop_assert_eq!(stats.unequal, unequal.len() as u64);
    let finite = |value: &[f64; 2]| !nan(value) && !inf(value);
    let mismatches: Vec<u64> =
        unequal.into_iter().filter(|i| !finite(&bs[*i as usize]) || !finite(&cs[*i as usize])).collect();
    prop_assert_eq!(stats.nonfinite_mismatches, mismatches.len() as u64);
    prop_assert_eq!(stats.first_nonfinite_mismatch, mismatches.first().copied());
    let kinds =
        bs.iter().zip(cs).any(|(b, c)| b[0].is_nan() != c[0].is_nan() || b[0].is_infinite() != c[0].is_infinite());
    prop_assert_eq!(stats.msprobe.nonfinite_positions_differ, kinds);
    Ok(())
}

/// Random bytes, and the same bytes with a few changed: pairs that agree mostly.
fn pair_of_bytes(size: usize) -> impl Strategy<Value = (Vec<u8>, Vec<u8>)> {
    (0..200usize, any::<u64>(), 0..4u8).prop_map(move |(elements, seed, kind)| {
        let mut state = seed | 1;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 24) as u8
        };
        let b: Vec<u8> = (0..elements * size).map(|_| if kind == 0 { 0 } else { next() }).collect();
        let c = b.iter().map(|byte| if kind == 3 || next() % 8 == 0 { next() } else { *byte }).collect();
        (b, c)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_dtype_agrees_with_a_plain_loop(pairs in DTYPES.map(|dtype| pair_of_bytes(dtype.size()))) {
        for (dtype, (b, c)) in DTYPES.into_iter().zip(&pairs) {
            let stats = compare(&tensor(dtype, b), &tensor(dtype, c)).expect("readable");
            check_against_naive((dtype, dtype), b, c, &stats)?;
        }
    }

    #[test]
    fn mixed_dtypes_agree_with_a_plain_loop(seed in any::<u64>(), elements in 0..70usize, b in 0..17usize, c in 0..17usize) {
        let (b, c) = (DTYPES[b], DTYPES[c]);
        let bytes = |dtype: Dtype, salt: u64| -> Vec<u8> {
            let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(salt) | 1;
            (0..elements * dtype.size()).map(|_| { state ^= state << 13; state ^= state >> 7; state ^= state << 17; (state >> 20) as u8 }).collect()
        };
        let (b_bytes, c_bytes) = (bytes(b, 1), bytes(c, 2));
        let stats = compare(&tensor(b, &b_bytes), &tensor(c, &c_bytes)).expect("readable");
        let long = |dtype| matches!(dtype, Dtype::I64 | Dtype::U64);
        // Where a 64-bit integer meets another type the plain loop's own f64 is too narrow to say what is equal.
        if b == c || !(long(b) || long(c)) {
            check_against_naive((b, c), &b_bytes, &c_bytes, &stats)?;
        }
    }

    #[test]
    fn alignment_changes_no_bit(values in prop::collection::vec(any::<f32>(), 0..150), shift in 0..9usize) {
        let other: Vec<f32> = values.iter().map(|value| value * 1.001).collect();
        let plain = compare(&f32s(&values), &f32s(&other)).expect("readable");
        let moved = compare(
            &shifted(Dtype::F32, bytemuck::cast_slice(&values), shift),
            &shifted(Dtype::F32, bytemuck::cast_slice(&other), 3),
        );
        prop_assert_eq!(bits(&moved.expect("readable")), bits(&plain));
    }
}

/// Every field as text, with the bits of the sums.
fn bits(stats: &PairStats) -> String {
    let sums = [stats.dot, stats.sum_sq_baseline, stats.sum_sq_candidate, stats.sum_sq_diff, stats.sum_diff];
    format!("{stats:?} {:x?}", sums.map(f64::to_bits))
}

/// A source that is read, not seen in memory.
struct Hidden(MemorySource);

impl ByteSource for Hidden {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn len(&self) -> u64 {
        self.0.len()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> crate::error::Result<()> {
        self.0.read_at(offset, buffer)
    }
}

#[test]
fn threads_and_reading_change_no_bit() {
    let elements = 2 * CHUNK as usize + 12_345;
    let b: Vec<f32> = (0..elements).map(|i| ((i * 7919 % 10_007) as f32 - 5000.0) * 1.1e-3).collect();
    let mut c: Vec<f32> = b.iter().map(|value| value * 1.000_1).collect();
    c[CHUNK as usize + 17] = f32::NAN;
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("pool");
    let four = rayon::ThreadPoolBuilder::new().num_threads(4).build().expect("pool");
    let expected = one.install(|| compare(&f32s(&b), &f32s(&c))).expect("readable");
    assert_eq!(expected.first_nonfinite_mismatch, Some(CHUNK + 17));
    let hidden = |values: &[f32]| {
        let bytes = bytemuck::cast_slice(values).to_vec();
        let placement =
            ElementPlacement { offset: 0, len: bytes.len() as u64, strides: None, order: ByteOrder::Little };
        let source = Arc::new(Hidden(MemorySource::new("test", bytes)));
        TensorData::new(source, Dtype::F32, vec![values.len() as u64], placement).expect("a sound tensor")
    };
    for stats in [four.install(|| compare(&f32s(&b), &f32s(&c))), four.install(|| compare(&hidden(&b), &hidden(&c)))] {
        assert_eq!(bits(&stats.expect("readable")), bits(&expected));
    }
}

/// The instruction sets this machine has, plain code first.
fn instruction_sets() -> Vec<pulp::Arch> {
    #[cfg(target_arch = "x86_64")]
    let vector = {
        let avx2 = pulp::x86::V3::try_new().map(pulp::Arch::V3);
        let avx512 = pulp::x86::V4::try_new().map(pulp::Arch::V4);
        [avx2, avx512]
    };
    #[cfg(not(target_arch = "x86_64"))]
    let vector = [Some(pulp::Arch::new())];
    [Some(pulp::Arch::Scalar)].into_iter().chain(vector).flatten().collect()
}

#[test]
fn instruction_sets_change_no_bit() {
    let elements = 5 * super::STRIP + 77;
    for dtype in DTYPES {
        let mut state = 0x9e37_79b9_7f4a_7c15u64;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 24) as u8
        };
        // Strips of all kinds: random bits with NaN among them, zeros, and what two devices make of one value.
        let b: Vec<u8> = (0..elements * dtype.size()).map(|at| if at % 9 < 4 { 0 } else { next() }).collect();
        let c: Vec<u8> = b.iter().map(|byte| if next() % 16 == 0 { byte ^ 1 } else { *byte }).collect();
        let (b, c) = (tensor(dtype, &b), tensor(dtype, &c));
        let all = instruction_sets().into_iter().map(|arch| bits(&compare_on(arch, &b, &c).expect("readable")));
        let all: std::collections::BTreeSet<String> = all.collect();
        assert_eq!(all.len(), 1, "{dtype}");
    }
}

#[test]
fn plain_strips_change_no_bit_between_instruction_sets() {
    let elements = 4 * super::STRIP + 5;
    let b: Vec<f32> = (0..elements).map(|i| ((i * 7919 % 10_007) as f32 - 5003.5) * 1.1e-3).collect();
    let c: Vec<f32> = b.iter().map(|value| value * 1.001_3 + 1e-7).collect();
    for side in [f32s, f16s, bf16s] {
        let (b, c) = (side(&b), side(&c));
        let all = instruction_sets().into_iter().map(|arch| bits(&compare_on(arch, &b, &c).expect("readable")));
        let all: std::collections::BTreeSet<String> = all.collect();
        assert_eq!(all.len(), 1, "{}: {all:?}", b.dtype);
    }
}

#[test]
fn a_strip_that_is_the_same_gives_the_bits_of_any_other() {
    let elements = 3 * super::STRIP + 13;
    let values: Vec<f32> = (0..elements).map(|i| (i * 7919 % 2003) as f32 - 1001.0).collect();
    // In another type the same values are other bytes, which hides that they are the same.
    let small: Vec<f32> = values.iter().map(|value| value % 128.0).collect();
    let types = [(f16s(&values), f32s(&values)), (bf16s(&small), f32s(&small))];
    for arch in instruction_sets() {
        for (narrow, b) in &types {
            let hidden = bits(&compare_on(arch, narrow, b).expect("readable"));
            for side in [narrow, b] {
                assert_eq!(bits(&compare_on(arch, side, side).expect("readable")), hidden, "{arch:?} {}", side.dtype);
            }
        }
    }
    let b = f32s(&values);
    let wide: Vec<f64> = values.iter().map(|value| f64::from(*value)).collect();
    let wide = tensor(Dtype::F64, bytemuck::cast_slice(&wide));
    assert_eq!(bits(&compare(&wide, &wide).expect("readable")), bits(&compare(&wide, &b).expect("readable")));
}

/// Every `float16` there is, finite or not.
fn all_halves() -> Vec<f16> {
    (0..=u16::MAX).map(f16::from_bits).collect()
}

#[test]
fn every_bfloat16_counts_as_the_same_number_of_32_bits_does() {
    let finite = |bits: &u16| bf16::from_bits(*bits).is_finite();
    let values: Vec<f32> = (0..=u16::MAX).filter(finite).map(|bits| bf16::from_bits(bits).to_f32()).collect();
    for arch in instruction_sets() {
        // Neighbours, what is some way off, and other signs.
        for by in [1, 2, 3, 130, 20_000, 32_640] {
            let turned = [&values[by..], &values[..by]].concat();
            let numbers = compare_on(arch, &f32s(&values), &f32s(&turned)).expect("readable");
            let stored = compare_on(arch, &bf16s(&values), &bf16s(&turned)).expect("readable");
            assert_eq!(bits(&numbers), bits(&stored), "{arch:?} {by}");
        }
    }
}

#[test]
fn integers_of_64_bits_become_the_nearest_number_on_every_instruction_set() {
    let ends = [
        0,
        1,
        -1,
        i64::MAX,
        i64::MIN,
        i64::MIN + 1,
        1 << 32,
        (1 << 32) - 1,
        -(1 << 32),
        i64::MAX - 511,
        i64::MAX - 512,
    ];
    let around = [52, 53, 54, 62].map(|power| 1_i64 << power);
    let around = around.into_iter().flat_map(|power| (-3..4).flat_map(move |by| [power + by, -power + by]));
    let mut state = 1_i64;
    let random = std::iter::from_fn(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        Some(state ^ (state >> 29))
    });
    let values: Vec<i64> = ends.into_iter().chain(around).chain(random.take(500)).collect();
    for arch in instruction_sets() {
        for value in &values {
            let [mut b, mut c] = [[0; 64]; 2];
            (b[0], c[1]) = (*value, 1);
            let [b, c] = [&b, &c].map(|side| tensor(Dtype::I64, bytemuck::cast_slice(side)));
            let stats = compare_on(arch, &b, &c).expect("readable");
            assert_eq!(stats.sum_sq_baseline.to_bits(), (*value as f64 * *value as f64).to_bits(), "{arch:?} {value}");
            assert_eq!(stats.sum_diff.to_bits(), (0.0 - *value as f64 + 1.0).to_bits(), "{arch:?} {value}");
        }
    }
}

#[test]
fn every_half_is_the_number_that_it_is_on_every_instruction_set() {
    let halves: Vec<f16> = all_halves().into_iter().filter(|half| half.is_finite()).collect();
    let values: Vec<f32> = halves.iter().map(|half| half.to_f32()).collect();
    let turned = |len: usize| [&values[len..], &values[..len]].concat();
    for arch in instruction_sets() {
        for by in [1, 31_743] {
            let numbers = compare_on(arch, &f32s(&values), &f32s(&turned(by))).expect("readable");
            let halves = compare_on(arch, &f16s(&values), &f16s(&turned(by))).expect("readable");
            assert_eq!(bits(&numbers), bits(&halves), "{arch:?} {by}");
        }
        // One at a time: no sum can hide that two changed places.
        for (half, value) in halves.iter().zip(&values) {
            let stats = compare_on(arch, &f16s(&[*value; 16]), &f16s(&[2.0; 16])).expect("readable");
            assert_eq!(stats.max_abs_diff, (2.0 - f64::from(*value)).abs(), "{arch:?} {half}");
        }
    }
}

#[test]
fn halves_that_are_not_finite_are_told_apart_on_every_instruction_set() {
    let halves: Vec<f32> = all_halves().iter().map(|half| half.to_f32()).collect();
    for arch in instruction_sets() {
        let stats = compare_on(arch, &f16s(&halves), &f16s(&vec![1.0; halves.len()])).expect("readable");
        assert_eq!((stats.inf_baseline, stats.nan_baseline), (2, 2046), "{arch:?}");
    }
}

#[test]
fn one_half_that_is_not_finite_is_found_anywhere_among_small_and_large_ones() {
    let elements = 2 * super::STRIP + 21;
    for (arch, scale) in instruction_sets().into_iter().flat_map(|arch| [(arch, 1e-3), (arch, 1.0), (arch, 6e4)]) {
        let plain: Vec<f32> =
            (0..elements).map(|i| f16::from_f32((i % 97 + 1) as f32 / 97.0 * scale).to_f32()).collect();
        for (place, value) in [(3, f32::INFINITY), (super::STRIP - 1, f32::NEG_INFINITY), (elements - 1, f32::NAN)] {
            let mut other = plain.clone();
            other[place] = value;
            for (b, c) in [(&plain, &other), (&other, &plain), (&other, &other)] {
                let halves = compare_on(arch, &f16s(b), &f16s(c)).expect("readable");
                let numbers = compare_on(arch, &f32s(b), &f32s(c)).expect("readable");
                assert_eq!(bits(&halves), bits(&numbers), "{arch:?} {scale} {place}");
            }
        }
    }
}

#[test]
fn nan_agrees_with_nan_by_place_and_infinities_by_sign() {
    let nan = f32::NAN;
    let inf = f32::INFINITY;
    let stats = compare(&f32s(&[nan, inf, -inf, 1.0, nan]), &f32s(&[nan, inf, inf, 1.0, 2.0])).expect("readable");
    assert_eq!((stats.nan_baseline, stats.nan_candidate), (2, 1));
    assert_eq!((stats.inf_baseline, stats.inf_candidate), (2, 2));
    assert_eq!((stats.nonfinite_mismatches, stats.first_nonfinite_mismatch), (2, Some(2)));
    assert_eq!(stats.unequal, 2);
    assert!(stats.msprobe.nonfinite_positions_differ);
    assert_eq!((stats.dot, stats.max_abs_diff), (1.0, 0.0));
}

#[test]
fn a_sign_of_infinity_is_lost_on_msprobe_alone() {
    let stats = compare(&f32s(&[f32::NEG_INFINITY, 2.0]), &f32s(&[f32::INFINITY, 2.0])).expect("readable");
    assert!(!stats.msprobe.nonfinite_positions_differ);
    assert_eq!(stats.nonfinite_mismatches, 1);
}

#[test]
fn the_largest_number_against_infinity_is_saturation() {
    let stats =
        compare(&f16s(&[f32::INFINITY, 1.0, 65504.0]), &f16s(&[65504.0, 1.0, f32::INFINITY])).expect("readable");
    assert_eq!((stats.saturated_baseline, stats.saturated_candidate), (1, 1));
    let opposite = compare(&f16s(&[f32::NEG_INFINITY]), &f16s(&[65504.0])).expect("readable");
    assert_eq!(opposite.saturated_candidate, 0);
}

#[test]
fn integers_beyond_53_bits_are_told_apart() {
    let i64s = |values: &[i64]| tensor(Dtype::I64, bytemuck::cast_slice(values));
    let stats = compare(&i64s(&[1 << 53, 2, 30]), &i64s(&[(1 << 53) + 1, 2, 30])).expect("readable");
    assert_eq!(stats.unequal, 1);
    assert_eq!(stats.msprobe.sum_sq_diff, 0.0);
    // Long ones and short ones in strips of their own.
    let mut b: Vec<i64> = (0..3 * super::STRIP as i64).collect();
    let mut c = b.clone();
    (b[super::STRIP + 5], c[super::STRIP + 5]) = (1 << 53, (1 << 53) + 1);
    [7, super::STRIP + 6, 2 * super::STRIP + 7].iter().for_each(|place| c[*place] += 1);
    assert_eq!(compare(&i64s(&b), &i64s(&c)).expect("readable").unequal, 4);
    let f64s = tensor(Dtype::F64, bytemuck::cast_slice(&[9_007_199_254_740_992.0f64, f64::NAN, 30.0]));
    let mixed = compare(&f64s, &i64s(&[(1 << 53) + 1, 2, 30])).expect("readable");
    assert_eq!((mixed.unequal, mixed.nan_baseline), (2, 1));
}

#[test]
fn imaginary_parts_count_for_the_gate_and_not_for_msprobe() {
    let c64 = |values: &[f32]| tensor(Dtype::C64, bytemuck::cast_slice(values));
    let stats = compare(&c64(&[1.0, 1.0, 2.0, 3.0]), &c64(&[1.0, 1.0, 2.0, 2.0])).expect("readable");
    assert_eq!((stats.unequal, stats.sum_sq_diff), (1, 1.0));
    assert_eq!((stats.msprobe.sum_sq_diff, stats.msprobe.below_thousandth), (0.0, 2));
}

#[test]
fn minus_zero_equals_zero() {
    let stats = compare(&f32s(&[0.0, -0.0]), &f32s(&[-0.0, 0.0])).expect("readable");
    assert_eq!((stats.unequal, stats.msprobe.max_relative), (0, 0.0));
}

#[test]
fn an_empty_pair_has_no_numbers() {
    let stats = compare(&f32s(&[]), &f32s(&[])).expect("readable");
    assert_eq!((stats.elements, stats.dot), (0, 0.0));
}

#[test]
fn different_counts_are_refused() {
    assert!(compare(&f32s(&[1.0]), &f32s(&[1.0, 2.0])).is_err());
}

#[test]
fn single_values_calculate_in_their_own_type() {
    let one = |dtype, bytes: &[u8]| tensor(dtype, bytes);
    let pair =
        |dtype, b: &[u8], c: &[u8]| scalar_pair(&one(dtype, b), &one(dtype, c)).expect("readable").expect("values");
    // T14, T13, T12 of the comparison's exit criteria.
    let wrapped = pair(Dtype::U8, &[1], &[0]);
    assert_eq!((wrapped.max_abs_diff, wrapped.max_relative), (255.0, 1.0));
    let flag = pair(Dtype::Bool, &[0], &[1]);
    assert_eq!((flag.max_abs_diff, flag.max_relative), (1.0, 4_503_599_627_370_496.0));
    let zero = pair(Dtype::F32, &0f32.to_le_bytes(), &1.5f32.to_le_bytes());
    assert_eq!((zero.max_abs_diff, zero.max_relative), (1.5, 12_582_912.0));
    let plain = pair(Dtype::F32, &1f32.to_le_bytes(), &1.5f32.to_le_bytes());
    assert_eq!((plain.max_abs_diff, plain.max_relative), (0.5, 0.5));
    let nan = pair(Dtype::F32, &1f32.to_le_bytes(), &f32::NAN.to_le_bytes());
    assert!(nan.max_abs_diff.is_nan() && nan.max_relative.is_nan());
    assert_eq!(scalar_pair(&f32s(&[]), &f32s(&[])).expect("readable"), None);
}
