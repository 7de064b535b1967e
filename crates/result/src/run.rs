//! Facts that one run shows by itself: the invariants that were looked at, the course of its updates to its end, and its gradient
//! norms over the layers.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::number::Number;
pub use crate::kind::EndKind;

/// A rule that every sound run keeps, whatever it trains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Invariant {
    /// Copies of a parameter are equal on all ranks.
    Replicas,
    /// A parameter with a gradient moves.
    ParametersMove,
    /// A trainable parameter whose module ran has a gradient.
    Gradients,
    /// Gradients are those of one update: what was added up before has been reset.
    GradientSums,
    /// Dropout and batch norm are in the mode of what is done.
    Modes,
    /// Ranks and steps read different samples.
    Data,
    /// The learning rate is not 0, and follows the schedule that is declared.
    LearningRate,
    /// Updates take place.
    Updates,
    /// The gradient norm is finite and not 0.
    GradientNorm,
    /// The loss is finite, moves, and does not end high.
    Curve,
    /// Steps go on taking as long.
    Throughput,
    /// Norms do not grow layer by layer.
    NormsByLayer,
    /// Answers are texts that end by themselves.
    Generations,
    /// The run came to its end.
    EndOfRun,
}

impl Invariant {
    /// All of them, in the order of reports.
    pub const ALL: [Self; 14] = [
        Self::Replicas,
        Self::ParametersMove,
        Self::Gradients,
        Self::GradientSums,
        Self::Modes,
        Self::Data,
        Self::LearningRate,
        Self::Updates,
        Self::GradientNorm,
        Self::Curve,
        Self::Throughput,
        Self::NormsByLayer,
        Self::Generations,
        Self::EndOfRun,
    ];

    /// The name as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Replicas => "replicas",
            Self::ParametersMove => "parameters-move",
            Self::Gradients => "gradients",
            Self::GradientSums => "gradient-sums",
            Self::Modes => "modes",
            Self::Data => "data",
            Self::LearningRate => "learning-rate",
            Self::Updates => "updates",
            Self::GradientNorm => "gradient-norm",
            Self::Curve => "curve",
            Self::Throughput => "throughput",
            Self::NormsByLayer => "norms-by-layer",
            Self::Generations => "generations",
            Self::EndOfRun => "end-of-run",
        }
    }
}

/// State of an invariant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InvariantState {
    /// Nothing that was recorded could show it.
    NotLooked,
    /// It holds in all that was looked at.
    Held,
    /// A finding says where it does not hold.
    Broken,
}

impl InvariantState {
    /// The word as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotLooked => "not-looked",
            Self::Held => "held",
            Self::Broken => "broken",
        }
    }
}

/// Outcome of looking at an invariant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Looked {
    /// Its name.
    pub invariant: Invariant,
    /// Its state.
    pub state: InvariantState,
    /// Numbers of things that were looked at, by their names (`parameters`, `ranks`, `steps`).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counts: BTreeMap<String, u64>,
    /// These numbers in words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub over: String,
    /// Code of the reason why it was not looked at; empty where it was.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// That reason as a sentence.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub because: String,
}

impl Looked {
    /// An invariant that nothing recorded could show, for a reason.
    pub fn not(invariant: Invariant, reason: &str) -> Self {
        let reason = reason.to_owned();
        let (counts, over, because) = Default::default();
        Self { invariant, state: InvariantState::NotLooked, counts, over, reason, because }
    }

    /// An invariant that was looked at, over so many things by their names.
    pub fn over<'a>(invariant: Invariant, holds: bool, counts: impl IntoIterator<Item = (&'a str, usize)>) -> Self {
        let state = if holds { InvariantState::Held } else { InvariantState::Broken };
        let counts = counts.into_iter().map(|(name, count)| (name.to_owned(), count as u64)).collect();
        Self { state, counts, ..Self::not(invariant, "") }
    }
}

/// The course of both runs, as their logs tell it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Timeline {
    /// The candidate's.
    pub candidate: Course,
    /// The baseline's; null for a run without one.
    pub baseline: Option<Course>,
}

/// The course of a run: the updates that did not happen, the first values that are not finite, and the end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Course {
    /// Skipped updates, those included that a falling loss scale excuses; null where nothing tells.
    pub skipped: Option<u64>,
    /// Step of the first of them.
    pub first_skip: Option<u64>,
    /// The loss scale at the end.
    pub scale_last: Option<Number>,
    /// First step whose gradient norm is not finite although its update took place.
    pub first_non_finite_gradient: Option<u64>,
    /// First step whose loss is not finite.
    pub first_non_finite_loss: Option<u64>,
    /// Last step that was logged.
    pub last_step: Option<u64>,
    /// The error that ended the run; null where none did.
    pub ended: Option<Ended>,
    /// Loss scale by step, where it changed, thinned.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scale: Vec<(u64, Number)>,
    /// Events in the order of time, at most [`Course::MOST_EVENTS`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<Event>,
}

impl Course {
    /// Events that are kept.
    pub const MOST_EVENTS: usize = 200;
    /// Changes of the loss scale that are kept.
    pub const MOST_SCALES: usize = 500;
}

/// An event of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// Its step.
    pub step: u64,
    /// Its kind.
    pub kind: EventKind,
}

/// Kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EventKind {
    /// An update was skipped.
    Skip,
    /// The loss scale rose.
    ScaleUp,
    /// The loss scale fell.
    ScaleDown,
    /// The gradient norm was not finite.
    GradientNonFinite,
    /// The loss was not finite.
    LossNonFinite,
    /// The run ended in an error.
    End,
}

/// The error that ended a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ended {
    /// Its kind.
    pub kind: EndKind,
    /// The rank that failed; null where the log does not say.
    pub rank: Option<u64>,
    /// The step that the error itself names.
    pub step: Option<u64>,
    /// File of the innermost frame.
    pub file: Option<String>,
    /// Line in that file.
    pub line: Option<u64>,
    /// Code of the error (`EZ9999`, `ERR02200`).
    pub code: Option<String>,
    /// Kernel that failed, as the error of the device names it (`MatMul_op7`).
    pub kernel: Option<String>,
    /// The message, its first line.
    pub message: String,
    /// Last step that was logged before it.
    pub last_step: Option<u64>,
}

/// Gradient norms over the layers of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Growth {
    /// Form of their growth.
    pub shape: GrowthShape,
    /// Layers with a norm.
    pub layers: u64,
    /// Factor from one layer to the next.
    pub per_layer: Option<Number>,
    /// The layer where they jump.
    pub at: Option<u64>,
    /// The largest relative difference of a layer; of one run the largest norm of a layer over the smallest.
    pub worst: Number,
    /// Each layer with its difference, or of one run its norm.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_layer: Vec<(u64, Number)>,
}

/// Form in which norms, or their differences, grow over layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GrowthShape {
    /// By a factor a layer.
    Amplification,
    /// At one layer.
    Jump,
    /// Otherwise.
    Mixed,
    /// Not at all.
    Flat,
}
