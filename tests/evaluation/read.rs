//! Files of harnesses to runs, and runs of both sides to pairs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use precision_gate::error::Result;
use precision_gate::fetch::{self, FileEntry, Files, Memory, Source};
use precision_gate::pair::evaluation::{self as pair, PairedMetric};
use precision_gate::read::evaluation::{
    self, EvaluationFile, Evaluations, FileKind, Harness, SampleId, Score, TextPlace, Value as Measured,
};
use precision_gate::verdict::Side;
use serde_json::Value;

fn cases() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/evaluation");
    std::env::var_os("EVALUATION_CASES").map_or(folder, PathBuf::from)
}

/// The kinds of all files of a side.
fn recognised(files: &dyn Files) -> Vec<EvaluationFile> {
    let kind = |entry: &FileEntry| {
        let source = files.open(&entry.path).ok()?;
        let mut head = vec![0; usize::try_from(source.len().min(65536)).ok()?];
        source.read_at(0, &mut head).ok()?;
        let kind = evaluation::recognise(&head, &entry.path, files)?;
        Some(EvaluationFile { path: entry.path.clone(), kind })
    };
    files.list().iter().filter_map(kind).collect()
}

fn read(files: &dyn Files) -> Evaluations {
    evaluation::read(files, &recognised(files))
}

fn side(case: &str, side: &str) -> Evaluations {
    let folder = cases().join(case).join(side);
    read(fetch::open(&folder.display().to_string()).expect("a folder").as_ref())
}

/// Files in memory.
struct InMemory {
    entries: Vec<FileEntry>,
    bytes: BTreeMap<String, Source>,
}

impl InMemory {
    fn new<'a>(files: impl IntoIterator<Item = (&'a str, Vec<u8>)>) -> Self {
        let bytes: BTreeMap<String, Source> = files
            .into_iter()
            .map(|(path, bytes)| (path.to_owned(), Arc::new(Memory::new(path, bytes)) as Source))
            .collect();
        let entries = bytes.iter().map(|(path, source)| FileEntry { path: path.clone(), len: source.len() }).collect();
        Self { entries, bytes }
    }
}

impl Files for InMemory {
    fn location(&self) -> &str {
        "memory"
    }

    fn list(&self) -> &[FileEntry] {
        &self.entries
    }

    fn open(&self, path: &str) -> Result<Source> {
        Ok(self.bytes[path].clone())
    }
}

/// All files of a side of a case by path.
fn files_of(case: &str, side: &str) -> BTreeMap<String, Vec<u8>> {
    let files = fetch::open(&cases().join(case).join(side).display().to_string()).expect("a folder");
    let bytes = |entry: &FileEntry| {
        let source = files.open(&entry.path).expect("a file");
        let mut bytes = vec![0; usize::try_from(source.len()).expect("short")];
        source.read_at(0, &mut bytes).expect("readable");
        (entry.path.clone(), bytes)
    };
    files.list().iter().map(bytes).collect()
}

fn read_map(files: &BTreeMap<String, Vec<u8>>) -> Evaluations {
    read(&InMemory::new(files.iter().map(|(path, bytes)| (path.as_str(), bytes.clone()))))
}

fn number(value: Measured) -> f64 {
    match value {
        Measured::Number(number) => number,
        other => panic!("{other:?} is no number"),
    }
}

/// Samples that got worse and better, by a metric of which more is better.
fn changes(metric: &PairedMetric) -> (usize, usize) {
    let count = |worse: bool| {
        let is_so = |pair: &&pair::ValuePair| {
            let (ours, theirs) = (number(pair.baseline), number(pair.candidate));
            if worse { theirs < ours } else { theirs > ours }
        };
        metric.pairs.iter().filter(is_so).count()
    };
    (count(true), count(false))
}

/// Whether a part of a truth fits; `null` and `none` are one filter.
fn fits(wanted: &Value, found: Option<&str>) -> bool {
    let plain = |name: &str| if name == "none" { String::new() } else { name.to_owned() };
    match wanted {
        Value::Null => true,
        wanted => plain(wanted.as_str().unwrap_or_default()) == plain(found.unwrap_or_default()),
    }
}

