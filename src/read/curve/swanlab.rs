//! Logs that SwanLab keeps on disk (`run-<id>.swanlab`), as an offline run leaves them.

use std::sync::Arc;

use prost::Message;

use super::collector::Collector;
use super::file::{CurveFile, CurveNote};
use super::format::CurveFormat;
use super::frames::{self, LogKind};
use crate::error::Result;
use crate::fetch::{ByteSource, Room};

/// First bytes, with the number 0xE1D6 in little-endian order.
const MAGIC: &[u8] = b":SWL\xd6\xe1";
const KIND: LogKind = LogKind { name: "SwanLab log", version: 2, values: "records of scalars" };

/// Record of the log: the part that holds a value.
#[derive(Clone, PartialEq, Message)]
struct Record {
    #[prost(message, optional, tag = "13")]
    scalar: Option<Scalar>,
}

#[derive(Clone, PartialEq, Message)]
struct Scalar {
    #[prost(string, tag = "1")]
    key: String,
    #[prost(int64, tag = "2")]
    step: i64,
    #[prost(message, optional, tag = "5")]
    value: Option<Number>,
}

#[derive(Clone, PartialEq, Message)]
struct Number {
    #[prost(double, tag = "1")]
    number: f64,
}

/// Whether a file begins like such a log.
pub(super) fn recognise(head: &[u8]) -> bool {
    head.starts_with(MAGIC)
}

/// Reads all scalars.
///
/// # Errors
/// `Corrupt` for a damaged record, and for a log that ends before its first value.
pub(super) fn read(source: &dyn ByteSource, room: &Arc<Room>) -> Result<CurveFile> {
    let mut collector = Collector::new(source.name(), room);
    let is_cut = frames::each_record(source, KIND, |record: Record| take(record, &mut collector))?;
    let series = collector.finish()?;
    if series.is_empty() && is_cut {
        return Err(frames::no_values_error(source, KIND));
    }
    Ok(CurveFile::new(source, CurveFormat::SwanLab, series).with_note(is_cut.then_some(CurveNote::Truncated)))
}

fn take(record: Record, collector: &mut Collector) -> Result<()> {
    let Some(Scalar { key, step, value: Some(value) }) = record.scalar else { return Ok(()) };
    match u64::try_from(step) {
        Ok(step) if !collector.keys.of(&key).is_bookkeeping => collector.push(&key, Some(step), value.number),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fetch::MemorySource;

    fn log(version: u8) -> Vec<u8> {
        let record = |(key, step, number): (&str, i64, f64)| {
            let scalar = Scalar { key: key.into(), step, value: Some(Number { number }) };
            Record { scalar: Some(scalar) }.encode_to_vec()
        };
        let records = [("loss", 1, 2.5), ("loss", 2, f64::NAN), ("loss", -1, 9.0)].map(record);
        frames::tests::log(&[MAGIC, &[version]].concat(), &records)
    }

    #[test]
    fn scalars_are_read_whatever_the_version_where_the_frames_are_sound() {
        for version in [2, 3] {
            let file = read(&MemorySource::new("run.swanlab", log(version)), &Room::unlimited()).expect("sound");
            let points: Vec<(u64, f64)> = file.loaded()[0].points().collect();
            assert_eq!((points.len(), points[0]), (2, (1, 2.5)));
        }
        let mut bytes = log(3);
        bytes[16] ^= 1;
        let error = read(&MemorySource::new("run.swanlab", bytes), &Room::unlimited()).expect_err("damaged");
        assert!(error.message().contains("version 3"), "{error}");
        assert!(read(&MemorySource::new("run.swanlab", log(2)[..7].to_vec()), &Room::unlimited()).is_err());
    }
}
