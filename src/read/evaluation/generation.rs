//! Generation records, one JSON object per line: docs/formats/evaluation.md.
//!
//! These are output files of batches, responses of a server together with the prompt, and dumps of vLLM. Only the first answer of
//! a record counts.

use std::collections::BTreeMap;

use super::answer::{self, Answer, AnswerFile, message_text};
use super::damage::EvaluationDamage;
use super::place;
use super::samples;
use super::setting;
use super::tokens::{AnswerSettings, Generation, Generations, Token};
use crate::fetch::ByteSource;
use crate::read::json::{self, Json};

/// Most tokens of a file that are held in memory, each with its alternatives.
const MOST_TOKENS: usize = 2_000_000;

/// Reads a file of records.
pub(super) fn read(path: &str, source: &dyn ByteSource) -> Generations {
    let mut records: Vec<Generation> = Vec::new();
    let memory = source.memory_limit();
    let (mut tokens, mut bytes, mut beyond) = (0, 0, None);
    let mut damages = samples::read_each_line(
        path,
        source,
        |line, bytes| {
            let record = json::parse_bytes(path, bytes).map_err(|error| error.message().to_owned())?;
            generation(&record, line.number, true)
        },
        |record| {
            tokens += record.tokens.len();
            bytes += record.text.len() + record.prompt.as_ref().map_or(0, String::len) + size_of_val(&record);
            bytes += record.tokens.iter().map(Token::bytes).sum::<usize>();
            if tokens <= MOST_TOKENS && bytes as u64 <= memory {
                records.push(record);
            } else {
                beyond = beyond.or(Some(record.line));
            }
        },
    );
    if beyond.is_some() {
        let reason = format!(
            "more than {MOST_TOKENS} tokens or {memory} bytes of memory; the records from here on are not read"
        );
        damages.push(EvaluationDamage { path: path.to_owned(), line: beyond, reason });
    }
    let (task, path) = (place::stem(path).to_owned(), path.to_owned());
    Generations { task, path, records, settings: AnswerSettings::default(), damages }
}

