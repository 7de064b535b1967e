//! Evaluations: results, samples, reviews, reports, predictions and generation records, on both sides of a pair.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use precision_gate::error::Result;
use precision_gate::fetch::{FileEntry, Files, MemorySource, Source};
use precision_gate::pair::evaluation::{pair_generations, pair_models};
use precision_gate::read::evaluation::{self, EvaluationFile};

/// Paths that a harness writes; each holds the same bytes or a part of them.
const PATHS: [&str; 8] = [
    "configs/task_config.yaml",
    "m/results_2026-11-22T11-55-08.261544.json",
    "m/samples_t_2026-11-22T11-55-08.261544.jsonl",
    "predictions/m/d.jsonl",
    "reports/m/b.json",
    "results/m/d.json",
    "reviews/m/b_s.jsonl",
    "summary/summary.csv",
];

/// The same bytes under every path.
struct Everywhere {
    entries: Vec<FileEntry>,
    source: Source,
}

impl Files for Everywhere {
    fn location(&self) -> &str {
        "fuzz"
    }

    fn list(&self) -> &[FileEntry] {
        &self.entries
    }

    fn open(&self, _: &str) -> Result<Source> {
        Ok(self.source.clone())
    }
}

fn read(bytes: &[u8]) -> evaluation::Evaluations {
    let source: Source = Arc::new(MemorySource::new("fuzz", bytes.to_vec()));
    let entry = |path: &&str| FileEntry { path: (*path).to_owned(), len: source.len() };
    let files = Everywhere { entries: PATHS.iter().map(entry).collect(), source: source.clone() };
    let kind = |path: &&str| {
        let kind = evaluation::recognise(bytes, path, &files)?;
        Some(EvaluationFile { path: (*path).to_owned(), kind })
    };
    let found: Vec<EvaluationFile> = PATHS.iter().filter_map(kind).collect();
    let read = evaluation::read(&files, &found);
    let samples = read.runs.iter().flat_map(|run| run.tasks.values()).flat_map(|task| &task.samples);
    for sample in samples.flat_map(|samples| samples.by_filter.values().flatten()).take(4) {
        let _texts = evaluation::sample_texts(&files, &sample.texts);
    }
    read
}

fuzz_target!(|bytes: &[u8]| {
    let (baseline, candidate) = (read(bytes), read(bytes.get(..bytes.len() / 2).unwrap_or_default()));
    for (ours, theirs) in [(&baseline, &baseline), (&baseline, &candidate), (&candidate, &baseline)] {
        let _pairs = pair_models(&ours.runs, &theirs.runs);
        let _records = pair_generations(&ours.generations, &theirs.generations);
    }
});
