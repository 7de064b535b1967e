//! Files of harnesses to runs, and runs of both sides to pairs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::data::fixture;
use precision_gate::error::Result;
use precision_gate::fetch::{self, FileEntry, Files, MemorySource, Source};
use precision_gate::kind::SampleId;
use precision_gate::pair::evaluation::{self as pair, PairedMetric};
use precision_gate::read::evaluation::{
    self, EvaluationFile, EvaluationFileKind, Evaluations, Harness, OpenFiles, SampleValue as Measured, Score,
    TextPlace,
};
use precision_gate::verdict::Side;
use serde_json::{Value, json};

fn cases() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/evaluation")
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
            .map(|(path, bytes)| (path.to_owned(), Arc::new(MemorySource::new(path, bytes)) as Source))
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
    let (models, alone) = pair::pair_models(&baseline.runs, &candidate.runs);
    let (records, files_alone) = pair::pair_generations(&baseline.generations, &candidate.generations);
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
        let (models, _) = pair::pair_models(&baseline.runs, &candidate.runs);
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
    assert!(read >= 24 && units >= 10, "{read} cases, {units} units");
}

/// One run of lm-evaluation-harness in memory: a results file, and samples by the stem of their files.
fn lm_eval(results: &Value, samples: &[(&str, String)]) -> Evaluations {
    const TIME: &str = "2026-11-22T12-00-00.000001";
    let mut files = BTreeMap::from([(format!("m/results_{TIME}.json"), results.to_string().into_bytes())]);
    for (stem, lines) in samples {
        files.insert(format!("m/samples_{stem}_{TIME}.jsonl"), lines.clone().into_bytes());
    }
    read_map(&files)
}

/// Results of one task `t` with the metric `acc` and `asked` documents.
fn results(asked: u64) -> Value {
    json!({
        "results": {"t": {"alias": "t", "acc,none": 0.5, "acc_stderr,none": "N/A"}},
        "configs": {"t": {"output_type": "multiple_choice"}}, "versions": {"t": 1.0}, "n-shot": {"t": 0},
        "higher_is_better": {"t": {"acc": true}}, "n-samples": {"t": {"original": 100, "effective": asked}},
        "config": {"model": "hf", "model_args": {"pretrained": "/x/m", "dtype": "bfloat16"}}
    })
}

/// One line of samples.
fn line(id: u64, value: &str) -> String {
    format!(
        "{{\"doc_id\": {id}, \"arguments\": {{\"gen_args_0\": {{\"arg_0\": \"Q{id}\"}}}}, \"filter\": \"none\", \
         \"metrics\": [\"acc\"], \"doc_hash\": \"h{id}\", \"acc\": {value}}}\n"
    )
}

fn lines(values: &[&str]) -> String {
    values.iter().zip(0..).map(|(value, id)| line(id, value)).collect()
}

/// The only metric of two runs with one task.
fn only_metric(baseline: &Evaluations, candidate: &Evaluations) -> PairedMetric {
    let (models, alone) = pair::pair_models(&baseline.runs, &candidate.runs);
    assert!(alone.is_empty() && models.len() == 1 && models[0].tasks.len() == 1, "one model with one task");
    models[0].tasks[0].metrics[0].clone()
}

#[test]
fn evalscope_tells_scores_settings_and_reviews() {
    let found = side("evalscope_lost_14", "gpu");
    let run = &found.runs[0];
    assert_eq!((run.harness, run.model.as_str(), found.runs.len()), (Harness::EvalScope, "toy-a", 1));
    assert_eq!(run.settings.get("dtype").map(String::as_str), Some("float16"));
    let task = &run.tasks["general_mcq_sums"];
    assert_eq!(task.version.as_deref(), Some("v1.1 36fb55a3871f"));
    assert_eq!((task.shots.as_deref(), task.asked, task.errors, task.is_sampled), (Some("0"), Some(50), 0, false));
    let score = task.scores.values().next().expect("a score");
    assert_eq!(*score, Score { value: 0.74, error: None, higher_is_better: Some(true) });
    let samples = &task.samples.as_ref().expect("samples").by_filter[&None];
    assert_eq!(samples.len(), 50);
    let folder = cases().join("evalscope_lost_14/gpu");
    let files = fetch::open(&folder.display().to_string()).expect("a folder");
    let texts = evaluation::sample_texts(files.as_ref(), &samples[0].texts).expect("texts");
    assert!(texts.question.contains("What is 9 plus 4?"));
    assert_eq!((texts.answer.as_str(), texts.target.as_str()), ("ANSWER: D", "D"));
}

