//! Units of the check of performance: the profile of a rank; and how documents see them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::any::{AnyUnit, Measured, Size};
use super::culprit::{Culprit, PerformanceCause, Phase};
use super::evidence::Evidence;
use crate::number::Number;
use crate::outcome::RuleOutcome;
use crate::verdict::Verdict;

/// The profile of a rank.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PerformanceUnit {
    /// The rank; null where a single process was recorded.
    pub rank: Option<u64>,
    /// The unit's verdict.
    pub verdict: Verdict,
    /// States that its times ended in: that of a step, and those of its phases.
    #[serde(default, skip_serializing_if = "Evidence::is_empty")]
    pub evidence: Evidence,
    /// Steps of baseline and candidate that were judged.
    pub steps: [u64; 2],
    /// Step time of both sides; absent where nothing could be judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_time: Option<StepTime>,
    /// Phases of a step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phases: Option<Phases>,
    /// Largest allocated memory of baseline and candidate in MB; absent where one was not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_peak: Option<[Number; 2]>,
    /// Names of the devices of baseline and candidate; empty where no file tells them.
    #[serde(default)]
    pub devices: [String; 2],
    /// Whether both sides ran on equal hardware, as far as files and labels tell.
    pub equal_hardware: bool,
    /// Operators in the order of the magnitude of their difference, at most 20.
    pub operators: Vec<OperatorTimes>,
    /// Judged steps of both sides, thinned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub periods: Option<[Vec<Period>; 2]>,
    /// Phase and operators that took the time; null without a warning or failure from time or from the AI CPU.
    pub cause: Option<PerformanceCause>,
    /// The culprit, as the comment names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub culprit: Option<Culprit>,
    /// Rules as applied.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<RuleOutcome>,
}

/// Step time of both sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepTime {
    /// Median of the baseline in microseconds.
    pub baseline: Number,
    /// Median of the candidate in microseconds.
    pub candidate: Number,
    /// Candidate over baseline.
    pub ratio: Number,
    /// Part of the baseline that noise explains.
    pub noise: Number,
    /// One-sided probability of such a growth by chance.
    pub p: Number,
    /// Source of the times.
    pub source: StepTimeSource,
    /// Noise between declared repeats of the baseline; absent without them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeats: Option<Number>,
}

/// Source of the times of steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StepTimeSource {
    /// Kernels, from a step's first to the next one's first.
    Kernels,
    /// The table of steps.
    StepTable,
}

impl StepTimeSource {
    /// The name as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Kernels => "kernels",
            Self::StepTable => "step-table",
        }
    }
}

/// Phases of a step in microseconds, baseline and candidate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Phases {
    /// Time with a computing kernel.
    pub computing: [Number; 2],
    /// Time with communication and without computing.
    pub communication: [Number; 2],
    /// Time with both.
    pub overlapped: [Number; 2],
    /// Time with neither.
    pub free: [Number; 2],
}

impl Phases {
    /// Baseline and candidate of a phase that fills the step.
    pub fn pair_of_phase(&self, phase: Phase) -> [f64; 2] {
        let numbers = match phase {
            Phase::Computing => &self.computing,
            Phase::Communication => &self.communication,
            Phase::Free => &self.free,
        };
        numbers.map(|number| number.0)
    }

    /// Growth of a phase in microseconds.
    pub fn growth(&self, phase: Phase) -> f64 {
        let [baseline, candidate] = self.pair_of_phase(phase);
        candidate - baseline
    }

    /// The phase that grew most; of equal ones the first.
    pub fn grown_most(&self) -> Phase {
        let best = |best: Phase, phase: Phase| if self.growth(phase) > self.growth(best) { phase } else { best };
        Phase::ALL.into_iter().fold(Phase::Computing, best)
    }
}

/// An operator's cost per step, baseline and candidate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OperatorTimes {
    /// Type on an NPU, name of the framework's operator across devices.
    pub name: String,
    /// Shapes of its inputs; empty where they are not known.
    pub shapes: String,
    /// Kind of core; empty where it is not known.
    pub core: String,
    /// Calls.
    pub count: [Number; 2],
    /// Microseconds.
    pub total: [Number; 2],
    /// Part of the step's growth; negative where it takes less time.
    pub contribution: Number,
}

/// A judged step: its number and its period in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Period(pub u64, pub Number);

/// The culprit of a check of performance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CheckCulprit {
    /// The rank; null where none stands out.
    pub rank: Option<u64>,
    /// Phase and operators that took its time.
    #[serde(flatten)]
    pub cause: PerformanceCause,
}

/// Name of a rank's profile in findings.
pub fn profile_place(rank: Option<u64>) -> String {
    rank.map_or_else(|| "profile".to_owned(), |rank| format!("rank {rank}"))
}

impl AnyUnit for PerformanceUnit {
    fn verdict(&self) -> Verdict {
        self.verdict
    }

    fn set_verdict(&mut self, verdict: Verdict) {
        self.verdict = verdict;
    }

    fn evidence(&self) -> Option<&Evidence> {
        // Times of other hardware without a limit are shown, and no verdict rests on them.
        Some(&self.evidence).filter(|evidence| evidence.offered > 0)
    }

    fn evidence_mut(&mut self) -> Option<&mut Evidence> {
        Some(&mut self.evidence)
    }

    fn name(&self) -> String {
        profile_place(self.rank)
    }

    fn rules(&self) -> &[RuleOutcome] {
        &self.rules
    }

    fn is_unread(&self) -> bool {
        self.step_time.is_none()
    }

    fn size(&self) -> Size {
        let [baseline, candidate] = self.steps;
        Size { values: 0, steps: baseline.min(candidate), unmatched: 0 }
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        let [baseline, candidate] = self.steps;
        vec![("baseline_steps", baseline), ("candidate_steps", candidate)]
    }

    fn measured(&self) -> Vec<Measured> {
        let Some(time) = &self.step_time else { return Vec::new() };
        let measured = |name: &str, value| Measured { name: name.to_owned(), value, warn: None, fail: None };
        let mut all = vec![measured("step_time_us", time.candidate)];
        all.extend(self.memory_peak.map(|[_, candidate]| measured("memory_peak_mb", candidate)));
        all
    }

    fn culprit(&self) -> Option<&Culprit> {
        self.culprit.as_ref()
    }

    fn forget_culprit(&mut self) {
        self.culprit = None;
    }
}
