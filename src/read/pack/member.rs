//! Members of a pack, recognised by their names.

use crate::verdict::Checker;

/// Name of the member with content digests, which only this program's collector writes.
pub(crate) const DIGESTS: &str = "digests.json";

/// Kind of a member's content, from its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberPlace {
    /// `env`
    Env,
    /// `pip`
    Pip,
    /// `dataset/step{N}/rank{R}/dataset.json`
    Dataset((u64, u64)),
    /// `weights/step{N}/rank{R}/weight.json`
    Weights((u64, u64)),
    /// `hyperparameters/hyperparameters_static.json`
    Static,
    /// `hyperparameters/hyperparameters_dynamic.json`
    Dynamic,
    /// `random/rank{R}.json`
    Random(u64),
    /// `digests.json`
    Digests,
    /// A file in a checker's folder with an unexpected name.
    Misplaced(Checker),
    /// Any other file.
    Unknown,
}

impl MemberPlace {
    /// Reads a member's name.
    pub(crate) fn from_name(name: &str) -> Self {
        let parts: Vec<&str> = name.split('/').collect();
        let placed = match parts.as_slice() {
            ["env"] => Some(Self::Env),
            ["pip"] => Some(Self::Pip),
            [DIGESTS] => Some(Self::Digests),
            ["dataset", step, rank, "dataset.json"] => step_and_rank(step, rank).map(Self::Dataset),
            ["weights", step, rank, "weight.json"] => step_and_rank(step, rank).map(Self::Weights),
            ["hyperparameters", "hyperparameters_static.json"] => Some(Self::Static),
            ["hyperparameters", "hyperparameters_dynamic.json"] => Some(Self::Dynamic),
            ["random", file] => file.strip_suffix(".json").and_then(|stem| numbered(stem, "rank")).map(Self::Random),
            _ => None,
        };
        placed.unwrap_or(match parts.as_slice() {
            ["dataset", _, ..] => Self::Misplaced(Checker::Dataset),
            ["weights", _, ..] => Self::Misplaced(Checker::Weights),
            ["hyperparameters", _, ..] => Self::Misplaced(Checker::Hyperparameters),
            ["random", _, ..] => Self::Misplaced(Checker::Random),
            _ => Self::Unknown,
        })
    }
}

fn step_and_rank(step: &str, rank: &str) -> Option<(u64, u64)> {
    Some((numbered(step, "step")?, numbered(rank, "rank")?))
}

/// Number in a text of the form `word{number}`.
fn numbered(text: &str, word: &str) -> Option<u64> {
    let digits = text.strip_prefix(word)?;
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
}
