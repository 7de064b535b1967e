//! Numbers of an evaluation's documents that are not read as scores.
//!
//! A harness writes one score in several places: for the task, for its group, for all subsets together, in a table. Only one of
//! them is read; the others repeat it, and pooled scores are computed from the answers. Such a repeated number is ignored unless
//! it is not finite; then it is reported as unread. A text with more than one number under a score's name is unread, too.

use crate::read::account::{UnreadNumbers, numbers_in_text};
use crate::read::json::Json;
use crate::read::metric;

/// Number of nesting levels of a document that are searched.
const DEPTH: usize = 16;

/// Value of a number, which may also be written as a text: `"nan"`, `"0.66"`.
pub(super) fn number(value: &Json) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.trim().parse().ok())
}

/// Records the numbers of a document that are not finite, and texts with several numbers under a score's name.
pub(super) fn note(account: &mut UnreadNumbers, document: &Json) {
    below(account, "", document, DEPTH);
}

/// Records the same numbers of the row of a task, but without standard errors, which are read with the scores.
pub(super) fn note_row(account: &mut UnreadNumbers, row: &Json) {
    for (key, value) in row.as_object().unwrap_or_default().iter().filter(|(key, _)| !is_error(key)) {
        below(account, key, value, DEPTH);
    }
}

/// Records a number that repeats a score, if it is not finite.
pub(super) fn note_number(account: &mut UnreadNumbers, name: &str, value: f64) {
    if !value.is_finite() {
        account.add_text(&format!("{name}: {value}"), evaluation_metric(name).into_iter().collect(), &[value]);
    }
}

fn below(account: &mut UnreadNumbers, name: &str, value: &Json, depth: usize) {
    if depth == 0 {
        return;
    }
    match value {
        Json::Object(entries) => entries.iter().for_each(|(name, value)| below(account, name, value, depth - 1)),
        Json::Array(items) => items.iter().for_each(|item| below(account, name, item, depth - 1)),
        Json::Text(text) => {
            let Some(metric) = evaluation_metric(name) else { return };
            match text.trim().parse() {
                Ok(value) => note_number(account, name, value),
                Err(_) => {
                    let values = numbers_in_text(text);
                    if !values.is_empty() {
                        account.add_text(&format!("{name}: {text}"), vec![metric], &values);
                    }
                }
            }
        }
        other => other.as_f64().into_iter().for_each(|value| note_number(account, name, value)),
    }
}

/// Metric in a key if an evaluation reports it: `acc` for `acc,none`.
fn evaluation_metric(key: &str) -> Option<String> {
    let metric = metric_of(key);
    (!is_error(key) && metric::is_key_metric(&metric::canonical(metric))).then(|| metric.to_owned())
}

/// Whether a key names the standard error of a score.
fn is_error(key: &str) -> bool {
    metric_of(key).ends_with("_stderr")
}

fn metric_of(key: &str) -> &str {
    key.split(',').next().unwrap_or(key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::json;

    fn noted(text: &str) -> Vec<(String, Vec<String>, usize)> {
        let mut account = UnreadNumbers::default();
        note(&mut account, &json::parse_bytes("results.json", text.as_bytes()).expect("JSON"));
        let shapes = account.shapes().iter();
        shapes.map(|unread| (unread.shape.clone(), unread.names.clone(), unread.columns.len())).collect()
    }

    #[test]
    fn what_repeats_a_score_is_told_where_it_is_not_finite() {
        let told = |shape: &str, name: &str| (shape.to_owned(), vec![name.to_owned()], 1);
        assert_eq!(noted(r#"{"toy": {"acc,none": 0.5, "acc_stderr,none": "N/A", "alias": "nan"}}"#), []);
        assert_eq!(noted(r#"{"toy": {"acc,none": NaN}}"#), [told("acc,none: #", "acc")]);
        assert_eq!(noted(r#"{"metrics": [{"score": "nan"}]}"#), [told("score: #", "score")]);
        assert_eq!(noted(r#"{"toy": {"acc_stderr,none": NaN}}"#), [("acc_stderr,none: #".to_owned(), Vec::new(), 1)]);
        assert_eq!(
            noted(r#"{"accuracy": "0.5 of 0.9"}"#),
            [("accuracy: # of #".to_owned(), vec!["accuracy".to_owned()], 2)]
        );
    }

    #[test]
    fn a_number_may_stand_as_a_text() {
        for (text, expected) in [("0.5", Some(0.5)), ("\"0.5\"", Some(0.5)), ("\"N/A\"", None), ("true", None)] {
            let value = json::parse_bytes("x", text.as_bytes()).expect("JSON");
            assert_eq!(number(&value), expected, "{text}");
        }
        assert!(number(&Json::Text("nan".into())).is_some_and(f64::is_nan));
    }
}
