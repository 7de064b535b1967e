//! Texts of a sample, which are read again when they are shown.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use super::lines::MAX_LINE;
use super::question::{SampleTexts, TextPlace};
use crate::error::{Error, Result};
use crate::fetch::{FileEntry, Files, Source};
use crate::read::json::{self, Json};

/// Number of characters at the end of a question that are kept.
const QUESTION: usize = 2000;

/// Most files that stay open at once.
const OPEN: usize = 32;

/// Files that stay open between samples, because opening a packed file expands it each time.
pub struct OpenFiles<'a> {
    files: &'a dyn Files,
    open: Mutex<HashMap<String, Source>>,
}

impl<'a> OpenFiles<'a> {
    /// Wraps the files of a side.
    pub fn new(files: &'a dyn Files) -> Self {
        Self { files, open: Mutex::default() }
    }
}

impl Files for OpenFiles<'_> {
    fn location(&self) -> &str {
        self.files.location()
    }

    fn list(&self) -> &[FileEntry] {
        self.files.list()
    }

    fn skipped(&self) -> &[(String, String)] {
        self.files.skipped()
    }

    fn open(&self, path: &str) -> Result<Source> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(source) = open.get(path) {
            return Ok(source.clone());
        }
        if open.len() >= OPEN {
            open.clear();
        }
        let source = self.files.open(path)?;
        open.insert(path.to_owned(), source.clone());
        Ok(source)
    }
}

/// Reads the texts of a sample. For many samples, pass files that stay open, so that packed ones are not expanded each time.
///
/// # Errors
/// If the file can no longer be read or holds no sample at that place.
pub fn sample_texts(files: &dyn Files, place: &TextPlace) -> Result<SampleTexts> {
    let TextPlace::Line { path, offset, len } = place;
    let source = files.open(path)?;
    let len = usize::try_from(*len).ok().filter(|len| *len <= MAX_LINE);
    let len = len.ok_or_else(|| Error::corrupt(path.as_ref(), "a sample longer than 16 MiB"))?;
    let mut bytes = vec![0; len];
    source.read_at(*offset, &mut bytes)?;
    let sample = json::parse_bytes(path, &bytes)?;
    Ok(if sample.get("doc_id").is_some() {
        of_lm_eval(&sample)
    } else if sample.get("sample_score").is_some() {
        of_review(&sample)
    } else if sample.get("output").is_some() && sample.get("input").is_some() {
        of_rollout(&sample)
    } else {
        of_prediction(&sample)
    })
}

/// End of a question, at most [`QUESTION`] characters.
fn end(text: &str) -> String {
    let start = text.char_indices().rev().nth(QUESTION - 1).map_or(0, |(at, _)| at);
    text.get(start..).unwrap_or_default().to_owned()
}

/// Text of a value: a string as it is, or the texts inside a list or an object, one per line.
fn text(value: &Json) -> String {
    fn add<'a>(value: &'a Json, texts: &mut Vec<&'a str>, depth: usize) {
        const KEYS: [&str; 4] = ["content", "prompt", "text", "reasoning"];
        match value {
            Json::Text(text) => texts.push(text),
            Json::Array(items) if depth < 8 => items.iter().for_each(|item| add(item, texts, depth + 1)),
            Json::Object(entries) if depth < 8 => {
                let known = entries.iter().filter(|(key, _)| KEYS.contains(&key.as_str()));
                known.for_each(|(_, value)| add(value, texts, depth + 1));
            }
            _ => {}
        }
    }
    match value {
        Json::Text(text) => text.clone(),
        Json::Null => String::new(),
        Json::Array(_) | Json::Object(_) => {
            let mut texts = Vec::new();
            add(value, &mut texts, 0);
            texts.join("\n")
        }
        other => json::to_text(other),
    }
}

/// Arguments of each request: the prompt, and the continuation or the settings.
fn requests(sample: &Json) -> Vec<(Json, Option<Json>)> {
    let all: Vec<&Json> = match sample.get("arguments") {
        Some(Json::Object(entries)) => entries.iter().map(|(_, request)| request).collect(),
        Some(Json::Array(items)) => items.iter().collect(),
        _ => Vec::new(),
    };
    let arguments = |request: &'_ Json| match request {
        Json::Array(items) => (items.first().cloned(), items.get(1).cloned()),
        other => (other.get("arg_0").cloned(), other.get("arg_1").cloned()),
    };
    all.into_iter().map(arguments).filter_map(|(prompt, second)| Some((prompt?, second))).collect()
}

