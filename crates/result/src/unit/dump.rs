//! A step and rank of a dump, and how documents see it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::any::{AnyUnit, Measured, Size};
use super::culprit::{Culprit, Place, unit_place};
use super::evidence::Evidence;
use crate::number::Number;
use crate::outcome::RuleOutcome;
use crate::verdict::Verdict;

/// A step and rank of a dump.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DumpUnit {
    /// The step, from its folder's name.
    pub step: u64,
    /// The rank; null for `proc*` folders.
    pub rank: Option<u64>,
    /// Ranks that were put together, where both sides cut the model differently.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranks: Option<UnitRanks>,
    /// The tool that recorded it, where that is not msprobe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Kind of data that was compared: `tensor`, `statistics`, `md5`, `xor`.
    pub data: String,
    /// The unit's verdict.
    pub verdict: Verdict,
    /// Tensors and values compared.
    pub compared: u64,
    /// Parameters of the candidate without a partner.
    pub unmatched_candidate: u64,
    /// Parameters of the baseline without a partner.
    pub unmatched_baseline: u64,
    /// Paired, and not comparable.
    pub not_compared: u64,
    /// States of all values of both sides.
    #[serde(default, skip_serializing_if = "Evidence::is_empty")]
    pub evidence: Evidence,
    /// The first operation that adds error, or the first leaf input or exact property that differs.
    pub culprit: Option<Culprit>,
    /// The next operation that adds error of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runner_up: Option<Culprit>,
    /// Unit that the error came from, where it was not made here.
    pub inherited_from: Option<Place>,
    /// Operations that msprobe's `overflow_check` names at this step and rank, by its rule; absent where that was not asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub msprobe_overflow: Option<Vec<String>>,
    /// Rules as applied, worst values first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<RuleOutcome>,
    /// Error against execution order, thinned, extremes kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub profile: Vec<ProfilePoint>,
}

impl DumpUnit {
    /// A unit of which nothing could be read.
    pub fn unread(step: u64, rank: Option<u64>) -> Self {
        Self {
            step,
            rank,
            ranks: None,
            tool: None,
            data: String::new(),
            verdict: Verdict::Incomplete,
            compared: 0,
            unmatched_candidate: 0,
            unmatched_baseline: 0,
            not_compared: 0,
            evidence: Evidence::default(),
            culprit: None,
            runner_up: None,
            inherited_from: None,
            msprobe_overflow: None,
            rules: Vec::new(),
            profile: Vec::new(),
        }
    }
}

/// Ranks of both sides that were put together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnitRanks {
    /// Those of the trusted run.
    pub baseline: Vec<u64>,
    /// Those of the run being judged.
    pub candidate: Vec<u64>,
}

/// One point of the divergence profile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProfilePoint {
    /// Position in execution order, from 0.
    pub order: u64,
    /// The operation.
    pub op: String,
    /// The largest error of its outputs, relative to scale.
    pub error: Number,
    /// The noise limit there.
    pub limit: Number,
    /// Whether the operation is suspected of adding error.
    #[serde(default)]
    pub suspect: bool,
}

impl AnyUnit for DumpUnit {
    fn verdict(&self) -> Verdict {
        self.verdict
    }

    fn set_verdict(&mut self, verdict: Verdict) {
        self.verdict = verdict;
    }

    fn name(&self) -> String {
        unit_place(self.step, self.rank)
    }

    fn rules(&self) -> &[RuleOutcome] {
        &self.rules
    }

    fn evidence(&self) -> Option<&Evidence> {
        Some(&self.evidence)
    }

    fn evidence_mut(&mut self) -> Option<&mut Evidence> {
        Some(&mut self.evidence)
    }

    fn is_unread(&self) -> bool {
        self.data.is_empty()
    }

    fn size(&self) -> Size {
        let unmatched = self.unmatched_baseline + self.unmatched_candidate + self.not_compared;
        Size { values: self.compared, unmatched, ..Size::default() }
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![
            ("compared", self.compared),
            ("unmatched_baseline", self.unmatched_baseline),
            ("unmatched_candidate", self.unmatched_candidate),
            ("not_compared", self.not_compared),
            ("culprit_spread", self.culprit.as_ref().map_or(0, |culprit| culprit.spread)),
        ]
    }

    /// The largest error of its operations in parts of its noise limit (`error_of_limit`), which moves while the unit
    /// passes; and the numbers of its culprit.
    fn measured(&self) -> Vec<Measured> {
        let shares = self.profile.iter().map(|point| point.error.0 / point.limit.0);
        let worst = shares.filter(|share| !share.is_nan()).reduce(f64::max).map(|worst| Measured {
            name: "error_of_limit".into(),
            value: Number(worst),
            warn: Some(Number(1.0)),
            fail: None,
        });
        worst.into_iter().chain(self.culprit.iter().flat_map(|culprit| of_culprit(&culprit.metrics))).collect()
    }

    fn culprit(&self) -> Option<&Culprit> {
        self.culprit.as_ref()
    }

    fn forget_culprit(&mut self) {
        self.culprit = None;
    }
}

/// The numbers of a culprit: `culprit_error`, `culprit_received` ...; its noise limit is the limit of its error.
fn of_culprit(metrics: &BTreeMap<String, Number>) -> Vec<Measured> {
    let limit = metrics.get("limit").copied();
    let measured = |(metric, value): (&String, &Number)| Measured {
        name: format!("culprit_{metric}"),
        value: *value,
        warn: None,
        fail: limit.filter(|_| metric == "error"),
    };
    metrics.iter().filter(|(metric, _)| *metric != "limit").map(measured).collect()
}
