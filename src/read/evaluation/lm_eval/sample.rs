//! One line of a samples file: a document under a filter.

use std::collections::BTreeMap;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use super::super::cursor::{Cursor, Parsed};
use super::super::digest::Digest;
use super::super::lines::{self, Line};
use super::super::question::{EvaluationSample, SampleValue};
use super::super::samples::{self, Filtered};
use crate::fetch::ByteSource;

/// Keys of a line that are not metrics.
const NO_METRICS: [&str; 11] = [
    "arguments",
    "doc",
    "doc_hash",
    "doc_id",
    "filter",
    "filtered_resps",
    "metrics",
    "prompt_hash",
    "resps",
    "target",
    "target_hash",
];

/// Content of a line, before it is known which of its values are metrics.
#[derive(Default)]
struct Draft<'a> {
    id: Option<&'a [u8]>,
    filter: Option<String>,
    metrics: Option<Vec<String>>,
    values: BTreeMap<String, Option<SampleValue>>,
    document: Option<u64>,
    prompt: Digest,
    /// Whether text was generated; otherwise the likelihood of a given text was measured.
    is_generation: bool,
    answers: Option<&'a [u8]>,
}

/// Reads a line.
///
/// # Errors
/// Reason why the line is not a sample.
pub(super) fn read(path: &Arc<str>, line: &Line<'_>, bytes: &[u8]) -> Result<Filtered, String> {
    let draft = parse(bytes).map_err(|fault| fault.reason())?;
    let id = draft.id.map(samples::sample_id).ok_or("expected `doc_id`, found none")?;
    let answer = if draft.is_generation { draft.answers.and_then(answer) } else { None };
    let mut values = BTreeMap::new();
    for (name, value) in draft.values {
        let is_metric = draft.metrics.as_ref().is_none_or(|metrics| metrics.contains(&name));
        if let Some(value) = value.filter(|_| is_metric) {
            values.insert(name, value);
        }
    }
    let sample = EvaluationSample {
        id,
        document: draft.document,
        prompt: draft.prompt.finish(),
        answer,
        values,
        is_failed: false,
        texts: samples::line_place(path, line),
    };
    Ok((draft.filter, sample))
}

fn parse(bytes: &[u8]) -> Parsed<Draft<'_>> {
    let mut draft = Draft::default();
    let mut cursor = Cursor::new(bytes);
    cursor.object(|key, cursor| {
        match key {
            "doc_id" => draft.id = Some(cursor.raw()?).filter(|raw| *raw != b"null"),
            "filter" => draft.filter = optional_text(cursor)?,
            "doc_hash" => draft.document = optional_text(cursor)?.map(|hash| Digest::of_text(&hash)),
            "metrics" => draft.metrics = names(cursor)?,
            "resps" => draft.answers = Some(cursor.raw()?),
            "arguments" => (draft.prompt, draft.is_generation) = arguments(cursor)?,
            _ if NO_METRICS.contains(&key) => cursor.skip()?,
            metric => {
                let value = value(metric, cursor)?;
                draft.values.insert(metric.to_owned(), value);
            }
        }
        Ok(())
    })?;
    cursor.end()?;
    Ok(draft)
}

fn optional_text(cursor: &mut Cursor<'_>) -> Parsed<Option<String>> {
    if cursor.peek() == Some(b'"') {
        return Ok(Some(cursor.text()?.into_owned()));
    }
    cursor.skip()?;
    Ok(None)
}

fn names(cursor: &mut Cursor<'_>) -> Parsed<Option<Vec<String>>> {
    let mut names = Vec::new();
    if cursor.peek() != Some(b'[') {
        cursor.skip()?;
        return Ok(None);
    }
    cursor.array(|cursor| {
        names.extend(optional_text(cursor)?);
        Ok(())
    })?;
    Ok(Some(names))
}

