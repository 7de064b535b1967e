//! Units: the things that a check judges one by one, as the result carries them.

mod any;
mod arrays;
mod checkpoint;
mod culprit;
mod curve;
mod dump;
mod evaluation;
mod evidence;
mod location;
mod metrics;
mod monitor;
mod operators;
mod performance;
mod rollout;
mod sample;
mod source;
mod sync;
mod tokens;

use std::ops::{Deref, DerefMut};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::verdict::{CheckId, Verdict};

pub use any::{AnyUnit, Measured, Size};
pub use arrays::ArrayUnit;
pub use checkpoint::CheckpointUnit;
pub use culprit::{
    Culprit, CulpritKind, CulpritLayout, MonitorCause, MonitorCulprit, OperatorCulprit, PerformanceCause, Phase, Place,
    ShardPlace, VisibleDefect, unit_place,
};
pub use curve::{CurveSeries, CurveUnit, CurveWindows, Replaced};
pub use dump::{DumpUnit, ProfilePoint, UnitRanks};
pub use evaluation::{
    AnswerCounts, Divergence, DivergenceKind, EvaluationScope, EvaluationTest, EvaluationUnit, FlippedSample,
    GenerationKind, GenerationUnit, Shard,
};
pub use evidence::Evidence;
pub use location::{ErrorAxis, ErrorLocation, ErrorMap, ErrorPattern};
pub use metrics::Metrics;
pub use monitor::{MonitorMap, MonitorPoint, MonitorSteps, MonitorUnit};
pub use operators::{OperatorsUnit, StatusCounts};
pub use performance::{
    CheckCulprit, OperatorTimes, PerformanceUnit, Period, Phases, StepTime, StepTimeSource, profile_place,
};
pub use rollout::{RolloutKind, RolloutUnit};
pub use sample::{SampleRule, SampleSteps, SampleUnit, Seeds};
pub use source::SourceUnit;
pub use sync::{SyncDifference, SyncKind, SyncUnit};
pub use tokens::{LogprobsKind, LogprobsSide, LogprobsUnit, LoudToken, MapRow, NoiseSource, RankLevel, StepLevel};

/// One check of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    /// The check.
    pub id: CheckId,
    /// Its units' verdicts, added up.
    pub verdict: Verdict,
    /// The culprit of the check of performance; absent elsewhere, and where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub culprit: Option<CheckCulprit>,
    /// Runs of the check, where several candidates were judged one by one; absent elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples: Option<RunCounts>,
    /// Checkers of the config check.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<ConfigItem>,
    /// Curves, steps and ranks, or checkpoints.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub units: Vec<Unit>,
}

/// Numbers of runs, where several candidates were judged one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunCounts {
    /// Runs of the baseline.
    pub n: u64,
    /// Runs of the candidate.
    pub m: u64,
    /// Runs of the candidate that fail.
    pub failed: u64,
}

/// Makes [`Unit`] of the kinds of unit there are, and for each a function that finds its units among those of checks.
macro_rules! units {
    ($($(#[$about:meta])+ $kind:ident($unit:ident) in $all:ident,)+) => {
        /// A unit of a check other than config.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(untagged)]
        pub enum Unit {
            $($(#[$about])+ $kind(Box<$unit>),)+
        }

        /// Facts that all kinds of units share.
        impl Deref for Unit {
            type Target = dyn AnyUnit;

            fn deref(&self) -> &Self::Target {
                match self {
                    $(Self::$kind(unit) => unit.as_ref(),)+
                }
            }
        }

        impl DerefMut for Unit {
            fn deref_mut(&mut self) -> &mut Self::Target {
                match self {
                    $(Self::$kind(unit) => unit.as_mut(),)+
                }
            }
        }

        $(
            #[doc = concat!("The units of `checks` that are a [`", stringify!($unit), "`], in the order of reports.")]
            pub fn $all(checks: &[Check]) -> impl Iterator<Item = &$unit> + Clone {
                checks.iter().flat_map(|check| &check.units).filter_map(|unit| match unit {
                    Unit::$kind(unit) => Some(unit.as_ref()),
                    _ => None,
                })
            }
        )+
    };
}

// Which kind a unit is, its fields tell: a kind needs one that no kind before it requires.
units! {
    /// A step and rank of a dump.
    Dump(DumpUnit) in dumps,
    /// A training curve.
    Curve(CurveUnit) in curves,
    /// A checkpoint.
    Checkpoint(CheckpointUnit) in checkpoints,
    /// An array.
    Array(ArrayUnit) in arrays,
    /// The training monitor of a rank.
    Monitor(MonitorUnit) in monitors,
    /// A metric of an evaluation.
    Evaluation(EvaluationUnit) in evaluations,
    /// Generations of one file.
    Generation(GenerationUnit) in generations,
    /// Tables of operator tests.
    Operators(OperatorsUnit) in operators,
    /// The profile of a rank.
    Performance(PerformanceUnit) in profiles,
    /// A metric of several runs of each side.
    Sample(SampleUnit) in samples,
    /// Rollouts of a step.
    Rollout(RolloutUnit) in rollouts,
    /// A synchronisation of weights.
    Sync(SyncUnit) in synchronisations,
    /// Log-probabilities by token.
    Logprobs(LogprobsUnit) in logprobs,
    /// A file of source.
    Source(SourceUnit) in sources,
}

/// One checker of the config check.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConfigItem {
    /// `env`, `pip`, `dataset`, `weights`, `hyperparameters`, `random`.
    pub name: String,
    /// The gate's verdict.
    pub verdict: Verdict,
    /// Level that msprobe 26.2.0 gives the same packs; `failed` where it writes none.
    pub msprobe: Option<String>,
    /// The kind of exception msprobe ends with, if it does.
    pub msprobe_error: Option<String>,
    /// Number of the checker's findings.
    pub findings: usize,
    /// Whether it was there and read.
    #[serde(default)]
    pub state: ItemState,
    /// Account of its settings.
    #[serde(default, skip_serializing_if = "Evidence::is_empty")]
    pub evidence: Evidence,
}

/// Whether a checker of the config check was there and read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ItemState {
    /// Both sides hold it, and it was compared.
    #[default]
    Compared,
    /// A side holds it, and nothing of it was compared.
    Unread,
    /// No side holds it.
    Absent,
}

impl ItemState {
    /// The verdict of a checker in this state whose findings lead to `verdict`.
    pub fn settled(self, verdict: Verdict) -> Verdict {
        match self {
            Self::Unread => verdict.max(Verdict::Incomplete),
            Self::Absent if verdict == Verdict::Pass => Verdict::Skipped,
            _ => verdict,
        }
    }
}
