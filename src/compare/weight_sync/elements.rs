//! Elements of two tensors, block by block, converted to the later tensor's type.

use half::{bf16, f16};
use pulp::Arch;

use crate::compare::convert;
use crate::dtype::Dtype;
use crate::error::Result;
use crate::hash;
use crate::read::tensor::TensorData;

/// Bytes of a tensor that are read at once: some ten such blocks are held by a thread.
pub(super) const BLOCK: u64 = 256 << 10;
/// Number of elements at each end that make up the fingerprint of a tensor.
const ENDS: u64 = 1 << 10;

/// Facts about two tensors that hold the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EqualBits {
    /// Elements that are NaN.
    pub(super) nan: u64,
    /// Whether all elements are the same number.
    pub(super) is_constant: bool,
}

/// Whether elements of one type can be rounded to another.
pub(super) fn is_encodable(from: Dtype, to: Dtype) -> bool {
    let is_target = matches!(to, Dtype::F16 | Dtype::BF16 | Dtype::F32 | Dtype::F64);
    from == to || (from.is_float() && is_target)
}

/// Reader of a tensor's elements, converted to another type.
pub(super) struct Encoded<'a> {
    tensor: &'a TensorData,
    dtype: Dtype,
    raw: Vec<u8>,
    numbers: Vec<f64>,
    bytes: Vec<u8>,
}

impl<'a> Encoded<'a> {
    /// The elements of `tensor` as `dtype`.
    pub(super) fn new(tensor: &'a TensorData, dtype: Dtype) -> Self {
        Self { tensor, dtype, raw: Vec::new(), numbers: Vec::new(), bytes: Vec::new() }
    }

    /// The bytes of `count` elements from `start` on.
    pub(super) fn block(&mut self, start: u64, count: u64) -> Result<&[u8]> {
        let len = usize::try_from(count).unwrap_or(0);
        if self.tensor.dtype == self.dtype && self.tensor.in_place(start, len).is_some() {
            return Ok(self.tensor.in_place(start, len).unwrap_or_default());
        }
        self.raw.resize(len * self.tensor.dtype.size(), 0);
        self.tensor.read_block(start, &mut self.raw)?;
        if self.tensor.dtype == self.dtype {
            return Ok(&self.raw);
        }
        self.numbers.clear();
        convert::to_f64(Arch::new(), self.tensor.dtype, &self.raw, false, &mut self.numbers);
        self.bytes.clear();
        encode(&self.numbers, self.dtype, &mut self.bytes);
        Ok(&self.bytes)
    }
}

/// Rounds numbers to a type, to the nearest and ties to even.
fn encode(numbers: &[f64], dtype: Dtype, bytes: &mut Vec<u8>) {
    bytes.reserve(numbers.len() * dtype.size());
    match dtype {
        Dtype::F16 => numbers.iter().for_each(|number| bytes.extend(f16::from_f64(*number).to_le_bytes())),
        Dtype::BF16 => numbers.iter().for_each(|number| bytes.extend(bf16::from_f64(*number).to_le_bytes())),
        #[allow(clippy::cast_possible_truncation, reason = "it is what rounding to float32 means")]
        Dtype::F32 => numbers.iter().for_each(|number| bytes.extend((*number as f32).to_le_bytes())),
        _ => numbers.iter().for_each(|number| bytes.extend(number.to_le_bytes())),
    }
}

/// Blocks of a tensor: first element and count.
pub(super) fn blocks(tensor: &TensorData) -> impl Iterator<Item = (u64, u64)> + use<> {
    let (elements, block) = (tensor.elements(), BLOCK / tensor.dtype.size() as u64);
    (0..elements.div_ceil(block)).map(move |index| (index * block, block.min(elements - index * block)))
}

/// Facts about two tensors of one shape whose bits are equal in the type of `to`; `None` where they are not. Reading ends at the
/// first block that differs.
pub(super) fn equal_bits(from: &TensorData, to: &TensorData) -> Result<Option<EqualBits>> {
    let (mut from_reader, mut to_reader) = (Encoded::new(from, to.dtype), Encoded::new(to, to.dtype));
    let mut agreement = EqualBits { nan: 0, is_constant: true };
    let mut first: Option<Vec<u8>> = None;
    from.expect();
    to.expect();
    for (start, count) in blocks(to) {
        let (one, other) = (from_reader.block(start, count)?, to_reader.block(start, count)?);
        if one != other {
            return Ok(None);
        }
        agreement.nan += nan_count(to.dtype, other);
        if agreement.is_constant {
            let size = to.dtype.size();
            let first = first.get_or_insert_with(|| other.get(..size).unwrap_or_default().to_vec());
            agreement.is_constant = other.chunks_exact(size).all(|element| element == first.as_slice());
        }
    }
    Ok(Some(agreement))
}

/// Hash of the first and last elements of a tensor in the bits of a type.
pub(super) fn fingerprint(tensor: &TensorData, dtype: Dtype) -> Result<u64> {
    let mut encoded = Encoded::new(tensor, dtype);
    let elements = tensor.elements();
    let count = ENDS.min(elements);
    let first = hash::hash_of(encoded.block(0, count)?);
    let last = hash::hash_of(encoded.block(elements - count, count)?);
    Ok(hash::hash_of(&(first, last)))
}

/// Whether all elements are zero.
pub(super) fn is_zero(tensor: &TensorData) -> Result<bool> {
    let mut encoded = Encoded::new(tensor, tensor.dtype);
    for (start, count) in blocks(tensor) {
        if !is_all_zero(tensor.dtype, encoded.block(start, count)?) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether elements are zero, of either sign.
pub(super) fn is_all_zero(dtype: Dtype, bytes: &[u8]) -> bool {
    let size = dtype.size();
    let is_zero = |element: &[u8]| match element.split_last() {
        Some((last, rest)) => rest.iter().all(|byte| *byte == 0) && (*last == 0 || dtype.is_float() && *last == 0x80),
        None => true,
    };
    bytes.iter().all(|byte| *byte == 0) || bytes.chunks_exact(size).all(is_zero)
}

/// Number of elements that are NaN.
pub(super) fn nan_count(dtype: Dtype, bytes: &[u8]) -> u64 {
    let count = match dtype {
        Dtype::BF16 => halves(bytes).filter(|bits| bits & 0x7fff > 0x7f80).count(),
        Dtype::F16 => halves(bytes).filter(|bits| bits & 0x7fff > 0x7c00).count(),
        Dtype::F32 => {
            let (words, _) = bytes.as_chunks::<4>();
            words.iter().filter(|word| u32::from_le_bytes(**word) & 0x7fff_ffff > 0x7f80_0000).count()
        }
        Dtype::F64 => {
            let (words, _) = bytes.as_chunks::<8>();
            words.iter().filter(|word| f64::from_le_bytes(**word).is_nan()).count()
        }
        _ => 0,
    };
    count as u64
}

fn halves(bytes: &[u8]) -> impl Iterator<Item = u16> {
    let (halves, _) = bytes.as_chunks::<2>();
    halves.iter().map(|half| u16::from_le_bytes(*half))
}
