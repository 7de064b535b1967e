//! Observations: what was measured, before any policy.
//!
//! Verdicts are made of them, and of the accounts of evidence, alone (`judge/settle.rs`); whatever a result says of findings
//! and verdicts beside them is made again whenever it is read.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::finding::Finding;
use crate::verdict::CheckId;

/// A difference, an absence or a remark as it was measured, with what it is about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Observation {
    /// The check in whose verdict it counts; `artifacts` where it counts in that of the run alone.
    pub of: CheckId,
    /// Units of the check that it is about, by their places; none where it is about the check as a whole, or about an item.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub units: Vec<usize>,
    /// Item of the check that it is about, by its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<usize>,
    /// Rule, place and numbers; its severity is the one that the numbers give, whatever a policy says.
    #[serde(flatten)]
    pub finding: Finding,
}

impl Observation {
    /// An observation about a check as a whole.
    pub fn of_check(of: CheckId, finding: Finding) -> Self {
        Self { of, units: Vec::new(), item: None, finding }
    }

    /// An observation about the unit at `place` of its check.
    pub fn of_unit(of: CheckId, place: usize, finding: Finding) -> Self {
        Self { of, units: vec![place], item: None, finding }
    }

    /// An observation about the item at `place` of its check.
    pub fn of_item(of: CheckId, place: usize, finding: Finding) -> Self {
        Self { of, units: Vec::new(), item: Some(place), finding }
    }
}