#[test]
fn percents_of_ais_bench_are_fractions_and_its_texts_come_from_the_predictions() {
    let found = side("ais_bench_worse", "gpu");
    let run = &found.runs[0];
    assert_eq!((run.harness, run.model.as_str()), (Harness::AisBench, "vllm-api-general-chat"));
    let task = &run.tasks["gsm8k"];
    assert_eq!((task.version.as_deref(), task.asked), (Some("50861a"), Some(100)));
    assert!((task.scores.values().next().expect("a score").value - 0.77).abs() < 1e-12);
    let samples = &task.samples.as_ref().expect("samples").by_filter[&None];
    let files = fetch::open(&cases().join("ais_bench_worse/gpu").display().to_string()).expect("a folder");
    let texts = evaluation::sample_texts(files.as_ref(), &samples[0].texts).expect("texts");
    assert!(texts.question.ends_with("How much is 63 + 73?"));
    assert_eq!(texts.answer, "63 plus 73 makes 146.\nanswer:146");
}

#[test]
fn results_of_ais_bench_alone_have_their_count_from_the_predictions() {
    let mut files = files_of("ais_bench_worse", "gpu");
    let path = files.keys().find(|path| path.contains("/results/")).expect("results").clone();
    files.insert(path, b"{\"accuracy\": 77.0}".to_vec());
    let found = read_map(&files);
    let task = &found.runs[0].tasks["gsm8k"];
    assert!(task.samples.is_none() && task.damages.is_empty());
    assert_eq!(task.asked, Some(100));
    assert!((task.scores.values().next().expect("a score").value - 0.77).abs() < 1e-12);
}

#[test]
fn texts_of_a_sample_are_those_of_its_line() {
    let found = side("mirror_benign", "npu");
    let task = &found.runs[0].tasks["toy_mirror"];
    let samples = &task.samples.as_ref().expect("samples").by_filter[&Some("none".to_owned())];
    let files = fetch::open(&cases().join("mirror_benign/npu").display().to_string()).expect("a folder");
    let texts = evaluation::sample_texts(files.as_ref(), &samples[0].texts).expect("texts");
    assert_eq!(texts.question, "Turn: do me ki ba\nBack:");
    assert_eq!((texts.answer.as_str(), texts.target.as_str()), (" ba ki me do", "ba ki me do"));
    assert_eq!(samples[0].values["bleu"], Measured::Corpus);
    let kept = OpenFiles::new(files.as_ref());
    let all: BTreeSet<String> =
        samples.iter().map(|sample| evaluation::sample_texts(&kept, &sample.texts).expect("texts").question).collect();
    assert_eq!(all.len(), 70);
    let TextPlace::Line { path, len, .. } = samples[0].texts.clone();
    let beyond = TextPlace::Line { path, offset: 1 << 40, len };
    assert!(evaluation::sample_texts(files.as_ref(), &beyond).is_err());
}

/// Files that count how often they are opened.
struct Counted(InMemory, AtomicUsize);

impl Files for Counted {
    fn location(&self) -> &str {
        self.0.location()
    }

    fn list(&self) -> &[FileEntry] {
        self.0.list()
    }

    fn open(&self, path: &str) -> Result<Source> {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.open(path)
    }
}

#[test]
fn texts_of_many_samples_open_their_file_once() {
    let whole = files_of("mirror_benign", "gpu");
    let files = InMemory::new(whole.iter().map(|(path, bytes)| (path.as_str(), bytes.clone())));
    let found = read(&files);
    let counted = Counted(files, AtomicUsize::new(0));
    let kept = OpenFiles::new(&counted);
    let samples = found.runs[0].tasks["toy_mirror"].samples.as_ref().expect("samples");
    for sample in samples.by_filter.values().flatten() {
        evaluation::sample_texts(&kept, &sample.texts).expect("texts");
    }
    assert_eq!(counted.1.load(Ordering::Relaxed), 1);
}

