//! Kinds of the values that artifacts record: in an operation, on a curve, in a monitor, an operator test, an evaluation.
//!
//! Readers recognise them, and results name them.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Role of a tensor in its operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TensorKind {
    /// An argument.
    Input,
    /// A module's parameter.
    Parameter,
    /// A result.
    Output,
    /// A parameter's gradient.
    ParameterGradient,
    /// A value saved by hand (level `debug`).
    Value,
}

/// Kind of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ArrayKind {
    /// Numbers.
    Array,
    /// A vector per row.
    Embedding,
    /// A picture.
    Image,
}

impl ArrayKind {
    /// The kind as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Array => "array",
            Self::Embedding => "embedding",
            Self::Image => "image",
        }
    }
}

/// Kind of a metric, which decides how it is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// A training loss.
    Loss,
    /// A part of the loss that is noisier than the whole: load balancing, z-loss, KL terms.
    AuxiliaryLoss,
    /// The norm of the gradient.
    GradNorm,
    /// The learning rate.
    LearningRate,
    /// A loss measured on held-out data.
    EvalLoss,
    /// A score measured on held-out data; more is better.
    EvalScore,
    /// A reward of reinforcement learning; more is better.
    Reward,
    /// The loss of a value function.
    ValueLoss,
    /// A coefficient or setting that is logged at every step.
    Constant,
    /// Distance between the probabilities of the rollout engine and of the training engine.
    Mismatch,
    /// A value whose mean is about 0 by construction: a policy loss, normalised advantages.
    Centred,
    /// Entropy of the policy.
    Entropy,
    /// Kullback-Leibler divergence from an earlier or reference policy.
    Kl,
    /// Length of answers.
    Length,
    /// Share of answers that were cut at the longest length.
    Truncation,
    /// Share of tokens whose probability ratio was clipped.
    ClipFraction,
    /// Time per step, in any unit; less is better.
    Time,
    /// Throughput; more is better.
    Throughput,
    /// Memory; less is better.
    Memory,
    /// Anything else: shown, not judged.
    Other,
}

impl Role {
    /// Whether a trainer that logs every k steps writes the mean over the window, not the step's own value.
    pub fn is_averaged(self) -> bool {
        matches!(self, Self::Loss | Self::AuxiliaryLoss | Self::ValueLoss)
    }

    /// Whether the metric measures speed or size of a run rather than its results.
    pub fn is_performance(self) -> bool {
        matches!(self, Self::Time | Self::Throughput | Self::Memory)
    }

    /// Whether a rule judges it.
    pub fn is_judged(self) -> bool {
        !self.is_performance() && self != Self::Other
    }
}

/// Direction of a metric that is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// Less is better.
    Lower,
    /// More is better.
    Higher,
}

/// A kind of tensor, in the order in which a step computes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "MonitorKind")]
pub enum MonitorKind {
    /// A parameter before the update.
    ParamOrigin,
    /// An activation: input or output of a module.
    Actv,
    /// The gradient of an activation.
    ActvGrad,
    /// The gradient of a parameter before communication.
    GradUnreduced,
    /// The gradient of a parameter as the optimizer sees it.
    GradReduced,
    /// Data of a communication operator.
    Comm,
    /// First moment of the optimizer.
    ExpAvg,
    /// Second moment of the optimizer.
    ExpAvgSq,
    /// A parameter after the update.
    ParamUpdated,
}

impl MonitorKind {
    /// The kind as results name it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ParamOrigin => "param_origin",
            Self::Actv => "actv",
            Self::ActvGrad => "actv_grad",
            Self::GradUnreduced => "grad_unreduced",
            Self::GradReduced => "grad_reduced",
            Self::Comm => "comm",
            Self::ExpAvg => "exp_avg",
            Self::ExpAvgSq => "exp_avg_sq",
            Self::ParamUpdated => "param_updated",
        }
    }

    /// Whether it is a gradient.
    pub fn is_gradient(self) -> bool {
        matches!(self, Self::ActvGrad | Self::GradUnreduced | Self::GradReduced)
    }

    /// Whether it is a moment of the optimizer.
    pub fn is_moment(self) -> bool {
        matches!(self, Self::ExpAvg | Self::ExpAvgSq)
    }

    /// Whether it is a parameter.
    pub fn is_parameter(self) -> bool {
        matches!(self, Self::ParamOrigin | Self::ParamUpdated)
    }

    /// Whether it is an activation or its gradient.
    pub fn is_activation(self) -> bool {
        matches!(self, Self::Actv | Self::ActvGrad)
    }
}

/// Kind of an error that ends a run; the first that applies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EndKind {
    /// A device or the host has no memory left.
    OutOfMemory,
    /// The process was killed.
    Killed,
    /// A collective waited in vain.
    CollectiveTimeout,
    /// The device reports an error.
    DeviceError,
    /// Python raised an exception.
    #[default]
    PythonError,
}

impl EndKind {
    /// The word as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OutOfMemory => "out-of-memory",
            Self::Killed => "killed",
            Self::CollectiveTimeout => "collective-timeout",
            Self::DeviceError => "device-error",
            Self::PythonError => "python-error",
        }
    }
}

/// A statistic with a number that can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Statistic {
    /// The Euclidean norm.
    Norm,
    /// The smallest element.
    Min,
    /// The largest element.
    Max,
    /// The mean.
    Mean,
}

impl Statistic {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Norm, Self::Min, Self::Max, Self::Mean];

    /// The name of its column.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Norm => "norm",
            Self::Min => "min",
            Self::Max => "max",
            Self::Mean => "mean",
        }
    }
}

/// Direction in which an operator computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// The forward pass.
    Forward,
    /// The backward pass.
    Backward,
}

impl Direction {
    /// The word in names of rows.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::Backward => "backward",
        }
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Identity of a sample within its task and filter.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum SampleId {
    /// A document's number.
    Number(u64),
    /// A document's number and which of several generations, or a name: `3/1`.
    Text(String),
}

/// The name of a metric, with its rank where ranks differ.
pub fn curve_name(metric: &str, rank: Option<u64>) -> String {
    rank.map_or_else(|| metric.to_owned(), |rank| format!("{metric} (rank {rank})"))
}
