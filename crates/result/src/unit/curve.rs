//! A training curve, and how documents see it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::any::{AnyUnit, Size};
use super::evidence::Evidence;
use crate::kind::{Better, Role, curve_name};
use crate::number::Number;
use crate::outcome::RuleOutcome;
use crate::verdict::Verdict;

/// A training curve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CurveUnit {
    /// The metric: `loss`, `grad_norm`, `learning_rate` ...
    pub metric: String,
    /// Role of the metric, which decides its rules; absent in results of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// Direction that is better; null where neither is, and for metrics that no rule knows.
    #[serde(default)]
    pub better: Option<Better>,
    /// The run's folder, where several runs lie beside each other.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub run: String,
    /// The rank that logged it, where the ranks of a file logged different values; else null.
    #[serde(default)]
    pub rank: Option<u64>,
    /// The file the baseline was read from.
    #[serde(default)]
    pub baseline_file: String,
    /// The file the candidate was read from.
    #[serde(default)]
    pub candidate_file: String,
    /// Format of both files: `JSON lines`; where they differ, the baseline's and the candidate's, as `W&B log, CSV table`.
    #[serde(default)]
    pub format: String,
    /// The published rule that decided instead of the gate's own; empty where none was chosen.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub preset: String,
    /// `same-weights`, `own-weights`, `rl`, or empty for metrics that have no mode.
    pub mode: String,
    /// Source of the mode: `declared`, `inferred`.
    #[serde(default)]
    pub mode_source: String,
    /// The unit's verdict.
    pub verdict: Verdict,
    /// Paired steps (or windows).
    pub paired: u64,
    /// Key that points were paired by: `step`, `epoch-step` (steps of an epoch, numbered through), `window`, `samples`,
    /// `tokens`, `epoch`, `position`.
    #[serde(default)]
    pub paired_by: String,
    /// Meaning of the values, where the sides log at other intervals: `mean` over the steps since the last, or `sample` of the
    /// step alone; absent elsewhere.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub values: String,
    /// Source of that meaning: `data`, which showed it, or `form` of the files.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub values_source: String,
    /// Points of both sides that gave way to later ones of the same step.
    #[serde(default)]
    pub replaced: Replaced,
    /// The first step after which the difference never returns into the band.
    #[serde(default)]
    pub first_diverging_step: Option<u64>,
    /// Whether no rule judges it: it is shown, and never passes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_shown_only: bool,
    /// States that its steps ended in.
    #[serde(default, skip_serializing_if = "Evidence::is_empty")]
    pub evidence: Evidence,
    /// Steps at which one side only is not finite.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub non_finite_steps: Vec<u64>,
    /// Rules as applied.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<RuleOutcome>,
    /// The curves, thinned to at most 2000 points, extremes kept.
    pub series: CurveSeries,
    /// Means of windows, by which a run of reinforcement learning is judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub windows: Option<CurveWindows>,
}

impl CurveUnit {
    /// A curve of which nothing is known yet.
    pub fn empty() -> Self {
        Self {
            metric: String::new(),
            role: None,
            better: None,
            run: String::new(),
            rank: None,
            baseline_file: String::new(),
            candidate_file: String::new(),
            format: String::new(),
            preset: String::new(),
            mode: String::new(),
            mode_source: String::new(),
            verdict: Verdict::Skipped,
            paired: 0,
            paired_by: String::new(),
            values: String::new(),
            values_source: String::new(),
            replaced: Replaced::default(),
            first_diverging_step: None,
            is_shown_only: false,
            evidence: Evidence::default(),
            non_finite_steps: Vec::new(),
            rules: Vec::new(),
            series: CurveSeries::default(),
            windows: None,
        }
    }
}

/// Means of both sides of a curve over windows of equal length.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CurveWindows {
    /// The last step of each window.
    pub to_step: Vec<u64>,
    /// Means of the baseline.
    pub baseline: Vec<Number>,
    /// Means of the candidate.
    pub candidate: Vec<Number>,
}

/// Points that gave way to later ones of the same step, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Replaced {
    /// The run was resumed and logged the step again.
    pub resumed: u64,
    /// The step was logged again with another value.
    pub repeated: u64,
}

/// Both sides of a curve; `null` where a side has no value.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CurveSeries {
    /// Steps.
    pub step: Vec<u64>,
    /// Baseline values.
    pub baseline: Vec<Option<Number>>,
    /// Candidate values.
    pub candidate: Vec<Option<Number>>,
    /// The noise band around the baseline, relative; empty where none was recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub band: Vec<Number>,
}

impl AnyUnit for CurveUnit {
    fn verdict(&self) -> Verdict {
        self.verdict
    }

    fn set_verdict(&mut self, verdict: Verdict) {
        self.verdict = verdict;
    }

    fn name(&self) -> String {
        let metric = curve_name(&self.metric, self.rank);
        if self.run.is_empty() { metric } else { format!("{metric} ({})", self.run) }
    }

    fn place(&self) -> String {
        let metric = curve_name(&self.metric, self.rank);
        if self.run.is_empty() { metric } else { format!("{}: {metric}", self.run) }
    }

    fn rules(&self) -> &[RuleOutcome] {
        &self.rules
    }

    fn settled(&self, verdict: Verdict) -> Verdict {
        if self.is_shown_only && verdict == Verdict::Pass { Verdict::Skipped } else { verdict }
    }

    fn evidence(&self) -> Option<&Evidence> {
        Some(&self.evidence)
    }

    fn evidence_mut(&mut self) -> Option<&mut Evidence> {
        Some(&mut self.evidence)
    }

    fn is_unread(&self) -> bool {
        self.series.step.is_empty()
    }

    fn size(&self) -> Size {
        Size { steps: self.paired, ..Size::default() }
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![("paired", self.paired)]
    }
}