#[test]
fn the_newest_run_of_a_folder_counts() {
    let found = side("two_results_in_folder", "npu");
    let run = &found.runs[0];
    assert!(run.path.ends_with("results_2026-11-22T12-39-26.963503.json"), "{}", run.path);
    assert_eq!(run.older.len(), 1);
    for (case, part) in [("ais_bench_worse", "/"), ("evalscope_lost_14", "20261122_122255/")] {
        let files = files_of(case, "gpu");
        let rename = |path: &str, time: &str| match part {
            "/" => format!("{time}/{}", path.split_once('/').expect("a folder of a time").1),
            _ => format!("{time}/{path}"),
        };
        let mut both = BTreeMap::new();
        for (path, bytes) in &files {
            both.insert(rename(path, "20261122_122255"), bytes.clone());
            both.insert(rename(path, "20261123_010000"), bytes.clone());
        }
        let found = read_map(&both);
        assert_eq!(found.runs.len(), 1, "{case}");
        assert!(found.runs[0].path.starts_with("20261123_010000/"), "{}", found.runs[0].path);
        assert_eq!(found.runs[0].older.len(), 1, "{case}");
        assert!(found.runs[0].damages.is_empty(), "{case}");
        both.retain(|path, _| path.starts_with("20261122_") || path.contains("/configs/"));
        let damages = read_map(&both).runs.remove(0).damages;
        assert_eq!(
            damages.len(),
            usize::from(case.starts_with("evalscope")),
            "a newest run that ended before its results"
        );
    }
}

#[test]
fn samples_find_their_task_by_what_they_hold() {
    let name = "toy|<b>x</b>](javascript:x) @all `rm` =1+1";
    let found = side("hostile_task_name", "gpu");
    assert_eq!(found.runs[0].tasks.len(), 2);
    assert!(found.runs[0].tasks[name].samples.is_some(), "by the hash over the samples");
    let mut files = files_of("hostile_task_name", "gpu");
    let samples = files.iter_mut().find(|(path, _)| path.contains("toy_hostile")).expect("samples").1;
    samples.truncate(samples.len() - 100);
    let found = read_map(&files);
    assert_eq!(found.runs[0].tasks.len(), 2);
    let task = &found.runs[0].tasks[name];
    assert!(task.samples.is_some() && task.damages.len() == 1, "by what they measure");
}

#[test]
fn an_output_path_may_be_a_file() {
    let mut files = BTreeMap::new();
    for (stem, time) in [("a", "2026-11-22T12-00-00.1"), ("b", "2026-11-22T12-00-01.1")] {
        let mut document = results(2);
        document["model_name_sanitized"] = stem.into();
        files.insert(format!("run_{time}.json"), document.to_string().into_bytes());
        files.insert(format!("samples_t_{time}.jsonl"), lines(&["1.0", "0.0"]).into_bytes());
    }
    let found = read_map(&files);
    let models: Vec<&str> = found.runs.iter().map(|run| run.model.as_str()).collect();
    assert_eq!(models, ["a", "b"]);
    assert!(found.runs.iter().all(|run| run.tasks["t"].samples.is_some() && run.older.is_empty()));
    // One that was renamed has the samples that no other has.
    let renamed = BTreeMap::from([
        ("x.json".to_owned(), results(2).to_string().into_bytes()),
        ("samples_t_2026-11-22T12-00-00.1.jsonl".to_owned(), lines(&["1.0", "0.0"]).into_bytes()),
    ]);
    assert!(read_map(&renamed).runs[0].tasks["t"].samples.is_some());
}

#[test]
fn samples_without_results_are_compared_and_the_loss_is_told() {
    let baseline = side("mirror_benign", "gpu");
    for content in [None, Some(Vec::new()), Some(b"{\"results\": {\"toy_mirror\": {\"alias\": ".to_vec())] {
        let mut files = files_of("mirror_benign", "npu");
        let path = files.keys().find(|path| path.contains("results_")).expect("results").clone();
        files.remove(&path);
        files.extend(content.map(|bytes| (path, bytes)));
        let found = read_map(&files);
        assert_eq!(found.runs[0].damages.len(), 1);
        let (models, _) = pair::pair_models(&baseline.runs, &found.runs);
        assert!(models[0].settings.is_empty() && models[0].missing.is_empty());
        assert!(models[0].tasks[0].metrics.iter().all(|metric| metric.pairs.len() == 70));
    }
}

