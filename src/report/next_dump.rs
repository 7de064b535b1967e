//! The next dump in documents: the reason for it, and msprobe's configuration that records it.

use minijinja::{Value, context};
use serde::Serialize;

use super::escape::{self, TextTarget};
use super::writer::{Writer, safe};
use crate::diagnose::next_dump::msprobe_config;
use crate::error::{Error, ErrorKind, Result};
use crate::result::next_dump::NextDump;

#[derive(Debug, Serialize)]
pub(crate) struct NextDumpView {
    /// Reason for it, in words.
    pub reason: Value,
    /// msprobe's `config.json`.
    pub config: Value,
}

/// The next dump for documents.
///
/// Names in the configuration come from an artifact; JSON strings can end neither the line nor the code block.
pub(super) fn view(next: &NextDump, writer: &Writer) -> Result<NextDumpView> {
    let clean = NextDump { list: next.list.iter().map(|name| escape::cleaned(name)).collect(), ..next.clone() };
    let config = serde_json::to_string_pretty(&msprobe_config(&clean, "./next_dump"))
        .map_err(|error| Error::new(ErrorKind::Internal, "next_dump", error))?;
    let config = match writer.target() {
        TextTarget::Html => escape::html(&config).into_owned(),
        _ => config,
    };
    Ok(NextDumpView { reason: safe(reason(next, writer)?), config: safe(config) })
}

/// Whether a dump is meant for the step at which a curve begins to diverge.
pub(super) fn is_of_curve(next: &NextDump) -> bool {
    next.reason == "curve"
}

pub(super) fn reason(next: &NextDump, writer: &Writer) -> Result<String> {
    let key = match next.reason.as_str() {
        "inside-module" => "next_dump_inside_module",
        "gap" => "next_dump_gap",
        "curve" => "next_dump_curve",
        _ => "next_dump_tensors",
    };
    let reason = writer.phrase(key, &context! { step => next.step })?;
    let Some(bytes) = next.bytes else { return Ok(reason) };
    let size = writer.phrase("next_dump_size", &context! { size => safe(size_in_words(bytes)) })?;
    Ok(format!("{reason}{}{size}", writer.word("comma")?))
}

/// A size on disk to two digits: `3.1 MB`.
#[allow(clippy::cast_precision_loss, reason = "a size in words has few digits")]
fn size_in_words(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "kB", "MB", "GB", "TB"];
    let mut size = bytes as f64;
    let mut units = UNITS.into_iter();
    let mut unit = units.next().unwrap_or_default();
    while let Some(larger) = (size >= 1000.0).then(|| units.next()).flatten() {
        size /= 1000.0;
        unit = larger;
    }
    if size < 10.0 && unit != "B" { format!("{size:.1} {unit}") } else { format!("{size:.0} {unit}") }
}

#[cfg(test)]
mod tests {
    use super::size_in_words;

    #[test]
    fn sizes_have_two_digits() {
        for (bytes, words) in
            [(0, "0 B"), (999, "999 B"), (3072, "3.1 kB"), (64_000_000, "64 MB"), (u64::MAX, "18446744 TB")]
        {
            assert_eq!(size_in_words(bytes), words);
        }
    }
}
