//! Tensors on disk: element type, shape and position of the elements; read block by block.
//!
//! [`tensor_file`](super::tensor_file) opens them without reading any element. Reads are positioned and copy into the caller's
//! buffer: for data that is read once this is faster than a memory map, and a file truncated meanwhile is an error instead of
//! a crash.

use std::borrow::Cow;
use std::collections::HashMap;

use ndarray::{ArrayView, IxDyn, ShapeBuilder};

use crate::dtype::Dtype;
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::Source;

/// Bytes fetched at once where elements are not in row-major order and span too much to be read at once.
const PAGE: u64 = 512;
/// Largest number of pages kept while one block is gathered (32 MiB); spans up to that size are read at once.
const MAX_PAGES: usize = 64 << 10;
/// Largest number of elements of a tensor that has more elements than its storage: an expanded tensor (stride 0) of a few bytes
/// can claim any number.
const MAX_REPEATED: u64 = 1 << 26;

/// A tensor that can be read.
pub struct TensorData {
    /// Element type.
    pub dtype: Dtype,
    /// Shape; empty for a scalar.
    pub shape: Vec<u64>,
    elements: u64,
    source: Source,
    placement: ElementPlacement,
    dense: bool,
}

/// Placement of a tensor's elements in its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ElementPlacement {
    /// Offset of the first element in bytes.
    pub(crate) offset: u64,
    /// Number of bytes from `offset` on that belong to the tensor's storage.
    pub(crate) len: u64,
    /// Distance between neighbours along each axis, in elements; `None` for row-major order.
    pub(crate) strides: Option<Vec<u64>>,
    /// Byte order of the elements.
    pub(crate) order: ByteOrder,
}

/// Byte order of stored elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ByteOrder {
    Little,
    Big,
}

/// Value with a name in a file of several values.
#[derive(Debug)]
pub enum StoredValue {
    /// A tensor.
    Tensor(TensorData),
    /// A tensor of a kind that is not read, with the reason.
    Unsupported(String),
    /// A number, text or other plain value, as Python would print it.
    Plain(String),
    /// A shape by itself.
    Shape(Vec<u64>),
    /// The part of a tensor that one rank holds.
    Part(TensorPart),
}

/// Part of a tensor that is split over a mesh of devices.
#[derive(Debug)]
pub struct TensorPart {
    /// Elements of the part.
    pub tensor: TensorData,
    /// Shape of the whole tensor.
    pub shape: Vec<u64>,
    /// Cut that each axis of the mesh makes.
    pub cuts: Vec<MeshCut>,
    /// Shape of the mesh.
    pub sizes: Vec<u64>,
    /// Coordinate of the rank in the mesh, where the file has it.
    pub coordinate: Option<Vec<u64>>,
}

/// Cut that an axis of a mesh makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeshCut {
    /// No cut: every device along the axis has the same elements.
    Copy,
    /// Pieces of equal length along an axis of the tensor; the last ones may be shorter.
    Axis {
        /// Axis of the tensor.
        axis: usize,
        /// Number of pieces.
        of: u64,
        /// Whether it cuts the pieces that the later axes of the mesh have made.
        is_inner: bool,
    },
}

impl TensorPart {
    /// Start of the part of `rank` in the whole, and its lengths; `None` where the mesh has no such rank.
    pub(crate) fn place_of_rank(&self, rank: u32) -> Option<(Vec<u64>, Vec<u64>)> {
        let coordinate = match &self.coordinate {
            Some(coordinate) => coordinate.clone(),
            None => {
                let mut rest = u64::from(rank);
                let mut coordinate = Vec::with_capacity(self.sizes.len());
                for size in self.sizes.iter().rev() {
                    coordinate.push(rest.checked_rem(*size)?);
                    rest /= size;
                }
                coordinate.reverse();
                (rest == 0).then_some(coordinate)?
            }
        };
        let (mut start, mut lens) = (vec![0; self.shape.len()], self.shape.clone());
        for inner in [false, true] {
            for (cut, at) in self.cuts.iter().zip(&coordinate) {
                let MeshCut::Axis { axis, of, is_inner } = *cut else { continue };
                if is_inner != inner {
                    continue;
                }
                let (first, len) = start.get_mut(axis).zip(lens.get_mut(axis))?;
                let piece = len.div_ceil(of.max(1));
                let skipped = piece.checked_mul(*at)?.min(*len);
                *first += skipped;
                *len = piece.min(*len - skipped);
            }
        }
        (coordinate.len() == self.cuts.len()).then_some((start, lens))
    }
}

