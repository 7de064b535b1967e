//! Time to take files apart once with the fastest readers there are, by one thread, with nothing done to their content:
//! JSON and lines of JSON by simd-json, tables by the csv crate, event files of TensorBoard by their frames, logs by their lines.
//!
//! ```text
//! cargo run --release --manifest-path benches/parse/Cargo.toml -- FOLDER...
//! ```
//!
//! Prints the seconds of the fastest of five rounds, reading included, and the megabytes that were taken apart. All other files
//! are passed over.

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Instant;
use std::{env, fs};

const ROUNDS: usize = 5;

/// Form of a file, by its name.
#[derive(Clone, Copy)]
enum Form {
    Json,
    JsonLines,
    Table,
    Frames,
    Lines,
}

impl Form {
    fn of(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("json") => Some(Self::Json),
            Some("jsonl") => Some(Self::JsonLines),
            Some("csv") => Some(Self::Table),
            Some("log" | "txt") => Some(Self::Lines),
            _ if name.contains("tfevents") => Some(Self::Frames),
            _ => None,
        }
    }

    /// Number of parts that a file falls into.
    fn parts(self, bytes: &mut [u8]) -> usize {
        match self {
            Self::Json => simd_json::to_tape(bytes).map_or(0, |tape| tape.0.len()),
            Self::JsonLines => bytes
                .split_mut(|byte| *byte == b'\n')
                .filter(|line| !line.is_empty())
                .filter_map(|line| Some(simd_json::to_tape(line).ok()?.0.len()))
                .sum(),
            Self::Table => {
                let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(&*bytes);
                let (mut record, mut cells) = (csv::ByteRecord::new(), 0);
                while reader.read_byte_record(&mut record).unwrap_or(false) {
                    cells += record.len();
                }
                cells
            }
            Self::Frames => {
                let (mut at, mut frames) = (0, 0);
                while let Some(length) = bytes.get(at..at + 8) {
                    let length = length.iter().rev().fold(0, |length, byte| length << 8 | usize::from(*byte));
                    (at, frames) = (at + length + 16, frames + 1);
                }
                frames
            }
            Self::Lines => memchr::memchr_iter(b'\n', bytes).count(),
        }
    }
}

fn main() {
    let files = env::args().skip(1).flat_map(|folder| walkdir::WalkDir::new(folder).into_iter().flatten());
    let files: Vec<(PathBuf, Form)> = files
        .filter(|entry| entry.file_type().is_file())
        .filter_map(|entry| Some((entry.path().to_owned(), Form::of(entry.path())?)))
        .collect();
    let mut bytes = 0;
    let seconds = (0..ROUNDS).map(|_| {
        let start = Instant::now();
        bytes = 0;
        for (path, form) in &files {
            let mut content = fs::read(path).expect("a file that can be read");
            bytes += content.len();
            black_box(form.parts(&mut content));
        }
        start.elapsed().as_secs_f64()
    });
    let least = seconds.fold(f64::INFINITY, f64::min);
    println!("{least:.4} s {} MB", bytes / 1_000_000);
}