#[test]
fn groups_are_no_tasks_and_hold_the_tasks_of_their_groups() {
    let mut document = results(1);
    document["results"]["g"] = json!({"alias": "g", "acc,none": 0.5});
    document["results"]["h"] = json!({"alias": "h", "acc,none": 0.5});
    document["groups"] = json!({"g": {}, "h": {}});
    document["group_subtasks"] = json!({"g": ["h", "g"], "h": ["t"], "t": []});
    let found = lm_eval(&document, &[("t", lines(&["1"]))]);
    let run = &found.runs[0];
    assert_eq!(run.tasks.keys().collect::<Vec<_>>(), ["t"]);
    assert_eq!((run.groups["g"].clone(), run.groups["h"].clone()), (vec!["t".to_owned()], vec!["t".to_owned()]));
}

#[test]
fn lines_that_stand_twice_count_once_and_contradictions_count_none() {
    let once = lm_eval(&results(3), &[("t", lines(&["1.0", "0.0", "true"]))]);
    let twice = lm_eval(&results(3), &[("t", lines(&["1.0", "0.0", "1"]).repeat(2))]);
    let metric = only_metric(&once, &twice);
    assert_eq!((metric.pairs.len(), metric.left_out.twice, metric.left_out.contradictory), (3, 3, 0));
    assert_eq!(changes(&metric), (0, 0));
    let other = lm_eval(&results(3), &[("t", lines(&["1.0", "0.0", "1.0"]) + &line(1, "1.0"))]);
    let metric = only_metric(&once, &other);
    assert_eq!((metric.pairs.len(), metric.left_out.contradictory, metric.samples), (0, 1, 3));
}

#[test]
fn a_smaller_limit_explains_what_it_cuts_and_no_more() {
    let four = lm_eval(&results(4), &[("t", lines(&["1", "1", "1", "1"]))]);
    let two = lm_eval(&results(2), &[("t", lines(&["1", "1"]))]);
    let metric = only_metric(&four, &two);
    assert_eq!((metric.pairs.len(), metric.samples, metric.left_out.only_baseline), (2, 4, 0));
    let one = lm_eval(&results(2), &[("t", lines(&["1"]))]);
    assert_eq!(only_metric(&four, &one).left_out.only_baseline, 1);
    assert_eq!(only_metric(&one, &four).left_out.only_candidate, 1);
}

#[test]
fn marks_line_ends_and_bare_nan_are_read() {
    let plain = side("mirror_benign", "gpu");
    let mut files = files_of("mirror_benign", "gpu");
    for bytes in files.values_mut() {
        let text = String::from_utf8(bytes.clone()).expect("UTF-8").replace('\n', "\r\n");
        *bytes = format!("\u{feff}{text}").into_bytes();
    }
    let marked = read_map(&files);
    let metrics = pair::pair_models(&plain.runs, &marked.runs).0.remove(0).tasks.remove(0).metrics;
    assert_eq!(metrics.len(), 4);
    assert!(metrics.iter().all(|metric| metric.pairs.len() == 70 && metric.has_samples));
    assert!(causes(&plain, &marked).is_empty());
    let nan = lm_eval(&results(2), &[("t", lines(&["NaN", "-Infinity"]))]);
    let values: Vec<f64> = only_metric(&nan, &nan).pairs.iter().map(|pair| number(pair.candidate)).collect();
    assert!(values[0].is_nan() && values[1] == f64::NEG_INFINITY);
    let mut document = results(2).to_string();
    document = document.replace("0.5", "NaN");
    let path = "m/results_2026-11-22T12-00-00.000001.json";
    let found = read(&InMemory::new([(path, document.into_bytes())]));
    assert!(found.runs[0].tasks["t"].scores.values().next().expect("a score").value.is_nan());
}

