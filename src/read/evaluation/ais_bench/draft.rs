//! A sample while it is collected from results and predictions.

use std::collections::BTreeMap;

use super::super::digest::Digest;
use super::super::question::{EvaluationSample, SampleValue, TextPlace};
use super::super::setting;
use crate::kind::SampleId;
use crate::read::json::Json;

/// Known parts of a sample: its value, digests and place.
#[derive(Debug, Default)]
pub(super) struct Draft {
    /// 1 for a right answer, 0 for a wrong one, or the mean if a question was asked several times; `None` if results have no details.
    pub(super) value: Option<f64>,
    pub(super) prompt: Option<u64>,
    pub(super) target: Option<u64>,
    pub(super) answer: Option<u64>,
    pub(super) is_failed: bool,
    pub(super) texts: Option<TextPlace>,
}

impl Draft {
    /// Reads an entry of details, or of predictions in one object.
    pub(super) fn from_entry(entry: &Json, texts: TextPlace) -> Self {
        let value = |names: [&str; 2]| names.into_iter().find_map(|name| entry.get(name));
        Self {
            value: entry.get("correct").and_then(correct),
            prompt: value(["origin_prompt", "prompt"]).map(digest),
            target: value(["gold", "references"]).map(digest),
            answer: value(["prediction", "origin_prediction"]).map(digest),
            is_failed: entry.get("success").and_then(Json::as_bool) == Some(false),
            texts: Some(texts),
        }
    }

    /// Converts the draft into a sample, which counts as failed if it has no value; `None` if the place of its texts is unknown.
    pub(super) fn into_sample(self, id: SampleId, metric: &str) -> Option<EvaluationSample> {
        let is_failed = self.is_failed || self.value.is_none();
        let value = self.value.filter(|_| !is_failed).map(|value| (metric.to_owned(), SampleValue::Number(value)));
        Some(EvaluationSample {
            id,
            document: self.target,
            prompt: self.prompt,
            answer: self.answer,
            values: BTreeMap::from_iter(value),
            is_failed,
            texts: self.texts?,
        })
    }
}

fn digest(value: &Json) -> u64 {
    match value {
        Json::Text(text) => Digest::of_text(text),
        other => Digest::of_text(&setting::canonical(other)),
    }
}

/// Value of an answer: 1 if right, 0 if wrong, or the mean of a list of these.
#[allow(clippy::cast_precision_loss, reason = "a question is asked a few times")]
fn correct(value: &Json) -> Option<f64> {
    let number = |value: &Json| value.as_bool().map(|right| f64::from(u8::from(right))).or_else(|| value.as_f64());
    match value {
        Json::Array(items) => {
            let values: Vec<f64> = items.iter().filter_map(number).collect();
            let is_whole = !values.is_empty() && values.len() == items.len();
            is_whole.then(|| values.iter().sum::<f64>() / values.len() as f64)
        }
        other => number(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::json;

    #[test]
    fn correct_is_a_boolean_or_a_list() {
        for (text, value) in
            [("true", Some(1.0)), ("[false]", Some(0.0)), ("[true, false]", Some(0.5)), ("[]", None), ("\"x\"", None)]
        {
            let json = json::parse_bytes("test", text.as_bytes()).expect("JSON");
            assert_eq!(correct(&json), value, "{text}");
        }
    }
}
