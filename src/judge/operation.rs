//! `operations.jsonl`: one line per compared tensor or value, for the page and for other tools.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::number::Number;
use crate::read::dump::TensorKind;

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

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OperationLine {
    /// The step.
    pub step: u64,
    /// The rank; null where there is only one process.
    pub rank: Option<u64>,
    /// Position of the operation in execution order, from 0.
    pub order: u64,
    /// The operation, as dumped on the candidate side (the baseline's where only it has the operation).
    pub op: String,
    /// The module it ran in; empty where that was not recorded.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub module: String,
    /// The row name, as dumped on the candidate side (the baseline's where only it has the row).
    pub tensor: String,
    /// Role in the operation.
    pub kind: TensorKind,
    /// Result of the comparison.
    pub state: State,
    /// Reason where it was not compared or differs in an exact property; empty elsewhere.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Error relative to scale.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Number>,
    /// The noise limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Number>,
    /// Errors of both sides against the reference run, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<FromReference>,
    /// Further numbers by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metrics: BTreeMap<String, Number>,
    /// Both sides: element type, shape, and the four statistics as recorded.
    pub baseline: Option<Shown>,
    /// The candidate's.
    pub candidate: Option<Shown>,
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
