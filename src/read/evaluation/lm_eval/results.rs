//! The results file: scores, settings and groups.

use std::collections::{BTreeMap, BTreeSet};

use super::super::document;
use super::super::run::{EvaluationTask, Score, ScoreName};
use super::super::setting;
use super::super::unread::{self, number};
use crate::error::{Error, Result};
use crate::fetch::ByteSource;
use crate::read::account::UnreadNumbers;
use crate::read::json::Json;

/// Most members of groups that are followed, so that nested groups cannot take unlimited time.
const MOST_MEMBERS: usize = 2_000_000;
/// Keys in a task's results that are not scores.
const NO_SCORES: [&str; 5] = ["alias", "name", "sample_count", "sample_len", "samples"];

/// Content of a results file.
#[derive(Debug, Default)]
pub(super) struct Results {
    /// Tasks without their samples.
    pub(super) tasks: BTreeMap<String, EvaluationTask>,
    /// Groups with their tasks.
    pub(super) groups: BTreeMap<String, Vec<String>>,
    /// Settings of the model.
    pub(super) settings: BTreeMap<String, String>,
    /// Hash over the samples of each task.
    pub(super) hashes: BTreeMap<String, String>,
    /// Name of the model in the form that the harness uses for its folder.
    pub(super) model: Option<String>,
    /// Numbers that became no score.
    pub(super) account: UnreadNumbers,
}

/// Reads a results file.
///
/// # Errors
/// If the JSON is damaged or lacks `results`.
pub(super) fn read(source: &dyn ByteSource) -> Result<Results> {
    let document = document::read(source)?;
    let Some(rows) = document.get("results").and_then(Json::as_object) else {
        return Err(Error::corrupt(source.name(), "expected an object `results` with the scores of tasks, found none"));
    };
    let groups = groups(&document);
    let is_local = document.get("config").and_then(|config| config.get("model")).is_none_or(is_local);
    let tables = tables(&document);
    let mut tasks = BTreeMap::new();
    for (name, row) in rows.iter().filter(|(name, _)| !groups.contains_key(name)) {
        tasks.insert(name.clone(), task(&tables, name, row, is_local));
    }
    let hashes = document.get("task_hashes").and_then(Json::as_object).unwrap_or_default();
    let hashes = hashes.iter().filter_map(|(task, hash)| Some((task.clone(), hash.as_str()?.to_owned()))).collect();
    let model = document.get("model_name_sanitized").and_then(Json::as_str).map(str::to_owned);
    let mut account = UnreadNumbers::default();
    for (name, row) in rows {
        // Scores of a group are not read, because they are computed again from its tasks.
        if groups.contains_key(name) { unread::note(&mut account, row) } else { unread::note_row(&mut account, row) }
    }
    document.get("groups").into_iter().for_each(|rows| unread::note(&mut account, rows));
    Ok(Results { tasks, groups, settings: settings(&document), hashes, model, account })
}

/// Whether the harness itself ran the model, by the name of its model type.
fn is_local(model: &Json) -> bool {
    model.as_str().is_some_and(|model| model.starts_with("hf"))
}

/// Tables of a document by their keys, each indexed by task name, because a file may have tens of thousands of tasks.
type Tables<'a> = BTreeMap<&'a str, BTreeMap<&'a str, &'a Json>>;

fn tables(document: &Json) -> Tables<'_> {
    let mut tables = Tables::new();
    for key in ["configs", "n-samples", "versions", "n-shot", "higher_is_better"] {
        let table = tables.entry(key).or_default();
        for (name, value) in document.get(key).and_then(Json::as_object).unwrap_or_default() {
            table.entry(name).or_insert(value);
        }
    }
    tables
}

