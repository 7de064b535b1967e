//! `configs/task_config.yaml`: settings of the model and of generation.

use std::collections::BTreeMap;

use super::super::run::EvaluationTask;
use super::super::setting;
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::{ByteSource, read_all};
use crate::read::json::{self, Json};

/// Largest configuration that is read, in bytes.
const MAX_BYTES: u64 = 16 << 20;
/// Settings of generation that do not change answers.
const IRRELEVANT: [&str; 11] = [
    "batch_size",
    "eval_batch_size",
    "extra_headers",
    "max_connections",
    "max_retries",
    "parallel",
    "retries",
    "retry_interval",
    "seed",
    "stream",
    "timeout",
];
/// Number of digits of a fingerprint that are kept.
const FINGERPRINT: usize = 12;

/// Relevant settings of a configuration.
#[derive(Debug, Default)]
pub(super) struct Config {
    /// Settings of the model.
    pub(super) model: BTreeMap<String, String>,
    generation: Option<String>,
    is_sampled: bool,
    /// Version and number of examples of each benchmark.
    benchmarks: BTreeMap<String, (Option<String>, Option<String>)>,
}

impl Config {
    /// Reads a configuration.
    ///
    /// # Errors
    /// If the YAML is too large or damaged.
    pub(super) fn read(source: &dyn ByteSource) -> Result<Self> {
        let bytes = read_all(source, MAX_BYTES)?;
        let damaged = |message: String| {
            Error::new(ErrorKind::Corrupt, source.name(), format!("expected the YAML of a configuration: {message}"))
        };
        let value: serde_json::Value = serde_yaml::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
        let config = json::parse_bytes(source.name(), value.to_string().as_bytes())?;
        if config.as_object().is_none() {
            return Err(damaged("found no settings".to_owned()));
        }
        Ok(Self::of(&config))
    }

    fn of(config: &Json) -> Self {
        let mut model = config.get("model_args").map(setting::model_settings).unwrap_or_default();
        let precision =
            config.get("model_args").and_then(|given| given.get("precision")).and_then(setting::setting_text);
        let dtype = precision.and_then(|value| setting::dtype_name(&value));
        model.extend(dtype.map(|dtype| ("dtype".to_owned(), dtype)));
        let name = config.get("model").and_then(Json::as_str).and_then(setting::model_name);
        model.extend(name.map(|name| ("model".to_owned(), name)));
        let kind = config.get("eval_type").and_then(Json::as_str).unwrap_or_default();
        let is_local = ["llm_ckpt", "checkpoint"].contains(&kind);
        let generation = config.get("generation_config").and_then(Json::as_object);
        let generation = generation.map(|entries| {
            let counts = |(key, value): &&(String, Json)| !IRRELEVANT.contains(&key.as_str()) && *value != Json::Null;
            Json::Object(entries.iter().filter(counts).cloned().collect())
        });
        Self {
            model,
            is_sampled: generation.as_ref().is_some_and(|settings| setting::is_sampled(settings, is_local)),
            generation: generation.as_ref().map(setting::canonical),
            benchmarks: benchmarks(config),
        }
    }

    /// Fills in the settings that all tasks of a benchmark share. The benchmark is the longest one that the task's name starts with.
    pub(super) fn fill_task(&self, name: &str, task: &mut EvaluationTask) {
        let begins = |benchmark: &&String| name.strip_prefix(*benchmark).is_some_and(|rest| rest.starts_with('_'));
        let benchmark = self.benchmarks.keys().filter(|benchmark| begins(benchmark) || *benchmark == name);
        let known = benchmark.max_by_key(|benchmark| benchmark.len()).and_then(|name| self.benchmarks.get(name));
        (task.version, task.shots) = known.cloned().unwrap_or_default();
        task.generation.clone_from(&self.generation);
        task.is_sampled = self.is_sampled;
    }
}

fn benchmarks(config: &Json) -> BTreeMap<String, (Option<String>, Option<String>)> {
    let mut benchmarks: BTreeMap<String, (Option<String>, Option<String>)> = BTreeMap::new();
    let identities = config.get("evaluation_identity").and_then(|identity| identity.get("benchmarks"));
    for (name, identity) in identities.and_then(Json::as_object).unwrap_or_default() {
        let fingerprint = identity.get("fingerprint").and_then(Json::as_str).map(|fingerprint| {
            let digits = fingerprint.strip_prefix("sha256:").unwrap_or(fingerprint);
            digits.chars().take(FINGERPRINT).collect::<String>()
        });
        let version = identity.get("evaluation_version").and_then(setting::setting_text);
        let parts: Vec<String> = version.into_iter().chain(fingerprint).collect();
        benchmarks.entry(name.clone()).or_default().0 = (!parts.is_empty()).then(|| parts.join(" "));
    }
    for key in ["dataset_args", "resolved_benchmarks"] {
        for (name, given) in config.get(key).and_then(Json::as_object).unwrap_or_default() {
            let shots = given.get("few_shot_num").and_then(setting::setting_text);
            let known = benchmarks.entry(name.clone()).or_default();
            known.1 = shots.or_else(|| known.1.take());
        }
    }
    benchmarks
}
