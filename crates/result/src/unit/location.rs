//! The place of a culprit's error within its tensor.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::number::Number;

/// Shape that an error has within a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorPattern {
    /// Slices of the tensor stand at other indices of an axis.
    Moved,
    /// Every element is off by one factor.
    Scaled,
    /// The wrong elements fill some indices of the axes; everything else agrees.
    Block,
    /// Most of the error lies at some indices of the axes.
    Concentrated,
    /// No index stands out.
    Spread,
}

/// The place of an error within its tensor; measured over all elements.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorLocation {
    /// Lengths of the tensor's axes.
    pub shape: Vec<u64>,
    /// Meanings of the axes, where the operation tells them: `batch`, `head`, `token`, `channel`, `row`, `column`; empty texts
    /// elsewhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// Elements that are off by more than the limit.
    pub wrong: u64,
    /// Elements of the tensor.
    pub elements: u64,
    /// Shape of the error.
    pub pattern: ErrorPattern,
    /// The factor by which a scaled tensor is off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub factor: Option<Number>,
    /// Axes along which some indices stand out, in the order of the shape.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub axes: Vec<ErrorAxis>,
    /// The error over the two most telling axes.
    pub map: ErrorMap,
}

/// Indices of an axis that hold the error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorAxis {
    /// The axis, from 0.
    pub axis: u64,
    /// Length of the axis.
    pub len: u64,
    /// Number of indices that hold the error.
    pub count: u64,
    /// The first and last of each run of such indices, at most [`ErrorAxis::RUNS`].
    pub runs: Vec<(u64, u64)>,
    /// Distance between single indices that stand at equal distances; 0 where they do not.
    #[serde(default)]
    pub every: u64,
    /// Distance by which indices moved up along the axis, where that is all that happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rolled: Option<u64>,
    /// Share of the squared error at these indices.
    pub share: Number,
}

impl ErrorAxis {
    /// Runs that are listed.
    pub const RUNS: usize = 8;
}

/// Root mean square error relative to the tensor's root mean square, over two axes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorMap {
    /// The axis from top to bottom; null for a tensor of one axis.
    pub vertical: Option<u64>,
    /// The axis from left to right.
    pub horizontal: u64,
    /// Rows of cells, from index 0 on; each cell covers as many indices as it needs.
    pub cells: Vec<Vec<Number>>,
}