/// Digest of the prompts of all requests, and whether one of them asks for generated text, so that its second argument holds
/// settings.
fn arguments(cursor: &mut Cursor<'_>) -> Parsed<(Digest, bool)> {
    let (mut prompt, mut is_generation) = (Digest::default(), false);
    let mut request = |cursor: &mut Cursor<'_>| match cursor.peek() {
        Some(b'{') => cursor.object(|key, cursor| match key {
            "arg_0" => prompt.add_value(cursor),
            "arg_1" => {
                is_generation |= cursor.peek() == Some(b'{');
                cursor.skip()
            }
            _ => cursor.skip(),
        }),
        Some(b'[') => {
            let mut nth = 0;
            cursor.array(|cursor| {
                nth += 1;
                is_generation |= nth == 2 && cursor.peek() == Some(b'{');
                if nth == 1 { prompt.add_value(cursor) } else { cursor.skip() }
            })
        }
        _ => cursor.skip(),
    };
    match cursor.peek() {
        Some(b'{') => cursor.object(|_, cursor| request(cursor))?,
        Some(b'[') => cursor.array(request)?,
        _ => cursor.skip()?,
    }
    Ok((prompt, is_generation))
}

/// Digest of the texts in nested lists.
fn answer(raw: &[u8]) -> Option<u64> {
    fn add(cursor: &mut Cursor<'_>, digest: &mut Digest, depth: usize) -> Parsed<()> {
        if cursor.peek() == Some(b'[') && depth < 4 {
            cursor.array(|cursor| add(cursor, digest, depth + 1))
        } else {
            digest.add_value(cursor)
        }
    }
    let mut digest = Digest::default();
    add(&mut Cursor::new(raw), &mut digest, 0).ok()?;
    digest.finish()
}

/// Value of a metric for one sample; `None` for `null`.
fn value(metric: &str, cursor: &mut Cursor<'_>) -> Parsed<Option<SampleValue>> {
    match cursor.peek() {
        Some(b'n') => cursor.skip().map(|()| None),
        Some(b'[') => pair(metric, cursor).map(Some),
        _ => Ok(Some(match cursor.number()? {
            // Under this name the harness stores log-likelihoods. The metric is the exponential of their mean.
            Some(log) if metric == "perplexity" && log <= 0.0 => SampleValue::Likelihood { log, size: 1.0 },
            Some(number) => SampleValue::Number(number),
            None => SampleValue::Corpus,
        })),
    }
}

/// Reads a log-likelihood with its number of words or bytes. Any other list belongs to a metric of the whole corpus.
fn pair(metric: &str, cursor: &mut Cursor<'_>) -> Parsed<SampleValue> {
    let mut numbers = Vec::new();
    let mut count = 0;
    cursor.array(|cursor| {
        count += 1;
        match cursor.peek() {
            Some(b'-' | b'0'..=b'9' | b'N' | b'I') if count <= 2 => numbers.extend(cursor.number()?),
            _ => cursor.skip()?,
        }
        Ok(())
    })?;
    let is_likelihood = metric.ends_with("perplexity") || metric.starts_with("bits_per_");
    Ok(match (numbers.as_slice(), count) {
        ([log, size], 2) if is_likelihood => SampleValue::Likelihood { log: *log, size: *size },
        _ => SampleValue::Corpus,
    })
}

/// Hash of a samples file as the results file records it, over the three hashes of each line; `None` if a line cannot be read.
pub(super) fn samples_hash(source: &dyn ByteSource) -> Option<String> {
    let mut whole = Sha256::new();
    let mut is_sound = true;
    let read = lines::for_each_block(source, |lines| {
        for line in lines {
            let hashes = line.bytes.and_then(|bytes| hashes(bytes).ok());
            is_sound &= hashes.is_some();
            whole.update(hashes.unwrap_or_default());
        }
    });
    (read.is_ok() && is_sound).then(|| format!("{:x}", whole.finalize()))
}

