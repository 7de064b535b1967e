//! Kinds of evaluation files, recognised by their first bytes.
//!
//! An empty or damaged file is recognised by its name and folder if these leave no doubt. Such a file is then reported as damaged,
//! not as missing.

use super::cursor::{Cursor, Fault, Parsed};
use super::place::{self, InRun};
use crate::fetch::Files;

/// Number of lines that are inspected.
const LINES: usize = 8;
/// Name of a file with settings of generation.
const SETTINGS: &str = "generation_config.json";
/// Most files in a folder that are inspected to decide what its settings belong to.
const LOOKED_AT: usize = 8;
const HEAD: usize = 16 * 1024;

/// Kind of a file of an evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EvaluationFileKind {
    /// Results of lm-evaluation-harness.
    LmEvalResults,
    /// Samples of lm-evaluation-harness.
    LmEvalSamples,
    /// Configuration of evalscope.
    EvalScopeConfig,
    /// Report of evalscope.
    EvalScopeReport,
    /// Reviews of evalscope.
    EvalScopeReviews,
    /// Results of AISBench or OpenCompass.
    AisBenchResults,
    /// Predictions of AISBench or OpenCompass.
    AisBenchPredictions,
    /// Table of scores of AISBench or OpenCompass.
    AisBenchSummary,
    /// Generation records.
    Generations,
    /// Rollouts of verl.
    Rollouts,
    /// Settings of generation in a folder of records or rollouts.
    GenerationSettings,
    /// A file that only repeats other files: predictions of evalscope, a summary as text.
    Other,
}

impl EvaluationFileKind {
    /// All kinds of files.
    pub const ALL: [Self; 12] = [
        Self::LmEvalResults,
        Self::LmEvalSamples,
        Self::EvalScopeConfig,
        Self::EvalScopeReport,
        Self::EvalScopeReviews,
        Self::AisBenchResults,
        Self::AisBenchPredictions,
        Self::AisBenchSummary,
        Self::Generations,
        Self::Rollouts,
        Self::GenerationSettings,
        Self::Other,
    ];

    /// Name of the kind in the table of artifacts.
    pub fn name(self) -> &'static str {
        match self {
            Self::LmEvalResults => "lm-eval results",
            Self::LmEvalSamples => "lm-eval samples",
            Self::EvalScopeConfig => "evalscope configuration",
            Self::EvalScopeReport => "evalscope report",
            Self::EvalScopeReviews => "evalscope reviews",
            Self::AisBenchResults => "AISBench results",
            Self::AisBenchPredictions => "AISBench predictions",
            Self::AisBenchSummary => "AISBench summary",
            Self::Generations => "generation records",
            Self::Rollouts => "rollouts",
            Self::GenerationSettings => "generation settings",
            Self::Other => "evaluation",
        }
    }
}

/// Kind of the file at `path` in `files`, whose first bytes are `head`; `None` if it is not a file of an evaluation.
pub fn recognise(head: &[u8], path: &str, files: &dyn Files) -> Option<EvaluationFileKind> {
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    match text.first() {
        Some(b'{') => kind_of_object(text, path, files),
        Some(b'[') => None,
        Some(_) => kind_of_text(text).or_else(|| kind_of_lines(text, path)).or_else(|| kind_of_place(path, files)),
        None => kind_of_place(path, files),
    }
}

/// Kind of a text that is not JSON.
fn kind_of_text(text: &[u8]) -> Option<EvaluationFileKind> {
    let line = text.split(|byte| *byte == b'\n').next()?.trim_ascii_end();
    let has = |word: &[u8]| memchr::memmem::find(text, word).is_some();
    let has_line = |key: &[u8]| text.starts_with(key) || has(&[b"\n", key].concat());
    if line.starts_with(b"dataset,version,metric,mode,") {
        return Some(EvaluationFileKind::AisBenchSummary);
    }
    if line.starts_with(b"| dataset | version | metric | mode |") || has(b"\ntabulate format\n^^^^") {
        return Some(EvaluationFileKind::Other);
    }
    let is_config = has_line(b"evalscope_version:") || (has_line(b"eval_backend:") && has_line(b"generation_config:"));
    is_config.then_some(EvaluationFileKind::EvalScopeConfig)
}

