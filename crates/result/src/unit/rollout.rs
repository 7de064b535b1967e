//! Rollouts of one step, and how documents see them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::any::{AnyUnit, Measured, Size};
use super::evidence::Evidence;
use crate::number::Number;
use crate::verdict::Verdict;

/// Rollouts of one step: answers of a model in training, with their scores.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RolloutUnit {
    /// Always `rollout`, which tells it from other units.
    pub kind: RolloutKind,
    /// Folder of the files, as it is called.
    pub task: String,
    /// The step.
    pub step: u64,
    /// The unit's verdict.
    pub verdict: Verdict,
    /// Answers of the candidate; of the baseline where the candidate has none.
    pub records: u64,
    /// Answers with a partner.
    pub paired: u64,
    /// Of these, equal word by word.
    pub equal_texts: u64,
    /// Of these, answers to the same truth that have another score.
    #[serde(default, skip_serializing_if = "super::evidence::is_zero")]
    pub scored_apart: u64,
    /// Mean score of the baseline, over prompts of both sides; null where none is judged.
    pub score_baseline: Option<Number>,
    /// Mean score of the candidate.
    pub score_candidate: Option<Number>,
    /// Amount by which the candidate's is lower.
    pub drop: Option<Number>,
    /// Answers of the candidate that are garbled.
    pub garbled: u64,
    /// Answers of the candidate that end in a loop.
    pub looping: u64,
    /// Answers of the candidate without any text.
    pub empty: u64,
    /// States that its answers ended in.
    #[serde(default, skip_serializing_if = "Evidence::is_empty")]
    pub evidence: Evidence,
}

/// Mark of a [`RolloutUnit`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RolloutKind {
    /// The only one.
    Rollout,
}

impl RolloutUnit {
    /// A step of which nothing was compared yet.
    pub fn empty(task: &str, step: u64) -> Self {
        Self {
            kind: RolloutKind::Rollout,
            task: task.to_owned(),
            step,
            verdict: Verdict::Skipped,
            records: 0,
            paired: 0,
            equal_texts: 0,
            scored_apart: 0,
            score_baseline: None,
            score_candidate: None,
            drop: None,
            garbled: 0,
            looping: 0,
            empty: 0,
            evidence: Evidence::default(),
        }
    }
}

impl AnyUnit for RolloutUnit {
    fn verdict(&self) -> Verdict {
        self.verdict
    }

    fn set_verdict(&mut self, verdict: Verdict) {
        self.verdict = verdict;
    }

    fn name(&self) -> String {
        format!("{}/{}", self.task, self.step)
    }

    fn evidence(&self) -> Option<&Evidence> {
        Some(&self.evidence)
    }

    fn evidence_mut(&mut self) -> Option<&mut Evidence> {
        Some(&mut self.evidence)
    }

    fn is_unread(&self) -> bool {
        self.paired == 0
    }

    fn size(&self) -> Size {
        Size { values: self.paired, steps: 0, unmatched: self.evidence.unpaired_count() }
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![
            ("records", self.records),
            ("paired", self.paired),
            ("equal_texts", self.equal_texts),
            ("garbled", self.garbled),
            ("looping", self.looping),
            ("empty", self.empty),
        ]
    }

    fn measured(&self) -> Vec<Measured> {
        let measured = |value| Measured { name: "drop".into(), value, warn: None, fail: None };
        self.drop.map(measured).into_iter().collect()
    }
}