fn of_lm_eval(sample: &Json) -> SampleTexts {
    let requests = requests(sample);
    let question = requests.first().map(|(prompt, _)| end(&text(prompt))).unwrap_or_default();
    let options: Vec<&str> = requests.iter().filter_map(|(_, option)| option.as_ref().and_then(Json::as_str)).collect();
    let target = sample.get("target").map(text).unwrap_or_default();
    let responses = sample.get("resps").and_then(Json::as_array).unwrap_or_default();
    if options.len() == requests.len() && options.len() > 1 {
        let chosen = likeliest(responses).and_then(|nth| options.get(nth)).map_or("", |option| option.trim());
        let right = target.parse().ok().and_then(|nth: usize| options.get(nth));
        let target = right.map_or(target.clone(), |option| option.trim().to_owned());
        return SampleTexts { question, answer: chosen.to_owned(), target };
    }
    let mut answer = responses.first();
    while let Some(Json::Array(items)) = answer {
        answer = items.first();
    }
    SampleTexts { question, answer: answer.map(text).unwrap_or_default(), target }
}

/// Index of the response with the largest log-likelihood. Log-likelihoods may be written as texts.
fn likeliest(responses: &[Json]) -> Option<usize> {
    let log = |response: &Json| {
        let mut value = response;
        while let Json::Array(items) = value {
            value = items.first()?;
        }
        value.as_f64().or_else(|| value.as_str()?.parse().ok())
    };
    let logs = responses.iter().map(|response| log(response).unwrap_or(f64::NEG_INFINITY));
    logs.enumerate().max_by(|(_, one), (_, other)| one.total_cmp(other)).map(|(nth, _)| nth)
}

fn of_review(sample: &Json) -> SampleTexts {
    let score = sample.get("sample_score").and_then(|score| score.get("score"));
    let messages = sample.get("messages").or_else(|| sample.get("input"));
    let role = |message: &Json| message.get("role").and_then(Json::as_str).map(str::to_owned);
    let question = match messages {
        Some(Json::Array(items)) => {
            let asked = items.iter().rev().find(|message| role(message).as_deref() == Some("user"));
            asked.map(|message| message.get("content").map(text).unwrap_or_default())
        }
        other => other.map(text),
    };
    SampleTexts {
        question: end(&question.unwrap_or_default()),
        answer: score.and_then(|score| score.get("prediction")).map(text).unwrap_or_default(),
        target: sample.get("target").map(text).unwrap_or_default(),
    }
}

fn of_rollout(sample: &Json) -> SampleTexts {
    let of = |name: &str| sample.get(name).map(text).unwrap_or_default();
    SampleTexts { question: end(&of("input")), answer: of("output"), target: of("gts") }
}

fn of_prediction(sample: &Json) -> SampleTexts {
    let first = |names: [&str; 2]| names.into_iter().find_map(|name| sample.get(name)).map(text).unwrap_or_default();
    SampleTexts {
        question: end(&first(["origin_prompt", "prompt"])),
        answer: first(["prediction", "origin_prediction"]),
        target: first(["gold", "references"]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts_of(text: &str) -> SampleTexts {
        let sample = json::parse_bytes("test", text.as_bytes()).expect("JSON");
        of_lm_eval(&sample)
    }

    #[test]
    fn the_answer_of_options_is_the_likeliest() {
        let texts = texts_of(
            r#"{"doc_id": 0, "target": "1", "arguments": {"gen_args_0": {"arg_0": "Q", "arg_1": " a"},
            "gen_args_1": {"arg_0": "Q", "arg_1": " b"}}, "resps": [[["-1.0", "False"]], [["-2.0", "False"]]]}"#,
        );
        assert_eq!((texts.question.as_str(), texts.answer.as_str(), texts.target.as_str()), ("Q", "a", "b"));
    }

    #[test]
    fn a_generated_answer_is_whole_and_a_long_question_is_cut_at_its_start() {
        let question = "é".repeat(3000);
        let texts = texts_of(&format!(
            r#"{{"doc_id": 0, "target": 5, "arguments": {{"gen_args_0": {{"arg_0": "{question}", "arg_1": {{}}}}}},
            "resps": [[" a\nb", "c"]]}}"#
        ));
        assert_eq!(texts.answer, " a\nb");
        assert_eq!(texts.target, "5");
        assert_eq!(texts.question.chars().count(), QUESTION);
    }
}
