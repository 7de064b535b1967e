//! Excerpts of a sample's texts for documents: short, around the place where the answers differ, and without secrets.

use crate::kind::SampleId;
use crate::pair::evaluation::TextPair;
use crate::redact::Redactor;
use crate::result::unit::FlippedSample;

/// Most characters of an excerpt.
const LENGTH: usize = 200;
/// Characters shown before the place where two long answers differ.
const BEFORE: usize = 80;
/// Characters of a text that are read; the rest is not shown.
const READ: usize = 1 << 16;

/// Excerpts of a sample's texts on both sides.
pub(super) fn flipped_sample(id: SampleId, texts: &TextPair) -> FlippedSample {
    let (baseline, candidate, shared) = parted(&texts.baseline.answer, &texts.candidate.answer);
    FlippedSample {
        id,
        question: end(&texts.candidate.question),
        target: start(&texts.baseline.target, 0),
        baseline,
        candidate,
        shared,
    }
}

/// Excerpts of both answers around the place where they differ, and the length of the prefix that the excerpts share.
fn parted(baseline: &str, candidate: &str) -> (String, String, u64) {
    let (baseline, candidate) = (clean(baseline), clean(candidate));
    let shared = shared_prefix(&baseline, &candidate);
    let is_long = baseline.chars().nth(LENGTH).is_some() || candidate.chars().nth(LENGTH).is_some();
    let from = if is_long { shared.saturating_sub(BEFORE) } else { 0 };
    let (baseline, candidate) = (start(&baseline, from), start(&candidate, from));
    let shown = shared_prefix(&baseline, &candidate);
    (baseline, candidate, shown as u64)
}

/// Number of characters in the common prefix of two texts.
pub(super) fn shared_prefix(left: &str, right: &str) -> usize {
    left.chars().zip(right.chars()).take_while(|(one, other)| one == other).count()
}

/// The part of the text that is read, without secrets.
fn clean(text: &str) -> String {
    let cut = text.char_indices().nth(READ).map_or(text, |(end, _)| text.get(..end).unwrap_or(text));
    Redactor::default().text(cut)
}

/// An excerpt that starts at character `from`; `…` stands for omitted text.
fn start(text: &str, from: usize) -> String {
    let text = clean(text);
    let before = if from > 0 { "…" } else { "" };
    let room = LENGTH - before.chars().count();
    let shown: String = text.chars().skip(from).take(room).collect();
    let is_whole = text.chars().nth(from + room).is_none();
    if is_whole {
        format!("{before}{shown}")
    } else {
        format!("{before}{}…", shown.chars().take(room - 1).collect::<String>())
    }
}

/// An excerpt of the end of a text.
fn end(text: &str) -> String {
    let count = text.chars().count();
    let last: String = text.chars().skip(count.saturating_sub(READ)).collect();
    let text = Redactor::default().text(&last);
    let count = text.chars().count();
    if count <= LENGTH { text } else { format!("…{}", text.chars().skip(count - LENGTH + 1).collect::<String>()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::evaluation::SampleTexts;

    fn of_answers(baseline: &str, candidate: &str) -> FlippedSample {
        let side = |answer: &str| SampleTexts {
            question: format!("{}end?", "q".repeat(300)),
            answer: answer.to_owned(),
            target: "42".to_owned(),
        };
        flipped_sample(SampleId::Number(3), &TextPair { baseline: side(baseline), candidate: side(candidate) })
    }

    #[test]
    fn short_answers_stay_whole() {
        let found = of_answers("the answer is 42", "the answer is 7");
        assert_eq!(
            (found.baseline.as_str(), found.candidate.as_str(), found.shared),
            ("the answer is 42", "the answer is 7", 14)
        );
        assert!(found.question.starts_with('…') && found.question.ends_with("end?"));
        assert_eq!(found.question.chars().count(), 200);
    }

    #[test]
    fn long_answers_are_cut_where_they_part() {
        let long = "x".repeat(1000);
        let found = of_answers(&format!("{long}42{long}"), &format!("{long}7"));
        assert!(found.baseline.contains("x42") && found.candidate.ends_with("x7"), "{found:?}");
        assert_eq!((found.baseline.chars().count(), found.shared), (200, 81));
        assert!(found.baseline.starts_with('…') && found.baseline.ends_with('…'));
    }

    #[test]
    fn secrets_are_taken_out() {
        let found = of_answers("token ghp_abcdefghijklmnopqrstuvwxyz0123456789", "none");
        assert!(!found.baseline.contains("ghp_abc"), "{}", found.baseline);
    }
}
