//! The step and the rank of a file, by its path.

use std::fmt;

/// A file of log-probabilities.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokensFile {
    /// Its path below the side's root.
    pub path: String,
    /// Its form.
    pub format: TokensFormat,
}

/// Form of a file of log-probabilities.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokensFormat {
    /// `torch.save`: a dictionary of arrays, of lists, or a list of samples.
    Torch,
    /// Named arrays of numpy.
    Npz,
    /// Named arrays.
    Safetensors,
    /// One array of numpy, under the key in its name.
    Npy(String),
    /// One object per sample and line.
    Lines,
}

impl TokensFormat {
    /// Kind in the table of artifacts.
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

/// A step: its number, or the name of the file where nothing numbers it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// Its number.
    Number(u64),
    /// The file's stem.
    Name(String),
}

impl Step {
    /// The number, where there is one.
    pub fn number(&self) -> Option<u64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Name(_) => None,
        }
    }
}

impl fmt::Display for Step {
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
    /// Its line, from 1; `None` in other forms.
    pub line: Option<u64>,
    /// Reason.
    pub reason: String,
}

/// Words before a step's number, and before a rank's.
const STEP_WORDS: [&str; 3] = ["step", "rollout_id", "iteration"];
const RANK_WORDS: [&str; 1] = ["rank"];

/// The step that a path names: the number behind a word for it, else a number that the stem begins with, else the stem.
pub(super) fn step_of(path: &str) -> Step {
    if let Some(number) = behind(path, &STEP_WORDS) {
        return Step::Number(number);
    }
    let stem = stem(path);
    let numbers = numbers(stem);
    match numbers.as_deref().and_then(<[u64]>::first) {
        Some(number) => Step::Number(*number),
        None => Step::Name(stem.to_owned()),
    }
}

/// The rank that a path names: the number behind the word, or the second of two numbers that the stem is made of.
pub(super) fn rank_of(path: &str) -> Option<u64> {
    behind(path, &RANK_WORDS).or_else(|| match numbers(stem(path))?.as_slice() {
        [_, rank] => Some(*rank),
        _ => None,
    })
}

/// The file's name without its ending.
pub(super) fn stem(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

/// The numbers that a stem is made of, `1` or `1_0`; `None` where there are other words in it.
fn numbers(stem: &str) -> Option<Vec<u64>> {
    stem.split(['_', '-']).map(|part| part.parse().ok()).collect()
}

/// The number behind the last of `words` in a path.
fn behind(path: &str, words: &[&str]) -> Option<u64> {
    let lower = path.to_ascii_lowercase();
    let number = |(word, at): (&str, usize)| {
        let before = lower.get(..at)?.chars().next_back();
        let rest = lower.get(at + word.len()..)?.trim_start_matches(['_', '-', '=']);
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let number = rest.get(..end)?.parse().ok()?;
        // `timestep3` is no step, `global_step3` is one.
        (!before.is_some_and(|before| before.is_ascii_alphabetic())).then_some((at, number))
    };
    let found = words.iter().flat_map(|word| lower.match_indices(word).map(move |(at, _)| (*word, at)));
    found.filter_map(number).max_by_key(|(at, _)| *at).map(|(_, number)| number)
}

/// The key that the name of a `.npy` file tells: what stands before `_step_N`, else the stem.
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
        assert_eq!(step_of("a/log_probs.pt"), Step::Name("log_probs".into()));
        assert_eq!((key_of("x/prob_diff_step_1.npy"), key_of("old_log_probs.npy")), ("prob_diff", "old_log_probs"));
    }
}
