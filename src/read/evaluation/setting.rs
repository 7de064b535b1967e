//! Settings of the model that may change its numbers, and settings of generation.

use std::collections::BTreeMap;

use super::place;
use crate::read::json::{self, Json};

/// Settings of a model that may change numbers, by their names in the arguments of a harness.
const COUNTING: [&str; 12] = [
    "add_bos_token",
    "dtype",
    "enable_thinking",
    "kv_cache_dtype",
    "max_length",
    "max_model_len",
    "peft",
    "quantization",
    "revision",
    "softmax_dtype",
    "think_end_token",
    "truncation",
];

/// Text of a setting; `None` for `null`.
pub(super) fn setting_text(value: &Json) -> Option<String> {
    match value {
        Json::Null => None,
        Json::Bool(value) => Some(value.to_string()),
        Json::Int(value) => Some(value.to_string()),
        Json::BigInt(digits) => Some(digits.clone()),
        Json::Float(value) => Some(value.to_string()),
        Json::Text(text) => Some(text.clone()),
        Json::Array(_) | Json::Object(_) => Some(canonical(value)),
    }
}

/// JSON text with sorted keys, in which equal numbers are written equally.
pub(super) fn canonical(value: &Json) -> String {
    match value {
        Json::Array(items) => {
            let items: Vec<String> = items.iter().map(canonical).collect();
            format!("[{}]", items.join(", "))
        }
        Json::Object(entries) => {
            let entries: BTreeMap<&String, String> =
                entries.iter().map(|(key, value)| (key, canonical(value))).collect();
            let entries: Vec<String> =
                entries.into_iter().map(|(key, value)| format!("{}: {value}", quoted(key))).collect();
            format!("{{{}}}", entries.join(", "))
        }
        Json::Text(text) => quoted(text),
        other => setting_text(other).unwrap_or_else(|| "null".to_owned()),
    }
}

fn quoted(text: &str) -> String {
    json::to_text(&Json::Text(text.to_owned()))
}

/// Arguments of a model, from a text `k=v,k=v` or an object.
fn arguments(given: &Json) -> BTreeMap<String, String> {
    match given {
        Json::Text(text) => {
            let pairs = text.split(',').filter_map(|pair| pair.split_once('='));
            pairs.map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned())).collect()
        }
        Json::Object(entries) => {
            entries.iter().filter_map(|(key, value)| Some((key.clone(), setting_text(value)?))).collect()
        }
        _ => BTreeMap::new(),
    }
}

/// Settings that may change numbers, from the arguments that a harness recorded, with the model's name under `model`.
pub(super) fn model_settings(given: &Json) -> BTreeMap<String, String> {
    let arguments = arguments(given);
    let mut settings = BTreeMap::new();
    for name in COUNTING {
        if let Some(value) = arguments.get(name).and_then(|value| normal(name, value)) {
            settings.insert(name.to_owned(), value);
        }
    }
    let path = ["pretrained", "model", "path", "model_path"].iter().find_map(|name| arguments.get(*name));
    settings.extend(path.and_then(|path| Some(("model".to_owned(), model_name(path)?))));
    settings
}

/// Value in a uniform spelling: `torch.bfloat16` becomes `bfloat16`, Python's `True` becomes `true`, and the path of an adapter
/// becomes its last part.
fn normal(name: &str, value: &str) -> Option<String> {
    let value = value.strip_prefix("torch.").unwrap_or(value);
    match value {
        "None" | "null" | "" => None,
        "True" => Some("true".to_owned()),
        "False" => Some("false".to_owned()),
        _ if name == "peft" => Some(place::last_part(value).to_owned()),
        _ => Some(value.to_owned()),
    }
}

/// Name of an element type in a uniform spelling.
pub(super) fn dtype_name(value: &str) -> Option<String> {
    normal("dtype", value)
}

/// Name of a model: the last part of its path, or for a folder in the cache of a model hub the model's name there.
pub(super) fn model_name(path: &str) -> Option<String> {
    let cached = path.split('/').find_map(|part| part.strip_prefix("models--"));
    let name = match cached {
        Some(name) => name.rsplit("--").next().unwrap_or(name),
        None => place::last_part(path),
    };
    (!name.is_empty() && name != "None").then(|| name.to_owned())
}

/// Whether settings of generation make answers random.
///
/// A model that runs inside the harness (`is_local`) does not sample if `do_sample` is false. A server only receives the
/// temperature.
pub(super) fn is_sampled(settings: &Json, is_local: bool) -> bool {
    let do_sample = settings.get("do_sample").and_then(Json::as_bool);
    let is_warm = settings.get("temperature").and_then(Json::as_f64).is_some_and(|temperature| temperature > 0.0);
    match do_sample {
        Some(true) => true,
        Some(false) if is_local => false,
        _ => is_warm,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Json {
        json::parse_bytes("test", text.as_bytes()).expect("JSON")
    }

    #[test]
    fn arguments_are_text_or_an_object() {
        let text =
            model_settings(&read("\"pretrained=/data/toy-a/,dtype=torch.bfloat16,device=npu:0,add_bos_token=True\""));
        let object = model_settings(&read(
            r#"{"pretrained": "/x/toy-a", "dtype": "bfloat16", "add_bos_token": true, "batch_size": 4}"#,
        ));
        assert_eq!(text, object);
        assert_eq!(text.len(), 3);
        assert_eq!(text.get("model").map(String::as_str), Some("toy-a"));
        assert_eq!(model_name("/c/models--org--toy-a/snapshots/0123").as_deref(), Some("toy-a"));
    }

    #[test]
    fn equal_settings_look_equal() {
        let one = read(r#"{"b": 1.0, "a": [true, null, "é"]}"#);
        let other = read(r#"{"a": [true, null, "\u00e9"], "b": 1}"#);
        assert_eq!(canonical(&one), canonical(&other));
    }

    #[test]
    fn sampling_follows_what_is_sent_to_the_model() {
        for (settings, local, remote) in [
            (r#"{"do_sample": false, "temperature": 1.0}"#, false, true),
            (r#"{"do_sample": false}"#, false, false),
            (r#"{"do_sample": true}"#, true, true),
            (r#"{"temperature": 0.6}"#, true, true),
            (r#"{"temperature": 0}"#, false, false),
            ("{}", false, false),
        ] {
            assert_eq!(is_sampled(&read(settings), true), local, "{settings}");
            assert_eq!(is_sampled(&read(settings), false), remote, "{settings}");
        }
    }
}
