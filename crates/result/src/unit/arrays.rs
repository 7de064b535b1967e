//! An array, and how documents see it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::any::{AnyUnit, Measured, Size};
use super::culprit::Culprit;
use super::evidence::Evidence;
use crate::kind::ArrayKind;
use crate::number::Number;
use crate::verdict::Verdict;

/// An array of both sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ArrayUnit {
    /// Its file, and behind a colon its name in it.
    pub array: String,
    /// Its kind.
    pub kind: ArrayKind,
    /// The unit's verdict.
    pub verdict: Verdict,
    /// Rows compared.
    pub compared: u64,
    /// Rows of both sides that were not compared.
    pub not_compared: u64,
    /// States that its rows ended in.
    #[serde(default, skip_serializing_if = "Evidence::is_empty")]
    pub evidence: Evidence,
    /// ‖c−b‖₂/‖b‖₂ over the finite elements; absent for pictures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Number>,
    /// The error that rounding explains; absent where it does not judge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Number>,
    /// Rows of an embedding that differ, the first of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rows: Vec<u64>,
    /// Number of these rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows_differing: Option<u64>,
    /// Smallest cosine of a row of an embedding with its partner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least_cosine: Option<Number>,
    /// Share of the ten nearest neighbours of a row that are the same on both sides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub neighbours: Option<Number>,
    /// Peak signal-to-noise ratio of a picture in dB; infinite for equal ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub psnr: Option<Number>,
    /// The array, where it is wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub culprit: Option<Culprit>,
}

impl ArrayUnit {
    /// An array of which nothing was compared yet.
    pub fn empty(array: &str, kind: ArrayKind) -> Self {
        Self {
            array: array.to_owned(),
            kind,
            verdict: Verdict::Skipped,
            compared: 0,
            not_compared: 0,
            evidence: Evidence::default(),
            error: None,
            limit: None,
            rows: Vec::new(),
            rows_differing: None,
            least_cosine: None,
            neighbours: None,
            psnr: None,
            culprit: None,
        }
    }
}

impl AnyUnit for ArrayUnit {
    fn verdict(&self) -> Verdict {
        self.verdict
    }

    fn set_verdict(&mut self, verdict: Verdict) {
        self.verdict = verdict;
    }

    fn name(&self) -> String {
        self.array.clone()
    }

    fn evidence(&self) -> Option<&Evidence> {
        Some(&self.evidence)
    }

    fn evidence_mut(&mut self) -> Option<&mut Evidence> {
        Some(&mut self.evidence)
    }

    fn is_unread(&self) -> bool {
        self.compared + self.not_compared == 0
    }

    fn size(&self) -> Size {
        Size { values: self.compared, unmatched: self.not_compared, ..Size::default() }
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![("compared", self.compared), ("not_compared", self.not_compared)]
    }

    fn measured(&self) -> Vec<Measured> {
        let measured = |name: &str, value| Measured { name: name.into(), value, warn: None, fail: None };
        let share = self.error.zip(self.limit).map(|(error, limit)| Measured {
            warn: Some(Number(1.0)),
            ..measured("error_of_limit", Number(error.0 / limit.0))
        });
        let psnr = self.psnr.filter(|psnr| psnr.0.is_finite()).map(|psnr| measured("psnr", psnr));
        share.into_iter().chain(psnr).filter(|measured| measured.value.0.is_finite()).collect()
    }

    fn culprit(&self) -> Option<&Culprit> {
        self.culprit.as_ref()
    }

    fn forget_culprit(&mut self) {
        self.culprit = None;
    }
}
