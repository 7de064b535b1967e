//! safetensors files: a JSON header with byte ranges, then the elements (format of `safetensors` 0.x).
//!
//! The header's consistency (no holes, no overlap, sizes that fit the shapes) is checked by the `safetensors` crate;
//! the file's length is checked here. Elements are never read on opening, and need not be aligned.

mod header;

use safetensors::tensor::Dtype as Kind;

use super::tensor::{ByteOrder, ElementPlacement, StoredValue, TensorData};
use crate::dtype::Dtype;
use crate::error::{Error, Result};
use crate::fetch::{Source, check_memory};

/// Longest header, the format's own limit.
const MAX_HEADER: u64 = 100_000_000;

/// Whether a file starting with `head` looks like safetensors: a plausible header length, then JSON. A file that ends within its
/// header has the format too, but is damaged.
pub(crate) fn recognise(head: &[u8]) -> bool {
    let Some((length, rest)) = head.split_first_chunk::<8>() else { return false };
    let header = u64::from_le_bytes(*length);
    rest.starts_with(b"{") && (2..=MAX_HEADER).contains(&header)
}

/// Every tensor of a file, by offset.
///
/// # Errors
/// `Corrupt` where the header is damaged or the file is shorter than it says, `LimitExceeded` where the header takes more memory
/// than the file grants.
pub(crate) fn open(source: Source) -> Result<Vec<(String, StoredValue)>> {
    let mut length = [0; 8];
    source.read_at(0, &mut length)?;
    let length = u64::from_le_bytes(length);
    if length > MAX_HEADER.min(source.len().saturating_sub(8)) {
        return Err(Error::corrupt(source.name(), format!("its header of {length} bytes does not fit the file")));
    }
    check_memory(source.as_ref(), usize::try_from(length).unwrap_or(usize::MAX))?;
    let mut header = vec![0; usize::try_from(length).unwrap_or(0)];
    source.read_at(8, &mut header)?;
    let metadata = header::read(source.as_ref(), &header)?;
    drop(header);
    let start = 8 + length;
    let end = start.checked_add(metadata.data_len() as u64);
    if end != Some(source.len()) {
        let message = format!("holds {} bytes, its header promises {}", source.len(), end.unwrap_or(u64::MAX));
        return Err(Error::corrupt(source.name(), message).with_help("the file looks cut short; copy it again"));
    }
    let stored = |name: String| {
        let missing = || Error::corrupt(source.name(), "its header is damaged");
        let info = metadata.info(&name).ok_or_else(missing)?;
        let Some(dtype) = element_type(info.dtype) else {
            return Ok((name, StoredValue::Unsupported(format!("elements of type {:?} are not read", info.dtype))));
        };
        let (from, to) = info.data_offsets;
        let placement = ElementPlacement {
            offset: start + from as u64,
            len: (to - from) as u64,
            strides: None,
            order: ByteOrder::Little,
        };
        let shape = info.shape.iter().map(|len| *len as u64).collect();
        Ok((name, StoredValue::Tensor(TensorData::new(source.clone(), dtype, shape, placement)?)))
    };
    metadata.offset_keys().into_iter().map(stored).collect()
}

fn element_type(dtype: Kind) -> Option<Dtype> {
    Some(match dtype {
        Kind::BOOL => Dtype::Bool,
        Kind::U8 => Dtype::U8,
        Kind::U16 => Dtype::U16,
        Kind::U32 => Dtype::U32,
        Kind::U64 => Dtype::U64,
        Kind::I8 => Dtype::I8,
        Kind::I16 => Dtype::I16,
        Kind::I32 => Dtype::I32,
        Kind::I64 => Dtype::I64,
        Kind::F8_E4M3 => Dtype::F8E4M3,
        Kind::F8_E5M2 => Dtype::F8E5M2,
        Kind::F16 => Dtype::F16,
        Kind::BF16 => Dtype::BF16,
        Kind::F32 => Dtype::F32,
        Kind::F64 => Dtype::F64,
        Kind::C64 => Dtype::C64,
        _ => return None,
    })
}