impl std::fmt::Debug for TensorData {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {:?} of {} at {:?}", self.dtype, self.shape, self.source.name(), self.placement)
    }
}

impl TensorData {
    /// A tensor in `source`. Its extent is checked against its storage.
    pub(crate) fn new(source: Source, dtype: Dtype, shape: Vec<u64>, placement: ElementPlacement) -> Result<Self> {
        let too_large = || Error::corrupt(source.name(), format!("shape {shape:?} is larger than any file"));
        let elements = shape.iter().try_fold(1u64, |product, len| product.checked_mul(*len)).ok_or_else(too_large)?;
        if placement.strides.as_ref().is_some_and(|strides| strides.len() != shape.len()) {
            let message = format!("shape {shape:?} with strides {:?}", placement.strides);
            return Err(Error::corrupt(source.name(), message));
        }
        let extent = extent(&shape, placement.strides.as_deref());
        let bytes = extent.and_then(|extent| extent.checked_mul(dtype.size() as u64)).ok_or_else(too_large)?;
        let available = placement.len.min(source.len().saturating_sub(placement.offset));
        if bytes > available {
            let message = format!("a tensor of shape {shape:?} needs {bytes} bytes, its storage has {available}");
            return Err(Error::corrupt(source.name(), message).with_help("the file looks cut short; copy it again"));
        }
        if elements > MAX_REPEATED && extent.is_some_and(|extent| elements > extent) {
            let message = format!(
                "shape {shape:?} repeats stored elements up to {elements}, and such tensors are read up to {MAX_REPEATED}"
            );
            let error = Error::new(ErrorKind::LimitExceeded, source.name(), message);
            return Err(error.with_help("save a contiguous copy of the tensor, or the tensor before it was expanded"));
        }
        let dense = placement.strides.as_ref().is_none_or(|strides| is_row_major(&shape, strides));
        Ok(Self { dtype, shape, elements, source, placement, dense })
    }

    /// The part with the indices `start..start + len` along `axis`. It shares the stored elements.
    ///
    /// # Errors
    /// `Corrupt` where the tensor has no such indices.
    pub(crate) fn narrowed(&self, axis: usize, start: u64, len: u64) -> Result<Self> {
        let strides = self.strides();
        let (size, stride) = self.shape.get(axis).zip(strides.get(axis)).ok_or_else(|| self.lacks(axis))?;
        if start.checked_add(len).is_none_or(|end| end > *size) {
            let message = format!("{len} indices from {start} on are outside of axis {axis} of shape {:?}", self.shape);
            return Err(Error::corrupt(self.name(), message));
        }
        let skipped = if len == 0 { 0 } else { start * stride * self.dtype.size() as u64 };
        let shape = self.shape.iter().enumerate().map(|(at, size)| if at == axis { len } else { *size }).collect();
        let ElementPlacement { offset, len, order, .. } = self.placement;
        let placement = ElementPlacement {
            offset: offset + skipped,
            len: len.saturating_sub(skipped),
            strides: Some(strides),
            order,
        };
        Self::new(self.source.clone(), self.dtype, shape, placement)
    }

    /// The tensor with its last two axes exchanged. It shares the stored elements.
    ///
    /// # Errors
    /// `Corrupt` where it has fewer than two axes.
    pub(crate) fn transposed(&self) -> Result<Self> {
        let (mut shape, mut strides) = (self.shape.clone(), self.strides());
        let last = shape.len().checked_sub(1).filter(|last| *last > 0).ok_or_else(|| self.lacks(1))?;
        shape.swap(last, last - 1);
        strides.swap(last, last - 1);
        let placement = ElementPlacement { strides: Some(strides), ..self.placement.clone() };
        Self::new(self.source.clone(), self.dtype, shape, placement)
    }

    /// The same elements in another shape. It shares them.
    ///
    /// # Errors
    /// `Corrupt` where the shape has another number of elements; `Unsupported` where they are not in row-major order.
    pub(crate) fn reshaped(&self, shape: Vec<u64>) -> Result<Self> {
        if !self.dense {
            return Err(Error::unsupported(self.name(), "elements that do not lie in order cannot take another shape"));
        }
        let elements = shape.iter().try_fold(1_u64, |product, len| product.checked_mul(*len));
        if elements != Some(self.elements) {
            let message = format!("{} elements cannot take the shape {shape:?}", self.elements);
            return Err(Error::corrupt(self.name(), message));
        }
        Self::new(self.source.clone(), self.dtype, shape, ElementPlacement { strides: None, ..self.placement.clone() })
    }

