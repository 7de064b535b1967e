//! The trend of a rule over the runs of a suite.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::number::Number;
use super::outcome::LimitDirection;
use super::time::{Day, Time};
use crate::verdict::{CheckId, Verdict};

/// One rule of one unit over the last runs of a suite.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trend {
    /// The suite.
    pub suite: String,
    /// The check the rule belongs to.
    pub check: CheckId,
    /// The unit: a metric, a step and rank, a checkpoint, a checker.
    pub unit: String,
    /// The rule's stable name.
    pub rule: String,
    /// On which side of its limits a value has to lie.
    pub direction: LimitDirection,
    /// Warns beyond this.
    pub warn: Option<Number>,
    /// Fails beyond this.
    pub fail: Option<Number>,
    /// The last runs, oldest first, at most 60; magnitudes where limits hold for these.
    pub last: Vec<Measured>,
    /// Median of the finite values since the last step or bend; absent where there are none.
    pub median: Option<Number>,
    /// The last step.
    pub change: Option<Change>,
    /// The drift since then.
    pub drift: Option<Drift>,
}

impl Trend {
    /// Whether any run measured another value than the others.
    pub fn moves(&self) -> bool {
        self.last.windows(2).any(|pair| matches!(pair, [one, next] if one.value != next.value))
    }
}

/// Time and value of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Measured {
    /// Time.
    pub time: Time,
    /// The value.
    pub value: Number,
    /// The rule's verdict.
    pub verdict: Verdict,
}

/// A run in a history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Moment {
    /// Time at which it was judged.
    pub time: Time,
    /// The commit judged; empty where it is not known.
    pub commit: String,
}

/// A level that changed and stayed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "TrendChange")]
pub struct Change {
    /// The last run before it.
    pub last_before: Moment,
    /// The first run after it.
    pub first_after: Moment,
    /// Median before, back to the step before that.
    pub before: Number,
    /// Median after.
    pub after: Number,
    /// Runs with a finite value since.
    pub runs: u64,
    /// Probability of so large a step by chance, over all places where it could lie.
    pub p: Number,
}

/// A slow drift.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Drift {
    /// The first run it is seen in: the window's first, or the first after the last step or bend.
    pub since: Time,
    /// The fitted line at that run.
    pub then: Number,
    /// The fitted line at the last run.
    pub now: Number,
    /// Rise per day at the last run, in the rule's own unit; negative where it falls.
    pub per_day: Number,
    /// The limit it reaches first; absent where it leads away from the limits, or takes longer than the horizon.
    pub crosses: Option<Crossing>,
    /// Probability of such a drift by chance.
    pub p: Number,
}

/// Limit that a drift leads to, and the day.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Crossing {
    /// The limit.
    pub limit: Limit,
    /// The day on which the fitted line is beyond it (UTC).
    pub on: Day,
}

/// A rule's two limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Limit {
    /// Warns beyond it.
    Warn,
    /// Fails beyond it.
    Fail,
}

impl Limit {
    /// The name as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Warn => "warn",
            Self::Fail => "fail",
        }
    }
}
