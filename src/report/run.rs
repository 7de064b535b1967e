//! Texts about a single run: the things that its invariants examined, and reasons why some were not, from
//! `templates/messages/<language>/run.yaml`.

use std::collections::BTreeMap;

use minijinja::Value;
use serde::Serialize;

use super::writer::{Writer, safe};
use crate::error::Result;
use crate::result::run::Looked;

/// Names of counted things, in the order in which documents list them.
const COUNTED: [&str; 12] = [
    "parameters",
    "sums",
    "operations",
    "layers",
    "files",
    "answers",
    "prompts",
    "updates",
    "metrics",
    "ranks",
    "steps",
    "points",
];

/// Writes into each invariant the text of the things that it was examined over, or the reason why it was not examined.
///
/// # Errors
/// Errors of a text.
pub(super) fn write_invariant_texts(looked: &mut [Looked], writer: &Writer) -> Result<()> {
    for one in looked {
        one.over = over(&one.counts, writer)?;
        one.because = if one.reason.is_empty() { String::new() } else { reason(&one.reason, writer)? };
    }
    Ok(())
}

/// An invariant for documents.
#[derive(Debug, Serialize)]
pub(crate) struct LookedRow {
    /// The invariant as a sentence.
    pub name: Value,
    /// Its state, in a word.
    pub state: Value,
    /// Things that were examined, or the reason why nothing was.
    pub over: Value,
}

/// A row for each invariant.
///
/// # Errors
/// Errors of a text.
pub(super) fn rows(looked: &[Looked], writer: &Writer) -> Result<Vec<LookedRow>> {
    let row = |one: &Looked| {
        let told = if one.reason.is_empty() { over(&one.counts, writer)? } else { reason(&one.reason, writer)? };
        Ok(LookedRow {
            name: safe(writer.word(&format!("invariant_{}", one.invariant.as_str()))?),
            state: safe(writer.word(&format!("invariant_state_{}", one.state.as_str()))?),
            over: safe(told),
        })
    };
    looked.iter().map(row).collect()
}

/// Counted things, as `62 parameters, 2 ranks`.
fn over(counts: &BTreeMap<String, u64>, writer: &Writer) -> Result<String> {
    let known = COUNTED.into_iter().filter_map(|name| Some((name, counts.get(name)?)));
    let words: Result<Vec<String>> = known
        .map(|(name, count)| {
            writer.phrase(&format!("looked_{name}"), &Value::from(BTreeMap::from([("count", *count)])))
        })
        .collect();
    Ok(words?.join(&writer.word("comma")?))
}

/// The sentence of a reason; one of a later version is shown by its code.
fn reason(code: &str, writer: &Writer) -> Result<String> {
    let key = format!("reason_{code}");
    let known = super::phrases::find(&key, writer.language()).is_some();
    if known { writer.word(&key) } else { Ok(writer.name(code)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::invariants::{ALL, all_invariants};
    use crate::report::escape::TextTarget;
    use crate::report::messages::Language;
    use crate::result::run::Invariant;

    #[test]
    fn every_invariant_says_why_it_was_not_looked_at_in_both_languages() {
        for language in Language::ALL {
            let writer = Writer::new(language, TextTarget::Plain);
            let mut all = all_invariants(&[]);
            write_invariant_texts(&mut all, &writer).expect("texts");
            assert_eq!(all.len(), ALL.len());
            for one in &all {
                assert!(!one.because.is_empty() && one.because != one.reason, "{language:?} {one:?}");
            }
            for code in ALL.iter().flat_map(|row| row.reasons) {
                assert_ne!(reason(code, &writer).expect("a text"), writer.name(code), "{language:?}");
            }
        }
    }

    #[test]
    fn what_was_looked_at_is_counted_in_words() {
        let mut looked = [Looked::over(Invariant::Replicas, true, [("steps", 1), ("parameters", 62), ("ranks", 2)])];
        write_invariant_texts(&mut looked, &Writer::new(Language::En, TextTarget::Plain)).expect("texts");
        assert_eq!(looked[0].over, "62 parameters, 2 ranks, 1 step");
        write_invariant_texts(&mut looked, &Writer::new(Language::Zh, TextTarget::Plain)).expect("texts");
        assert_eq!(looked[0].over, "62 个参数，2 个 rank，1 步");
    }

    #[test]
    fn every_counted_thing_has_its_words() {
        for language in Language::ALL {
            let counts = COUNTED.into_iter().map(|name| (name.to_owned(), 2)).collect();
            let text = over(&counts, &Writer::new(language, TextTarget::Plain)).expect("words");
            assert_eq!(text.matches('2').count(), COUNTED.len(), "{text}");
        }
    }
}
