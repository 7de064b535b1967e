//! Verdicts, severities and profiles.

use std::ops::{Index, IndexMut};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use crate::check::CheckId;

/// Verdict on a unit, a check or a run, in rising rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Nothing there on either side, and not required.
    Skipped,
    /// Everything compared agrees.
    Pass,
    /// Something deserves a look; does not block.
    Warn,
    /// Too little could be compared; blocks.
    Incomplete,
    /// Something is wrong; blocks.
    Fail,
}

impl Verdict {
    /// Adds verdicts up by rank; nothing at all is `Skipped`.
    pub fn of_all(verdicts: impl IntoIterator<Item = Self>) -> Self {
        verdicts.into_iter().max().unwrap_or(Self::Skipped)
    }

    /// Whether it blocks.
    pub fn blocks(self) -> bool {
        self >= Self::Incomplete
    }

    /// The verdict as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Skipped => "skipped",
            Self::Pass => "pass",
            Self::Warn => "warn",
            Self::Incomplete => "incomplete",
            Self::Fail => "fail",
        }
    }
}

/// Severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Shown, and no more.
    Info,
    /// The unit is at least `warn`.
    Warn,
    /// The unit is at least `incomplete`.
    Incomplete,
    /// The unit is `fail`.
    Fail,
}

impl Severity {
    /// The verdict a finding of this severity leads to.
    pub fn verdict(self) -> Verdict {
        match self {
            Self::Info => Verdict::Pass,
            Self::Warn => Verdict::Warn,
            Self::Incomplete => Verdict::Incomplete,
            Self::Fail => Verdict::Fail,
        }
    }
}

/// Profile, which sets how severe the gate is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// Another precision warns, a wrong number fails.
    #[default]
    Default,
    /// Another precision fails too.
    Strict,
    /// Any difference fails.
    BitExact,
    /// Warnings block, declared checks are required, the baseline must verify.
    Release,
}

impl Profile {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Default, Self::Strict, Self::BitExact, Self::Release];

    /// The name as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Strict => "strict",
            Self::BitExact => "bit-exact",
            Self::Release => "release",
        }
    }
}

/// One checker of the config check, in the order of reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Checker {
    /// Environment variables.
    Env,
    /// Installed packages.
    Pip,
    /// Inputs of the model's forward.
    Dataset,
    /// Parameters of the model.
    Weights,
    /// Settings from launch scripts, YAML files and parsed arguments.
    Hyperparameters,
    /// Calls of random functions before the first forward.
    Random,
}

impl Checker {
    /// All of them, in order.
    pub const ALL: [Self; 6] =
        [Self::Env, Self::Pip, Self::Dataset, Self::Weights, Self::Hyperparameters, Self::Random];

    /// The name as msprobe and the result spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Env => "env",
            Self::Pip => "pip",
            Self::Dataset => "dataset",
            Self::Weights => "weights",
            Self::Hyperparameters => "hyperparameters",
            Self::Random => "random",
        }
    }
}

/// Side of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// The trusted run.
    Baseline,
    /// The run being judged.
    Candidate,
}

impl Side {
    /// Both, the trusted one first.
    pub const BOTH: [Self; 2] = [Self::Baseline, Self::Candidate];

    /// The name as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            Self::Candidate => "candidate",
        }
    }

    /// The side across from it.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Baseline => Self::Candidate,
            Self::Candidate => Self::Baseline,
        }
    }
}

/// One of something for each side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PerSide<T> {
    /// That of the trusted run.
    pub baseline: T,
    /// That of the run being judged.
    pub candidate: T,
}

impl<T> PerSide<T> {
    /// One that `of` gives for each side.
    pub fn of(mut of: impl FnMut(Side) -> T) -> Self {
        Self { baseline: of(Side::Baseline), candidate: of(Side::Candidate) }
    }

    /// Both, the trusted side's first.
    pub fn each(&self) -> impl Iterator<Item = &T> {
        [&self.baseline, &self.candidate].into_iter()
    }

    /// Both as a list, the trusted side's first.
    pub fn into_array(self) -> [T; 2] {
        [self.baseline, self.candidate]
    }
}

impl<T> Index<Side> for PerSide<T> {
    type Output = T;

    fn index(&self, side: Side) -> &T {
        match side {
            Side::Baseline => &self.baseline,
            Side::Candidate => &self.candidate,
        }
    }
}

impl<T> IndexMut<Side> for PerSide<T> {
    fn index_mut(&mut self, side: Side) -> &mut T {
        match side {
            Side::Baseline => &mut self.baseline,
            Side::Candidate => &mut self.candidate,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Verdict;

    #[test]
    fn verdicts_add_up_by_rank() {
        let by_rank = [Verdict::Skipped, Verdict::Pass, Verdict::Warn, Verdict::Incomplete, Verdict::Fail];
        for (low, a) in by_rank.into_iter().enumerate() {
            for (high, b) in by_rank.into_iter().enumerate().skip(low) {
                assert_eq!(Verdict::of_all([a, b]), by_rank[high]);
                assert_eq!(Verdict::of_all([b, a]), b);
            }
        }
        assert_eq!(Verdict::of_all([]), Verdict::Skipped);
    }
}