fn hashes(bytes: &[u8]) -> Parsed<String> {
    let [mut document, mut prompt, mut target] = [None, None, None];
    Cursor::new(bytes).object(|key, cursor| {
        match key {
            "doc_hash" => document = optional_text(cursor)?,
            "prompt_hash" => prompt = optional_text(cursor)?,
            "target_hash" => target = optional_text(cursor)?,
            _ => cursor.skip()?,
        }
        Ok(())
    })?;
    Ok([document, prompt, target].into_iter().flatten().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::SampleId;

    fn sample(text: &str) -> Result<Filtered, String> {
        let line = Line { number: 1, offset: 0, bytes: Some(text.as_bytes()) };
        read(&Arc::from("file"), &line, text.as_bytes())
    }

    #[test]
    fn values_are_of_many_kinds() {
        let text = r#"{"doc_id": 3, "acc": true, "f1": 0.5, "bleu": ["a", "b"], "mcc": [1, 0], "none": null, "nan": NaN,
            "word_perplexity": [-3.5, 2], "perplexity": -1.5, "bits_per_byte": [-3.5, 9], "odd": {"a": 1}, "filter": "f"}"#;
        let (filter, sample) = sample(text).expect("a sample");
        assert_eq!(filter.as_deref(), Some("f"));
        assert_eq!(sample.id, SampleId::Number(3));
        let value = |name: &str| sample.values.get(name).copied();
        assert_eq!(value("acc"), Some(SampleValue::Number(1.0)));
        assert_eq!(value("f1"), Some(SampleValue::Number(0.5)));
        assert_eq!(value("bleu"), Some(SampleValue::Corpus));
        assert_eq!(value("mcc"), Some(SampleValue::Corpus));
        assert_eq!(value("odd"), Some(SampleValue::Corpus));
        assert_eq!(value("none"), None);
        assert!(matches!(value("nan"), Some(SampleValue::Number(number)) if number.is_nan()));
        assert_eq!(value("word_perplexity"), Some(SampleValue::Likelihood { log: -3.5, size: 2.0 }));
        assert_eq!(value("perplexity"), Some(SampleValue::Likelihood { log: -1.5, size: 1.0 }));
        assert_eq!(value("bits_per_byte"), Some(SampleValue::Likelihood { log: -3.5, size: 9.0 }));
    }

    #[test]
    fn only_listed_metrics_count_and_a_repeated_key_counts_last() {
        let text = r#"{"doc_id": 1, "doc_id": 2, "extra": 1, "metrics": ["acc"], "acc": 0.0, "acc": 1.0}"#;
        let (_, sample) = sample(text).expect("a sample");
        assert_eq!(sample.id, SampleId::Number(2));
        assert_eq!(sample.values.len(), 1);
        assert_eq!(sample.values.get("acc"), Some(&SampleValue::Number(1.0)));
    }

    #[test]
    fn prompts_of_all_requests_count_and_settings_do_not() {
        let prompt = |arguments: &str| {
            let text = format!("{{\"doc_id\": 1, \"arguments\": {arguments}, \"resps\": [[\"a\"]]}}");
            let (_, sample) = sample(&text).expect("a sample");
            (sample.prompt, sample.answer.is_some())
        };
        let one = prompt(r#"{"gen_args_0": {"arg_0": "Q", "arg_1": {"until": []}}}"#);
        assert_eq!(one, prompt(r#"{"gen_args_0": {"arg_0": "\u0051", "arg_1": {"until": ["."]}}}"#));
        assert_eq!(one, prompt(r#"[["Q", {"until": []}]]"#));
        let options =
            prompt(r#"{"gen_args_0": {"arg_0": "Q", "arg_1": "a"}, "gen_args_1": {"arg_0": "Q", "arg_1": "b"}}"#);
        let other =
            prompt(r#"{"gen_args_0": {"arg_0": "Q", "arg_1": "a"}, "gen_args_1": {"arg_0": "R", "arg_1": "b"}}"#);
        assert_ne!(options.0, other.0);
        assert!(one.1 && !options.1);
    }

    #[test]
    fn lines_that_are_no_samples_say_why() {
        for text in ["{}", "[]", "{\"doc_id\": 1", "{\"doc_id\": null}", "{\"doc_id\": 1} x", "nonsense"] {
            assert!(sample(text).is_err(), "{text}");
        }
    }
}
