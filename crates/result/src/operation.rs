//! `operations.jsonl`: one line per compared tensor or value, for the page and for other tools.

mod wire;
mod written;

use std::borrow::Cow;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::number::Number;
use crate::kind::TensorKind;

/// Result of comparing a tensor or value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Within noise, or equal.
    Agrees,
    /// Beyond noise, or unequal where equality is due.
    Differs,
    /// Paired, and not comparable; `reason` says why.
    NotCompared,
    /// Only the baseline has it.
    MissingOnCandidate,
    /// Only the candidate has it.
    MissingOnBaseline,
}

/// Errors of both sides against the reference run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FromReference {
    /// The baseline's.
    pub baseline: Number,
    /// The candidate's.
    pub candidate: Number,
    /// The side that is off.
    pub off_side: OffSide,
}

/// The side that is off, as a reference run tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OffSide {
    /// The baseline.
    Baseline,
    /// The candidate.
    Candidate,
    /// Both, by about as much.
    Both,
    /// Neither: the error of each is explained by that of the other, or by rounding.
    Neither,
}

impl OffSide {
    /// The word that results use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            Self::Candidate => "candidate",
            Self::Both => "both",
            Self::Neither => "neither",
        }
    }
}

/// Names of the metrics of recorded statistics, in the order of these.
pub const DIFFERENCES: [&str; 4] = ["max_difference", "min_difference", "mean_difference", "norm_difference"];

/// Version of the lines that this program writes; it reads those before it too.
pub const LINES_VERSION: u32 = 2;

/// One line. Its texts are those of the dumps while a run writes it.
#[derive(Clone, Debug, PartialEq)]
pub struct OperationLine<'a> {
    /// The step.
    pub step: u64,
    /// The rank; null where there is only one process.
    pub rank: Option<u64>,
    /// Position of the operation in execution order, from 0.
    pub order: u64,
    /// The operation, as dumped on the candidate side (the baseline's where only it has the operation).
    pub op: Cow<'a, str>,
    /// The module it ran in; empty where that was not recorded.
    pub module: Cow<'a, str>,
    /// The row name, as dumped on the candidate side (the baseline's where only it has the row).
    pub tensor: Cow<'a, str>,
    /// Role in the operation.
    pub kind: TensorKind,
    /// Result of the comparison.
    pub state: State,
    /// Reason where it was not compared or differs in an exact property; empty elsewhere.
    pub reason: Cow<'a, str>,
    /// Error relative to scale.
    pub error: Option<Number>,
    /// The noise limit.
    pub limit: Option<Number>,
    /// Errors of both sides against the reference run, where there is one.
    pub reference: Option<FromReference>,
    /// Further numbers with their names, in the order of [`OperationLine::order_metrics`].
    pub metrics: Vec<(Cow<'a, str>, Number)>,
    /// The baseline's value as it was recorded.
    pub baseline: Option<Recorded<'a>>,
    /// The candidate's.
    pub candidate: Option<Recorded<'a>>,
}

impl OperationLine<'_> {
    /// Puts the further numbers in the order that a line keeps: by name, but the four of recorded statistics as these stand.
    pub fn order_metrics(&mut self) {
        if !are_differences(&self.metrics) {
            self.metrics.sort_by(|one, other| one.0.cmp(&other.0));
        }
    }

    /// The line with texts of its own.
    #[must_use]
    pub fn into_owned(self) -> OperationLine<'static> {
        OperationLine {
            op: owned(self.op),
            module: owned(self.module),
            tensor: owned(self.tensor),
            reason: owned(self.reason),
            metrics: self.metrics.into_iter().map(|(name, number)| (owned(name), number)).collect(),
            baseline: self.baseline.map(Recorded::into_owned),
            candidate: self.candidate.map(Recorded::into_owned),
            step: self.step,
            rank: self.rank,
            order: self.order,
            kind: self.kind,
            state: self.state,
            error: self.error,
            limit: self.limit,
            reference: self.reference,
        }
    }
}

impl Recorded<'_> {
    fn into_owned(self) -> Recorded<'static> {
        Recorded {
            tensor: self.tensor.map(owned),
            dtype: owned(self.dtype),
            shape: Cow::Owned(self.shape.into_owned()),
            values: self.values.into_iter().map(RecordedValue::into_owned).collect(),
        }
    }
}

impl RecordedValue<'_> {
    /// The value with a text of its own.
    #[must_use]
    pub fn into_owned(self) -> RecordedValue<'static> {
        match self {
            Self::Null => RecordedValue::Null,
            Self::Bool(value) => RecordedValue::Bool(value),
            Self::Int(value) => RecordedValue::Int(value),
            Self::Number(value) => RecordedValue::Number(value),
            Self::Text(text) => RecordedValue::Text(owned(text)),
        }
    }
}

fn owned(text: Cow<'_, str>) -> Cow<'static, str> {
    Cow::Owned(text.into_owned())
}

/// Tensor or value of one side, as it was recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded<'a> {
    /// Row name on this side; `None` where it is the line's.
    pub tensor: Option<Cow<'a, str>>,
    /// Element type, or the type of a plain value.
    pub dtype: Cow<'a, str>,
    /// Shape.
    pub shape: Cow<'a, [u64]>,
    /// Largest, smallest and mean value and 2-norm, and a checksum where there is one; or the plain value alone.
    pub values: Vec<RecordedValue<'a>>,
}

/// A recorded number or text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum RecordedValue<'a> {
    /// `null`
    Null,
    /// `true`, `false`
    Bool(bool),
    /// An integer that fits.
    Int(i64),
    /// Any other number.
    Number(Number),
    /// Anything else.
    Text(Cow<'a, str>),
}

impl fmt::Display for RecordedValue<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => formatter.write_str("null"),
            Self::Bool(value) => value.fmt(formatter),
            Self::Int(value) => value.fmt(formatter),
            Self::Number(value) => value.0.fmt(formatter),
            Self::Text(text) => formatter.write_str(text),
        }
    }
}

/// Whether these are the metrics of recorded statistics, all of them.
fn are_differences(metrics: &[(Cow<'_, str>, Number)]) -> bool {
    metrics.iter().map(|(name, _)| &**name).eq(DIFFERENCES)
}

/// Tensor or value of one side, for people.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Shown {
    /// Row name on this side.
    pub tensor: String,
    /// Element type, or the type of a plain value.
    pub dtype: String,
    /// Shape.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shape: Vec<u64>,
    /// max, min, mean, norm; or the plain value alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
}
