//! Frames of the trackers' own logs: W&B and SwanLab use the log format of LevelDB.
//!
//! After a head of 7 bytes (four letters, a number, a version) the file is divided into blocks of 32768 bytes, counted from
//! its start. A frame has the CRC-32 of its kind and data (u32), the length of the data (u16), the kind (u8) and the data: a whole
//! record, or the first, a middle or the last part of one. Fewer than 7 bytes at the end of a block are padding. A run that was
//! stopped leaves an incomplete frame or record at the end: the records before it are read.

use prost::Message;

use super::in_order::InOrder;
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::ByteSource;

/// Bytes before the first frame; the last of them is the version.
const HEAD: usize = 7;
/// Bytes of a block.
const BLOCK: u64 = 32768;
/// Bytes of checksum, length and kind before the data of a frame.
const HEADER: usize = 7;
/// Largest record; those of metrics have a few hundred bytes, settings and console output some thousand.
const MAX_RECORD: usize = 64 << 20;

/// Kinds of a frame.
const FULL: u8 = 1;
const FIRST: u8 = 2;
const MIDDLE: u8 = 3;
const LAST: u8 = 4;

#[derive(Clone, Copy, Debug)]
pub(super) struct LogKind {
    /// Name for people.
    pub(super) name: &'static str,
    /// Known version of its layout. Other versions are read as long as their frames are sound.
    pub(super) version: u8,
    /// Records that hold values, as messages call them.
    pub(super) values: &'static str,
}

/// Decodes every record of a log and passes it to `take`. Returns whether the log is cut.
///
/// # Errors
/// `Corrupt` for a record that is damaged or not of type `M`, `LimitExceeded` for one above 64 MiB.
pub(super) fn each_record<M: Message + Default>(
    source: &dyn ByteSource,
    kind: LogKind,
    mut take: impl FnMut(M) -> Result<()>,
) -> Result<bool> {
    let mut frames = Frames::new(source, kind)?;
    loop {
        let at = frames.offset;
        let Some(bytes) = frames.next()? else { return Ok(frames.is_cut) };
        take(M::decode(bytes).map_err(|error| frames.damaged(at, &error.to_string()))?)?;
    }
}

/// The error for a log that ends before its first value.
pub(super) fn no_values_error(source: &dyn ByteSource, kind: LogKind) -> Error {
    let LogKind { name, values, .. } = kind;
    let message =
        format!("begins as a {name} and ends after {} bytes, before its first value; expected {values}", source.len());
    Error::corrupt(source.name(), message).with_help("give the complete file, as the run wrote it")
}

/// Records of a log, one after the other.
struct Frames<'a> {
    source: &'a dyn ByteSource,
    reader: InOrder<'a>,
    kind: LogKind,
    version: u8,
    offset: u64,
    record: Vec<u8>,
    /// Whether the file ends inside a frame or a record.
    is_cut: bool,
}

impl<'a> Frames<'a> {
    /// Reads the head. A file that ends within or right after its head is cut.
    fn new(source: &'a dyn ByteSource, kind: LogKind) -> Result<Self> {
        let mut head = [0; HEAD];
        let is_cut = source.len() <= HEAD as u64;
        if !is_cut {
            source.read_at(0, &mut head)?;
        }
        let [.., version] = head;
        Ok(Self {
            source,
            reader: InOrder::new(source),
            kind,
            version,
            offset: HEAD as u64,
            record: Vec::new(),
            is_cut,
        })
    }

    /// The next whole record; `None` at the end of the file, and where it is cut.
    ///
    /// # Errors
    /// `Corrupt` where a checksum or the order of the parts does not fit, `LimitExceeded` for a record above 64 MiB.
    fn next(&mut self) -> Result<Option<&[u8]>> {
        self.record.clear();
        let mut begun = false;
        loop {
            let at = self.offset;
            let Some(kind) = self.append_frame()? else {
                self.is_cut |= begun;
                return Ok(None);
            };
            match (kind, begun) {
                (FULL, false) | (LAST, true) => return Ok(Some(&self.record)),
                (FIRST, false) | (MIDDLE, true) => begun = true,
                _ => return Err(self.damaged(at, "its place among the parts of a record")),
            }
        }
    }

