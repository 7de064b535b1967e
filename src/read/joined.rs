//! Tensors joined from parts in several files, which are read on demand.
//!
//! No elements are kept: a block of the whole is read from the parts that it covers, so memory does not grow with the tensor.

use std::sync::Arc;

use super::tensor::{ByteOrder, ElementPlacement, TensorData};
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::ByteSource;

/// Largest number of axes of a joined tensor; bounds the recursion over a grid of parts.
const MAX_AXES: usize = 16;
/// Largest number of parts of one tensor.
const MAX_PARTS: usize = 1 << 20;

/// Joins tensors along `axis`, in the order of `parts`. A single part is returned unchanged.
///
/// # Errors
/// `Corrupt` where there are no parts, or where element types or the other axes differ.
pub(crate) fn join_along_axis(mut parts: Vec<TensorData>, axis: usize) -> Result<TensorData> {
    let Some(first) = parts.first() else { return Err(Error::corrupt("a tensor", "has no parts")) };
    if parts.len() == 1 {
        return parts.pop().ok_or_else(|| Error::corrupt("a tensor", "has no parts"));
    }
    let (name, dtype) = (joined_name(&parts), first.dtype);
    let mut shape = first.shape.clone();
    let mut sum = 0_u64;
    for part in &parts {
        sum = part.shape.get(axis).and_then(|len| sum.checked_add(*len)).ok_or_else(|| unequal(first, part))?;
        if part.dtype != dtype || !equal_but(&part.shape, &first.shape, axis) {
            return Err(unequal(first, part));
        }
    }
    if let Some(len) = shape.get_mut(axis) {
        *len = sum;
    }
    let inner: u64 = shape.iter().skip(axis + 1).product();
    let widths: Vec<u64> = parts.iter().map(|part| part.shape.get(axis).copied().unwrap_or(0) * inner).collect();
    let too_large = || Error::corrupt(&name, format!("shape {shape:?} is larger than any file"));
    let elements = shape.iter().try_fold(1_u64, |product, len| product.checked_mul(*len)).ok_or_else(too_large)?;
    let len = elements.checked_mul(dtype.size() as u64).ok_or_else(too_large)?;
    let row = widths.iter().sum();
    let source = Joined { name, parts, widths, row, size: dtype.size(), len };
    let placement = ElementPlacement { offset: 0, len, strides: None, order: ByteOrder::Little };
    TensorData::new(Arc::new(source), dtype, shape, placement)
}

/// Joins the parts of a tensor of `shape`. Each part comes with its offsets in the tensor, one for each axis.
///
/// # Errors
/// `Corrupt` where they overlap, leave a gap or reach beyond it.
pub(crate) fn join_grid(name: &str, shape: &[u64], parts: Vec<(Vec<u64>, TensorData)>) -> Result<TensorData> {
    if shape.len() > MAX_AXES || parts.len() > MAX_PARTS {
        let message = format!("{} axes in {} parts are more than are read", shape.len(), parts.len());
        return Err(Error::new(ErrorKind::LimitExceeded, name, message));
    }
    let fits = |(offsets, part): &(Vec<u64>, TensorData)| {
        let ends = offsets.iter().zip(&part.shape).zip(shape);
        offsets.len() == shape.len()
            && part.shape.len() == shape.len()
            && ends.into_iter().all(|((start, len), whole)| start.checked_add(*len).is_some_and(|end| end <= *whole))
    };
    if !parts.iter().all(fits) {
        return Err(Error::corrupt(name, format!("a part reaches beyond the shape {shape:?}")));
    }
    region(name, &vec![0; shape.len()], shape, parts)
}

/// The region of a grid that begins at `start` and has the lengths `lens`.
fn region(name: &str, start: &[u64], lens: &[u64], mut parts: Vec<(Vec<u64>, TensorData)>) -> Result<TensorData> {
    let uncovered = || Error::corrupt(name, format!("its parts overlap or leave a gap at {start:?}"));
    if let [(offsets, part)] = parts.as_slice() {
        return if offsets == start && part.shape == lens {
            parts.pop().map(|(_, part)| part).ok_or_else(uncovered)
        } else {
            Err(uncovered())
        };
    }
    for (axis, (first, len)) in start.iter().zip(lens).enumerate() {
        let slabs = slabs(axis, &mut parts);
        if slabs.len() < 2 {
            parts = slabs.into_iter().flat_map(|(_, _, inside)| inside).collect();
            continue;
        }
        let mut next = *first;
        let mut joined_slabs = Vec::with_capacity(slabs.len());
        for (from, to, inside) in slabs {
            if from != next {
                return Err(uncovered());
            }
            next = to;
            let inner = |values: &[u64], own: u64| -> Vec<u64> {
                values.iter().enumerate().map(|(at, value)| if at == axis { own } else { *value }).collect()
            };
            joined_slabs.push(region(name, &inner(start, from), &inner(lens, to - from), inside)?);
        }
        return if next == first + len { join_along_axis(joined_slabs, axis) } else { Err(uncovered()) };
    }
    Err(uncovered())
}

