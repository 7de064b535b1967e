//! TensorBoard event files: records, their checksums, messages.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use precision_gate::fetch::{MemorySource, Room, Source};
use precision_gate::read::curve::{self, CurveFormat};

fuzz_target!(|bytes: &[u8]| {
    let read = |bytes: Vec<u8>| {
        let source: Source = Arc::new(MemorySource::new("fuzz.tfevents", bytes));
        let _curves = curve::read(source, CurveFormat::TensorBoard, &Room::unlimited());
    };
    read(bytes.to_vec());
    read(framed(bytes));
});

/// `message` as the one record of a file whose checksums are right, so that the message itself is read.
fn framed(message: &[u8]) -> Vec<u8> {
    let masked = |bytes: &[u8]| crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8).to_le_bytes();
    let len = (message.len() as u64).to_le_bytes();
    [&len[..], &masked(&len), message, &masked(message)].concat()
}

/// CRC-32C, bit by bit: inputs are small.
fn crc32c(bytes: &[u8]) -> u32 {
    let step = |crc: u32, byte: &u8| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0x82f6_3b78 & (crc & 1).wrapping_neg()))
    };
    !bytes.iter().fold(u32::MAX, step)
}