#[test]
fn hostile_lines_cost_their_task_only() {
    let deep = format!("{{\"doc_id\": 7, \"doc\": {}\n", "[".repeat(100_000));
    let nested = format!("{{\"doc_id\": 7, \"doc\": {}1{}, \"acc\": 1}}\n", "[".repeat(2000), "]".repeat(2000));
    let huge = format!("{{\"doc_id\": 7, \"doc\": \"{}\"}}\n", "x".repeat(17 << 20));
    for bad in [deep, nested, huge, "\u{0}\n".to_owned(), "{\"doc_id\": -1".to_owned() + "\n", "[]\n".to_owned()] {
        let found = lm_eval(&results(2), &[("t", line(0, "1") + &bad + &line(1, "0"))]);
        let task = &found.runs[0].tasks["t"];
        let samples = &task.samples.as_ref().expect("samples").by_filter[&Some("none".to_owned())];
        assert_eq!((samples.len(), task.damages.len()), (2, 1), "{:?}", task.damages);
        assert_eq!(task.damages[0].line, Some(2), "{:?}", task.damages);
        assert_eq!(samples[1].id, SampleId::Number(1));
    }
    let metrics: String = (0..300).map(|id| line(id, "1").replace("acc", &format!("m{id}"))).collect();
    let found = lm_eval(&results(300), &[("t", metrics)]);
    let task = &found.runs[0].tasks["t"];
    assert_eq!(task.samples.as_ref().expect("samples").by_filter[&Some("none".to_owned())].len(), 256);
    assert!(task.damages[0].reason.starts_with("44 lines"), "{}", task.damages[0].reason);
    let garbage = "nonsense\n".repeat(100_000);
    let found = lm_eval(&results(2), &[("t", garbage)]);
    let task = &found.runs[0].tasks["t"];
    assert!(task.samples.is_none() && task.damages.len() == 21, "the first ones, and how many more");
    assert!(task.damages[20].reason.contains("99980 more"), "{}", task.damages[20].reason);
}

#[test]
fn failed_requests_are_counted_once() {
    let mut files = files_of("evalscope_lost_14", "npu");
    for (path, bytes) in &mut files {
        let text = String::from_utf8(bytes.clone()).expect("UTF-8");
        if path.contains("reviews") && path.contains("_sums") {
            let failed = text.replacen("\"status\": \"success\"", "\"status\": \"error\"", 2);
            *bytes = failed.into_bytes();
        } else if path.contains("reports") {
            let mut report: Value = serde_json::from_str(&text).expect("JSON");
            report["execution_summary"]["incomplete"] = true.into();
            report["execution_summary"]["subsets"]["sums"] = json!({"requested": 50, "succeeded": 47, "errored": 3});
            *bytes = report.to_string().into_bytes();
        }
    }
    let found = read_map(&files);
    assert_eq!(found.runs[0].tasks["general_mcq_sums"].errors, 1, "three, two of which the reviews tell");
    assert_eq!(found.runs[0].tasks["general_mcq_more"].errors, 0);
    let baseline = side("evalscope_lost_14", "gpu");
    let (models, _) = pair::pair_models(&baseline.runs, &found.runs);
    let task = models[0].tasks.iter().find(|task| task.name == "general_mcq_sums").expect("the task");
    assert_eq!((task.metrics[0].left_out.failed, task.metrics[0].pairs.len()), (2, 48));
}

#[test]
fn older_reports_and_reviews_are_read() {
    let report = json!({
        "name": "m@b", "dataset_name": "b", "model_name": "m", "score": 0.5,
        "metrics": [{"name": "mean_acc", "num": 2, "score": 0.5,
            "categories": [{"name": ["default"], "num": 2, "score": 0.5, "subsets": [{"name": "main", "score": 0.5, "num": 2}]}]}]
    });
    let review = |index: u64, value: f64| {
        json!({"index": index, "input": "Q", "target": "A", "sample_score": {"score": {"value": {"acc": value},
            "prediction": "x"}, "sample_id": index}})
        .to_string()
            + "\n"
    };
    let reviews = review(0, 1.0) + &review(1, 0.0);
    let found = read(&InMemory::new([
        ("reports/m/b.json", report.to_string().into_bytes()),
        ("reviews/m/b_main.jsonl", reviews.into_bytes()),
    ]));
    let task = &found.runs[0].tasks["b_main"];
    assert_eq!(task.scores.keys().next().expect("a score").metric, "acc");
    let metric = only_metric(&found, &found);
    assert_eq!((metric.pairs.len(), metric.higher_is_better), (2, Some(true)));
}

