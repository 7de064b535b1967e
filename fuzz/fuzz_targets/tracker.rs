//! Logs and databases of trackers: frames, their messages, the pages of a database and of the log beside it.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use precision_gate::fetch::{MemorySource, Room, Source};
use precision_gate::read::curve::{self, CurveFormat};
use precision_gate::read::sqlite;

fuzz_target!(|bytes: &[u8]| {
    let source = |bytes: &[u8]| -> Source { Arc::new(MemorySource::new("fuzz", bytes.to_vec())) };
    let framed = framed(bytes);
    for bytes in [bytes, &framed] {
        for format in [CurveFormat::Wandb, CurveFormat::SwanLab] {
            let _curves = curve::read(source(bytes), format, &Room::unlimited());
        }
    }
    let _curves = curve::read(source(bytes), CurveFormat::Trackio, &Room::unlimited());
    let (database, log) = bytes.split_at(bytes.len() / 2);
    if let Ok(merged) = sqlite::with_log(&source(database), &source(log)) {
        let _curves = curve::read(merged, CurveFormat::Trackio, &Room::unlimited());
    }
});

/// `message` as the one record of a log whose checksum is right, so that the message itself is read.
fn framed(message: &[u8]) -> Vec<u8> {
    let message = message.get(..message.len().min(30_000)).unwrap_or_default();
    let data = [&[1], message].concat();
    let len = u16::try_from(message.len()).unwrap_or_default();
    [b":W&B\xe1\xbe\0", &crc32(&data).to_le_bytes()[..], &len.to_le_bytes(), &data].concat()
}

/// CRC-32, bit by bit: inputs are small.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, byte: &u8| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg()))
    };
    !bytes.iter().fold(u32::MAX, step)
}
