//! One line of reviews: a question with its answer and its score.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::super::cursor::{Cursor, Parsed};
use super::super::digest::Digest;
use super::super::lines::Line;
use super::super::question::{EvaluationSample, SampleValue};
use super::super::samples::{self, Filtered};
use crate::kind::SampleId;

/// Content of a line.
#[derive(Default)]
struct Draft<'a> {
    index: Option<&'a [u8]>,
    generation: u64,
    document: Digest,
    prompt: Digest,
    answer: Option<u64>,
    values: BTreeMap<String, SampleValue>,
    is_failed: bool,
    has_score: bool,
}

/// Reads a line.
///
/// # Errors
/// Reason why the line is not a review.
pub(super) fn read(path: &Arc<str>, line: &Line<'_>, bytes: &[u8]) -> Result<Filtered, String> {
    let mut draft = parse(bytes).map_err(|fault| fault.reason())?;
    let index = draft.index.ok_or("expected `index`, found none")?;
    if !draft.has_score {
        return Err("expected `sample_score`, found none".to_owned());
    }
    let id = match (samples::sample_id(index), draft.generation) {
        (id, 0) => id,
        (SampleId::Number(index), generation) => SampleId::Text(format!("{index}/{generation}")),
        (SampleId::Text(index), generation) => SampleId::Text(format!("{index}/{generation}")),
    };
    if draft.is_failed {
        draft.values.clear();
    }
    let sample = EvaluationSample {
        id,
        document: draft.document.finish(),
        prompt: draft.prompt.finish(),
        answer: draft.answer,
        values: draft.values,
        is_failed: draft.is_failed,
        texts: samples::line_place(path, line),
    };
    Ok((None, sample))
}

fn parse(bytes: &[u8]) -> Parsed<Draft<'_>> {
    let mut draft = Draft::default();
    let mut cursor = Cursor::new(bytes);
    cursor.object(|key, cursor| match key {
        "index" => {
            draft.index = Some(cursor.raw()?).filter(|raw| *raw != b"null");
            Ok(())
        }
        "target" => draft.document.add_value(cursor),
        "messages" | "input" => {
            draft.prompt = Digest::default();
            prompt(cursor, &mut draft.prompt)
        }
        "sample_score" => sample_score(cursor, &mut draft),
        _ => cursor.skip(),
    })?;
    cursor.end()?;
    Ok(draft)
}

/// One message of a conversation. Only role and content count, because its id is random.
#[derive(Default)]
struct Message<'a> {
    role: Cow<'a, str>,
    content: Option<&'a [u8]>,
    is_generated: bool,
}

/// Adds the question to the digest: a text, or the messages before the first one that the model generated.
fn prompt(cursor: &mut Cursor<'_>, digest: &mut Digest) -> Parsed<()> {
    if cursor.peek() != Some(b'[') {
        return digest.add_value(cursor);
    }
    let mut messages = Vec::new();
    cursor.array(|cursor| {
        messages.push(message(cursor)?);
        Ok(())
    })?;
    let is_answer = |message: &Message<'_>| message.role == "assistant";
    let asked = match messages.iter().position(|message| is_answer(message) && message.is_generated) {
        Some(first) => first,
        None if messages.last().is_some_and(is_answer) => messages.len() - 1,
        None => messages.len(),
    };
    for message in messages.iter().take(asked) {
        digest.add(&message.role);
        digest.add_value(&mut Cursor::new(message.content.unwrap_or(b"null")))?;
    }
    Ok(())
}

fn message<'a>(cursor: &mut Cursor<'a>) -> Parsed<Message<'a>> {
    let mut message = Message::default();
    if cursor.peek() != Some(b'{') {
        message.content = Some(cursor.raw()?);
        return Ok(message);
    }
    cursor.object(|key, cursor| {
        match key {
            "role" => message.role = text(cursor)?.unwrap_or_default(),
            "content" => message.content = Some(cursor.raw()?),
            "source" => message.is_generated = text(cursor)?.as_deref() == Some("generate"),
            _ => cursor.skip()?,
        }
        Ok(())
    })?;
    Ok(message)
}

fn text<'a>(cursor: &mut Cursor<'a>) -> Parsed<Option<Cow<'a, str>>> {
    if cursor.peek() == Some(b'"') {
        return cursor.text().map(Some);
    }
    cursor.skip()?;
    Ok(None)
}

