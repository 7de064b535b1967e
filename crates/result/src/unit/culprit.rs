//! Culprits: the first wrong value of a unit, with what a check knows of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::location::ErrorLocation;
use super::metrics::Metrics;
use crate::finding::Finding;
use crate::kind::{ArrayKind, Direction, MonitorKind, Statistic, TensorKind};
use crate::number::Number;
use crate::operation::{FromReference, Shown};
use crate::rule::Rule;
use crate::verdict::{CheckId, Side};

/// The first operation that adds error, or the first leaf input or exact property that differs, of those that the policy
/// does not waive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Culprit {
    /// The check that found it.
    #[serde(default = "Culprit::first_check")]
    pub check: CheckId,
    /// The finding that it stands for, by [`Finding::id`].
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub finding: String,
    /// Its position in execution order, from 0, as [`ProfilePoint::order`](super::dump::ProfilePoint::order) counts.
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
    /// The argument of the call that the value is, or whose gradient it is; empty where the signature does not tell.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub argument: String,
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
    /// Its place in the whole model, where ranks were put together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<CulpritLayout>,
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

/// Place of a culprit in the whole model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CulpritLayout {
    /// The module, by its name in the whole model.
    pub module: String,
    /// Ranks that hold it; those whose parts are wrong, where its elements tell.
    pub ranks: Vec<u64>,
    /// The part that is wrong, where it is a single one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<ShardPlace>,
}

/// Place of a rank's part in a value of the whole model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ShardPlace {
    /// The axis that the value is cut along, from 0.
    pub axis: u64,
    /// Place among the parts, from 0.
    pub index: u64,
    /// Number of parts.
    pub of: u64,
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
    /// Kind of an array.
    Array(ArrayKind),
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
            Self::Tensor(_) | Self::Visible(_) | Self::Phase(_) | Self::Array(_) => None,
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
    /// A culprit of a check of which nothing is known yet but the role of its value.
    pub fn new(check: CheckId, kind: CulpritKind) -> Self {
        Self {
            check,
            finding: String::new(),
            order: 0,
            step: 0,
            rank: None,
            op: String::new(),
            tensor: String::new(),
            kind,
            argument: String::new(),
            side: None,
            code: String::new(),
            metrics: Metrics::default(),
            reference: None,
            stack: Vec::new(),
            spread: 0,
            location: None,
            baseline: None,
            candidate: None,
            mask: String::new(),
            layout: None,
            monitor: None,
            operator: None,
            performance: None,
        }
    }

    /// The check of culprits in results that do not say.
    fn first_check() -> CheckId {
        CheckId::Dump
    }

    /// Whether it is a value that an operation was given or made, of a dump, a monitor or an operator test.
    pub fn is_of_operation(&self) -> bool {
        self.performance.is_none() && !matches!(self.kind, CulpritKind::Array(_))
    }

    /// Whether it is of one of `rules`.
    pub fn is_any(&self, rules: &[&Rule]) -> bool {
        rules.iter().any(|rule| self.code == rule.code)
    }

    /// Whether it stands for `finding`.
    pub fn stands_for(&self, finding: &Finding) -> bool {
        !finding.id.is_empty() && finding.id == self.finding
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

/// Reason for the difference of a monitor's culprit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MonitorCause {
    /// NaN or infinity is born here.
    NonFinite,
    /// The batch differs.
    Data,
    /// The runs start from different parameters.
    InitialState,
    /// A parameter changed outside the optimizer.
    State,
    /// All gradients differ by one factor.
    Scaled,
    /// The forward pass.
    Forward,
    /// The backward pass.
    Backward,
    /// The reduction of gradients.
    Communication,
    /// The optimizer.
    Optimizer,
}

impl MonitorCause {
    /// The cause as results name it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NonFinite => "non-finite",
            Self::Data => "data",
            Self::InitialState => "initial-state",
            Self::State => "state",
            Self::Scaled => "scaled",
            Self::Forward => "forward",
            Self::Backward => "backward",
            Self::Communication => "communication",
            Self::Optimizer => "optimizer",
        }
    }
}

/// Facts of a culprit that only a monitor knows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MonitorCulprit {
    /// The tensor's name as the candidate's file has it.
    pub name: String,
    /// Stage of the pipeline on its rank.
    pub stage: i64,
    /// Micro step, from 0.
    pub micro_step: u64,
    /// The update that the row belongs to: its step, and one less of a moment that is recorded before the update.
    pub update: i64,
    /// The statistic that differs most; `nans`, `dtype` or `shape` where that is what differs.
    pub statistic: String,
    /// Reason for the difference.
    pub cause: MonitorCause,
    /// The factor that all gradients share; null for other causes.
    pub factor: Option<f64>,
}

impl MonitorCulprit {
    /// The column of a statistic, as [`MonitorCulprit::statistic`] names it.
    pub fn statistic(&self) -> Option<Statistic> {
        Statistic::ALL.into_iter().find(|statistic| statistic.as_str() == self.statistic)
    }
}

/// Facts of a culprit that only operator tests know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OperatorCulprit {
    /// Name of the test, as its unit has it.
    pub table: String,
    /// The operator: `Functional.gelu.0`.
    pub api: String,
    /// Direction; null where the table names the operator only.
    pub direction: Option<Direction>,
    /// Number of the output; null where the table names none.
    pub output: Option<u64>,
    /// The row in the candidate's table.
    pub row: String,
}

/// Phase and operators that took the time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PerformanceCause {
    /// The phase that explains most.
    pub phase: Phase,
    /// Names of operators that add time, the largest first.
    pub operators: Vec<String>,
    /// Part of the step's growth that the phase explains; may pass 1, and be null where a step did not grow.
    pub share: Option<Number>,
}

/// Phase of a step; together they fill it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// A computing kernel runs.
    Computing,
    /// Only communication runs.
    Communication,
    /// Nothing runs.
    Free,
}

impl Phase {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Computing, Self::Communication, Self::Free];

    /// The name as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Computing => "computing",
            Self::Communication => "communication",
            Self::Free => "free",
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

/// A step and rank in words, as findings spell them.
pub fn unit_place(step: u64, rank: Option<u64>) -> String {
    rank.map_or_else(|| format!("step {step}"), |rank| format!("step {step} rank {rank}"))
}