/// Calls `measure` with each answer of a file, and `take` with the results in the order of the lines. No answer is kept.
pub(super) fn measure_answers<T: Send>(
    path: &str,
    source: &dyn ByteSource,
    measure: impl Fn(&Answer<'_>) -> T + Sync,
    mut take: impl FnMut(T),
) -> AnswerFile {
    let mut failed = 0;
    let damages = samples::read_each_line(
        path,
        source,
        |line, bytes| {
            let record = json::parse_bytes(path, bytes).map_err(|error| error.message().to_owned())?;
            let record = generation(&record, line.number, false)?;
            Ok((!record.is_failed).then(|| measure(&record.answer())))
        },
        |measured| match measured {
            Some(measured) => take(measured),
            None => failed += 1,
        },
    );
    AnswerFile { task: place::stem(path).to_owned(), path: path.to_owned(), failed, damages }
}

/// Reads a record. Its tokens are read only if `with_tokens`.
fn generation(record: &Json, line: u64, with_tokens: bool) -> Result<Generation, String> {
    if record.as_object().is_none() {
        return Err("expected a JSON object, found another value".to_owned());
    }
    let key =
        ["custom_id", "request_id", "id"].into_iter().find_map(|key| record.get(key).and_then(setting::setting_text));
    let body = record.get("response").map_or(record, |response| response.get("body").unwrap_or(response));
    let prompts = ["prompt", "messages", "prompt_token_ids"].into_iter();
    let prompt = prompts.filter_map(|key| record.get(key)).find(|prompt| **prompt != Json::Null).map(message_text);
    let settings = || [Some(record), record.get("sampling_params"), record.get("request"), record.get("body")];
    let base = Generation {
        key,
        line,
        prompt,
        is_sampled: settings().into_iter().flatten().find_map(answer::is_sampled),
        ignores_end: settings().into_iter().flatten().any(answer::ignores_end),
        broken: broken(record, false),
        ..Generation::default()
    };
    if let Some(outputs) = record.get("outputs").and_then(Json::as_array) {
        let Some(output) = outputs.first() else { return Ok(failed(base)) };
        return Ok(vllm(base, output, with_tokens));
    }
    let Some(choices) = body.get("choices").and_then(Json::as_array) else {
        let is_error = record.get("error").or_else(|| body.get("error")).is_some_and(|error| *error != Json::Null);
        let is_response = record.get("response").is_some();
        return if is_error || is_response {
            Ok(failed(base))
        } else {
            Err("expected `choices` or `outputs`, found neither".to_owned())
        };
    };
    let is_first = |choice: &&Json| choice.get("index").and_then(Json::as_i64) == Some(0);
    let choice = choices.iter().find(is_first).or(choices.first());
    Ok(match choice {
        Some(choice) => of_choice(base, choice, with_tokens),
        None => failed(base),
    })
}

/// Number of log-probabilities in a value that are NaN. `is_below` says that the value is below a key of log-probabilities. Minus
/// infinity is a valid value, for a token that was ruled out.
fn broken(value: &Json, is_below: bool) -> u64 {
    match value {
        Json::Object(entries) => entries
            .iter()
            .filter(|(key, value)| !(is_token(key) && matches!(value, Json::Text(_))))
            .map(|(key, value)| broken(value, is_below && key != "tokens" || key.contains("logprob")))
            .sum(),
        Json::Array(items) => items.iter().map(|item| broken(item, is_below)).sum(),
        other => u64::from(is_below && answer::is_nan(other)),
    }
}

/// Whether a key holds the text of a token, which may be any text, even `nan`.
fn is_token(key: &str) -> bool {
    matches!(key, "token" | "decoded_token" | "text")
}

fn failed(record: Generation) -> Generation {
    Generation { is_failed: true, ..record }
}

fn finish(choice: &Json) -> Option<String> {
    choice.get("finish_reason").and_then(Json::as_str).map(str::to_owned)
}

/// Reads an output of vLLM, whose log-probabilities are keyed by token id.
fn vllm(record: Generation, output: &Json, with_tokens: bool) -> Generation {
    let text = output.get("text").and_then(Json::as_str).unwrap_or_default().to_owned();
    let list = |key: &str| output.get(key).and_then(Json::as_array).unwrap_or_default();
    let (ids, places) = (list("token_ids"), list("logprobs"));
    let value = |entry: &Json| entry.get("logprob").unwrap_or(entry).as_f64();
    let is_textless = text.is_empty() && ids.len() > 1;
    let record = Generation { is_textless, finish: finish(output), ..record };
    if !with_tokens {
        return Generation { text, ..record };
    }
    let tokens: Vec<Token> = ids
        .iter()
        .enumerate()
        .filter_map(|(nth, id)| {
            let name = setting::setting_text(id)?;
            let entries = places.get(nth).and_then(Json::as_object).unwrap_or_default();
            let alternatives: BTreeMap<String, f64> =
                entries.iter().filter_map(|(id, entry)| Some((id.clone(), value(entry)?))).collect();
            Some(Token { log_probability: alternatives.get(&name).copied(), name, alternatives })
        })
        .collect();
    let tokens = if tokens.is_empty() { characters(&text) } else { tokens };
    Generation { text, tokens, ..record }
}

/// Reads a choice of a completion or a chat.
fn of_choice(record: Generation, choice: &Json, with_tokens: bool) -> Generation {
    let message = choice.get("message");
    let text = choice.get("text").or(message.and_then(|message| message.get("content")));
    let text = text.map(written).filter(|text| !text.is_empty()).or_else(|| reasoning(message?)).unwrap_or_default();
    let logs = choice.get("logprobs");
    let content = logs.and_then(|logs| logs.get("content")).and_then(Json::as_array);
    let record = Generation { is_textless: message.is_some_and(is_call), finish: finish(choice), ..record };
    if !with_tokens {
        return Generation { text, ..record };
    }
    let tokens = match content {
        Some(content) => content.iter().map(chat_token).collect(),
        None => logs.map(completion_tokens).unwrap_or_default(),
    };
    let tokens = if tokens.is_empty() { characters(&text) } else { tokens };
    Generation { text, tokens, ..record }
}

/// Text of a message, which is a string or a list of parts.
fn written(content: &Json) -> String {
    let part = |part: &Json| part.get("text").and_then(Json::as_str).map(str::to_owned);
    match content {
        Json::Text(text) => text.clone(),
        Json::Array(parts) => parts.iter().filter_map(part).collect(),
        _ => String::new(),
    }
}

/// Reasoning text of a message that ended before its answer.
fn reasoning(message: &Json) -> Option<String> {
    let thoughts = ["reasoning_content", "reasoning"].into_iter().filter_map(|key| message.get(key)?.as_str());
    thoughts.map(str::to_owned).next()
}

/// Whether a message is a tool call or a refusal, which needs no text.
fn is_call(message: &Json) -> bool {
    let is_there = |key: &str| match message.get(key) {
        Some(Json::Array(items)) => !items.is_empty(),
        None | Some(Json::Null) => false,
        Some(_) => true,
    };
    ["tool_calls", "function_call", "refusal"].into_iter().any(is_there)
}

fn characters(text: &str) -> Vec<Token> {
    text.chars().map(|character| Token { name: character.to_string(), ..Token::default() }).collect()
}

/// Name of a token of a chat: its text, or its bytes if they are only a part of a character.
fn chat_name(token: &Json) -> Option<String> {
    let name = token.get("token").and_then(Json::as_str)?;
    let bytes = token.get("bytes").and_then(Json::as_array).filter(|_| name.contains('\u{fffd}'));
    Some(bytes.map_or_else(|| name.to_owned(), |bytes| setting::canonical(&Json::Array(bytes.to_vec()))))
}

fn chat_token(token: &Json) -> Token {
    let log = |token: &Json| token.get("logprob").and_then(Json::as_f64);
    let top = token.get("top_logprobs").and_then(Json::as_array).unwrap_or_default();
    let alternatives = top.iter().filter_map(|other| Some((chat_name(other)?, log(other)?))).collect();
    Token { name: chat_name(token).unwrap_or_default(), log_probability: log(token), alternatives }
}

fn completion_tokens(logs: &Json) -> Vec<Token> {
    let list = |key: &str| logs.get(key).and_then(Json::as_array).unwrap_or_default();
    let (values, tops) = (list("token_logprobs"), list("top_logprobs"));
    let token = |(nth, token): (usize, &Json)| {
        let top = tops.get(nth).and_then(Json::as_object).unwrap_or_default();
        Token {
            name: token.as_str().unwrap_or_default().to_owned(),
            log_probability: values.get(nth).and_then(Json::as_f64),
            alternatives: top.iter().filter_map(|(name, log)| Some((name.clone(), log.as_f64()?))).collect(),
        }
    };
    list("tokens").iter().enumerate().map(token).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(text: &str) -> Result<Generation, String> {
        generation(&json::parse_bytes("test", text.as_bytes()).expect("JSON"), 1, true)
    }

    #[test]
    fn answers_of_all_layouts_are_read() {
        let batch = record(
            r#"{"id": "x", "custom_id": "q", "response": {"status_code": 200, "body": {"id": "y", "choices":
            [{"index": 0, "message": {"content": "ab"}, "logprobs": null, "finish_reason": "length"}]}}, "error": null}"#,
        );
        let batch = batch.expect("a record");
        assert_eq!((batch.key.as_deref(), batch.text.as_str(), batch.tokens.len()), (Some("q"), "ab", 2));
        assert_eq!(batch.finish.as_deref(), Some("length"));
        let completion = record(
            r#"{"prompt": "P", "id": "c", "choices": [{"text": "ab", "logprobs": {"tokens": ["ab"],
            "token_logprobs": [-0.5], "top_logprobs": [{"ab": -0.5, "c": -2.0}]}}]}"#,
        );
        let completion = completion.expect("a record");
        assert_eq!(completion.prompt.as_deref(), Some("P"));
        let token = completion.tokens.first().expect("a token");
        assert_eq!((token.name.as_str(), token.log_probability, token.alternatives.len()), ("ab", Some(-0.5), 2));
        let dump = record(
            r#"{"request_id": "7", "prompt": null, "prompt_token_ids": [1, 2], "outputs": [{"text": "a",
            "token_ids": [5], "logprobs": [{"5": {"logprob": -0.25, "rank": 1}, "6": {"logprob": -3}}]}]}"#,
        );
        let dump = dump.expect("a record");
        assert_eq!((dump.key.as_deref(), dump.prompt.as_deref()), (Some("7"), Some("[1, 2]")));
        let token = dump.tokens.first().expect("a token");
        assert_eq!((token.name.as_str(), token.log_probability), ("5", Some(-0.25)));
    }

    #[test]
    fn log_probabilities_that_are_nan_are_counted() {
        let of = |logs: &str| {
            let text = format!(r#"{{"prompt": "P", "id": "c", "choices": [{{"text": "ab", "logprobs": {logs}}}]}}"#);
            record(&text).expect("a record").broken
        };
        assert_eq!(of(r#"{"tokens": ["NaN"], "token_logprobs": [-0.5], "top_logprobs": [{"ab": -Infinity}]}"#), 0);
        assert_eq!(of(r#"{"content": [{"token": "nan", "logprob": NaN}]}"#), 1);
        assert_eq!(of(r#"{"tokens": ["ab"], "token_logprobs": [NaN], "top_logprobs": [{"ab": "nan", "c": -2.0}]}"#), 2);
        assert_eq!(of(r#"{"tokens": ["ab"], "token_logprobs": [null], "top_logprobs": null}"#), 0);
    }

    #[test]
    fn failed_requests_are_told() {
        for text in [
            r#"{"custom_id": "q", "response": null, "error": {"message": "no"}}"#,
            r#"{"custom_id": "q", "response": {"status_code": 500, "body": {"error": "no"}}}"#,
            r#"{"request_id": "q", "outputs": []}"#,
            r#"{"id": "q", "choices": []}"#,
        ] {
            assert!(record(text).expect("a record").is_failed, "{text}");
        }
        assert!(record("{\"id\": 1}").is_err());
        assert!(record("[]").is_err());
    }

    #[test]
    fn parts_of_a_character_are_told_apart() {
        let name = |bytes: &str| {
            let token = format!("{{\"token\": \"\u{fffd}\", \"bytes\": {bytes}}}");
            chat_name(&json::parse_bytes("test", token.as_bytes()).expect("JSON"))
        };
        assert_ne!(name("[228]"), name("[229]"));
    }

    #[test]
    fn what_has_no_text_by_design_is_told_apart() {
        let answer = |message: &str| {
            let text = format!(r#"{{"prompt": "P", "response": {{"choices": [{{"message": {message}}}]}}}}"#);
            let record = record(&text).expect("a record");
            (record.text.clone(), record.is_textless)
        };
        assert_eq!(answer(r#"{"content": null, "tool_calls": [{"id": "1"}]}"#), (String::new(), true));
        assert_eq!(answer(r#"{"content": "", "tool_calls": []}"#), (String::new(), false));
        assert_eq!(answer(r#"{"content": null, "reasoning_content": "so"}"#), ("so".to_owned(), false));
        assert_eq!(answer(r#"{"content": [{"type": "text", "text": "a"}]}"#), ("a".to_owned(), false));
        let ids = record(r#"{"request_id": "1", "outputs": [{"text": "", "token_ids": [1, 2, 3]}]}"#);
        assert!(ids.expect("a record").is_textless);
        let end = record(r#"{"request_id": "1", "outputs": [{"text": "", "token_ids": [2]}]}"#);
        assert!(!end.expect("a record").is_textless);
    }

    #[test]
    fn a_log_probability_that_is_nan_is_seen_in_all_layouts() {
        let broken = |text: &str| record(text).expect("a record").broken;
        for value in ["NaN", "-0.5"] {
            for text in [
                r#"{"request_id": "1", "outputs": [{"text": "a", "token_ids": [5], "logprobs": [{"5": {"logprob": V}}]}]}"#,
                r#"{"prompt": "P", "choices": [{"text": "a", "logprobs": {"tokens": ["a"], "token_logprobs": [V]}}]}"#,
                r#"{"prompt": "P", "choices": [{"message": {"content": "a"}, "logprobs": {"content": [{"token": "a",
                "logprob": -1.0, "top_logprobs": [{"token": "b", "logprob": V}]}]}}]}"#,
            ] {
                assert_eq!(broken(&text.replace('V', value)), u64::from(value == "NaN"), "{text}");
            }
        }
    }
}
