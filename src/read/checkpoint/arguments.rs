//! Facts about a model: from the `config.json` of `transformers` beside a checkpoint, and from the pickled arguments of Megatron.
//!
//! Neither source is trusted: if a number does not fit the tensors, these tensors are not read.

use std::collections::BTreeMap;

use super::opened::ModelFacts;
use crate::fetch::Files;
use crate::read::json::{self, Json};
use crate::read::tensor::StoredValue;

/// Largest configuration file that is read, in bytes.
const MAX_CONFIGURATION: u64 = 1 << 20;

/// Facts from the `config.json` in `folder`; empty if there is no such file or it says nothing about the model.
pub(super) fn configuration_facts(folder: &str, files: &dyn Files) -> ModelFacts {
    let path = format!("{folder}config.json");
    let entry = files.list().iter().find(|entry| entry.path == path && entry.len <= MAX_CONFIGURATION);
    let parsed = entry.and_then(|entry| json::parse(files.open(&entry.path).ok()?.as_ref()).ok());
    let Some(parsed) = parsed else { return ModelFacts::default() };
    let inner = parsed.get("text_config");
    let get = |key: &str| parsed.get(key).or_else(|| inner?.get(key));
    let number = |keys: &[&str]| keys.iter().find_map(|key| unsigned(get(key)?));
    let heads = number(&["num_attention_heads", "n_head"]);
    ModelFacts {
        heads,
        kv_heads: number(&["num_key_value_heads"]).or(heads),
        vocabulary: number(&["vocab_size"]),
        is_tied: get("tie_word_embeddings").and_then(|tied| match tied {
            Json::Bool(tied) => Some(*tied),
            _ => None,
        }),
    }
}

fn unsigned(value: &Json) -> Option<u64> {
    match value {
        Json::Int(number) => u64::try_from(*number).ok(),
        _ => None,
    }
}

/// Pickled arguments of a run, by name. The values are in Python's printed form.
#[derive(Debug, Default)]
pub(super) struct Arguments(BTreeMap<String, String>);

impl Arguments {
    /// Collects the arguments from the values of a file.
    pub(super) fn among(values: &[(String, StoredValue)]) -> Self {
        let argument = |(name, stored): &(String, StoredValue)| match (name.strip_prefix("args."), stored) {
            (Some(name), StoredValue::Plain(value)) => Some((name.to_owned(), value.clone())),
            _ => None,
        };
        Self(values.iter().filter_map(argument).collect())
    }

    /// Whether no argument is known.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Value of a whole-number argument.
    pub(super) fn number(&self, name: &str) -> Option<u64> {
        self.0.get(name)?.parse().ok()
    }

    /// Value of a size argument of the layout; `None` if it is absent or 0.
    pub(super) fn size(&self, name: &str) -> Option<u32> {
        self.0.get(name)?.parse().ok().filter(|size| *size > 0)
    }

    /// Value of a boolean argument.
    pub(super) fn is(&self, name: &str) -> Option<bool> {
        match self.0.get(name)?.as_str() {
            "True" => Some(true),
            "False" => Some(false),
            _ => None,
        }
    }

    /// Facts about the model that the arguments give.
    pub(super) fn facts(&self) -> ModelFacts {
        let heads = self.number("num_attention_heads");
        let groups = self.number("num_query_groups").filter(|_| self.is("group_query_attention") != Some(false));
        ModelFacts {
            heads,
            kv_heads: groups.or(heads),
            vocabulary: self.number("vocab_size"),
            is_tied: self.is("untie_embeddings_and_output_weights").map(|untied| !untied),
        }
    }
}
