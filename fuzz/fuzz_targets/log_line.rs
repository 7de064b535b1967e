//! Lines of a log: never a panic, and every number in one state at most, read or unread.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use precision_gate::fetch::{MemorySource, Room, Source};
use precision_gate::read::curve::{self, CurveFormat};

fuzz_target!(|bytes: &[u8]| {
    let line = String::from_utf8_lossy(bytes);
    // Lines of one make are looked at together.
    let text: String = (1..=3).map(|step| format!("{line}\nstep {step} loss: 0.5\n")).collect();
    let source: Source = Arc::new(MemorySource::new("train.log", text.clone().into_bytes()));
    let Ok(files) = curve::read(source, CurveFormat::Log, &Room::unlimited()) else { return };
    let mut numbers = 0;
    for file in &files {
        numbers += file.series.iter().map(|series| series.shape().len as u64).sum::<u64>();
        numbers += file.account.shapes().iter().map(|unread| unread.number_count()).sum::<u64>()
            + file.account.dropped_count();
    }
    // A number has a digit, or is a word of three letters at least.
    let most = text.bytes().filter(u8::is_ascii_digit).count() + text.len() / 3;
    assert!(numbers <= most as u64, "{numbers} numbers of {most}: {text:?}");
});