    /// Another handle on the same elements.
    pub(crate) fn new_handle(&self) -> Self {
        Self {
            dtype: self.dtype,
            shape: self.shape.clone(),
            elements: self.elements,
            source: self.source.clone(),
            placement: self.placement.clone(),
            dense: self.dense,
        }
    }

    fn lacks(&self, axis: usize) -> Error {
        Error::corrupt(self.name(), format!("shape {:?} has no axis {axis}", self.shape))
    }

    fn strides(&self) -> Vec<u64> {
        self.placement.strides.clone().unwrap_or_else(|| {
            let mut strides = Vec::with_capacity(self.shape.len());
            let mut next = 1_u64;
            for len in self.shape.iter().rev() {
                strides.push(next);
                next = next.saturating_mul(*len);
            }
            strides.reverse();
            strides
        })
    }

    /// Number of elements.
    pub fn elements(&self) -> u64 {
        self.elements
    }

    /// Offset of the first element in its file, in bytes.
    pub fn offset(&self) -> u64 {
        self.placement.offset
    }

    /// The file's name, for messages.
    pub fn name(&self) -> &str {
        self.source.name()
    }

    /// Name of the file that holds an element, which is counted in row-major order.
    pub(crate) fn file_name_at(&self, element: u64) -> &str {
        let place = match self.placement.strides.as_deref().filter(|_| !self.dense) {
            Some(strides) => self.index_of(element).iter().zip(strides).map(|(index, stride)| index * stride).sum(),
            None => element,
        };
        self.source.file_name_at(self.placement.offset.saturating_add(place.saturating_mul(self.dtype.size() as u64)))
    }

    /// Announces to the source that all elements are about to be read in order.
    pub(crate) fn expect(&self) {
        if self.dense {
            let (start, len) = (self.placement.offset, self.elements * self.dtype.size() as u64);
            self.source.prefetch(start..start + len);
        }
    }

    /// Fills `buffer` with whole elements in row-major order, little-endian, from `start_element` on.
    ///
    /// # Errors
    /// `Corrupt` where the range leaves the tensor or the file has become shorter; otherwise errors of the source.
    pub fn read_block(&self, start_element: u64, buffer: &mut [u8]) -> Result<()> {
        let size = self.dtype.size();
        let count = (buffer.len() / size) as u64;
        if start_element.checked_add(count).is_none_or(|end| end > self.elements) || !buffer.len().is_multiple_of(size)
        {
            let message = format!("{count} elements from {start_element} on are outside of {}", self.elements);
            return Err(Error::corrupt(self.name(), message));
        }
        if self.dense {
            self.source.read_at(self.placement.offset + start_element * size as u64, buffer)?;
        } else {
            self.gather(start_element, buffer)?;
        }
        if self.placement.order == ByteOrder::Big {
            let part = if self.dtype.is_complex() { size / 2 } else { size };
            buffer.chunks_exact_mut(part).for_each(<[u8]>::reverse);
        }
        Ok(())
    }

    /// The bytes of `count` elements from `start_element` on, where they are in memory exactly as
    /// [`read_block`](Self::read_block) would return them.
    pub(crate) fn in_place(&self, start_element: u64, count: usize) -> Option<&[u8]> {
        if !self.dense || self.placement.order == ByteOrder::Big {
            return None;
        }
        let size = self.dtype.size();
        let start = usize::try_from(self.placement.offset + start_element * size as u64).ok()?;
        self.source.in_memory()?.get(start..start + count * size)
    }

    /// Collects elements that are not in row-major order. The bytes they span are used where these are in memory or few enough to be
    /// read at once. Otherwise small pages are fetched, so that rows of a transposed tensor share fetched bytes.
    fn gather(&self, start_element: u64, buffer: &mut [u8]) -> Result<()> {
        if buffer.is_empty() {
            // The range is empty, possibly after the last element.
            return Ok(());
        }
        let size = self.dtype.size();
        let spanned = self.span(start_element, (buffer.len() / size) as u64);
        let Some(bytes) = self.bytes_of(&spanned)? else { return self.gather_by_pages(start_element, buffer) };
        let gathered = match size {
            1 => spanned.copy::<1>(&bytes, buffer),
            2 => spanned.copy::<2>(&bytes, buffer),
            4 => spanned.copy::<4>(&bytes, buffer),
            8 => spanned.copy::<8>(&bytes, buffer),
            _ => spanned.copy::<16>(&bytes, buffer),
        };
        gathered.ok_or_else(|| Error::corrupt(self.name(), "element outside of storage"))
    }

