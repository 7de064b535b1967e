//! The kind of change of answers that got worse: of their form, of their content, or of their score alone.

use super::texts::{TextReader, text_places};
use crate::pair::evaluation::{PairedMetric, ValuePair};
use crate::read::evaluation::{EvaluationTask, SampleValue};

/// Share of the answers that have to have changed alike.
const ALIKE: f64 = 0.8;

/// The change of an answer that got worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AnswerChange {
    /// It is empty, cut, or holds the expected text beside another one.
    Form,
    /// It says something else.
    Content,
    /// It is equal, and scored otherwise.
    Same,
    /// A given text is less likely.
    Likelihood,
}

impl AnswerChange {
    /// The name as findings have it.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Form => "form",
            Self::Content => "content",
            Self::Same => "same",
            Self::Likelihood => "likelihood",
        }
    }

    fn of(baseline: &str, candidate: &str, target: &str) -> Self {
        let [baseline, candidate, target] = [baseline, candidate, target].map(str::trim);
        let holds =
            |text: &str| !target.is_empty() && words(text).any(|word| word == target) || is_within(text, target);
        if baseline == candidate {
            Self::Same
        } else if candidate.is_empty()
            || baseline.starts_with(candidate)
            || candidate.starts_with(baseline)
            || (holds(candidate) && holds(baseline))
        {
            Self::Form
        } else {
            Self::Content
        }
    }
}

/// Words of a text, without the punctuation around them.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split_whitespace().map(|word| word.trim_matches(|letter: char| letter.is_ascii_punctuation()))
}

/// Whether a text holds an expected one of several words.
fn is_within(text: &str, target: &str) -> bool {
    target.contains(char::is_whitespace) && text.contains(target)
}

/// The change of a pair; `None` where it has no texts, or its score is a mean over answers of which one is recorded.
pub(super) fn kind(
    pair: &ValuePair,
    metric: &PairedMetric,
    sides: [&EvaluationTask; 2],
    texts: &TextReader<'_>,
) -> Option<AnswerChange> {
    let is_binary = |value: SampleValue| matches!(value, SampleValue::Number(number) if number.abs() <= 0.0 || (number - 1.0).abs() <= 0.0);
    if matches!((pair.baseline, pair.candidate), (SampleValue::Likelihood { .. }, SampleValue::Likelihood { .. })) {
        return Some(AnswerChange::Likelihood);
    }
    if pair.same_answer.is_none() || !is_binary(pair.baseline) || !is_binary(pair.candidate) {
        return None;
    }
    let (baseline, candidate) = text_places(metric, sides, pair.places)?;
    let texts = texts(baseline, candidate)?;
    Some(AnswerChange::of(&texts.baseline.answer, &texts.candidate.answer, &texts.baseline.target))
}

/// The change of most answers; `None` where they changed in different ways.
pub(super) fn common(changes: &[AnswerChange]) -> Option<AnswerChange> {
    let count = |kind: AnswerChange| changes.iter().filter(|change| **change == kind).count();
    use AnswerChange::{Content, Form, Likelihood, Same};
    let most = [Form, Content, Same, Likelihood].into_iter().max_by_key(|kind| count(*kind))?;
    #[allow(clippy::cast_precision_loss, reason = "a few answers")]
    let is_common = count(most) > 0 && count(most) as f64 >= ALIKE * changes.len() as f64;
    is_common.then_some(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_change_in_form_or_content() {
        for (baseline, candidate, target, kind) in [
            ("42", "", "42", AnswerChange::Form),
            ("the answer is 42.", "the answer is", "42", AnswerChange::Form),
            ("42", "Sure! I think 42", "42", AnswerChange::Form),
            ("42", "The result: 41", "42", AnswerChange::Content),
            ("42", "42", "42", AnswerChange::Same),
            ("New York", "It is New York", "New York", AnswerChange::Form),
        ] {
            assert_eq!(AnswerChange::of(baseline, candidate, target), kind, "{candidate}");
        }
    }

    #[test]
    fn a_kind_is_common_where_most_have_it() {
        use AnswerChange::{Content, Form};
        assert_eq!(common(&[Form, Form, Form, Form, Content]), Some(Form));
        assert_eq!(common(&[Form, Content]), None);
        assert_eq!(common(&[]), None);
    }
}