fn sample_score(cursor: &mut Cursor<'_>, draft: &mut Draft<'_>) -> Parsed<()> {
    if cursor.peek() != Some(b'{') {
        return cursor.skip();
    }
    cursor.object(|key, cursor| match key {
        "score" => score(cursor, draft),
        "generation_index" => {
            let index = cursor.raw()?;
            draft.generation = std::str::from_utf8(index).ok().and_then(|text| text.parse().ok()).unwrap_or(0);
            Ok(())
        }
        _ => cursor.skip(),
    })
}

fn score(cursor: &mut Cursor<'_>, draft: &mut Draft<'_>) -> Parsed<()> {
    if cursor.peek() != Some(b'{') {
        return cursor.skip();
    }
    draft.has_score = true;
    cursor.object(|key, cursor| match key {
        "value" if cursor.peek() == Some(b'{') => cursor.object(|metric, cursor| {
            if let Some(number) = cursor.number()? {
                draft.values.insert(metric.to_owned(), SampleValue::Number(number));
            }
            Ok(())
        }),
        "status" => {
            draft.is_failed |= text(cursor)?.is_some_and(|status| status != "success");
            Ok(())
        }
        "prediction" => {
            draft.answer = text(cursor)?.map(|text| Digest::of_text(&text));
            Ok(())
        }
        "metadata" if cursor.peek() == Some(b'{') => cursor.object(|key, cursor| {
            let raw = cursor.raw()?;
            draft.is_failed |= key == "metric_errors" && !is_nothing(raw);
            Ok(())
        }),
        _ => cursor.skip(),
    })
}

/// Whether a value is empty: `null`, `false`, `{}`, `[]`, `""`.
fn is_nothing(raw: &[u8]) -> bool {
    let has_content = |byte: &u8| !byte.is_ascii_whitespace() && !b"{}[]\"".contains(byte);
    raw == b"null" || raw == b"false" || !raw.iter().any(has_content)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn review(text: &str) -> Result<EvaluationSample, String> {
        let line = Line { number: 1, offset: 0, bytes: Some(text.as_bytes()) };
        read(&Arc::from("file"), &line, text.as_bytes()).map(|(_, sample)| sample)
    }

    #[test]
    fn random_ids_and_the_answer_are_no_part_of_the_prompt() {
        let with = |id: &str, answer: &str, question: &str| {
            let text = format!(
                r#"{{"index": 1, "target": ["A"], "messages": [{{"id": "{id}", "role": "user", "content": "{question}"}},
                {{"id": "{id}", "role": "assistant", "content": "{answer}", "source": "generate"}}],
                "sample_score": {{"score": {{"value": {{"accuracy": 1.0}}, "status": "success", "prediction": "{answer}",
                "metadata": {{"metric_errors": {{}}}}}}, "generation_index": 2}}}}"#
            );
            review(&text).expect("a review")
        };
        let (one, other) = (with("a", "x", "Q"), with("b", "y", "Q"));
        assert_eq!(one.id, SampleId::Text("1/2".to_owned()));
        assert_eq!((one.prompt, one.document), (other.prompt, other.document));
        assert_ne!(one.answer, other.answer);
        assert_ne!(one.prompt, with("a", "x", "R").prompt);
        assert!(!one.is_failed);
    }

    #[test]
    fn a_zero_that_was_not_computed_never_counts() {
        for (score, is_failed) in [
            (
                r#"{"value": {"accuracy": 0.0}, "status": "success", "metadata": {"metric_errors": {"accuracy": "no"}}}"#,
                true,
            ),
            (r#"{"value": {"accuracy": 0.0}, "status": "error"}"#, true),
            (r#"{"value": {"accuracy": 0.0}, "status": "success", "metadata": {"metric_errors": null}}"#, false),
            (r#"{"value": {"accuracy": 0.0}}"#, false),
        ] {
            let sample = review(&format!(r#"{{"index": 0, "sample_score": {{"score": {score}}}}}"#)).expect("a review");
            assert_eq!(sample.is_failed, is_failed, "{score}");
            assert_eq!(sample.values.is_empty(), is_failed, "{score}");
        }
        for text in ["{\"index\": 0}", "{\"sample_score\": {\"score\": {}}}", "{\"index\": 0, \"sample_score\": null}"]
        {
            assert!(review(text).is_err(), "{text}");
        }
    }
}
