//! Checks by their names.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One kind of judgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CheckId {
    /// Artifacts in the two folders, before any check.
    Artifacts,
    /// The policy itself: waivers and selectors.
    Policy,
    /// Configuration packs.
    Config,
    /// Training curves.
    Loss,
    /// Dumps.
    Dump,
    /// Checkpoints.
    Checkpoint,
    /// Arrays of no other check.
    Arrays,
    /// Training monitors.
    Monitor,
    /// Log-probabilities by token.
    Tokens,
    /// Evaluations.
    Evaluation,
    /// Operator tests.
    Operators,
    /// Profiles of training steps.
    Performance,
    /// Python source.
    Source,
    /// Earlier runs of the suite.
    History,
}

impl CheckId {
    /// The checks of a run, in the order of reports, without the entries that only findings are filed under.
    pub const CHECKS: &'static [Self] = &[
        Self::Config,
        Self::Loss,
        Self::Dump,
        Self::Checkpoint,
        Self::Arrays,
        Self::Monitor,
        Self::Tokens,
        Self::Evaluation,
        Self::Operators,
        Self::Performance,
        Self::Source,
    ];

    /// The name as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Artifacts => "artifacts",
            Self::Policy => "policy",
            Self::Config => "config",
            Self::Loss => "loss",
            Self::Dump => "dump",
            Self::Checkpoint => "checkpoint",
            Self::Arrays => "arrays",
            Self::Monitor => "monitor",
            Self::Tokens => "tokens",
            Self::Evaluation => "evaluation",
            Self::Operators => "operators",
            Self::Performance => "performance",
            Self::Source => "source",
            Self::History => "history",
        }
    }

    /// Whether it is a check of a run. Artifacts, policy and history have findings, and judge nothing.
    pub fn is_of_run(self) -> bool {
        Self::CHECKS.contains(&self)
    }
}

#[cfg(test)]
mod tests {
    use super::CheckId;

    #[test]
    fn a_check_is_written_as_it_is_called() {
        let others = [CheckId::Artifacts, CheckId::Policy, CheckId::History];
        for check in CheckId::CHECKS.iter().chain(&others) {
            assert_eq!(serde_json::to_value(check).expect("a name"), check.as_str());
            assert_eq!(check.is_of_run(), !others.contains(check));
        }
    }
}
