//! Text of a file, whatever it is packed or encoded in: gzip, Zstandard, UTF-16, GB18030 (which holds GBK and GB2312).

use std::io::Read;
use std::sync::Arc;

use encoding_rs::{Encoding, GB18030, UTF_16BE, UTF_16LE};

use crate::error::{Error, ErrorKind, Result};
use crate::fetch::{Memory, Source};
use crate::read::archive::Cursor;
use crate::read::archive::folder::expanded;

/// Bytes that a packed or encoded file may become: a log of a month has some hundred megabytes.
const MOST: u64 = 256 << 20;

/// The file as UTF-8; `None` where it needs no change. `head` are its first bytes.
///
/// # Errors
/// `LimitExceeded` for a file that becomes larger than 256 MiB, `Corrupt` for one that cannot be unpacked.
pub fn readable(head: &[u8], source: &Source) -> Result<Option<Source>> {
    let bytes = match head {
        [0x1f, 0x8b, ..] | [0x28, 0xb5, 0x2f, 0xfd, ..] => limited(source, expanded(source, head))?,
        _ => {
            let Some(encoding) = encoding_of(head) else { return Ok(None) };
            let bytes = limited(source, Cursor::new(source.as_ref()))?;
            return Ok(Some(named(source, decoded(&bytes, encoding))));
        }
    };
    let text = match encoding_of(bytes.get(..bytes.len().min(64 << 10)).unwrap_or_default()) {
        Some(encoding) => decoded(&bytes, encoding),
        None => bytes,
    };
    Ok(Some(named(source, text)))
}

fn named(source: &Source, bytes: Vec<u8>) -> Source {
    Arc::new(Memory::new(source.name(), bytes))
}

fn decoded(bytes: &[u8], encoding: &'static Encoding) -> Vec<u8> {
    encoding.decode(bytes).0.into_owned().into_bytes()
}

fn limited(source: &Source, reader: impl Read) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.take(MOST + 1).read_to_end(&mut bytes).map_err(|error| Error::corrupt(source.name(), error.to_string()))?;
    if bytes.len() as u64 > MOST {
        let message = format!("holds more than {MOST} bytes of text");
        return Err(Error::new(ErrorKind::LimitExceeded, source.name(), message));
    }
    Ok(bytes)
}

/// The encoding of a text that is not UTF-8; `None` for UTF-8 and for binary data.
fn encoding_of(head: &[u8]) -> Option<&'static Encoding> {
    match head {
        [0xff, 0xfe, ..] => return Some(UTF_16LE),
        [0xfe, 0xff, ..] => return Some(UTF_16BE),
        _ => {}
    }
    let zeros = |odd: usize| head.iter().skip(odd).step_by(2).filter(|byte| **byte == 0).count();
    let half = head.len() / 2;
    // Letters of UTF-16 have a zero on one side, and none on the other.
    match (zeros(0), zeros(1)) {
        (0, 0) => {}
        (0, low) if low * 10 >= half * 9 => return Some(UTF_16LE),
        (high, 0) if high * 10 >= half * 9 => return Some(UTF_16BE),
        _ => return None,
    }
    let error = std::str::from_utf8(head).err()?;
    // The head may end inside a character; a control character shows binary data.
    let is_binary = head.iter().any(|byte| matches!(byte, 0..=8 | 14..=26 | 28..=31));
    (error.error_len().is_some() && !is_binary).then_some(GB18030)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn read(bytes: &[u8]) -> Option<String> {
        let source: Source = Arc::new(Memory::new("train.log", bytes.to_vec()));
        let text = readable(bytes, &source).expect("readable")?;
        let mut read = vec![0; usize::try_from(text.len()).expect("short")];
        text.read_at(0, &mut read).expect("read");
        Some(String::from_utf8(read).expect("UTF-8"))
    }

    #[test]
    fn every_encoding_becomes_utf_8() {
        let text = "step: 1, 损失：2.5\n";
        let utf_16: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let with_mark = [&[0xff, 0xfe], utf_16.as_slice()].concat();
        assert_eq!(read(&with_mark).as_deref(), Some(text));
        let latin: Vec<u8> = "step: 1, loss: 2.5\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(read(&latin).as_deref(), Some("step: 1, loss: 2.5\n"), "without a mark");
        assert_eq!(read(&GB18030.encode(text).0).as_deref(), Some(text));
        assert_eq!(read(text.as_bytes()), None, "UTF-8 stays as it is");
        assert_eq!(read(&[0, 1, 2, 0xff, 3]), None, "binary data is left alone");
    }

    #[test]
    fn packed_text_is_unpacked_and_a_damaged_one_refused() {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(b"step: 1, loss: 2.5\n").expect("packed");
        let packed = packer.finish().expect("packed");
        assert_eq!(read(&packed).as_deref(), Some("step: 1, loss: 2.5\n"));
        let half: Source = Arc::new(Memory::new("train.log.gz", packed[..12].to_vec()));
        assert!(readable(&packed[..12], &half).is_err());
    }
}
