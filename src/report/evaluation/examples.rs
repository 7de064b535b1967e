//! Samples that got worse, with both answers and the place where the answers begin to differ.

use minijinja::Value;
use serde::Serialize;

use crate::kind::SampleId;
use crate::report::escape;
use crate::report::writer::{Writer, safe};
use crate::result::unit::FlippedSample;

/// A sample that got worse.
#[derive(Debug, Serialize)]
pub struct ExampleRow {
    /// The sample.
    pub id: String,
    /// End of the prompt.
    pub question: Value,
    /// The expected answer; empty where there is none.
    pub target: Value,
    /// The baseline's answer.
    pub baseline: Value,
    /// The candidate's answer.
    pub candidate: Value,
    /// The baseline's answer in two parts: the beginning that both answers share, and the rest.
    pub baseline_parts: [Value; 2],
    /// The candidate's answer in the same two parts.
    pub candidate_parts: [Value; 2],
}

impl ExampleRow {
    /// The row of a sample in the writer's target.
    pub(super) fn new(sample: &FlippedSample, writer: &Writer) -> Self {
        let quoted = |text: &str| safe(escape::quoted(text, writer.target()));
        let (baseline, candidate) = (escape::cleaned(&sample.baseline), escape::cleaned(&sample.candidate));
        let parts = |text: &str| {
            let (shared, rest) = text.split_at(shared_len(&baseline, &candidate).min(text.len()));
            [quoted(shared), quoted(rest)]
        };
        Self {
            id: match &sample.id {
                SampleId::Number(number) => number.to_string(),
                SampleId::Text(text) => text.clone(),
            },
            question: quoted(&sample.question),
            target: quoted(&sample.target),
            baseline_parts: parts(&baseline),
            candidate_parts: parts(&candidate),
            baseline: quoted(&baseline),
            candidate: quoted(&candidate),
        }
    }
}

/// Length in bytes of the beginning that two texts share, in whole characters.
fn shared_len(one: &str, other: &str) -> usize {
    let alike = one.chars().zip(other.chars()).take_while(|(one, other)| one == other);
    alike.map(|(letter, _)| letter.len_utf8()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_share_whole_characters() {
        for (one, other, shared) in [
            ("abc", "abd", 2),
            ("答案是5", "答案是6", 9),
            ("", "x", 0),
            ("same", "same", 4),
            ("ab", "abc", 2),
            ("é", "è", 0),
        ] {
            assert_eq!(shared_len(one, other), shared, "{one}, {other}");
        }
    }
}