/// Kind of a file that begins with a JSON object.
fn kind_of_object(text: &[u8], path: &str, files: &dyn Files) -> Option<EvaluationFileKind> {
    let outline = Outline::of(text);
    if let Some(kind) = outline.kind(path) {
        return Some(kind);
    }
    if outline.is_whole {
        if place::last_part(path) == SETTINGS {
            return is_beside_answers(path, files).then_some(EvaluationFileKind::GenerationSettings);
        }
        let is_plain = outline.entries.iter().all(|entry| entry.is_scalar) && !outline.entries.is_empty();
        return (is_plain && is_in_results(path, files)).then_some(EvaluationFileKind::AisBenchResults);
    }
    kind_of_lines(text, path).or_else(|| kind_of_place(path, files))
}

/// Whether the folder of the file at `path` or a subfolder holds answers, so that the settings belong to them. A model's folder has
/// settings too, but no answers.
fn is_beside_answers(path: &str, files: &dyn Files) -> bool {
    let (folder, _) = place::split_folder(path);
    let start = if folder.is_empty() { String::new() } else { format!("{folder}/") };
    let list = files.list();
    let first = list.partition_point(|entry| entry.path.as_str() < start.as_str());
    let below = list.iter().skip(first).take_while(|entry| entry.path.starts_with(&start));
    let mut lines = below.filter(|entry| entry.path.ends_with(".jsonl")).take(LOOKED_AT);
    lines.any(|entry| {
        let head = || {
            let source = files.open(&entry.path).ok()?;
            let mut head = vec![0; usize::try_from(source.len()).map_or(HEAD, |len| len.min(HEAD))];
            source.read_at(0, &mut head).ok()?;
            Some(head)
        };
        let kind = head().and_then(|head| recognise(&head, &entry.path, files));
        matches!(kind, Some(EvaluationFileKind::Generations | EvaluationFileKind::Rollouts))
    })
}

/// Kind of the first of some lines that has a kind. Lines before it may be damaged.
fn kind_of_lines(text: &[u8], path: &str) -> Option<EvaluationFileKind> {
    let objects = text.split(|byte| *byte == b'\n').take(LINES).skip(1).filter(|line| line.starts_with(b"{"));
    let mut kinds = objects.filter_map(|line| Outline::of(line).kind(path));
    kinds.find(|kind| {
        matches!(
            kind,
            EvaluationFileKind::LmEvalSamples
                | EvaluationFileKind::EvalScopeReviews
                | EvaluationFileKind::AisBenchPredictions
                | EvaluationFileKind::Generations
                | EvaluationFileKind::Rollouts
        )
    })
}

/// Top-level keys of an object that may be cut short.
struct Outline<'a> {
    entries: Vec<Entry<'a>>,
    /// Whether the object is complete.
    is_whole: bool,
}

struct Entry<'a> {
    key: String,
    /// All bytes from the start of the value on; the value may be cut short.
    value: &'a [u8],
    is_scalar: bool,
}

impl<'a> Outline<'a> {
    fn of(text: &'a [u8]) -> Self {
        let mut entries = Vec::new();
        let mut cursor = Cursor::new(text);
        let read = cursor.object(|key, cursor| {
            let first = cursor.peek();
            let rest = cursor.rest();
            let is_scalar = !matches!(first, None | Some(b'{' | b'['));
            entries.push(Entry { key: key.to_owned(), value: rest, is_scalar });
            cursor.skip()
        });
        Self { entries, is_whole: read.is_ok() }
    }

