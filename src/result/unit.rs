//! Units: the things that a check judges one by one, as the result carries them.

mod any;
mod checkpoint;
mod curve;
mod dump;
mod evaluation;
mod evidence;
mod location;
mod metrics;
mod monitor;
mod operators;
mod performance;
mod source;

use std::ops::{Deref, DerefMut};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::finding::{Finding, finding_id};
use super::number::Number;
use super::operation::{FromReference, Shown};
use super::outcome::RuleOutcome;
use crate::kind::TensorKind;
use crate::kind::{MonitorKind, Role};
use crate::verdict::{CheckId, Side, Verdict};

pub use any::{AnyUnit, Measured, Size};
pub use evaluation::{
    Divergence, DivergenceKind, EvaluationScope, EvaluationTest, EvaluationUnit, FlippedSample, GenerationKind,
    GenerationUnit, Shard,
};
pub use evidence::Evidence;
pub use location::{ErrorAxis, ErrorLocation, ErrorMap, ErrorPattern};
pub use metrics::Metrics;
pub use monitor::{MonitorCause, MonitorCulprit, MonitorMap, MonitorPoint, MonitorSteps, MonitorUnit};
pub use operators::{OperatorCulprit, OperatorsUnit, StatusCounts};
pub use performance::{
    CheckCulprit, OperatorTimes, PerformanceCause, PerformanceUnit, Period, Phase, Phases, StepTime, StepTimeSource,
    profile_place,
};
pub use source::SourceUnit;

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
    /// Checkers of the config check.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<ConfigItem>,
    /// Curves, steps and ranks, or checkpoints.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub units: Vec<Unit>,
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
    /// A file of source.
    Source(SourceUnit) in sources,
}

/// A step and rank in words, as findings spell them.
pub fn unit_place(step: u64, rank: Option<u64>) -> String {
    rank.map_or_else(|| format!("step {step}"), |rank| format!("step {step} rank {rank}"))
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

/// A step and rank of a dump.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DumpUnit {
    /// The step, from its folder's name.
    pub step: u64,
    /// The rank; null for `proc*` folders.
    pub rank: Option<u64>,
    /// Kind of data that was compared: `tensor`, `statistics`, `md5`, `xor`.
    pub data: String,
    /// The unit's verdict.
    pub verdict: Verdict,
    /// Tensors and values compared.
    pub compared: u64,
    /// Parameters of the candidate without a partner.
    pub unmatched_candidate: u64,
    /// Parameters of the baseline without a partner.
    pub unmatched_baseline: u64,
    /// Paired, and not comparable.
    pub not_compared: u64,
    /// States of all values of both sides.
    #[serde(default, skip_serializing_if = "Evidence::is_empty")]
    pub evidence: Evidence,
    /// The first operation that adds error, or the first leaf input or exact property that differs.
    pub culprit: Option<Culprit>,
    /// The next operation that adds error of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runner_up: Option<Culprit>,
    /// Unit that the error came from, where it was not made here.
    pub inherited_from: Option<Place>,
    /// Operations that msprobe's `overflow_check` names at this step and rank, by its rule; absent where that was not asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub msprobe_overflow: Option<Vec<String>>,
    /// Rules as applied, worst values first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<RuleOutcome>,
    /// Error against execution order, thinned, extremes kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub profile: Vec<ProfilePoint>,
}

impl DumpUnit {
    /// A unit of which nothing could be read.
    pub fn unread(step: u64, rank: Option<u64>) -> Self {
        Self {
            step,
            rank,
            data: String::new(),
            verdict: Verdict::Incomplete,
            compared: 0,
            unmatched_candidate: 0,
            unmatched_baseline: 0,
            not_compared: 0,
            evidence: Evidence::default(),
            culprit: None,
            runner_up: None,
            inherited_from: None,
            msprobe_overflow: None,
            rules: Vec::new(),
            profile: Vec::new(),
        }
    }
}

/// A place in a distributed run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Place {
    /// The step.
    pub step: u64,
    /// The rank; null where there is only one process.
    pub rank: Option<u64>,
    /// The operation, as dumped on the candidate side.
    pub op: String,
}