    /// Appends the data of the next frame to the record and returns the frame's kind.
    fn append_frame(&mut self) -> Result<Option<u8>> {
        let in_block = BLOCK - self.offset % BLOCK;
        if in_block < HEADER as u64 {
            self.offset += in_block;
        }
        let at = self.offset;
        let left = self.source.len().saturating_sub(at);
        if left < HEADER as u64 {
            self.is_cut |= left > 0;
            return Ok(None);
        }
        let mut header = [0; HEADER];
        header.copy_from_slice(self.reader.bytes(at, HEADER)?);
        let [c0, c1, c2, c3, l0, l1, kind] = header;
        if header == [0; HEADER] {
            // Space that the file system reserved and that was never written.
            self.is_cut = true;
            return Ok(None);
        }
        let len = usize::from(u16::from_le_bytes([l0, l1]));
        if left < (HEADER + len) as u64 {
            self.is_cut = true;
            return Ok(None);
        }
        if self.record.len() + len > MAX_RECORD {
            let message = format!("the record at byte {at} is longer than {MAX_RECORD} bytes");
            return Err(Error::new(ErrorKind::LimitExceeded, self.source.name(), message));
        }
        let start = self.record.len();
        self.record.resize(start + len, 0);
        let data = self.record.get_mut(start..).unwrap_or_default();
        data.copy_from_slice(self.reader.bytes(at + HEADER as u64, len)?);
        let mut checksum = crc32fast::Hasher::new();
        checksum.update(&[kind]);
        checksum.update(data);
        if checksum.finalize() != u32::from_le_bytes([c0, c1, c2, c3]) {
            return Err(self.damaged(at, "the checksum of its content"));
        }
        self.offset = at + (HEADER + len) as u64;
        Ok(Some(kind))
    }

    fn damaged(&self, offset: u64, what: &str) -> Error {
        let LogKind { name, version, .. } = self.kind;
        let other = if self.version == version {
            String::new()
        } else {
            format!("; the {name} has version {}, and known is version {version}", self.version)
        };
        let message = format!("the frame at byte {offset} is damaged: {what} does not fit{other}");
        Error::corrupt(self.source.name(), message).with_help("collect the file again once the run has ended")
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::fetch::MemorySource;

    /// A log with the records, in frames of at most `part` bytes where they are divided.
    pub(in crate::read::curve) fn log(head: &[u8], records: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = head.to_vec();
        for record in records {
            let mut rest = record.as_slice();
            let mut first = true;
            loop {
                let in_block = 32768 - bytes.len() % 32768;
                if in_block < HEADER {
                    bytes.resize(bytes.len() + in_block, 0);
                    continue;
                }
                let (now, later) = rest.split_at(rest.len().min(in_block - HEADER));
                let kind = match (first, later.is_empty()) {
                    (true, true) => FULL,
                    (true, false) => FIRST,
                    (false, false) => MIDDLE,
                    (false, true) => LAST,
                };
                let crc = crc32fast::hash(&[&[kind], now].concat());
                bytes.extend(crc.to_le_bytes());
                bytes.extend(u16::try_from(now.len()).expect("a block is shorter").to_le_bytes());
                bytes.push(kind);
                bytes.extend(now);
                (rest, first) = (later, false);
                if rest.is_empty() {
                    break;
                }
            }
        }
        bytes
    }

    const KIND: LogKind = LogKind { name: "W&B log", version: 0, values: "history records" };

    fn read(bytes: Vec<u8>) -> Result<(Vec<Vec<u8>>, bool)> {
        let source = MemorySource::new("run.wandb", bytes);
        let mut frames = Frames::new(&source, KIND)?;
        let mut records = Vec::new();
        while let Some(record) = frames.next()? {
            records.push(record.to_vec());
        }
        Ok((records, frames.is_cut))
    }

    #[test]
    fn records_cross_blocks_and_ends_of_blocks_are_padding() {
        // The second ends three bytes before the block does, the third is longer than two blocks.
        let records = [vec![1; 20], vec![2; 32768 - 7 - 27 - 7 - 3], vec![3; 70_000], Vec::new(), vec![4; 5]];
        assert_eq!(read(log(b":W&B\xe1\xbe\0", &records)).expect("sound"), (records.to_vec(), false));
    }

    #[test]
    fn a_cut_log_keeps_the_records_before_the_cut() {
        let records = [vec![1; 20], vec![3; 40_000]];
        let whole = log(b":W&B\xe1\xbe\0", &records);
        for end in [35, 36, 100, 32768, 32770, 32775, whole.len() - 1] {
            assert_eq!(read(whole[..end].to_vec()).expect("the first is whole"), (vec![vec![1; 20]], true), "{end}");
        }
        assert_eq!(read(whole[..34].to_vec()).expect("whole"), (vec![vec![1; 20]], false));
        assert_eq!(read(whole[..7].to_vec()).expect("nothing"), (vec![], true));
        assert_eq!(read(whole[..3].to_vec()).expect("nothing"), (vec![], true));
        let kept = [&whole[..34], &[0; 100]].concat();
        assert_eq!(read(kept).expect("never written"), (vec![vec![1; 20]], true));
    }

    #[test]
    fn a_flipped_bit_and_parts_without_a_beginning_are_damage() {
        let mut bytes = log(b":W&B\xe1\xbe\0", &[vec![1; 20], vec![2; 20]]);
        bytes[20] ^= 1;
        assert_eq!(read(bytes).expect_err("damaged").kind(), ErrorKind::Corrupt);
        let data = [LAST, 9, 9];
        let frame = [&crc32fast::hash(&data).to_le_bytes()[..], &[2, 0], &data].concat();
        let error = read([b":W&B\xe1\xbe\x09", frame.as_slice()].concat()).expect_err("damaged");
        assert!(error.message().contains("version 9"), "{error}");
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_give_records_or_an_error(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
            let _outcome = read(bytes);
        }
    }
}