    fn get(&self, key: &str) -> Option<&'a [u8]> {
        self.entries.iter().find(|entry| entry.key == key).map(|entry| entry.value)
    }

    fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Number of `keys` that the object has.
    fn count(&self, keys: &[&str]) -> usize {
        keys.iter().filter(|key| self.has(key)).count()
    }

    fn is_object(&self, key: &str) -> bool {
        self.get(key).is_some_and(|value| value.starts_with(b"{"))
    }

    fn is_array(&self, key: &str) -> bool {
        self.get(key).is_some_and(|value| value.starts_with(b"["))
    }

    fn kind(&self, path: &str) -> Option<EvaluationFileKind> {
        const SAMPLE: [&str; 8] =
            ["doc", "target", "arguments", "resps", "filtered_resps", "metrics", "doc_hash", "prompt_hash"];
        if self.has("doc_id") && self.count(&SAMPLE) >= if self.is_whole { 2 } else { 1 } {
            return Some(EvaluationFileKind::LmEvalSamples);
        }
        if self.is_lm_eval_results() {
            return Some(EvaluationFileKind::LmEvalResults);
        }
        if self.has("index") && self.is_object("model_output") {
            return Some(EvaluationFileKind::Other);
        }
        if self.has("index") && (self.has("sample_score") || (!self.is_whole && self.count(&["messages", "input"]) > 0))
        {
            return Some(EvaluationFileKind::EvalScopeReviews);
        }
        if self.has("dataset_name")
            && self.is_array("metrics")
            && self.count(&["model_name", "dataset_pretty_name"]) > 0
        {
            return Some(EvaluationFileKind::EvalScopeReport);
        }
        if self.has("origin_prompt") && self.count(&["data_abbr", "uuid", "success"]) > 0 {
            return Some(EvaluationFileKind::AisBenchPredictions);
        }
        if self.is_rollout(path) {
            return Some(EvaluationFileKind::Rollouts);
        }
        self.of_entries().or_else(|| self.is_generation().then_some(EvaluationFileKind::Generations))
    }

    fn is_text(&self, key: &str) -> bool {
        self.get(key).is_some_and(|value| value.starts_with(b"\""))
    }

    /// Whether this is a line of rollouts. If the line is cut within its texts, the file's name, which is a step, decides.
    fn is_rollout(&self, path: &str) -> bool {
        let is_step = || place::stem(path).bytes().all(|byte| byte.is_ascii_digit()) && path.ends_with(".jsonl");
        let is_told = if self.is_whole {
            self.has("score") && (self.has("step") || self.has("gts") && is_step())
        } else {
            is_step()
        };
        // Records for fine-tuning have an instruction in addition to input and output.
        is_told && self.is_text("input") && self.is_text("output") && !self.has("instruction")
    }

    /// Whether this is a results file of lm-evaluation-harness. If the file is cut within its scores, these scores decide.
    fn is_lm_eval_results(&self) -> bool {
        const BESIDE: [&str; 6] = ["configs", "group_subtasks", "higher_is_better", "n-samples", "n-shot", "versions"];
        let scores = self.get("results").filter(|value| value.starts_with(b"{")).map(Outline::of);
        scores.is_some_and(|scores| {
            let beside = self.count(&BESIDE);
            // Before version 0.4 the name of a score had no filter after a comma; its error had the ending `_stderr`.
            let is_score =
                |entry: &Entry<'_>| entry.key.contains(',') || entry.key == "alias" || entry.key.ends_with("_stderr");
            let has_scores = || scores.entries.iter().any(|task| Outline::of(task.value).entries.iter().any(is_score));
            beside >= 2 || (beside == 1 || !self.is_whole) && has_scores()
        })
    }

    /// Kind of results with details, or of predictions keyed by index.
    fn of_entries(&self) -> Option<EvaluationFileKind> {
        const DETAIL: [&str; 5] = ["correct", "origin_prediction", "predictions", "prompt", "references"];
        let first = |value: &'a [u8]| -> Option<Outline<'a>> {
            let mut cursor = Cursor::new(value);
            let rest = first_object(&mut cursor);
            rest.map(Outline::of)
        };
        if let Some(details) = self.get("details") {
            let is_scored = !self.is_whole || self.entries.iter().any(|entry| entry.is_scalar);
            let is_detail = first(details).is_some_and(|detail| detail.count(&DETAIL) > 0);
            return (is_scored && is_detail).then_some(EvaluationFileKind::AisBenchResults);
        }
        let entry = self.entries.first().filter(|entry| entry.key.bytes().all(|byte| byte.is_ascii_digit()))?;
        let entry = Outline::of(entry.value);
        let is_prediction = entry.has("origin_prompt") && (entry.has("prediction") || !entry.is_whole);
        is_prediction.then_some(EvaluationFileKind::AisBenchPredictions)
    }

    fn is_generation(&self) -> bool {
        let is_request = self.has("method") && self.has("url");
        let is_batch = self.has("custom_id") && self.count(&["response", "error"]) > 0 && !is_request;
        let is_dump =
            self.has("request_id") && (self.is_array("outputs") || (!self.is_whole && self.has("prompt_token_ids")));
        const RESPONSE: [&str; 5] = ["created", "model", "object", "prompt", "usage"];
        let is_response = self.is_array("choices") && self.count(&RESPONSE) >= 1;
        let response = self.get("response").filter(|value| value.starts_with(b"{")).map(Outline::of);
        let is_kept_beside = self.count(&["prompt", "messages"]) > 0
            && response.is_some_and(|response| response.is_array("choices") || response.is_object("body"));
        is_batch || is_dump || is_response || is_kept_beside
    }
}

