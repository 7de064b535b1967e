//! Step and rank of a file, from its path.

use std::fmt;

/// A file of log-probabilities.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokensFile {
    /// Path, relative to the side's root.
    pub path: String,
    /// Format of the file.
    pub format: TokensFormat,
}

/// Format of a file of log-probabilities.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokensFormat {
    /// A file of `torch.save`: a dictionary of arrays or of lists, or a list of samples.
    Torch,
    /// An archive of named NumPy arrays.
    Npz,
    /// A safetensors file of named arrays.
    Safetensors,
    /// One NumPy array, with the key that is in the file's name.
    Npy(String),
    /// JSON lines with one object per sample.
    Lines,
}

impl TokensFormat {
    /// Name of the kind in the table of artifacts.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Torch => "log-probabilities (torch)",
            Self::Npz => "log-probabilities (npz)",
            Self::Safetensors => "log-probabilities (safetensors)",
            Self::Npy(_) => "log-probabilities (npy)",
            Self::Lines => "log-probabilities (JSON lines)",
        }
    }
}

/// A step: its number, or the stem of the file's name if it has no number.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TokensStep {
    /// Its number.
    Number(u64),
    /// The file's stem.
    Name(String),
}

impl TokensStep {
    /// Number of the step, if it has one.
    pub fn number(&self) -> Option<u64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Name(_) => None,
        }
    }
}

impl fmt::Display for TokensStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Name(name) => f.write_str(name),
        }
    }
}

/// A part of a file that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordDamage {
    /// Line number, from 1; `None` in formats without lines.
    pub line: Option<u64>,
    /// Reason.
    pub reason: String,
}

/// Words before the number of a step.
const STEP_WORDS: [&str; 3] = ["step", "rollout_id", "iteration"];
const RANK_WORDS: [&str; 1] = ["rank"];

/// Step of a path: the number after a word for it, else the first number of a stem that is made of numbers, else the stem.
pub(super) fn step_of(path: &str) -> TokensStep {
    if let Some(number) = behind(path, &STEP_WORDS) {
        return TokensStep::Number(number);
    }
    let stem = stem(path);
    let numbers = numbers(stem);
    match numbers.as_deref().and_then(<[u64]>::first) {
        Some(number) => TokensStep::Number(*number),
        None => TokensStep::Name(stem.to_owned()),
    }
}

/// Rank of a path: the number after the word for it, or the second of two numbers that the stem is made of.
pub(super) fn rank_of(path: &str) -> Option<u64> {
    behind(path, &RANK_WORDS).or_else(|| match numbers(stem(path))?.as_slice() {
        [_, rank] => Some(*rank),
        _ => None,
    })
}

/// Name of a file without its extension.
pub(super) fn stem(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

/// Numbers that a stem such as `1` or `1_0` is made of; `None` if it holds anything else.
fn numbers(stem: &str) -> Option<Vec<u64>> {
    stem.split(['_', '-']).map(|part| part.parse().ok()).collect()
}

/// Number after the last occurrence of one of `words` in a path.
fn behind(path: &str, words: &[&str]) -> Option<u64> {
    let lower = path.to_ascii_lowercase();
    let number = |(word, at): (&str, usize)| {
        let before = lower.get(..at)?.chars().next_back();
        let rest = lower.get(at + word.len()..)?.trim_start_matches(['_', '-', '=']);
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let number = rest.get(..end)?.parse().ok()?;
        // `timestep3` is not a step, but `global_step3` is one.
        (!before.is_some_and(|before| before.is_ascii_alphabetic())).then_some((at, number))
    };
    let found = words.iter().flat_map(|word| lower.match_indices(word).map(move |(at, _)| (*word, at)));
    found.filter_map(number).max_by_key(|(at, _)| *at).map(|(_, number)| number)
}

/// Key in the name of a `.npy` file: the part before `_step_N` or `_rank_N`, else the whole stem.
pub(super) fn key_of(path: &str) -> &str {
    let stem = stem(path);
    let end = ["_step", "-step", "_rank", "-rank"].iter().filter_map(|word| stem.find(word)).min();
    end.and_then(|end| stem.get(..end)).unwrap_or(stem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_and_ranks_stand_in_paths() {
        for (path, step, rank) in [
            ("rollout/step_3_rank_1.npz", Some(3), Some(1)),
            ("batch_step_1_rank0.pt", Some(1), Some(0)),
            ("train_data/12_3.pt", Some(12), Some(3)),
            ("rollouts/5.jsonl", Some(5), None),
            ("global_step_7/rank_2/batch.pt", Some(7), Some(2)),
            ("prob_diff_step_9.npy", Some(9), None),
            ("log_probs.pt", None, None),
            ("timestep3.pt", None, None),
            ("drank4.pt", None, None),
        ] {
            assert_eq!((step_of(path).number(), rank_of(path)), (step, rank), "{path}");
        }
        assert_eq!(step_of("a/log_probs.pt"), TokensStep::Name("log_probs".into()));
        assert_eq!((key_of("x/prob_diff_step_1.npy"), key_of("old_log_probs.npy")), ("prob_diff", "old_log_probs"));
    }
}