/// A slab of a region: where it begins and ends along an axis, and the parts inside of it.
type Slab = (u64, u64, Vec<(Vec<u64>, TensorData)>);

/// Groups the parts by slabs along `axis`, such that no part crosses the end of a slab.
fn slabs(axis: usize, parts: &mut Vec<(Vec<u64>, TensorData)>) -> Vec<Slab> {
    let start = |(offsets, _): &(Vec<u64>, TensorData)| offsets.get(axis).copied().unwrap_or(0);
    let mut sorted = std::mem::take(parts);
    sorted.sort_by_key(start);
    let mut slabs: Vec<Slab> = Vec::new();
    for part in sorted {
        let from = start(&part);
        let to = from.saturating_add(part.1.shape.get(axis).copied().unwrap_or(0));
        match slabs.last_mut() {
            Some((_, end, inside)) if from < *end => {
                *end = to.max(*end);
                inside.push(part);
            }
            _ => slabs.push((from, to, vec![part])),
        }
    }
    slabs
}

fn equal_but(one: &[u64], other: &[u64], axis: usize) -> bool {
    one.len() == other.len() && one.iter().zip(other).enumerate().all(|(at, (a, b))| at == axis || a == b)
}

fn unequal(first: &TensorData, part: &TensorData) -> Error {
    let message = format!(
        "its part is {} {:?}, that of {} is {} {:?}; they do not make one tensor",
        part.dtype,
        part.shape,
        first.name(),
        first.dtype,
        first.shape
    );
    Error::corrupt(part.name(), message)
}

/// A name for messages: the first file, and the number of further files.
fn joined_name(parts: &[TensorData]) -> String {
    let files: std::collections::BTreeSet<&str> = parts.iter().map(TensorData::name).collect();
    match (files.first(), files.len()) {
        (Some(first), 1) => (*first).to_owned(),
        (Some(first), count) => format!("{first} and {} more", count - 1),
        (None, _) => String::new(),
    }
}

/// The bytes of a tensor whose parts lie side by side along an axis.
struct Joined {
    name: String,
    parts: Vec<TensorData>,
    /// Number of elements of each part for one index of the outer axes.
    widths: Vec<u64>,
    /// Number of elements of all parts together for one index of the outer axes.
    row: u64,
    size: usize,
    len: u64,
}

impl Joined {
    /// Reads the elements `from..to` of one row into `buffer`.
    fn read_row(&self, row: u64, from: u64, to: u64, buffer: &mut [u8]) -> Result<()> {
        let (mut start, mut rest) = (0_u64, buffer);
        for (part, width) in self.parts.iter().zip(&self.widths) {
            let (low, high) = (from.max(start), to.min(start + width));
            if low < high {
                let (own, others) = rest.split_at_mut(self.bytes(high - low)?.min(rest.len()));
                part.read_block(row * width + (low - start), own)?;
                rest = others;
            }
            start += width;
        }
        Ok(())
    }

    /// Reads whole rows into `buffer`, with one read from each part.
    fn read_rows(&self, first: u64, count: u64, buffer: &mut [u8]) -> Result<()> {
        let (mut at, row_bytes) = (0, self.bytes(self.row)?);
        let mut own = Vec::new();
        for (part, width) in self.parts.iter().zip(&self.widths) {
            let width_bytes = self.bytes(*width)?;
            if width_bytes == 0 {
                continue;
            }
            own.resize(self.bytes(width * count)?, 0);
            part.read_block(first * width, &mut own)?;
            for (row, from) in buffer.chunks_exact_mut(row_bytes).zip(own.chunks_exact(width_bytes)) {
                if let Some(to) = row.get_mut(at..at + width_bytes) {
                    to.copy_from_slice(from);
                }
            }
            at += width_bytes;
        }
        Ok(())
    }

    fn bytes(&self, elements: u64) -> Result<usize> {
        let bytes = usize::try_from(elements).ok().and_then(|elements| elements.checked_mul(self.size));
        bytes.ok_or_else(|| Error::corrupt(&self.name, "a part longer than memory"))
    }

    fn read(&self, first: u64, buffer: &mut [u8]) -> Result<()> {
        let end = first + (buffer.len() / self.size) as u64;
        let (mut next, mut rest) = (first, buffer);
        while next < end {
            let (row, at) = (next / self.row, next % self.row);
            let whole = if at == 0 { (end - next) / self.row } else { 0 };
            let count = if whole > 0 { whole * self.row } else { (self.row - at).min(end - next) };
            let (own, others) = rest.split_at_mut(self.bytes(count)?.min(rest.len()));
            if whole > 1 {
                self.read_rows(row, whole, own)?;
            } else {
                self.read_row(row, at, at + count, own)?;
            }
            next += count;
            rest = others;
        }
        Ok(())
    }
}

impl ByteSource for Joined {
    fn name(&self) -> &str {
        &self.name
    }