fn task(tables: &Tables<'_>, name: &str, row: &Json, is_local: bool) -> EvaluationTask {
    let of = |key: &str| tables.get(key).and_then(|tasks| tasks.get(name)).copied();
    let generation = of("configs").and_then(|config| config.get("generation_kwargs"));
    let generation = generation.filter(|settings| settings.as_object().is_some());
    let asked = of("n-samples").and_then(|counts| counts.get("effective")).or_else(|| row.get("sample_len"));
    EvaluationTask {
        version: of("versions").and_then(setting::setting_text),
        shots: of("n-shot").and_then(setting::setting_text),
        generation: generation.map(setting::canonical),
        is_sampled: generation.is_some_and(|settings| setting::is_sampled(settings, is_local)),
        asked: asked.and_then(Json::as_i64).and_then(|count| u64::try_from(count).ok()),
        scores: scores(row, of("higher_is_better")),
        ..EvaluationTask::default()
    }
}

/// Scores of a row: `"<metric>,<filter>": value` and `"<metric>_stderr,<filter>": value`.
fn scores(row: &Json, directions: Option<&Json>) -> BTreeMap<ScoreName, Score> {
    let entries = row.as_object().unwrap_or_default();
    let named = |key: &str| match key.split_once(',') {
        Some((metric, filter)) => ScoreName { metric: metric.to_owned(), filter: Some(filter.to_owned()) },
        None => ScoreName { metric: key.to_owned(), filter: None },
    };
    let values = || entries.iter().filter(|(key, _)| !NO_SCORES.contains(&key.as_str()));
    let mut errors = BTreeMap::new();
    for (key, value) in values() {
        let name = named(key);
        if let (Some(metric), Some(error)) = (name.metric.strip_suffix("_stderr"), number(value)) {
            errors.insert(ScoreName { metric: metric.to_owned(), ..name }, error);
        }
    }
    let mut of_metric: BTreeMap<&str, &Json> = BTreeMap::new();
    for (metric, direction) in directions.and_then(Json::as_object).unwrap_or_default() {
        of_metric.entry(metric).or_insert(direction);
    }
    let mut scores = BTreeMap::new();
    for (key, value) in values() {
        let name = named(key);
        let Some(value) = number(value).filter(|_| !name.metric.ends_with("_stderr")) else { continue };
        let direction = of_metric.get(&*name.metric).and_then(|direction| direction.as_bool());
        let score = Score { value, error: errors.get(&name).copied(), higher_is_better: direction };
        scores.insert(name, score);
    }
    scores
}

/// Groups with all their tasks, including those of nested groups.
fn groups(document: &Json) -> BTreeMap<String, Vec<String>> {
    let listed = document.get("group_subtasks").and_then(Json::as_object).unwrap_or_default();
    let mut members: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (group, tasks) in listed {
        let tasks: Vec<&str> = tasks.as_array().unwrap_or_default().iter().filter_map(Json::as_str).collect();
        if !tasks.is_empty() {
            members.insert(group, tasks);
        }
    }
    let mut groups = BTreeMap::new();
    let mut left = MOST_MEMBERS;
    for group in members.keys() {
        let (mut tasks, mut seen, mut open) = (BTreeSet::new(), BTreeSet::from([*group]), vec![*group]);
        while let Some(name) = open.pop() {
            let of_group = members.get(name).map(Vec::as_slice).unwrap_or_default();
            left = left.saturating_sub(of_group.len());
            if left == 0 {
                break;
            }
            for member in of_group.iter().filter(|member| seen.insert(**member)) {
                if members.contains_key(member) {
                    open.push(member);
                } else {
                    tasks.insert((*member).to_owned());
                }
            }
        }
        groups.insert((*group).to_owned(), tasks.into_iter().collect());
    }
    groups
}

/// Settings of the model that may change numbers.
fn settings(document: &Json) -> BTreeMap<String, String> {
    let Some(config) = document.get("config") else { return BTreeMap::new() };
    let mut settings = config.get("model_args").map(setting::model_settings).unwrap_or_default();
    for name in ["model_dtype", "model_num_parameters"] {
        let value = config.get(name).and_then(setting::setting_text).and_then(|value| setting::dtype_name(&value));
        settings.extend(value.map(|value| (name.to_owned(), value)));
    }
    settings
}
