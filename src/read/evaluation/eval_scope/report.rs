//! `reports/<model>/<benchmark>.json`: scores of a benchmark and of its subsets.

use std::collections::{BTreeMap, BTreeSet};

use super::super::document;
use super::super::run::{EvaluationTask, Score, ScoreName};
use super::super::unread::{self, number};
use crate::error::{Error, Result};
use crate::fetch::ByteSource;
use crate::read::account::UnreadNumbers;
use crate::read::json::Json;

#[derive(Debug)]
pub(super) struct Report {
    /// Name of the model.
    pub(super) model: Option<String>,
    dataset: String,
    document: Json,
}

impl Report {
    /// Reads a report.
    ///
    /// # Errors
    /// If the JSON is damaged or lacks a benchmark's name and metrics.
    pub(super) fn read(source: &dyn ByteSource) -> Result<Self> {
        let document = document::read(source)?;
        let text = |key: &str| document.get(key).and_then(Json::as_str).map(str::to_owned);
        let has_metrics = document.get("metrics").and_then(Json::as_array).is_some();
        let Some(dataset) = text("dataset_name").filter(|_| has_metrics) else {
            let message = "expected `dataset_name` and a list `metrics`, as a report of evalscope has them";
            return Err(Error::corrupt(source.name(), message));
        };
        Ok(Self { model: text("model_name"), dataset, document })
    }

    /// Records numbers of the report that are not read as scores.
    pub(super) fn note_unread(&self, account: &mut UnreadNumbers) {
        unread::note(account, &self.document);
    }

    /// Adds the tasks of the report.
    pub(super) fn add_to(&self, tasks: &mut BTreeMap<String, EvaluationTask>) {
        let metrics = self.document.get("metrics").and_then(Json::as_array).unwrap_or_default();
        for metric in metrics {
            let Some(name) = name(metric) else { continue };
            let categories = metric.get("categories").and_then(Json::as_array).unwrap_or_default();
            let subsets = categories.iter().filter_map(|category| category.get("subsets")).filter_map(Json::as_array);
            for subset in subsets.flatten() {
                self.add_subset(&name, direction(metric), subset, tasks);
            }
        }
    }

    fn add_subset(
        &self,
        metric: &str,
        higher: Option<bool>,
        subset: &Json,
        tasks: &mut BTreeMap<String, EvaluationTask>,
    ) {
        let is_aggregate = subset.get("is_aggregate").and_then(Json::as_bool) == Some(true);
        let Some(name) = subset.get("name").and_then(Json::as_str).filter(|_| !is_aggregate) else { return };
        let task = tasks.entry(format!("{}_{name}", self.dataset)).or_default();
        let num = subset.get("num").and_then(count);
        let (requested, errors) = self.executed(name);
        task.asked = requested.or(num).max(task.asked);
        task.errors = task.errors.max(errors);
        if let Some(value) = subset.get("score").and_then(number) {
            let name = ScoreName { metric: metric.to_owned(), filter: None };
            task.scores.insert(name, Score { value, error: None, higher_is_better: higher });
        }
    }

    /// Number of requests of a subset, and number of those that did not succeed. If a report without counts says that it is incomplete,
    /// one request counts as failed.
    fn executed(&self, subset: &str) -> (Option<u64>, u64) {
        let Some(summary) = self.document.get("execution_summary") else { return (None, 0) };
        let counts = summary.get("subsets").and_then(|subsets| subsets.get(subset));
        let of = |counts: &Json, key: &str| counts.get(key).and_then(count);
        let (requested, failed) = match counts {
            Some(counts) => {
                let (requested, succeeded) = (of(counts, "requested"), of(counts, "succeeded"));
                let missing = requested.zip(succeeded).map_or(0, |(all, some)| all.saturating_sub(some));
                (requested, missing.max(of(counts, "errored").unwrap_or(0)))
            }
            None => (None, of(summary, "errored").unwrap_or(0)),
        };
        let is_incomplete = summary.get("incomplete").and_then(Json::as_bool) == Some(true);
        let is_counted = summary.get("subsets").and_then(Json::as_object).is_some_and(|subsets| {
            subsets.iter().any(|(_, counts)| of(counts, "requested") != of(counts, "succeeded"))
        });
        (requested, failed.max(u64::from(is_incomplete && !is_counted)))
    }
}

fn count(value: &Json) -> Option<u64> {
    value.as_i64().and_then(|count| u64::try_from(count).ok())
}

/// Name of a metric, with its aggregation in front unless that is the mean. Older reports have only `name`.
fn name(metric: &Json) -> Option<String> {
    let text = |value: &Json, key: &str| value.get(key).and_then(Json::as_str).map(str::to_owned);
    let Some(identity) = metric.get("identity") else { return text(metric, "name") };
    let name = text(identity, "name")?;
    Some(match text(identity, "aggregation").filter(|aggregation| aggregation != "mean") {
        Some(aggregation) => format!("{aggregation}_{name}"),
        None => name,
    })
}

fn direction(metric: &Json) -> Option<bool> {
    match metric.get("semantics").and_then(|semantics| semantics.get("direction")).and_then(Json::as_str)? {
        "higher_is_better" => Some(true),
        "lower_is_better" => Some(false),
        _ => None,
    }
}

/// Renames scores to match the names of values in reviews. Older reports put the aggregation in front, as in `mean_acc`.
pub(super) fn rename_scores(task: &mut EvaluationTask) {
    let samples = task.samples.iter().flat_map(|samples| samples.by_filter.values().flatten());
    let known: BTreeSet<&String> = samples.flat_map(|sample| sample.values.keys()).collect();
    let scores = std::mem::take(&mut task.scores);
    for (name, score) in scores {
        let bare = name.metric.strip_prefix("mean_").filter(|bare| known.iter().any(|known| known == bare));
        let metric = match bare {
            Some(bare) if !known.contains(&name.metric) => bare.to_owned(),
            _ => name.metric,
        };
        task.scores.insert(ScoreName { metric, filter: name.filter }, score);
    }
}