#[test]
fn predictions_of_open_compass_are_one_object() {
    let predictions = json!({"0": {"origin_prompt": "Q", "prediction": "a", "gold": "1"}, "1": {"origin_prompt": "R", "prediction": "b"}});
    let results = json!({"accuracy": 50.0, "details": {"type": "GEN", "0": {"origin_prediction": "a", "predictions": "1",
        "references": "1", "correct": true}, "1": {"origin_prediction": "b", "predictions": "", "references": "2", "correct": [false]}}});
    let found = read(&InMemory::new([
        ("t/predictions/m/d.json", predictions.to_string().into_bytes()),
        ("t/results/m/d.json", results.to_string().into_bytes()),
    ]));
    assert_eq!(found.runs.len(), 1);
    let metric = only_metric(&found, &found);
    let values: Vec<f64> = metric.pairs.iter().map(|pair| number(pair.baseline)).collect();
    assert_eq!((metric.metric.as_str(), values.as_slice()), ("accuracy", [1.0, 0.0].as_slice()));
}

#[test]
fn records_pair_by_shared_keys_and_else_by_line() {
    let record = |id: &str, prompt: &str| {
        json!({"id": id, "prompt": prompt, "object": "text_completion", "choices": [{"index": 0, "text": prompt}]})
            .to_string()
            + "\n"
    };
    let of = |text: String| read(&InMemory::new([("a.jsonl", text.into_bytes())]));
    let ours = of(record("x1", "P") + &record("x2", "Q") + &record("x3", "R"));
    let random = of(record("y1", "P") + &record("y2", "Q") + &record("y3", "S"));
    let (pairs, _) = pair::pair_generations(&ours.generations, &random.generations);
    assert_eq!((pairs[0].pairs.len(), pairs[0].prompts), (2, 1));
    assert_eq!(pairs[0].names, ["1", "2"]);
    let other_order = of(record("x3", "R") + &record("x1", "P") + &record("x1", "P"));
    let (pairs, _) = pair::pair_generations(&ours.generations, &other_order.generations);
    assert_eq!(pairs[0].names, ["x1", "x3"]);
    assert_eq!((pairs[0].pairs.as_slice(), pairs[0].only_baseline), ([(0, 1), (2, 0)].as_slice(), 1));
    let same_id = of(record("x", "P") + &record("x", "Q") + &record("x", "R"));
    let (pairs, _) = pair::pair_generations(&same_id.generations, &same_id.generations);
    assert_eq!((pairs[0].names.len(), pairs[0].contradictory), (3, 0));
    let contradicting = of(record("x1", "P") + &record("x1", "Q") + &record("x2", "Q"));
    let (pairs, _) = pair::pair_generations(&ours.generations, &contradicting.generations);
    assert_eq!((pairs[0].names.len(), pairs[0].contradictory, pairs[0].only_baseline), (1, 1, 1));
}

#[test]
fn models_pair_by_name_and_one_on_each_side_whatever_its_name() {
    let run = |folder: &str| {
        let path = format!("{folder}/results_2026-11-22T12-00-00.1.json");
        (path, results(1).to_string().into_bytes())
    };
    let of = |folders: &[&str]| read_map(&folders.iter().map(|folder| run(folder)).collect());
    let (pairs, alone) = pair::pair_models(&of(&["a"]).runs, &of(&["b"]).runs).names();
    assert_eq!((pairs, alone.len()), (vec!["b".to_owned()], 0));
    let (pairs, alone) = pair::pair_models(&of(&["a", "b"]).runs, &of(&["a", "c"]).runs).names();
    assert_eq!(pairs, ["a"]);
    assert_eq!(alone, [(Side::Baseline, "b".to_owned()), (Side::Candidate, "c".to_owned())]);
    let twice = of(&["x/a", "y/a"]);
    assert_eq!(twice.runs.iter().map(|run| run.model.as_str()).collect::<Vec<_>>(), ["x/a", "y/a"]);
}