/// The first operation that adds error, or the first leaf input or exact property that differs, of those that the policy
/// does not waive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Culprit {
    /// The check that found it.
    #[serde(default = "Culprit::first_check")]
    pub check: CheckId,
    /// The finding that it stands for, by [`Finding::id`](super::finding::Finding::id).
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub finding: String,
    /// Its position in execution order, from 0, as [`ProfilePoint::order`] counts.
    #[serde(default)]
    pub order: u64,
    /// The step; 0 in operator tests, whose tables name none.
    pub step: u64,
    /// The rank; null where there is only one process.
    pub rank: Option<u64>,
    /// The operation, as dumped on the candidate side.
    pub op: String,
    /// The row name of the tensor or value that differs first.
    pub tensor: String,
    /// Role in the operation; of a monitor, the kind of tensor.
    pub kind: CulpritKind,
    /// The side that alone runs the operation; null where both do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub side: Option<Side>,
    /// The finding's code.
    pub code: String,
    /// The numbers.
    #[serde(default, skip_serializing_if = "Metrics::is_empty")]
    pub metrics: Metrics,
    /// Errors of both sides against the reference run, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<FromReference>,
    /// The call stack, innermost frame first; of the forward operation where a backward one has none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stack: Vec<String>,
    /// Number of tensors after it that differ.
    #[serde(default)]
    pub spread: u64,
    /// The place of its error within the tensor, where both sides saved data; absent elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<ErrorLocation>,
    /// The value on the baseline side; absent where only the candidate runs the operation, and in results of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<Shown>,
    /// The value on the candidate side.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidate: Option<Shown>,
    /// The operation that brought the -inf among the inputs of a culprit without a baseline; empty without one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub mask: String,
    /// Facts that only a monitor knows; absent for other checks.
    #[serde(flatten)]
    pub monitor: Option<MonitorCulprit>,
    /// Facts that only operator tests know; absent for other checks.
    #[serde(flatten)]
    pub operator: Option<OperatorCulprit>,
    /// Facts that only profiles know; absent for other checks.
    #[serde(flatten)]
    pub performance: Option<PerformanceCause>,
}

/// Role of the value that differs first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum CulpritKind {
    /// Role in an operation of a dump.
    Tensor(TensorKind),
    /// Kind of a tensor in a monitor.
    Monitor(MonitorKind),
    /// Defect of a result that shows without a baseline.
    Visible(VisibleDefect),
    /// Phase of a step in a profile.
    Phase(Phase),
}

/// Defect of a result that shows without a baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum VisibleDefect {
    /// NaN or infinity from inputs without either.
    NonFinite,
    /// The largest number of its type.
    Saturation,
}

impl CulpritKind {
    /// Place of a monitor's kind in the order in which a step computes it; `None` for a role in a dump.
    pub fn order(self) -> Option<MonitorKind> {
        match self {
            Self::Tensor(_) | Self::Visible(_) | Self::Phase(_) => None,
            Self::Monitor(kind) => Some(kind),
        }
    }
}

impl CulpritKind {
    /// Whether any other defect, of whatever step, tells more.
    pub fn is_minor(self) -> bool {
        self == Self::Visible(VisibleDefect::Saturation)
    }
}

impl PartialEq<TensorKind> for CulpritKind {
    fn eq(&self, other: &TensorKind) -> bool {
        matches!(self, Self::Tensor(kind) if kind == other)
    }
}

impl Culprit {
    /// The check of culprits in results that do not say.
    fn first_check() -> CheckId {
        CheckId::Dump
    }

    /// Whether it stands for `finding`.
    pub fn stands_for(&self, finding: &Finding) -> bool {
        !finding.id.is_empty() && finding.id == self.finding
    }

    /// The id of the finding that a culprit of this code, value and unit stands for.
    pub fn own_finding(&self) -> String {
        finding_id(self.check, &self.code, &self.unit(), &self.tensor, 1)
    }

    /// The name of its unit in findings.
    pub fn unit(&self) -> String {
        match (&self.operator, &self.performance) {
            (Some(operator), _) => operator.table.clone(),
            (None, Some(_)) => self.tensor.clone(),
            (None, None) => unit_place(self.step, self.rank),
        }
    }
}

/// One point of the divergence profile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProfilePoint {
    /// Position in execution order, from 0.
    pub order: u64,
    /// The operation.
    pub op: String,
    /// The largest error of its outputs, relative to scale.
    pub error: Number,
    /// The noise limit there.
    pub limit: Number,
    /// Whether the operation is suspected of adding error.
    #[serde(default)]
    pub suspect: bool,
}

