//! Generation records, one JSON object per line: docs/formats/evaluation.md.
//!
//! Output files of batches, responses of a server with the prompt beside, and dumps of vLLM. Only the first answer of a
//! record counts.

use std::collections::BTreeMap;

use super::damage::Damage;
use super::place;
use super::samples;
use super::setting;
use super::tokens::{Generation, Generations, Token};
use super::unread;
use crate::fetch::ByteSource;
use crate::read::json::{self, Json};

/// Tokens of a file that are held in memory, each with its alternatives.
const MOST_TOKENS: usize = 2_000_000;

/// Reads a file of records.
pub(super) fn read(path: &str, source: &dyn ByteSource) -> Generations {
    let mut records: Vec<Generation> = Vec::new();
    let memory = source.memory();
    let (mut tokens, mut bytes, mut beyond) = (0, 0, None);
    let mut damages = samples::each_line(
        path,
        source,
        |line, bytes| {
            let record = json::parse_bytes(path, bytes).map_err(|error| error.message().to_owned())?;
            generation(&record, line.number)
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
        damages.push(Damage { path: path.to_owned(), line: beyond, reason });
    }
    Generations { task: place::stem(path).to_owned(), path: path.to_owned(), records, damages }
}

fn generation(record: &Json, line: u64) -> Result<Generation, String> {
    if record.as_object().is_none() {
        return Err("expected a JSON object, found another value".to_owned());
    }
    let key = ["custom_id", "request_id", "id"].into_iter().find_map(|key| record.get(key).and_then(setting::text));
    let body = record.get("response").map_or(record, |response| response.get("body").unwrap_or(response));
    let prompts = ["prompt", "messages", "prompt_token_ids"].into_iter();
    let prompt = prompts.filter_map(|key| record.get(key)).find(|prompt| **prompt != Json::Null).map(text_of);
    let (is_sampled, broken) = (is_sampled(record), broken(record, false));
    let base = Generation { key, line, prompt, is_sampled, broken, ..Generation::default() };
    if let Some(outputs) = record.get("outputs").and_then(Json::as_array) {
        return Ok(outputs.first().map_or_else(|| failed(base.clone()), |output| vllm(base.clone(), output)));
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
    Ok(choice.map_or_else(|| failed(base.clone()), |choice| of_choice(base.clone(), choice)))
}

/// Number of log-probabilities in a value that are NaN, of which `is_below` says that it stands below their key. One of minus
/// infinity is that of a token that was ruled out.
fn broken(value: &Json, is_below: bool) -> u64 {
    match value {
        Json::Object(entries) => entries
            .iter()
            .filter(|(key, value)| !(is_token(key) && matches!(value, Json::Text(_))))
            .map(|(key, value)| broken(value, is_below && key != "tokens" || key.contains("logprob")))
            .sum(),
        Json::Array(items) => items.iter().map(|item| broken(item, is_below)).sum(),
        other => u64::from(is_below && unread::number(other).is_some_and(f64::is_nan)),
    }
}

/// Whether a key names a token, whose text may be any.
fn is_token(key: &str) -> bool {
    matches!(key, "token" | "decoded_token" | "text")
}

fn failed(record: Generation) -> Generation {
    Generation { is_failed: true, ..record }
}

fn text_of(value: &Json) -> String {
    value.as_str().map_or_else(|| setting::canonical(value), str::to_owned)
}

/// Whether a record says that its answer was drawn at random.
fn is_sampled(record: &Json) -> Option<bool> {
    let settings = [Some(record), record.get("sampling_params"), record.get("request"), record.get("body")];
    let temperature = settings.into_iter().flatten().find_map(|settings| settings.get("temperature")?.as_f64());
    temperature.map(|temperature| temperature > 0.0)
}

fn finish(choice: &Json) -> Option<String> {
    choice.get("finish_reason").and_then(Json::as_str).map(str::to_owned)
}

/// An output of vLLM: log-probabilities by the id of the token.
fn vllm(record: Generation, output: &Json) -> Generation {
    let text = output.get("text").and_then(Json::as_str).unwrap_or_default().to_owned();
    let ids = output.get("token_ids").and_then(Json::as_array).unwrap_or_default();
    let places = output.get("logprobs").and_then(Json::as_array).unwrap_or_default();
    let tokens: Vec<Token> = ids
        .iter()
        .enumerate()
        .filter_map(|(nth, id)| {
            let name = setting::text(id)?;
            let entries = places.get(nth).and_then(Json::as_object).unwrap_or_default();
            let value = |value: &Json| value.get("logprob").unwrap_or(value).as_f64();
            let alternatives: BTreeMap<String, f64> =
                entries.iter().filter_map(|(id, entry)| Some((id.clone(), value(entry)?))).collect();
            Some(Token { log_probability: alternatives.get(&name).copied(), name, alternatives })
        })
        .collect();
    let tokens = if tokens.is_empty() { characters(&text) } else { tokens };
    Generation { text, tokens, finish: finish(output), ..record }
}

/// A choice of a completion or a chat.
fn of_choice(record: Generation, choice: &Json) -> Generation {
    let message = choice.get("message").and_then(|message| message.get("content"));
    let text = choice.get("text").or(message).and_then(Json::as_str).unwrap_or_default().to_owned();
    let logs = choice.get("logprobs");
    let tokens = match logs.and_then(|logs| logs.get("content")).and_then(Json::as_array) {
        Some(content) => content.iter().map(chat_token).collect(),
        None => logs.map(completion_tokens).unwrap_or_default(),
    };
    let tokens = if tokens.is_empty() { characters(&text) } else { tokens };
    Generation { text, tokens, finish: finish(choice), ..record }
}

fn characters(text: &str) -> Vec<Token> {
    text.chars().map(|character| Token { name: character.to_string(), ..Token::default() }).collect()
}

/// A token of a chat: its text, or its bytes where they are a part of a character.
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
        generation(&json::parse_bytes("test", text.as_bytes()).expect("JSON"), 1)
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
}