/// Codes whose cause the readers and pairs show, of both sides together.
fn causes(baseline: &Evaluations, candidate: &Evaluations) -> BTreeSet<&'static str> {
    let (models, alone) = pair::models(&baseline.runs, &candidate.runs);
    let (records, files_alone) = pair::generations(&baseline.generations, &candidate.generations);
    let mut causes = BTreeSet::new();
    let mut note = |code, is_so: bool| is_so.then(|| causes.insert(code));
    note("model-missing", !alone.is_empty() || !files_alone.is_empty());
    for model in &models {
        note("task-missing", !model.missing.is_empty());
        note("older-run-ignored", !model.baseline.older.is_empty() || !model.candidate.older.is_empty());
        note("model-args-differ", !model.settings.is_empty());
        for run in [model.baseline, model.candidate] {
            let damages = run.tasks.values().flat_map(|task| &task.damages).chain(&run.damages);
            note("damaged", damages.count() > 0);
        }
        for task in &model.tasks {
            let is_unequal = |name| task.unequal.iter().any(|difference| difference.name == name);
            note("task-version-differs", is_unequal("version"));
            note("shots-differ", is_unequal("shots"));
            note("generation-settings-differ", is_unequal("generation"));
            note("limit-differs", task.limits.is_some());
            for metric in &task.metrics {
                let left = metric.left_out;
                note("docs-differ", left.documents > 0);
                note("prompts-differ", left.prompts > 0);
                note("samples-unpaired", left.only_baseline + left.only_candidate > 0);
                note("duplicate-samples", left.twice + left.contradictory > 0);
                note("metric-error", left.failed > 0);
                note("samples-missing", !metric.has_samples);
            }
        }
    }
    for pair in records {
        note("samples-unpaired", pair.only_baseline + pair.only_candidate > 0);
        note("prompts-differ", pair.prompts > 0);
    }
    causes
}

#[test]
fn every_case_is_read_and_paired_as_its_truth_says() {
    const OF_PAIRS: [&str; 14] = [
        "damaged",
        "docs-differ",
        "duplicate-samples",
        "generation-settings-differ",
        "limit-differs",
        "metric-error",
        "model-args-differ",
        "model-missing",
        "older-run-ignored",
        "prompts-differ",
        "samples-missing",
        "samples-unpaired",
        "shots-differ",
        "task-missing",
    ];
    let (mut read, mut units, mut wrong) = (0, 0, Vec::new());
    for entry in fs::read_dir(cases()).expect("cases").flatten() {
        let Ok(text) = fs::read(entry.path().join("case.json")) else { continue };
        let case: Value = serde_json::from_slice(&text).expect("JSON");
        let name = entry.file_name().into_string().expect("UTF-8");
        let (baseline, candidate) = (side(&name, "gpu"), side(&name, "npu"));
        read += 1;
        let found = causes(&baseline, &candidate);
        let wanted: BTreeSet<&str> =
            case["truth"]["codes"].as_array().expect("codes").iter().filter_map(Value::as_str).collect();
        for code in OF_PAIRS {
            let follows = match code {
                // Lines that cannot be read are samples less.
                "samples-missing" | "samples-unpaired" => name.starts_with("damaged"),
                // Other examples are another prompt.
                "prompts-differ" => found.contains("shots-differ"),
                _ => false,
            };
            if found.contains(code) != wanted.contains(code) && !follows {
                wrong.push(format!("{name}: {code} of {found:?}, want {wanted:?}"));
            }
        }
        let (models, _) = pair::models(&baseline.runs, &candidate.runs);
        for truth in case["truth"]["units"].as_array().expect("units") {
            let tasks = models.iter().flat_map(|model| &model.tasks);
            let of_task = tasks.filter(|task| fits(&truth["task"], Some(&task.name)));
            let metric = of_task.flat_map(|task| &task.metrics).find(|metric| {
                fits(&truth["metric"], Some(&metric.metric)) && fits(&truth["filter"], metric.filter.as_deref())
            });
            let Some(metric) = metric else {
                assert!(
                    truth["task"].as_str().is_none_or(|task| ["*", "generations"].contains(&task)),
                    "{name}: {truth}"
                );
                continue;
            };
            units += 1;
            if let (Some(worse), Some(better)) = (truth["worse"].as_u64(), truth["better"].as_u64()) {
                let (found_worse, found_better) = changes(metric);
                assert_eq!((found_worse as u64, found_better as u64), (worse, better), "{name}: {truth}");
            }
            for (key, found) in [("samples", metric.samples), ("paired", metric.pairs.len() as u64)] {
                assert!(truth[key].as_u64().is_none_or(|wanted| wanted == found), "{name}: {key} {found}, {truth}");
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    println!("XX {read} cases, {units} units");
    assert!(read >= 24 && units >= 10, "{read} cases, {units} units");
}
