//! A metric of several runs of each side, and how documents see it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::any::{AnyUnit, Size};
use super::evidence::Evidence;
use crate::kind::Role;
use crate::number::Number;
use crate::verdict::Verdict;

/// A metric of several runs of each side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SampleUnit {
    /// Canonical name of the metric.
    pub metric: String,
    /// Runs of the baseline in the tests.
    pub n: u64,
    /// Runs of the candidate in the tests.
    pub m: u64,
    /// Whether runs of one seed were paired.
    pub seeds: Seeds,
    /// Task of an evaluation; absent for a curve.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// Filter of an evaluation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
    /// Role of a curve's metric.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// Rank that logged it, where ranks differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<u64>,
    /// Steps of a curve: those of all runs, and the median number of a run of each side.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<SampleSteps>,
    /// The unit's verdict.
    pub verdict: Verdict,
    /// Account of the runs.
    #[serde(default, skip_serializing_if = "Evidence::is_empty")]
    pub evidence: Evidence,
    /// Rules as tested.
    pub rules: Vec<SampleRule>,
}

/// Seeds of the runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Seeds {
    /// Runs of one seed are pairs.
    Paired,
    /// Every run has its own, or none is known.
    Own,
}

/// Steps of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SampleSteps {
    /// Steps that all runs have.
    pub common: u64,
    /// Median number of steps of a run of the baseline.
    pub baseline: u64,
    /// Median number of steps of a run of the candidate.
    pub candidate: u64,
}

/// One rule about the numbers of all runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SampleRule {
    /// Stable name: `level`, `tail`, `best`, `steps_to_target`, `spread`, `spikes`, `grad_norm`, `speed`, `score`.
    pub rule: String,
    /// Numbers of the baseline.
    pub n: u64,
    /// Numbers of the candidate.
    pub m: u64,
    /// The test; null where there are too few runs.
    pub test: Option<String>,
    /// Estimated shift of the candidate, as a part of the baseline's value; of spikes their number in a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<Number>,
    /// Drop of a score in the margin's unit, positive where the candidate is worse; absent where `effect` says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drop: Option<Number>,
    /// Interval that holds the shift with a probability of 1 - alpha.
    pub interval: Option<[Number; 2]>,
    /// Two-sided probability of such a shift by chance.
    pub p_value: Option<Number>,
    /// The same, corrected for the number of tests in the run.
    pub p_adjusted: Option<Number>,
    /// Shift that matters.
    pub limit: Number,
    /// False alarms of the verdict, all rules together.
    pub false_alarms: Number,
    /// Smallest true shift that this test finds with the power.
    pub detectable: Option<Number>,
    /// Share of shifts of that size that are found.
    pub power: Number,
    /// Runs of each side of which a shift as estimated would be found; null where that is not asked.
    pub needed: Option<u64>,
    /// The value whose first step is compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Number>,
    /// Number of each run of the baseline, and of the candidate, in the order of `samples.runs`.
    pub numbers: [Vec<Number>; 2],
    /// Verdict of the rule.
    pub verdict: Verdict,
}

impl AnyUnit for SampleUnit {
    fn verdict(&self) -> Verdict {
        self.verdict
    }

    fn set_verdict(&mut self, verdict: Verdict) {
        self.verdict = verdict;
    }

    fn evidence(&self) -> Option<&Evidence> {
        Some(&self.evidence)
    }

    fn evidence_mut(&mut self) -> Option<&mut Evidence> {
        Some(&mut self.evidence)
    }

    fn name(&self) -> String {
        let metric = crate::kind::curve_name(&self.metric, self.rank);
        match (&self.task, &self.filter) {
            (Some(task), Some(filter)) => format!("{task} {metric} ({filter})"),
            (Some(task), None) => format!("{task} {metric}"),
            (None, _) => metric,
        }
    }

    fn is_unread(&self) -> bool {
        self.rules.iter().all(|rule| rule.test.is_none())
    }

    fn size(&self) -> Size {
        Size { values: self.n + self.m, steps: self.steps.map_or(0, |steps| steps.common), ..Size::default() }
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![("runs_baseline", self.n), ("runs_candidate", self.m)]
    }
}
