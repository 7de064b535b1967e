//! TensorBoard event files.
//!
//! A file is a sequence of TFRecords: length (u64, little endian), its masked CRC-32C, payload, its masked
//! CRC-32C. A payload is an `Event` message of which the four parts below matter. Scalars come as
//! `simple_value` (older writers, torch) or as a tensor of one element (TensorFlow 2). A writer that was stopped
//! leaves its last record cut: the events before it are read, and the cut is noted.

use std::sync::Arc;

use prost::Message;

use super::collector::Collector;
use super::file::{CurveFile, CurveNote};
use super::format::CurveFormat;
use super::in_order::InOrder;
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::{ByteSource, Room};

/// Length and its checksum.
const HEADER: usize = 12;
/// Checksum of the payload.
const FOOTER: u64 = 4;
/// Largest record; pictures and graphs in event files stay far below.
const MAX_RECORD: u64 = 256 << 20;

/// `tensorflow.Event`.
#[derive(Clone, PartialEq, Message)]
struct Event {
    #[prost(int64, tag = "2")]
    step: i64,
    #[prost(message, optional, tag = "5")]
    summary: Option<Summary>,
}

/// `tensorflow.Summary`.
#[derive(Clone, PartialEq, Message)]
struct Summary {
    #[prost(message, repeated, tag = "1")]
    value: Vec<Value>,
}

/// `tensorflow.Summary.Value`.
#[derive(Clone, PartialEq, Message)]
struct Value {
    #[prost(string, tag = "1")]
    tag: String,
    #[prost(float, optional, tag = "2")]
    simple_value: Option<f32>,
    #[prost(message, optional, tag = "8")]
    tensor: Option<TensorProto>,
}

/// `tensorflow.TensorProto`, for tensors of one element.
#[derive(Clone, PartialEq, Message)]
struct TensorProto {
    #[prost(int32, tag = "1")]
    dtype: i32,
    #[prost(bytes = "vec", tag = "4")]
    tensor_content: Vec<u8>,
    #[prost(float, repeated, tag = "5")]
    float_val: Vec<f32>,
    #[prost(double, repeated, tag = "6")]
    double_val: Vec<f64>,
}

impl Value {
    fn scalar(&self) -> Option<f64> {
        self.simple_value.map(f64::from).or_else(|| self.tensor.as_ref()?.scalar())
    }
}

impl TensorProto {
    /// `DT_FLOAT` and `DT_DOUBLE` of `tensorflow/core/framework/types.proto`.
    const FLOAT: i32 = 1;
    const DOUBLE: i32 = 2;

    fn scalar(&self) -> Option<f64> {
        match (self.dtype, self.float_val.as_slice(), self.double_val.as_slice()) {
            (Self::FLOAT, [value], _) => Some(f64::from(*value)),
            (Self::DOUBLE, _, [value]) => Some(*value),
            (Self::FLOAT, ..) => Some(f64::from(f32::from_le_bytes(self.tensor_content.as_slice().try_into().ok()?))),
            (Self::DOUBLE, ..) => Some(f64::from_le_bytes(self.tensor_content.as_slice().try_into().ok()?)),
            _ => None,
        }
    }
}

/// The checksum as TFRecord stores it: rotated and offset, so that data holding checksums stays well behaved.
fn masked_crc(bytes: &[u8]) -> u32 {
    crc32c::crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8)
}

/// The length in a record's header, where its checksum holds.
fn record_len(header: &[u8]) -> Option<u64> {
    let (len, rest) = header.split_first_chunk::<8>()?;
    let crc = u32::from_le_bytes(*rest.first_chunk::<4>()?);
    (masked_crc(len) == crc).then_some(u64::from_le_bytes(*len))
}

/// Whether a file begins with a TFRecord that holds an event.
pub(super) fn recognise(head: &[u8]) -> bool {
    let Some(len) = record_len(head) else { return false };
    let end = usize::try_from(len).ok().and_then(|len| len.checked_add(HEADER));
    // Every event file begins with its version, a few bytes that are always in the head.
    end.and_then(|end| head.get(HEADER..end)).is_none_or(|payload| Event::decode(payload).is_ok())
}

pub(super) fn read(source: &dyn ByteSource, room: &Arc<Room>) -> Result<CurveFile> {
    let mut collector = Collector::new(source.name(), room);
    let mut reader = InOrder::new(source);
    let mut offset = 0;
    while offset < source.len() {
        let Some((payload, next)) = read_record(source, &mut reader, offset)? else { break };
        take(source, offset, payload, &mut collector)?;
        offset = next;
    }
    let note = (offset < source.len()).then_some(CurveNote::Truncated);
    Ok(CurveFile::new(source, CurveFormat::TensorBoard, collector.finish()?).with_note(note))
}

