//! One answer of a run, as recorded. Rules that look at a single run use it.

use super::damage::EvaluationDamage;
use super::setting;
use crate::read::json::Json;

/// An answer that borrows from its record.
#[derive(Clone, Copy, Debug, Default)]
pub struct Answer<'a> {
    /// Training step at which it was generated; `None` if there is none.
    pub step: Option<u64>,
    /// Line number in its file, from 1.
    pub line: u64,
    /// Hash of the prompt, comparable within one run of this program; `None` if the prompt was not recorded.
    pub prompt: Option<u64>,
    /// Generated text.
    pub text: &'a str,
    /// Whether it needs no text: a tool call, a refusal, or tokens that were not converted to text.
    pub is_textless: bool,
    /// Reason why the generation ended: `stop`, `length`.
    pub finish: Option<&'a str>,
    /// Whether the end token was ignored on purpose, as in speed measurements.
    pub ignores_end: bool,
    /// Whether it was sampled at random; `None` if neither the record nor the settings say.
    pub is_sampled: Option<bool>,
    /// Whether one of its log-probabilities is NaN.
    pub has_nan: bool,
}

/// Summary of the answers of one file, or of the rollouts of one folder.
#[derive(Debug, Default)]
pub struct AnswerFile {
    /// Stem of the file's name, or the folder's name.
    pub task: String,
    /// Path of the file or folder.
    pub path: String,
    /// Number of failed requests, which have no answer.
    pub failed: u64,
    /// Lines and files that cannot be read.
    pub damages: Vec<EvaluationDamage>,
}

/// Whether settings of generation make answers random; `None` if they do not say.
pub(super) fn is_sampled(settings: &Json) -> Option<bool> {
    let number = settings.get("temperature").and_then(|value| value.as_f64().or_else(|| value.as_str()?.parse().ok()));
    let draws = settings.get("do_sample").and_then(Json::as_bool);
    match (draws, number) {
        (Some(false), _) => Some(false),
        (_, Some(temperature)) => Some(temperature > 0.0),
        (draws, None) => draws,
    }
}

/// Whether settings ask for a fixed number of tokens.
pub(super) fn ignores_end(settings: &Json) -> bool {
    settings.get("ignore_eos").and_then(Json::as_bool) == Some(true)
}

/// Whether a log-probability is NaN, as a number or as a text.
pub(super) fn is_nan(value: &Json) -> bool {
    match value {
        Json::Text(text) => text.eq_ignore_ascii_case("nan"),
        other => other.as_f64().is_some_and(f64::is_nan),
    }
}

/// Text of a prompt or a message. A value that is not a text is written as JSON.
pub(super) fn message_text(value: &Json) -> String {
    value.as_str().map_or_else(|| setting::canonical(value), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::json;

    #[test]
    fn settings_say_whether_answers_are_drawn() {
        for (text, wanted) in [
            (r#"{"temperature": 0.0, "max_tokens": 256}"#, Some(false)),
            (r#"{"temperature": 0.6, "do_sample": false}"#, Some(false)),
            (r#"{"temperature": 1, "do_sample": true}"#, Some(true)),
            (r#"{"do_sample": true}"#, Some(true)),
            (r#"{"temperature": "0"}"#, Some(false)),
            (r#"{"top_p": 0.9}"#, None),
        ] {
            assert_eq!(is_sampled(&json::parse_bytes("test", text.as_bytes()).expect("JSON")), wanted, "{text}");
        }
    }

    #[test]
    fn a_text_may_say_nan() {
        let value = |text: &str| json::parse_bytes("test", text.as_bytes()).expect("JSON");
        assert!(is_nan(&value("NaN")) && is_nan(&value("\"nan\"")));
        assert!(!is_nan(&value("-Infinity")) && !is_nan(&value("null")) && !is_nan(&value("-0.5")));
    }
}
