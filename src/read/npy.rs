//! NumPy `.npy` files, versions 1 to 3 (NEP 1): a header in Python's literal syntax, then the elements.
//!
//! Numbers of every kind in both byte orders and in C or Fortran order are read. Text, objects and records are not:
//! they hold no numbers to compare.

use super::tensor::{ByteOrder, ElementPlacement, TensorData};
use crate::dtype::Dtype;
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::Source;

const MAGIC: &[u8] = b"\x93NUMPY";
/// Longest header; NumPy itself refuses more than 10 000 characters from untrusted files.
const MAX_HEADER: usize = 64 << 10;

/// Whether a file starting with `head` is a `.npy` file.
pub(crate) fn recognise(head: &[u8]) -> bool {
    head.starts_with(MAGIC)
}

/// Opens a `.npy` file.
///
/// # Errors
/// `Corrupt` for a damaged header or too few elements, `Unsupported` for elements that are not numbers.
pub(crate) fn open(source: Source) -> Result<TensorData> {
    let corrupt = |message: &str| Error::corrupt(source.name(), message);
    let mut start = [0; 12];
    let prefix = if source.len() < 12 { 10 } else { 12 };
    source.read_at(0, start.get_mut(..prefix).ok_or_else(|| corrupt("header is cut short"))?)?;
    let [.., major, _, a, b, c, d] = start;
    let (offset, len) = match major {
        1 => (10u64, usize::from(u16::from_le_bytes([a, b]))),
        2 | 3 => (12, usize::try_from(u32::from_le_bytes([a, b, c, d])).unwrap_or(usize::MAX)),
        _ => {
            return Err(Error::unsupported(
                source.name(),
                format!("is a .npy file of version {major}, known are 1 to 3"),
            ));
        }
    };
    if len > MAX_HEADER {
        let message = format!("a header of {len} bytes, the most that is read is {MAX_HEADER}");
        return Err(Error::new(ErrorKind::LimitExceeded, source.name(), message));
    }
    let mut header = vec![0; len];
    source.read_at(offset, &mut header)?;
    let header = String::from_utf8(header).map_err(|_| corrupt("header is not a text"))?;
    let header = Header::parse(&header).ok_or_else(|| corrupt("header is not the three keys that NumPy writes"))?;
    let (order, dtype) = element_type(&header.descr).map_err(|message| {
        Error::unsupported(source.name(), message).with_help("save the values as numbers, bfloat16 as float32")
    })?;
    let offset = offset + len as u64;
    let placement = ElementPlacement {
        offset,
        len: source.len().saturating_sub(offset),
        strides: header.fortran_order.then(|| column_major(&header.shape)),
        order,
    };
    TensorData::new(source, dtype, header.shape, placement)
}

fn column_major(shape: &[u64]) -> Vec<u64> {
    let mut stride = 1u64;
    let next = |len: &u64| {
        let wider = stride.saturating_mul(*len);
        std::mem::replace(&mut stride, wider)
    };
    shape.iter().map(next).collect()
}

/// Byte order and element type of a `descr` such as `<f4`.
fn element_type(descr: &str) -> std::result::Result<(ByteOrder, Dtype), String> {
    let mut rest = descr.chars();
    let order = match rest.next() {
        Some('<' | '|' | '=') => ByteOrder::Little,
        Some('>') => ByteOrder::Big,
        _ => return Err(format!("holds elements of type `{descr}`, which are not plain numbers")),
    };
    let code = rest.as_str();
    let dtype = Dtype::from_numpy_code(code).ok_or_else(|| match code.chars().next() {
        Some('S' | 'U' | 'T' | 'O' | 'V' | 'M' | 'm') => {
            format!("holds elements of type `{descr}` (text, objects, dates or raw bytes), not numbers")
        }
        _ => format!("holds elements of type `{descr}`, which is not known"),
    })?;
    Ok((order, dtype))
}

/// The three keys of a header.
#[derive(Debug, PartialEq, Eq)]
struct Header {
    descr: String,
    fortran_order: bool,
    shape: Vec<u64>,
}

impl Header {
    /// Reads `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`, keys in any order.
    fn parse(text: &str) -> Option<Self> {
        let mut rest = text.trim().strip_prefix('{')?.strip_suffix('}')?.trim_start();
        let (mut descr, mut fortran_order, mut shape) = (None, None, None);
        while !rest.is_empty() {
            let (key, value) = quoted(rest)?;
            let value = value.trim_start().strip_prefix(':')?.trim_start();
            rest = match key {
                "descr" if value.starts_with('[') => {
                    descr = Some("record".to_owned());
                    value.get(value.rfind(']')? + 1..)?
                }
                "descr" => {
                    let (text, rest) = quoted(value)?;
                    descr = Some(text.to_owned());
                    rest
                }
                "fortran_order" => {
                    fortran_order = Some(value.starts_with("True"));
                    value.strip_prefix("True").or_else(|| value.strip_prefix("False"))?
                }
                "shape" => {
                    let (inside, rest) = value.strip_prefix('(')?.split_once(')')?;
                    shape = Some(parse_shape(inside)?);
                    rest
                }
                _ => return None,
            };
            rest = rest.trim_start();
            rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
        }
        Some(Self { descr: descr?, fortran_order: fortran_order?, shape: shape? })
    }
}

fn quoted(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|quote| matches!(quote, '\'' | '"'))?;
    text.get(1..)?.split_once(quote)
}

fn parse_shape(text: &str) -> Option<Vec<u64>> {
    let parts = text.split(',').map(|part| part.trim().trim_end_matches('L'));
    parts.filter(|part| !part.is_empty()).map(|part| part.parse().ok()).collect()
}
