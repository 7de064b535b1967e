//! A synchronisation of weights: two of its stages at one step and rank.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::any::{AnyUnit, Size};
use super::culprit::unit_place;
use super::evidence::Evidence;
use crate::verdict::{Side, Verdict};

/// Two stages of a synchronisation of weights from a trainer to an engine, at one step and rank.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SyncUnit {
    /// Always `sync`, which tells it from other units.
    pub kind: SyncKind,
    /// Step of the training, or version of the weights.
    pub step: u64,
    /// Rank; null where nothing says.
    pub rank: Option<u64>,
    /// Side that both stages are of; null where each side has one.
    pub side: Option<Side>,
    /// File of the earlier stage; empty where there is none.
    pub from: String,
    /// File of the later stage; empty where there is none.
    pub to: String,
    /// The unit's verdict.
    pub verdict: Verdict,
    /// Tensors compared.
    pub compared: u64,
    /// Of these, equal: bit by bit, or but for rows of padding.
    pub equal: u64,
    /// Names of the tensors that are not, the first ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// Their differences, in the same order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<SyncDifference>,
    /// States that its tensors ended in.
    #[serde(default, skip_serializing_if = "Evidence::is_empty")]
    pub evidence: Evidence,
}

/// Mark of a [`SyncUnit`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SyncKind {
    /// The only one.
    Sync,
}

/// A tensor that is not what was sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SyncDifference {
    /// Its name.
    pub name: String,
    /// Code of the finding that tells it.
    pub code: String,
    /// Rows that differ: the first, and the one behind the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<[u64; 2]>,
    /// Steps that it is behind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lag: Option<u64>,
    /// Name of the tensor whose numbers it holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub with: Option<String>,
}

impl SyncUnit {
    /// A synchronisation of which nothing was compared yet.
    pub fn empty(step: u64, rank: Option<u64>) -> Self {
        Self {
            kind: SyncKind::Sync,
            step,
            rank,
            side: None,
            from: String::new(),
            to: String::new(),
            verdict: Verdict::Skipped,
            compared: 0,
            equal: 0,
            names: Vec::new(),
            differences: Vec::new(),
            evidence: Evidence::default(),
        }
    }
}

impl AnyUnit for SyncUnit {
    fn verdict(&self) -> Verdict {
        self.verdict
    }

    fn set_verdict(&mut self, verdict: Verdict) {
        self.verdict = verdict;
    }

    fn name(&self) -> String {
        match (self.from.as_str(), self.to.as_str()) {
            (from, "") => from.to_owned(),
            // One file of digests may hold many steps.
            (from, to) if from == to => format!("{to} {}", unit_place(self.step, self.rank)),
            (_, to) => to.to_owned(),
        }
    }

    fn evidence(&self) -> Option<&Evidence> {
        Some(&self.evidence)
    }

    fn evidence_mut(&mut self) -> Option<&mut Evidence> {
        Some(&mut self.evidence)
    }

    fn is_unread(&self) -> bool {
        self.compared == 0
    }

    fn size(&self) -> Size {
        Size { values: self.compared, unmatched: self.evidence.unseen(), ..Size::default() }
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![("compared", self.compared), ("equal", self.equal)]
    }
}
