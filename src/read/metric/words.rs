//! Names of metrics, split into parts and words.

/// Words for the way in which a value was aggregated. They do not describe the value itself.
const AGGREGATES: [&str; 12] =
    ["mean", "avg", "average", "value", "values", "step", "epoch", "train", "training", "total", "sum", "overall"];
/// Words for a spread or an extreme, which a single token or answer can decide.
const STATISTICS: [&str; 10] = ["std", "var", "variance", "stddev", "min", "max", "median", "p50", "p95", "p99"];
/// Words for data that a run does not train on.
pub(super) const HELD_OUT: [&str; 8] =
    ["eval", "evaluation", "val", "valid", "validation", "test", "heldout", "holdout"];

/// The words of a name, part by part: `critic/score/mean` has three parts of one word each.
#[derive(Clone, Debug)]
pub(super) struct Words<'n> {
    parts: Vec<Vec<&'n str>>,
}

impl<'n> Words<'n> {
    /// Splits a canonical name into words, without text in brackets at the end of a part (`map50(b)`).
    pub(super) fn from_name(canonical: &'n str) -> Self {
        let words = |part: &'n str| -> Vec<&'n str> {
            let name = part.split_once('(').map_or(part, |(name, _)| name);
            let name = if name.is_empty() { part } else { name };
            name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect()
        };
        Self { parts: canonical.split('/').map(words).filter(|part| !part.is_empty()).collect() }
    }

    /// Words of the last part.
    pub(super) fn last_part(&self) -> &[&'n str] {
        self.parts.last().map_or(&[], Vec::as_slice)
    }

    /// Words of each part before the last.
    pub(super) fn earlier_parts(&self) -> impl Iterator<Item = &[&'n str]> {
        self.parts.iter().take(self.parts.len().saturating_sub(1)).map(Vec::as_slice)
    }

    /// Words for the value itself: those of the last part that is more than an aggregation, without aggregation words at its end.
    pub(super) fn subject(&self) -> &[&'n str] {
        let trimmed = |part: &'_ Vec<&'n str>| -> usize {
            part.iter().rposition(|word| !is_aggregate(word)).map_or(0, |last| last + 1)
        };
        let parts = self.parts.iter().rev();
        parts.map(|part| part.get(..trimmed(part)).unwrap_or_default()).find(|part| !part.is_empty()).unwrap_or(&[])
    }

    /// All words.
    pub(super) fn all(&self) -> impl Iterator<Item = &'n str> + '_ {
        self.parts.iter().flatten().copied()
    }

    /// Whether any word is one of `words`.
    pub(super) fn contains_any(&self, words: &[&str]) -> bool {
        self.all().any(|word| words.contains(&word))
    }

    /// Whether the name belongs to a spread or an extreme.
    pub(super) fn is_statistic(&self) -> bool {
        let part = self.last_part();
        let is = |word: Option<&&str>| word.is_some_and(|word| STATISTICS.contains(word));
        is(part.first()) || is(part.last()) || is(self.subject().last())
    }

    /// Whether the metric was measured on data that the run does not train on.
    pub(super) fn is_held_out(&self) -> bool {
        let glued = |word: &str| word.strip_suffix("loss").is_some_and(|data| HELD_OUT.contains(&data));
        let dev = self.parts.iter().any(|part| part.first() == Some(&"dev"));
        dev || self.contains_any(&HELD_OUT) || self.all().any(glued)
    }
}

/// Word without digits at its start and end: `acc` for `acc1`.
pub(super) fn without_digits(word: &str) -> &str {
    word.trim_matches(|sign: char| sign.is_ascii_digit())
}

/// Whether a word, with or without the digits around it, is one of `list`.
pub(super) fn is_one_of(word: &str, list: &[&str]) -> bool {
    list.contains(&word) || list.contains(&without_digits(word))
}

fn is_aggregate(word: &str) -> bool {
    AGGREGATES.contains(&word) || word.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether `words` contains the words `wanted` next to each other.
pub(super) fn contains_sequence(words: &[&str], wanted: &[&str]) -> bool {
    words.windows(wanted.len()).any(|part| part == wanted)
}
