//! Text of a compressed or encoded file: gzip, Zstandard, xz, UTF-16, GB18030 (which includes GBK and GB2312).

use std::io::Read;
use std::sync::Arc;

use encoding_rs::{Encoding, GB18030, UTF_16BE, UTF_16LE};

use super::file::CurveNote;
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::{MemorySource, Source};
use crate::read::archive::SourceCursor;
use crate::read::archive::folder::{ends_early, expanding_reader, is_compressed};

/// Largest size in bytes of a decompressed or decoded file: the log of a month has some hundred megabytes.
const MOST: u64 = 256 << 20;

/// A file as UTF-8.
pub struct DecodedText {
    /// The decoded text; `None` where the file is plain UTF-8 already.
    pub source: Option<Source>,
    /// Remarks about it.
    pub notes: Vec<CurveNote>,
}

/// The file as UTF-8. `head` are its first bytes. A compressed file that is cut is read as far as it can be decompressed.
///
/// # Errors
/// `LimitExceeded` for a file that becomes larger than 256 MiB, `Corrupt` for one that cannot be unpacked.
pub fn decode_text(head: &[u8], source: &Source) -> Result<DecodedText> {
    let mut notes = Vec::new();
    let bytes = if is_compressed(head) {
        let Limited { bytes, is_cut } = limited(source, expanding_reader(source, head))?;
        notes.extend(is_cut.then_some(CurveNote::Truncated));
        Some(bytes)
    } else if encoding_of(head).is_some() {
        Some(limited(source, SourceCursor::new(source.as_ref()))?.bytes)
    } else {
        None
    };
    let Some(bytes) = bytes else { return Ok(DecodedText { source: None, notes }) };
    let text = match encoding_of(bytes.get(..bytes.len().min(64 << 10)).unwrap_or_default()) {
        Some((encoding, known)) => {
            notes.extend((!known).then_some(CurveNote::EncodingGuessed(encoding.name())));
            encoding.decode(&bytes).0.into_owned().into_bytes()
        }
        None => bytes,
    };
    Ok(DecodedText { source: Some(Arc::new(MemorySource::new(source.name(), text))), notes })
}

struct Limited {
    bytes: Vec<u8>,
    /// Whether a compressed file ends too early.
    is_cut: bool,
}

fn limited(source: &Source, reader: impl Read) -> Result<Limited> {
    let most = MOST.min(source.memory_limit());
    let mut bytes = Vec::new();
    let is_cut = match reader.take(most + 1).read_to_end(&mut bytes) {
        Ok(_) => false,
        Err(error) if ends_early(&error) && !bytes.is_empty() => true,
        Err(error) => return Err(Error::corrupt(source.name(), error.to_string())),
    };
    if bytes.len() as u64 > most {
        let message = format!("holds more than {most} bytes of text");
        return Err(Error::new(ErrorKind::LimitExceeded, source.name(), message));
    }
    Ok(Limited { bytes, is_cut })
}

/// The encoding of a text that is not UTF-8, and whether the text states it with a byte order mark; `None` for UTF-8 and for binary
/// data.
fn encoding_of(head: &[u8]) -> Option<(&'static Encoding, bool)> {
    match head {
        [0xff, 0xfe, ..] => return Some((UTF_16LE, true)),
        [0xfe, 0xff, ..] => return Some((UTF_16BE, true)),
        _ => {}
    }
    let zeros = |odd: usize| head.iter().skip(odd).step_by(2).filter(|byte| **byte == 0).count();
    let half = head.len() / 2;
    // ASCII letters in UTF-16 have a zero in one byte of each pair and none in the other.
    match (zeros(0), zeros(1)) {
        (0, 0) => {}
        (0, low) if low * 10 >= half * 9 => return Some((UTF_16LE, false)),
        (high, 0) if high * 10 >= half * 9 => return Some((UTF_16BE, false)),
        _ => return None,
    }
    let error = std::str::from_utf8(head).err()?;
    // The head may end inside a character, which is no error. Control characters show binary data.
    let is_binary = head.iter().any(|byte| matches!(byte, 0..=8 | 14..=26 | 28..=31));
    (error.error_len().is_some() && !is_binary).then_some((GB18030, false))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn read(bytes: &[u8]) -> Option<(String, Vec<CurveNote>)> {
        let source: Source = Arc::new(MemorySource::new("train.log", bytes.to_vec()));
        let DecodedText { source, notes } = decode_text(bytes, &source).expect("readable");
        let text = source?;
        let mut read = vec![0; usize::try_from(text.len()).expect("short")];
        text.read_at(0, &mut read).expect("read");
        Some((String::from_utf8(read).expect("UTF-8"), notes))
    }

    #[test]
    fn every_encoding_becomes_utf_8_and_a_guessed_one_is_named() {
        let text = "step: 1, 损失：2.5\n";
        let latin = "step: 1, loss: 2.5\n";
        let utf_16 = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
        let guessed = |encoding| vec![CurveNote::EncodingGuessed(encoding)];
        let with_mark = [&[0xff, 0xfe], utf_16(text).as_slice()].concat();
        assert_eq!(read(&with_mark), Some((text.to_owned(), vec![])));
        assert_eq!(read(&utf_16(latin)), Some((latin.to_owned(), guessed("UTF-16LE"))));
        assert_eq!(read(&GB18030.encode(text).0), Some((text.to_owned(), guessed("gb18030"))));
        assert_eq!(read(text.as_bytes()), None, "UTF-8 stays as it is");
        assert_eq!(read(&[0, 1, 2, 0xff, 3]), None, "binary data is left alone");
    }

    /// `lines` packed by gzip, Zstandard and xz.
    fn packed(lines: &[u8]) -> [Vec<u8>; 3] {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(lines).expect("packed");
        let mut xz = lzma_rust2::XzWriter::new(Vec::new(), lzma_rust2::XzOptions::with_preset(1)).expect("settings");
        xz.write_all(lines).expect("packed");
        let zstd = ruzstd::encoding::compress_to_vec(lines, ruzstd::encoding::CompressionLevel::Fastest);
        [gzip.finish().expect("packed"), zstd, xz.finish().expect("packed")]
    }

    #[test]
    fn packed_text_is_unpacked_as_far_as_it_goes() {
        let mut seed = 7_u64;
        let mut line = |step: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            format!("step: {step} loss: {}.{}\n", seed >> 60, seed >> 8)
        };
        let text: String = (0..20_000).map(&mut line).collect();
        for (kind, packed) in packed(text.as_bytes()).into_iter().enumerate() {
            assert_eq!(read(&packed).as_ref().map(|(read, _)| read == &text), Some(true), "{kind}");
            let (half, notes) = read(&packed[..packed.len() / 2]).expect("packed");
            assert!(text.starts_with(&half) && half.len() > 1000, "{kind}: {}", half.len());
            assert_eq!(notes, [CurveNote::Truncated], "{kind}");
            let source: Source = Arc::new(MemorySource::new("train.log.gz", packed[..10].to_vec()));
            assert!(decode_text(&packed[..10], &source).is_err(), "{kind}: nothing can be unpacked");
        }
    }
}