    fn gather_by_pages(&self, start_element: u64, buffer: &mut [u8]) -> Result<()> {
        let size = self.dtype.size();
        let strides = self.placement.strides.as_deref().unwrap_or_default();
        let mut index = self.index_of(start_element);
        let mut pages = Pages { tensor: self, pages: HashMap::new() };
        for element in buffer.chunks_exact_mut(size) {
            let at: u64 = index.iter().zip(strides).map(|(index, stride)| index * stride).sum();
            pages.copy(at * size as u64, element)?;
            self.advance(&mut index);
        }
        Ok(())
    }

    /// The smallest part of the tensor along its outer axes that holds `count` elements from element `start` on.
    fn span(&self, mut start: u64, count: u64) -> Span<'_> {
        let (mut shape, mut strides) = (&self.shape[..], self.placement.strides.as_deref().unwrap_or_default());
        let (mut offset, mut outer) = (0, 1);
        while let (Some((len, inner)), Some((stride, inner_strides))) = (shape.split_first(), strides.split_first()) {
            let size = inner.iter().product::<u64>().max(1);
            let (first, last) = (start / size, (start + count).saturating_sub(1) / size);
            (offset, start) = (offset + first * stride, start - first * size);
            if first < last || inner.is_empty() {
                outer = (last.saturating_sub(first) + 1).min(*len);
                break;
            }
            (shape, strides) = (inner, inner_strides);
        }
        let shape = std::iter::once(outer).chain(shape.iter().skip(1).copied()).collect();
        Span { offset, shape, strides, skipped: start }
    }

    /// The bytes of a span; `None` where they are neither in memory nor few enough to be read at once.
    fn bytes_of(&self, span: &Span<'_>) -> Result<Option<Cow<'_, [u8]>>> {
        let size = self.dtype.size() as u64;
        let start = self.placement.offset + span.offset * size;
        let len = extent(&span.shape, Some(span.strides)).and_then(|extent| extent.checked_mul(size));
        let Some(len) = len.and_then(|len| usize::try_from(len).ok()) else { return Ok(None) };
        if let Some(bytes) = self.source.in_memory() {
            let start = usize::try_from(start).unwrap_or(usize::MAX);
            return Ok(start.checked_add(len).and_then(|end| bytes.get(start..end)).map(Cow::Borrowed));
        }
        if len as u64 > MAX_PAGES as u64 * PAGE {
            return Ok(None);
        }
        let mut bytes = vec![0; len];
        self.source.read_at(start, &mut bytes)?;
        Ok(Some(Cow::Owned(bytes)))
    }

    fn index_of(&self, element: u64) -> Vec<u64> {
        let mut rest = element;
        let mut index: Vec<u64> = self
            .shape
            .iter()
            .rev()
            .map(|len| {
                let at = rest % len;
                rest /= len;
                at
            })
            .collect();
        index.reverse();
        index
    }

    fn advance(&self, index: &mut [u64]) {
        for (at, len) in index.iter_mut().zip(&self.shape).rev() {
            *at += 1;
            if *at < *len {
                return;
            }
            *at = 0;
        }
    }
}

/// Number of storage elements from a tensor's first element to its last, both included; `None` where it exceeds 64 bits.
fn extent(shape: &[u64], strides: Option<&[u64]>) -> Option<u64> {
    match strides {
        _ if shape.contains(&0) => Some(0),
        None => shape.iter().try_fold(1_u64, |product, len| product.checked_mul(*len)),
        Some(strides) => {
            let mut axes = shape.iter().zip(strides);
            axes.try_fold(1_u64, |end, (len, stride)| (len - 1).checked_mul(*stride)?.checked_add(end))
        }
    }
}

/// A part of a tensor: neighbouring indices along one axis, with all inner axes.
struct Span<'a> {
    /// Offset of its first element in the storage from the tensor's first, in elements.
    offset: u64,
    shape: Vec<u64>,
    strides: &'a [u64],
    /// Number of its elements before the wanted ones.
    skipped: u64,
}

impl Span<'_> {
    /// Copies the wanted elements, of `N` bytes each, through a view of `bytes` with the tensor's own strides. `None` where
    /// some of them are missing.
    fn copy<const N: usize>(&self, bytes: &[u8], buffer: &mut [u8]) -> Option<()> {
        let lengths =
            |values: &[u64]| values.iter().map(|value| usize::try_from(*value).ok()).collect::<Option<Vec<_>>>();
        let (shape, strides) = (lengths(&self.shape)?, lengths(self.strides)?);
        let (stored, _) = bytes.as_chunks::<N>();
        let view = ArrayView::from_shape(IxDyn(&shape).strides(IxDyn(&strides)), stored).ok()?;
        let (elements, _) = buffer.as_chunks_mut::<N>();
        let skipped = usize::try_from(self.skipped).ok()?;
        if view.len() < skipped + elements.len() {
            return None;
        }
        let width = shape.last().copied()?.max(1);
        let rows = view.rows().into_iter().skip(skipped / width);
        for (element, from) in elements.iter_mut().zip(rows.flatten().skip(skipped % width)) {
            *element = *from;
        }
        Some(())
    }
}

