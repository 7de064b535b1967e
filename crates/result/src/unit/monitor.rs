//! The training monitor of a rank, and how documents see it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::any::{AnyUnit, Measured, Size};
use super::culprit::Culprit;
use super::curve::CurveSeries;
use super::dump::UnitRanks;
use super::evidence::Evidence;
use crate::kind::MonitorKind;
use crate::number::Number;
use crate::outcome::RuleOutcome;
use crate::verdict::Verdict;

/// The training monitor of a rank.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MonitorUnit {
    /// The rank; null where ranks are put together.
    pub rank: Option<u64>,
    /// Ranks of both sides that were put together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranks: Option<UnitRanks>,
    /// The unit's verdict.
    pub verdict: Verdict,
    /// Rows compared.
    pub compared: u64,
    /// Rows of the baseline without a partner.
    pub unmatched_baseline: u64,
    /// Rows of the candidate without a partner.
    pub unmatched_candidate: u64,
    /// Parameters whose gradient is noise, so that they are not judged.
    pub noise_driven: u64,
    /// Step from which the runs are apart by growth, and only exact rules hold; null where they never are.
    pub horizon: Option<u64>,
    /// Numbers of steps.
    pub steps: MonitorSteps,
    /// Kinds of tensors that were compared, in the order in which a step computes them.
    pub kinds: Vec<MonitorKind>,
    /// The loosest element type of the baseline: `fp32`, `fp16`, `bf16`, `fp8`.
    pub dtype: String,
    /// States that its rows ended in.
    #[serde(default, skip_serializing_if = "Evidence::is_empty")]
    pub evidence: Evidence,
    /// The first row that breaks a rule.
    pub culprit: Option<Culprit>,
    /// Rules as applied.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<RuleOutcome>,
    /// The worst row of each step and kind, thinned to at most 2000 points.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub series: Vec<MonitorPoint>,
    /// Error of each layer over its limit, step by step, thinned to at most 200 layers and 500 steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heatmap: Option<MonitorMap>,
    /// Both sides' statistic of the culprit over all steps, also after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub culprit_series: Option<CurveSeries>,
}

impl MonitorUnit {
    /// A rank of which nothing was compared yet.
    pub fn empty(rank: Option<u64>) -> Self {
        Self {
            rank,
            ranks: None,
            verdict: Verdict::Skipped,
            compared: 0,
            unmatched_baseline: 0,
            unmatched_candidate: 0,
            noise_driven: 0,
            horizon: None,
            steps: MonitorSteps::default(),
            kinds: Vec::new(),
            dtype: String::new(),
            evidence: Evidence::default(),
            culprit: None,
            rules: Vec::new(),
            series: Vec::new(),
            heatmap: None,
            culprit_series: None,
        }
    }
}

/// Numbers of steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MonitorSteps {
    /// Steps of both sides.
    pub paired: u64,
    /// Steps of the baseline.
    pub baseline: u64,
    /// Steps of the candidate.
    pub candidate: u64,
}

/// The worst row of a kind at a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MonitorPoint {
    /// The step as written.
    pub step: u64,
    /// The kind.
    pub kind: MonitorKind,
    /// Its error.
    pub error: Number,
    /// The row's name on the candidate side.
    pub name: String,
}

/// Errors over their limits, layer by step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MonitorMap {
    /// The first step of each column.
    pub steps: Vec<u64>,
    /// The layers, in the order in which a step computes them.
    pub layers: Vec<String>,
    /// For each layer, the worst error over its limit at each column; null where nothing was compared.
    pub cells: Vec<Vec<Option<Number>>>,
}

impl AnyUnit for MonitorUnit {
    fn verdict(&self) -> Verdict {
        self.verdict
    }

    fn set_verdict(&mut self, verdict: Verdict) {
        self.verdict = verdict;
    }

    fn name(&self) -> String {
        self.rank.map_or_else(|| "all ranks".to_owned(), |rank| format!("rank {rank}"))
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
        self.compared == 0
    }

    fn size(&self) -> Size {
        Size {
            values: self.compared,
            steps: if self.steps.baseline == 0 { self.steps.candidate } else { self.steps.paired },
            unmatched: self.unmatched_baseline + self.unmatched_candidate,
        }
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![
            ("compared", self.compared),
            ("unmatched_baseline", self.unmatched_baseline),
            ("unmatched_candidate", self.unmatched_candidate),
            ("noise_driven", self.noise_driven),
        ]
    }

    fn measured(&self) -> Vec<Measured> {
        let cells = self.heatmap.iter().flat_map(|map| map.cells.iter().flatten().flatten());
        let worst = cells.map(|cell| cell.0).filter(|ratio| !ratio.is_nan()).reduce(f64::max);
        let measured = |value| Measured {
            name: "error_of_limit".into(),
            value: Number(value),
            warn: Some(Number(1.0)),
            fail: None,
        };
        worst.map(measured).into_iter().collect()
    }

    fn culprit(&self) -> Option<&Culprit> {
        self.culprit.as_ref()
    }

    fn forget_culprit(&mut self) {
        self.culprit = None;
    }
}