/// First object in an object or a list, as all bytes from its start on.
fn first_object<'a>(cursor: &mut Cursor<'a>) -> Option<&'a [u8]> {
    let mut found = None;
    let mut look = |cursor: &mut Cursor<'a>| -> Parsed<()> {
        if cursor.peek() == Some(b'{') {
            found = Some(cursor.rest());
            // Stop here, because the rest is not needed.
            let stop: Fault = cursor.fault("nothing more");
            return Err(stop);
        }
        cursor.skip()
    };
    let _stopped = match cursor.peek() {
        Some(b'{') => cursor.object(|_, cursor| look(cursor)),
        _ => cursor.array(&mut look),
    };
    found
}

/// Whether any file that is not empty has a path beginning with `start`.
fn has_below(files: &dyn Files, start: &str) -> bool {
    let list = files.list();
    let first = list.partition_point(|entry| entry.path.as_str() < start);
    list.iter().skip(first).take_while(|entry| entry.path.starts_with(start)).any(|entry| entry.len > 0)
}

/// A path below the root of a run.
fn below(root: &str, path: &str) -> String {
    if root.is_empty() { path.to_owned() } else { format!("{root}/{path}") }
}

/// Whether a file is in the folder where AISBench puts results. Results without details are only numbers by name, like many other
/// files, so the folder decides.
fn is_in_results(path: &str, files: &dyn Files) -> bool {
    let Some(place) = InRun::from_path(path).filter(|place| place.part == "results" && path.ends_with(".json")) else {
        return false;
    };
    has_below(files, &below(place.root, "predictions/")) || has_below(files, &below(place.root, "summary/"))
}

/// Kind of an empty or damaged file, by its name and folder.
fn kind_of_place(path: &str, files: &dyn Files) -> Option<EvaluationFileKind> {
    if let Some((stem, _)) = place::split_time(path) {
        return match stem {
            "results" if path.ends_with(".json") => Some(EvaluationFileKind::LmEvalResults),
            _ if stem.starts_with("samples_") && path.ends_with(".jsonl") => Some(EvaluationFileKind::LmEvalSamples),
            _ => None,
        };
    }
    let place = InRun::from_path(path)?;
    let beside = |folder: &str| has_below(files, &below(place.root, folder));
    let is_scope =
        || has_below(files, &below(place.root, "configs/task_config")) || beside("reports/") && beside("reviews/");
    match place.part {
        "reviews" if path.ends_with(".jsonl") && is_scope() => Some(EvaluationFileKind::EvalScopeReviews),
        "reports" if path.ends_with(".json") && is_scope() => Some(EvaluationFileKind::EvalScopeReport),
        "results" if is_in_results(path, files) => Some(EvaluationFileKind::AisBenchResults),
        "predictions" if path.ends_with(".jsonl") && beside("results/") && !beside("reviews/") => {
            Some(EvaluationFileKind::AisBenchPredictions)
        }
        _ => None,
    }
}
