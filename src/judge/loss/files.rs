//! Logs for the tests of rules about one run.

use std::sync::Arc;

use crate::fetch::{MemorySource, Room, Source};
use crate::read::curve::{self, CurveFile};

/// The curves of a log with this text.
pub(super) fn log(text: &str) -> CurveFile {
    let source: Source = Arc::new(MemorySource::new("train.log", text.as_bytes().to_vec()));
    let format = curve::recognise(text.as_bytes(), source.as_ref()).expect("a log");
    curve::read(source, format, &Room::unlimited()).expect("a log").remove(0)
}