/// A training curve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CurveUnit {
    /// The metric: `loss`, `grad_norm`, `learning_rate` ...
    pub metric: String,
    /// Role of the metric, which decides its rules; absent in results of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// The run's folder, where several runs lie beside each other.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub run: String,
    /// The rank that logged it, where the ranks of a file logged different values; else null.
    #[serde(default)]
    pub rank: Option<u64>,
    /// The file the baseline was read from.
    #[serde(default)]
    pub baseline_file: String,
    /// The file the candidate was read from.
    #[serde(default)]
    pub candidate_file: String,
    /// Format of both files: `JSON lines`; where they differ, the baseline's and the candidate's, as `W&B log, CSV table`.
    #[serde(default)]
    pub format: String,
    /// The published rule that decided instead of the gate's own; empty where none was chosen.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub preset: String,
    /// `same-weights`, `own-weights`, `rl`, or empty for metrics that have no mode.
    pub mode: String,
    /// Source of the mode: `declared`, `inferred`.
    #[serde(default)]
    pub mode_source: String,
    /// The unit's verdict.
    pub verdict: Verdict,
    /// Paired steps (or windows).
    pub paired: u64,
    /// Key that points were paired by: `step`, `epoch-step` (steps of an epoch, numbered through), `window`, `samples`,
    /// `tokens`, `epoch`, `position`.
    #[serde(default)]
    pub paired_by: String,
    /// Points of both sides that gave way to later ones of the same step.
    #[serde(default)]
    pub replaced: Replaced,
    /// The first step after which the difference never returns into the band.
    #[serde(default)]
    pub first_diverging_step: Option<u64>,
    /// Whether no rule judges it: it is shown, and never passes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_shown_only: bool,
    /// States that its steps ended in.
    #[serde(default, skip_serializing_if = "Evidence::is_empty")]
    pub evidence: Evidence,
    /// Steps at which one side only is not finite.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub non_finite_steps: Vec<u64>,
    /// Rules as applied.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<RuleOutcome>,
    /// The curves, thinned to at most 2000 points, extremes kept.
    pub series: CurveSeries,
    /// Means of windows, by which a run of reinforcement learning is judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub windows: Option<CurveWindows>,
}

impl CurveUnit {
    /// A curve of which nothing is known yet.
    pub fn empty() -> Self {
        Self {
            metric: String::new(),
            role: None,
            run: String::new(),
            rank: None,
            baseline_file: String::new(),
            candidate_file: String::new(),
            format: String::new(),
            preset: String::new(),
            mode: String::new(),
            mode_source: String::new(),
            verdict: Verdict::Skipped,
            paired: 0,
            paired_by: String::new(),
            replaced: Replaced::default(),
            first_diverging_step: None,
            is_shown_only: false,
            evidence: Evidence::default(),
            non_finite_steps: Vec::new(),
            rules: Vec::new(),
            series: CurveSeries::default(),
            windows: None,
        }
    }
}

/// Means of both sides of a curve over windows of equal length.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CurveWindows {
    /// The last step of each window.
    pub to_step: Vec<u64>,
    /// Means of the baseline.
    pub baseline: Vec<Number>,
    /// Means of the candidate.
    pub candidate: Vec<Number>,
}

/// Points that gave way to later ones of the same step, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Replaced {
    /// The run was resumed and logged the step again.
    pub resumed: u64,
    /// The step was logged again with another value.
    pub repeated: u64,
}

/// Both sides of a curve; `null` where a side has no value.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CurveSeries {
    /// Steps.
    pub step: Vec<u64>,
    /// Baseline values.
    pub baseline: Vec<Option<Number>>,
    /// Candidate values.
    pub candidate: Vec<Option<Number>>,
    /// The noise band around the baseline, relative; empty where none was recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub band: Vec<Number>,
}

/// A checkpoint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CheckpointUnit {
    /// Its name: the path below the folder.
    pub checkpoint: String,
    /// The unit's verdict.
    pub verdict: Verdict,
    /// Parameters compared.
    pub compared: u64,
    /// Parameters of the candidate without a partner.
    pub unmatched_candidate: u64,
    /// Parameters of the baseline without a partner.
    pub unmatched_baseline: u64,
    /// Paired, and not comparable.
    pub not_compared: u64,
    /// States that its parameters ended in.
    #[serde(default, skip_serializing_if = "Evidence::is_empty")]
    pub evidence: Evidence,
    /// Rules as applied, worst values first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<RuleOutcome>,
}

impl CheckpointUnit {
    /// A checkpoint of which nothing was compared yet.
    pub fn empty(name: &str) -> Self {
        Self {
            checkpoint: name.to_owned(),
            verdict: Verdict::Skipped,
            compared: 0,
            unmatched_candidate: 0,
            unmatched_baseline: 0,
            not_compared: 0,
            evidence: Evidence::default(),
            rules: Vec::new(),
        }
    }
}