/// Reads the record at `offset`: what it holds, and the offset after it; `None` where the file ends first.
fn read_record<'r>(
    source: &dyn ByteSource,
    reader: &'r mut InOrder<'_>,
    offset: u64,
) -> Result<Option<(&'r [u8], u64)>> {
    let left = source.len() - offset;
    if left < HEADER as u64 {
        return Ok(None);
    }
    let len = record_len(reader.bytes(offset, HEADER)?)
        .ok_or_else(|| damaged(source, offset, "the checksum of its length"))?;
    if len > MAX_RECORD {
        let message = format!("the record at byte {offset} is {len} bytes long, read are up to {MAX_RECORD}");
        return Err(Error::new(ErrorKind::LimitExceeded, source.name(), message));
    }
    let end = HEADER as u64 + len + FOOTER;
    if left < end {
        return Ok(None);
    }
    let len = usize::try_from(len).map_err(|_| damaged(source, offset, "its length"))?;
    let content = reader.bytes(offset + HEADER as u64, len + size_of::<u32>())?;
    let Some((payload, crc)) = content.split_last_chunk() else { return Ok(None) };
    if masked_crc(payload) != u32::from_le_bytes(*crc) {
        return Err(damaged(source, offset, "the checksum of its content"));
    }
    Ok(Some((payload, offset + end)))
}

fn damaged(source: &dyn ByteSource, offset: u64, what: &str) -> Error {
    Error::corrupt(source.name(), format!("the record at byte {offset} is damaged: {what} does not fit"))
        .with_help("collect the event file again; a copy made while it was written can be damaged like this")
}

fn take(source: &dyn ByteSource, offset: u64, payload: &[u8], collector: &mut Collector) -> Result<()> {
    let event = Event::decode(payload).map_err(|error| damaged(source, offset, &error.to_string()))?;
    let Ok(step) = u64::try_from(event.step) else { return Ok(()) };
    for value in event.summary.iter().flat_map(|summary| &summary.value) {
        if let (Some(scalar), false) = (value.scalar(), collector.keys.of(&value.tag).is_bookkeeping) {
            collector.push(&value.tag, Some(step), scalar)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fetch::MemorySource;

    fn record(event: &Event) -> Vec<u8> {
        let payload = event.encode_to_vec();
        let len = (payload.len() as u64).to_le_bytes();
        [&len[..], &masked_crc(&len).to_le_bytes(), &payload, &masked_crc(&payload).to_le_bytes()].concat()
    }

    fn event(step: i64, value: Value) -> Event {
        Event { step, summary: Some(Summary { value: vec![value] }) }
    }

    fn simple(step: i64, value: f32) -> Event {
        event(step, Value { tag: "train/loss".into(), simple_value: Some(value), tensor: None })
    }

    fn of_bytes(bytes: Vec<u8>) -> Result<CurveFile> {
        read(&MemorySource::new("events", bytes), &Room::unlimited())
    }

    #[test]
    fn both_kinds_of_scalar_are_read() {
        let tensor = TensorProto { dtype: 1, tensor_content: 2.5_f32.to_le_bytes().to_vec(), ..Default::default() };
        let tensor = event(2, Value { tag: "train/loss".into(), simple_value: None, tensor: Some(tensor) });
        let file = of_bytes([record(&simple(1, 3.5)), record(&tensor)].concat()).expect("events");
        assert_eq!(file.loaded()[0].points().collect::<Vec<_>>(), [(1, 3.5), (2, 2.5)]);
    }

    #[test]
    fn a_cut_last_record_keeps_the_events_before_it() {
        let whole = [record(&simple(1, 3.5)), record(&simple(2, 3.0))].concat();
        let first = record(&simple(1, 3.5)).len();
        for end in first + 1..whole.len() {
            let file = of_bytes(whole[..end].to_vec()).expect("the first event is whole");
            assert_eq!(file.loaded()[0].steps.len(), 1, "{end}");
            assert_eq!(file.notes, [CurveNote::Truncated]);
        }
    }

    #[test]
    fn a_flipped_bit_is_damage() {
        let mut bytes = [record(&simple(1, 3.5)), record(&simple(2, 3.0))].concat();
        bytes[20] ^= 1;
        assert_eq!(of_bytes(bytes).expect_err("damaged").kind(), ErrorKind::Corrupt);
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_give_a_file_or_an_error(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..120)) {
            let _recognised = recognise(&bytes);
            let _outcome = of_bytes(bytes);
        }
    }
}