    fn file_name_at(&self, offset: u64) -> &str {
        let element = offset / self.size as u64;
        let (row, at) = (element / self.row.max(1), element % self.row.max(1));
        let mut start = 0;
        for (part, width) in self.parts.iter().zip(&self.widths) {
            if at < start + width {
                return part.file_name_at(row * width + (at - start));
            }
            start += width;
        }
        &self.name
    }

    fn len(&self) -> u64 {
        self.len
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        let size = self.size as u64;
        let is_whole = offset.is_multiple_of(size) && buffer.len().is_multiple_of(self.size);
        if !is_whole || offset.checked_add(buffer.len() as u64).is_none_or(|end| end > self.len) {
            return Err(Error::corrupt(
                &self.name,
                format!("{} bytes at {offset} are no elements of it", buffer.len()),
            ));
        }
        // The error keeps the name of the whole, which shows the side it belongs to.
        self.read(offset / size, buffer).map_err(|error| {
            let message = format!("{}: {}", error.subject(), error.message());
            Error::new(error.kind(), &self.name, message).with_help(error.help().unwrap_or_default())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::Dtype;
    use crate::fetch::MemorySource;

    /// A tensor of bytes that counts from `first` on.
    fn counted(first: u8, shape: &[u64]) -> TensorData {
        let len = shape.iter().product::<u64>();
        let bytes: Vec<u8> = (0..len).map(|at| first + u8::try_from(at).expect("small")).collect();
        let placement = ElementPlacement { offset: 0, len, strides: None, order: ByteOrder::Little };
        TensorData::new(Arc::new(MemorySource::new("part", bytes)), Dtype::U8, shape.to_vec(), placement)
            .expect("a tensor")
    }

    fn all(tensor: &TensorData) -> Vec<u8> {
        let mut bytes = vec![0; usize::try_from(tensor.elements()).expect("small")];
        tensor.read_block(0, &mut bytes).expect("read");
        bytes
    }

    #[test]
    fn parts_are_put_together_along_either_axis() {
        let rows = join_along_axis(vec![counted(0, &[1, 3]), counted(3, &[2, 3])], 0).expect("joined");
        assert_eq!((rows.shape.as_slice(), all(&rows)), ([3, 3].as_slice(), (0..9).collect()));
        let columns = join_along_axis(vec![counted(0, &[2, 2]), counted(10, &[2, 3])], 1).expect("joined");
        assert_eq!(columns.shape, [2, 5]);
        assert_eq!(all(&columns), [0, 1, 10, 11, 12, 2, 3, 13, 14, 15]);
        for (start, len) in [(1, 3), (3, 5), (4, 6), (0, 10)] {
            let mut block = vec![0; len];
            columns.read_block(start, &mut block).expect("read");
            let start = usize::try_from(start).expect("small");
            assert_eq!(block, all(&columns)[start..start + len], "{start} {len}");
        }
    }

    #[test]
    fn a_joined_tensor_is_cut_and_transposed_without_being_held() {
        let whole = join_along_axis(vec![counted(0, &[2, 2]), counted(10, &[2, 3])], 1).expect("joined");
        assert_eq!(all(&whole.narrowed(1, 1, 3).expect("a part")), [1, 10, 11, 3, 13, 14]);
        assert_eq!(all(&whole.narrowed(0, 1, 1).expect("a part")), [2, 3, 13, 14, 15]);
        assert_eq!(all(&whole.transposed().expect("transposed")), [0, 2, 1, 3, 10, 13, 11, 14, 12, 15]);
        assert!(whole.narrowed(0, 1, 2).is_err() && whole.narrowed(2, 0, 1).is_err());
    }

    #[test]
    fn a_grid_is_put_together_and_gaps_are_refused() {
        let part = |first, offsets: [u64; 2], shape: [u64; 2]| (offsets.to_vec(), counted(first, &shape));
        let parts = || {
            vec![part(0, [0, 0], [2, 2]), part(10, [0, 2], [2, 1]), part(20, [2, 0], [1, 2]), part(30, [2, 2], [1, 1])]
        };
        let whole = join_grid("g", &[3, 3], parts()).expect("a grid");
        assert_eq!(all(&whole), [0, 1, 10, 2, 3, 11, 20, 21, 30]);
        for lost in 0..4 {
            let mut parts = parts();
            parts.remove(lost);
            assert!(join_grid("g", &[3, 3], parts).is_err(), "{lost}");
        }
        assert!(join_grid("g", &[2, 3], parts()).is_err(), "beyond the shape");
        let overlapping = vec![part(0, [0, 0], [2, 3]), part(0, [1, 0], [2, 3])];
        assert!(join_grid("g", &[3, 3], overlapping).is_err());
    }

    #[test]
    fn unlike_parts_are_refused() {
        assert!(join_along_axis(vec![counted(0, &[1, 3]), counted(0, &[1, 2])], 0).is_err());
        assert!(join_along_axis(vec![counted(0, &[1, 3]), counted(0, &[1, 2])], 2).is_err());
        assert!(join_along_axis(Vec::new(), 0).is_err());
    }
}
