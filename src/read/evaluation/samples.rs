//! Samples of a task, gathered from the lines of its file.

use std::collections::BTreeSet;
use std::sync::Arc;

use rayon::prelude::*;

use super::damage::EvaluationDamage;
use super::digest::Digest;
use super::lines::{self, Line};
use super::question::{EvaluationSample, SampleValue, Samples, TextPlace};
use crate::fetch::{Budget, ByteSource};
use crate::kind::SampleId;

/// Most damaged lines of a file that are reported one by one.
const MOST_DAMAGES: usize = 20;

/// Number of lines that are parsed at once.
const LINES: usize = 16_384;
/// Most samples of a file.
const MOST_SAMPLES: usize = 2_000_000;
/// Bytes that the values of a sample take: one node of a map, which has room for eleven entries.
const VALUES: usize = 11 * size_of::<(String, SampleValue)>();
/// Most different filters, and most different metrics, of a file.
const MOST_NAMES: usize = 256;
/// Longest name of a filter or metric, in bytes.
const LONGEST_NAME: usize = 1024;
/// Longest id in bytes. A longer id is replaced by its digest.
const LONGEST_ID: usize = 256;

/// A sample under its filter.
pub(super) type Filtered = (Option<String>, EvaluationSample);

/// Samples and damages of one file.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    pub(super) samples: Samples,
    pub(super) damages: Vec<EvaluationDamage>,
}

/// Place of a line in the file at `path`.
pub(super) fn line_place(path: &Arc<str>, line: &Line<'_>) -> TextPlace {
    let len = line.bytes.map_or(0, <[u8]>::len) as u64;
    TextPlace::Line { path: path.clone(), offset: line.offset, len }
}

/// Calls `read` with each line of `source`, and `take` with the results in the order of the lines. Lines that `read` rejects are
/// returned as damage of the file at `path`.
pub(super) fn read_each_line<T: Send>(
    path: &str,
    source: &dyn ByteSource,
    read: impl Fn(&Line<'_>, &[u8]) -> Result<T, String> + Sync,
    mut take: impl FnMut(T),
) -> Vec<EvaluationDamage> {
    let mut damages = Damages { path, kept: Vec::new(), more: 0 };
    let mut some = false;
    let outcome = lines::for_each_block(source, |lines| {
        let one = |line: &Line<'_>| {
            let bytes = line.bytes.ok_or_else(|| format!("a line longer than {} MiB", lines::MAX_LINE >> 20));
            bytes.and_then(|bytes| read(line, bytes)).map_err(|reason| (line.number, reason))
        };
        for lines in lines.chunks(LINES) {
            let all: Vec<Result<T, (u64, String)>> = lines.par_iter().map(one).collect();
            some = true;
            for line in all {
                match line {
                    Ok(read) => take(read),
                    Err((number, reason)) => damages.add(Some(number), reason),
                }
            }
        }
    });
    match outcome {
        Err(error) => damages.add(None, error.message().to_owned()),
        Ok(()) if !some => damages.add(None, "the file is empty".to_owned()),
        Ok(()) => {}
    }
    damages.finish()
}

/// Damages of a file: the first ones, and the number of further ones.
struct Damages<'a> {
    path: &'a str,
    kept: Vec<EvaluationDamage>,
    more: usize,
}

impl Damages<'_> {
    fn add(&mut self, line: Option<u64>, reason: String) {
        if self.kept.len() < MOST_DAMAGES {
            self.kept.push(EvaluationDamage { path: self.path.to_owned(), line, reason });
        } else {
            self.more += 1;
        }
    }

    fn finish(mut self) -> Vec<EvaluationDamage> {
        if self.more > 0 {
            let reason = format!("{} more lines cannot be read", self.more);
            self.kept.push(EvaluationDamage { path: self.path.to_owned(), line: None, reason });
        }
        self.kept
    }
}

/// Gathers the samples of a file with a line per sample.
pub(super) fn gather(
    path: &str,
    source: &dyn ByteSource,
    read: impl Fn(&Line<'_>, &[u8]) -> Result<Filtered, String> + Sync,
) -> Gathered {
    let mut samples = Samples::default();
    let mut names = Names::default();
    let mut budget = Budget::from_source(source);
    let mut left_out = 0_u64;
    let mut damages = read_each_line(path, source, read, |sample| {
        if names.len < MOST_SAMPLES && budget.reserve_value::<Filtered>(VALUES).is_ok() && names.add(&sample) {
            samples.add(sample);
        } else {
            left_out += 1;
        }
    });
    if left_out > 0 {
        let memory = source.memory_limit();
        let limits = format!(
            "{MOST_SAMPLES} samples, {MOST_NAMES} filters, {MOST_NAMES} metrics or {memory} bytes of memory, a quarter of `--max-memory`"
        );
        let reason = format!("{left_out} lines beyond what is read of a file: {limits}");
        damages.push(EvaluationDamage { path: path.to_owned(), line: None, reason });
    }
    samples.sort();
    Gathered { samples, damages }
}

/// Names of the filters and metrics of a file.
#[derive(Default)]
struct Names {
    filters: BTreeSet<String>,
    metrics: BTreeSet<String>,
    /// Number of samples so far.
    len: usize,
}

impl Names {
    /// Adds the names of a sample; returns false if they would be too many or too long.
    fn add(&mut self, (filter, sample): &Filtered) -> bool {
        let is_known = add_name(&mut self.filters, filter.as_deref().unwrap_or_default())
            && sample.values.keys().all(|metric| add_name(&mut self.metrics, metric));
        self.len += usize::from(is_known);
        is_known
    }
}

fn add_name(names: &mut BTreeSet<String>, name: &str) -> bool {
    names.contains(name) || names.len() < MOST_NAMES && name.len() <= LONGEST_NAME && names.insert(name.to_owned())
}

impl Samples {
    /// Appends a sample to the others of its filter.
    pub(super) fn add(&mut self, (filter, sample): Filtered) {
        match self.by_filter.get_mut(&filter) {
            Some(samples) => samples.push(sample),
            None => {
                self.by_filter.insert(filter, vec![sample]);
            }
        }
    }

    /// Sorts the samples by id. Samples with equal ids keep the order of the file.
    pub(super) fn sort(&mut self) {
        for samples in self.by_filter.values_mut() {
            samples.sort_by(|one, other| one.id.cmp(&other.id));
        }
    }

    /// Whether there is no sample.
    pub(super) fn is_empty(&self) -> bool {
        self.by_filter.is_empty()
    }
}

/// Identity of a sample from a JSON value: a number, or its text.
pub(super) fn sample_id(raw: &[u8]) -> SampleId {
    let text = std::str::from_utf8(raw).unwrap_or_default();
    match text.parse() {
        Ok(number) => SampleId::Number(number),
        Err(_) if raw.len() > LONGEST_ID => SampleId::Text(format!("{:016x}", Digest::of_text(text))),
        Err(_) => SampleId::Text(text.trim_matches('"').to_owned()),
    }
}