/// Names of pairs and of models of one side.
trait Names {
    fn names(self) -> (Vec<String>, Vec<(Side, String)>);
}

impl Names for (Vec<pair::PairedModel<'_>>, Vec<(Side, String)>) {
    fn names(self) -> (Vec<String>, Vec<(Side, String)>) {
        (self.0.into_iter().map(|model| model.name).collect(), self.1)
    }
}

#[test]
fn whatever_is_cut_is_told() {
    const CUTS: usize = 23;
    for case in [
        "mirror_benign",
        "evalscope_lost_14",
        "ais_bench_worse",
        "gen_cut_short",
        "gen_first_token_wrong",
        "gen_missing_prompts",
        "scores_only_same",
    ] {
        let whole = files_of(case, "gpu");
        let baseline = read_map(&whole);
        let undamaged = format!("{:?}{:?}", baseline.runs, baseline.generations);
        // Settings alone, which the other side may lack too.
        let counts = |path: &str| path.ends_with(".json") || path.ends_with(".jsonl");
        for (path, bytes) in &whole {
            for cut in 0..CUTS {
                let mut files = whole.clone();
                files.insert(path.clone(), bytes[..bytes.len() * cut / CUTS].to_vec());
                let found = read_map(&files);
                let is_same = format!("{:?}{:?}", found.runs, found.generations) == undamaged;
                let told = causes(&baseline, &found);
                assert!(!counts(path) || is_same || !told.is_empty(), "{case}: {path} cut at {cut} of {CUTS}");
            }
        }
    }
}

#[test]
fn files_of_other_checks_are_no_evaluations() {
    let mut looked = 0;
    for entry in fs::read_dir(fixture("")).expect("fixtures").flatten() {
        let family = entry.file_name();
        if ["evaluation", "onerun", "tokens"].iter().any(|own| family == *own) || !entry.path().is_dir() {
            continue;
        }
        let files = fetch::open(&fixture(&family).display().to_string()).expect("a folder");
        let found = recognised(files.as_ref());
        assert!(found.is_empty(), "{family:?}: {:?}", found.first());
        looked += files.list().len();
    }
    assert!(looked > 1000, "{looked}");
}

#[test]
fn every_file_of_the_cases_has_its_kind() {
    let mut kinds: BTreeMap<EvaluationFileKind, usize> = BTreeMap::new();
    for entry in fs::read_dir(cases()).expect("cases").flatten().filter(|entry| entry.path().is_dir()) {
        for side in ["gpu", "npu"] {
            let files = fetch::open(&entry.path().join(side).display().to_string()).expect("a folder");
            let found = recognised(files.as_ref());
            assert_eq!(found.len(), files.list().len(), "{}", entry.path().display());
            found.into_iter().for_each(|file| *kinds.entry(file.kind).or_default() += 1);
        }
    }
    assert_eq!(kinds.len(), 10, "{kinds:?}");
}

/// Numbers that only their start decides: SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((word ^ (word >> 31)) % limit as u64).expect("small")
    }
}

#[test]
fn whatever_bytes_become_readers_answer() {
    const PIECES: [&str; 16] = [
        "\"",
        "\\",
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\n",
        "null",
        "NaN",
        "-1e999",
        "\u{0}",
        "true",
        "\"doc_id\": 1",
        "\\ud800",
    ];
    let mut random = Random(7);
    for case in ["mirror_benign", "evalscope_lost_14", "ais_bench_worse", "gen_cut_short", "gen_missing_prompts"] {
        let mut whole = files_of(case, "gpu");
        whole.values_mut().for_each(|bytes| bytes.truncate(12_000));
        let baseline = read_map(&whole);
        for (path, bytes) in &whole {
            for _ in 0..40 {
                let mut changed = bytes.clone();
                for _ in 0..=random.below(4) {
                    let at = random.below(changed.len());
                    let end = (at + random.below(30)).min(changed.len());
                    let piece = PIECES[random.below(PIECES.len())].bytes();
                    let _removed: Vec<u8> = changed.splice(at..end, piece).collect();
                }
                let mut files = whole.clone();
                files.insert(path.clone(), changed);
                let _causes = causes(&baseline, &read_map(&files));
            }
        }
    }
}