/// Whether `strides` describe row-major order; axes of length 1 may have any stride.
fn is_row_major(shape: &[u64], strides: &[u64]) -> bool {
    let mut expected = 1u64;
    for (len, stride) in shape.iter().zip(strides).rev() {
        if *len != 1 && *stride != expected {
            return shape.contains(&0);
        }
        expected = expected.saturating_mul(*len);
    }
    true
}

/// Pages of a storage, fetched when first needed.
struct Pages<'a> {
    tensor: &'a TensorData,
    pages: HashMap<u64, Vec<u8>>,
}

impl Pages<'_> {
    /// Copies the element at byte `at` of the storage; pages hold whole elements, because both sizes are powers of two.
    fn copy(&mut self, at: u64, element: &mut [u8]) -> Result<()> {
        let number = at / PAGE;
        if !self.pages.contains_key(&number) {
            if self.pages.len() >= MAX_PAGES {
                self.pages.clear();
            }
            let page = self.fetch(number)?;
            self.pages.insert(number, page);
        }
        let start = usize::try_from(at % PAGE).unwrap_or(0);
        let bytes = self.pages.get(&number).and_then(|page| page.get(start..start + element.len()));
        element.copy_from_slice(bytes.ok_or_else(|| Error::corrupt(self.tensor.name(), "element outside of storage"))?);
        Ok(())
    }

    fn fetch(&self, number: u64) -> Result<Vec<u8>> {
        let ElementPlacement { offset, len, .. } = self.tensor.placement;
        let len = PAGE.min(len.saturating_sub(number * PAGE)).min(self.tensor.source.len());
        let mut page = vec![0; usize::try_from(len).unwrap_or(0)];
        self.tensor.source.read_at(offset + number * PAGE, &mut page)?;
        Ok(page)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::fetch::{ByteSource, MemorySource};

    /// Bytes that have to be read.
    struct OnDisk(MemorySource);

    impl ByteSource for OnDisk {
        fn name(&self) -> &str {
            self.0.name()
        }

        fn len(&self) -> u64 {
            self.0.len()
        }

        fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
            self.0.read_at(offset, buffer)
        }
    }

    prop_compose! {
        /// A tensor of up to four axes with any strides, in a storage whose bytes tell their places; and a range of it.
        fn strided()(
            axes in proptest::collection::vec((1_u64..6, 0_u64..9), 1..5),
            dtype in prop_oneof![Just(Dtype::I8), Just(Dtype::BF16), Just(Dtype::F32), Just(Dtype::F64), Just(Dtype::C128)],
            offset in 0_u64..5,
            (start, end) in (0_u64..=100, 0_u64..=100),
            is_in_memory in any::<bool>(),
        ) -> (TensorData, u64, u64) {
            let (shape, strides): (Vec<u64>, Vec<u64>) = axes.into_iter().unzip();
            let len = offset + extent(&shape, Some(&strides)).expect("small") * dtype.size() as u64;
            let bytes = (0..len).map(|at| u8::try_from(at * 7 % 251).expect("below 251")).collect();
            let memory = MemorySource::new("t", bytes);
            let source: Source = if is_in_memory { Arc::new(memory) } else { Arc::new(OnDisk(memory)) };
            let placement = ElementPlacement { offset, len: len - offset, strides: Some(strides), order: ByteOrder::Little };
            let tensor = TensorData::new(source, dtype, shape, placement).expect("a tensor");
            let at = |share: u64| share * tensor.elements() / 100;
            let (start, end) = (at(start.min(end)), at(start.max(end)));
            (tensor, start, end)
        }
    }

    proptest! {
        #[test]
        fn a_view_gives_what_single_elements_give((tensor, start, end) in strided()) {
            let mut by_view = vec![0; usize::try_from(end - start).expect("small") * tensor.dtype.size()];
            let mut one_by_one = by_view.clone();
            tensor.gather(start, &mut by_view).expect("gathered");
            tensor.gather_by_pages(start, &mut one_by_one).expect("gathered");
            prop_assert_eq!(by_view, one_by_one, "{:?} from {} to {}", tensor, start, end);
        }
    }
}
