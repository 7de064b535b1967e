//! Log-probabilities by token, and how documents see them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::any::{AnyUnit, Measured, Size};
use super::evidence::Evidence;
use crate::number::Number;
use crate::verdict::Verdict;

/// Log-probabilities of an engine held against a trainer's, or of one side against the other's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LogprobsUnit {
    /// `logprobs`.
    pub kind: LogprobsKind,
    /// Records that are held against each other.
    pub side: LogprobsSide,
    /// Quantity that both sides are held against each other by; absent where a side is held against itself.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub quantity: String,
    /// The step, where there is one only; null otherwise.
    pub step: Option<u64>,
    /// The rank that is wrong, or the only one; null otherwise.
    pub rank: Option<u64>,
    /// The unit's verdict.
    pub verdict: Verdict,
    /// Tokens that were judged.
    pub tokens: u64,
    /// Tokens that a mask leaves out.
    pub masked: u64,
    /// Answers that were measured.
    pub sequences: u64,
    /// Answers that are loud where the others are not.
    pub sequences_off: u64,
    /// Mean |a - b| in nats; null where probabilities alone are known.
    pub mean_abs: Option<Number>,
    /// Mean difference of the probabilities; null where nothing was measured.
    pub prob_mean: Option<Number>,
    /// Estimate of the KL divergence.
    pub k3: Option<Number>,
    /// Mean a - b in nats.
    pub bias: Option<Number>,
    /// Share of tokens whose ratio of probabilities lies outside 1/1.2 to 1.2.
    pub outside: Option<Number>,
    /// Noise that limits are multiples of, in nats.
    pub noise: Number,
    /// Origin of the noise.
    pub noise_from: NoiseSource,
    /// The step from which on the engine's weights are old; null otherwise.
    pub first_step: Option<u64>,
    /// The position in answers from which on they are off; null otherwise.
    pub first_position: Option<u64>,
    /// Measures by step.
    pub by_step: Vec<StepLevel>,
    /// Measures by rank, where there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_rank: Vec<RankLevel>,
    /// Cause, by its code; null where none is known.
    pub cause: Option<String>,
    /// Factor between both sides' log-probabilities; null for other causes.
    pub factor: Option<Number>,
    /// Places by which an array is shifted; null for other causes.
    pub shift: Option<i64>,
    /// Token whose row is damaged; null for other causes.
    pub token: Option<i64>,
    /// The first token that is clearly off; absent where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_token: Option<LoudToken>,
    /// Answers by parts, for the picture; the loudest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub map: Vec<MapRow>,
    /// Account of its answers.
    #[serde(default, skip_serializing_if = "Evidence::is_empty")]
    pub evidence: Evidence,
}

/// Word by which a unit of log-probabilities is told from others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LogprobsKind {
    /// Log-probabilities.
    #[default]
    Logprobs,
}

/// Records that are held against each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LogprobsSide {
    /// Engine and trainer of the baseline.
    Baseline,
    /// Engine and trainer of the candidate.
    Candidate,
    /// The candidate's and the baseline's.
    Across,
}

impl LogprobsSide {
    /// The name as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            Self::Candidate => "candidate",
            Self::Across => "across",
        }
    }
}

/// Origin of the noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum NoiseSource {
    /// The policy.
    Policy,
    /// The baseline's own engine and trainer.
    Baseline,
    /// Rounding of bfloat16, as measured on small models.
    Default,
}

/// Measures of a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepLevel {
    /// Its number; null where only a file's name tells it.
    pub step: Option<u64>,
    /// Its name, where it has no number.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Tokens that were judged.
    pub tokens: u64,
    /// Mean |a - b| in nats.
    pub mean_abs: Option<Number>,
    /// Mean difference of the probabilities.
    pub prob_mean: Option<Number>,
    /// Estimate of the KL divergence.
    pub k3: Option<Number>,
}

/// Measures of a rank.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RankLevel {
    /// The rank; null where no file names one.
    pub rank: Option<u64>,
    /// Tokens that were judged.
    pub tokens: u64,
    /// Mean |a - b| in nats.
    pub mean_abs: Option<Number>,
}

/// A token that is clearly off.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoudToken {
    /// Its step; null where only a file's name tells it.
    pub step: Option<u64>,
    /// Its rank.
    pub rank: Option<u64>,
    /// Its answer.
    pub sequence: u64,
    /// Its position in the answer, from 0.
    pub position: u64,
    /// Log-probability of the engine, or of the candidate.
    pub a: Number,
    /// Log-probability of the trainer, or of the baseline.
    pub b: Number,
}

/// An answer of the picture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MapRow {
    /// Its step; null where only a file's name tells it.
    pub step: Option<u64>,
    /// Its rank.
    pub rank: Option<u64>,
    /// Its number.
    pub sequence: u64,
    /// Whether it is loud where others are not.
    pub is_loud: bool,
    /// Mean |a - b| of its parts, in order; null where nothing is judged.
    pub parts: Vec<Option<Number>>,
}

impl LogprobsUnit {
    /// A unit of nothing, whose limits are multiples of `noise`.
    pub fn empty(side: LogprobsSide, (noise, noise_from): (f64, NoiseSource)) -> Self {
        Self {
            kind: LogprobsKind::Logprobs,
            side,
            quantity: String::new(),
            step: None,
            rank: None,
            verdict: Verdict::Skipped,
            tokens: 0,
            masked: 0,
            sequences: 0,
            sequences_off: 0,
            mean_abs: None,
            prob_mean: None,
            k3: None,
            bias: None,
            outside: None,
            noise: Number(noise),
            noise_from,
            first_step: None,
            first_position: None,
            by_step: Vec::new(),
            by_rank: Vec::new(),
            cause: None,
            factor: None,
            shift: None,
            token: None,
            first_token: None,
            map: Vec::new(),
            evidence: Evidence::default(),
        }
    }
}

impl AnyUnit for LogprobsUnit {
    fn verdict(&self) -> Verdict {
        self.verdict
    }

    fn set_verdict(&mut self, verdict: Verdict) {
        self.verdict = verdict;
    }

    fn name(&self) -> String {
        match (self.side, self.quantity.as_str()) {
            (LogprobsSide::Candidate, _) => "logprobs".to_owned(),
            (side, "") => format!("logprobs {}", side.as_str()),
            (side, quantity) => format!("logprobs {} {quantity}", side.as_str()),
        }
    }

    fn evidence(&self) -> Option<&Evidence> {
        Some(&self.evidence)
    }

    fn evidence_mut(&mut self) -> Option<&mut Evidence> {
        Some(&mut self.evidence)
    }

    fn is_unread(&self) -> bool {
        self.tokens == 0
    }

    fn size(&self) -> Size {
        Size { values: self.tokens, steps: 0, unmatched: 0 }
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![
            ("tokens", self.tokens),
            ("masked", self.masked),
            ("sequences", self.sequences),
            ("sequences_off", self.sequences_off),
        ]
    }

    fn measured(&self) -> Vec<Measured> {
        let measured = |name: &str, value: Option<Number>| {
            value.map(|value| Measured { name: name.to_owned(), value, warn: None, fail: None })
        };
        [measured("mean_abs", self.mean_abs), measured("k3", self.k3), measured("prob_mean", self.prob_mean)]
            .into_iter()
            .flatten()
            .collect()
    }
}
