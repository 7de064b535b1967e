//! Units of the check of evaluations: a metric of a task, and a file of generations; and how documents see them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::any::{AnyUnit, Measured, Size};
use super::culprit::Culprit;
use super::evidence::Evidence;
use crate::kind::SampleId;
use crate::number::Number;
use crate::outcome::RuleOutcome;
use crate::verdict::Verdict;

/// A metric of a task under a filter, or of several tasks together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EvaluationUnit {
    /// The model.
    pub model: String,
    /// The task; the group's name for a group, `*` for all tasks.
    pub task: String,
    /// The metric.
    pub metric: String,
    /// The filter that took the answer from the text; null where the harness has none.
    pub filter: Option<String>,
    /// Extent of what is judged.
    pub scope: EvaluationScope,
    /// Whether a larger value is better; null where nothing says.
    pub higher_is_better: Option<bool>,
    /// Whether answers are drawn at random.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_sampled: bool,
    /// The unit's verdict.
    pub verdict: Verdict,
    /// The baseline's score; null where it has none.
    pub baseline: Option<Number>,
    /// The candidate's score; null where it has none.
    pub candidate: Option<Number>,
    /// Drop of the candidate, in the margin's unit; negative where it is better, null without a comparison.
    pub drop: Option<Number>,
    /// Ends of the drop's 95 % confidence interval; null without one.
    pub interval: Option<[Number; 2]>,
    /// Drop that matters.
    pub margin: Number,
    /// Whether drop and margin are fractions of the baseline's value, not differences.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_relative: bool,
    /// States that its questions ended in; empty for several tasks together, whose questions are counted with their tasks.
    #[serde(default, skip_serializing_if = "Evidence::is_empty")]
    pub evidence: Evidence,
    /// Samples of both sides together.
    pub samples: u64,
    /// Samples in the test.
    pub paired: u64,
    /// Samples that got worse.
    pub worse: u64,
    /// Samples that got better.
    pub better: u64,
    /// The test; null where nothing could be tested.
    pub test: Option<EvaluationTest>,
    /// One-sided probability of such a drop by chance alone; null without a test.
    pub p_value: Option<Number>,
    /// The same after the correction for the number of tests in the run.
    pub p_adjusted: Option<Number>,
    /// Smallest drop that the test finds four times in five; null without a test.
    pub detectable: Option<Number>,
    /// Class of document numbers that nearly all worse samples share; null without such a pattern.
    pub shard: Option<Shard>,
    /// Ids of samples that got worse, the worst first, at most 20.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<SampleId>,
    /// Texts of the first of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flipped: Vec<FlippedSample>,
    /// Rules as applied.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<RuleOutcome>,
}

/// Extent of what a unit judges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum EvaluationScope {
    /// One task.
    Task,
    /// A group of the harness.
    Group,
    /// All tasks.
    All,
}

/// A statistical test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EvaluationTest {
    /// Exact one-sided McNemar test of right and wrong answers.
    Mcnemar,
    /// One-sided sign-flip permutation of the losses per sample.
    PairedPermutation,
    /// Normal test of two scores with their standard errors.
    Unpaired,
}

impl EvaluationTest {
    /// The name as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Mcnemar => "mcnemar",
            Self::PairedPermutation => "paired-permutation",
            Self::Unpaired => "unpaired",
        }
    }
}

/// A class of document numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Shard {
    /// Number of classes.
    pub modulus: u64,
    /// The class: the document's number modulo `modulus`.
    pub remainder: u64,
}

/// Texts of a sample that got worse, each cut to 200 characters and without secrets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FlippedSample {
    /// The sample.
    pub id: SampleId,
    /// End of the prompt.
    pub question: String,
    /// The expected answer.
    pub target: String,
    /// The baseline's answer.
    pub baseline: String,
    /// The candidate's answer.
    pub candidate: String,
    /// Characters that both answers, as shown here, share before they part.
    pub shared: u64,
}

/// Generations of one file, compared token by token.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GenerationUnit {
    /// Always `generation`.
    pub kind: GenerationKind,
    /// Stem of the file's name.
    pub task: String,
    /// The unit's verdict.
    pub verdict: Verdict,
    /// States that its prompts ended in.
    #[serde(default, skip_serializing_if = "Evidence::is_empty")]
    pub evidence: Evidence,
    /// Prompts compared.
    pub compared: u64,
    /// Prompts of one side only.
    pub unmatched: u64,
    /// Prompts whose generations differ.
    pub changed: u64,
    /// Of these, those that part at a near tie.
    pub near_ties: u64,
    /// Those that part far from any tie.
    pub far: u64,
    /// Those of which one is the beginning of the other.
    pub length: u64,
    /// Those without log-probabilities.
    pub unexplained: u64,
    /// Difference of log-probabilities up to which two tokens tie, in nats; null without log-probabilities.
    pub tie_limit: Option<Number>,
    /// Mean magnitude of the log-probabilities' differences over shared beginnings; null without log-probabilities.
    pub logprob_mean_abs: Option<Number>,
    /// Scale of the candidate's log-probabilities against the baseline's; null where it cannot be measured.
    pub logprob_scale: Option<Number>,
    /// The earliest prompt that parts far from a tie or in length, else the earliest that parts.
    pub first_divergence: Option<Divergence>,
    /// Answers of a run without a baseline, counted; null where two runs are compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<AnswerCounts>,
    /// Rules as applied.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<RuleOutcome>,
}

/// Answers of one run, by what is wrong with each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AnswerCounts {
    /// All answers.
    pub answers: u64,
    /// Those of replacement characters and unknown tokens.
    pub garbage: u64,
    /// Those that end in a loop.
    pub loops: u64,
    /// Those without text.
    pub empty: u64,
    /// Those that end at the limit of tokens.
    pub cut: u64,
    /// Those with a log-probability that is NaN.
    pub non_finite: u64,
    /// Prompts whose answers differ although nothing is drawn at random.
    pub drifting: u64,
}

impl AnswerCounts {
    /// Answers without a sound text.
    pub fn wrong(&self) -> u64 {
        [self.garbage, self.loops, self.empty].into_iter().fold(0, u64::saturating_add)
    }
}

impl GenerationUnit {
    /// A unit of which nothing is known yet.
    pub fn empty(task: &str) -> Self {
        Self {
            kind: GenerationKind::Generation,
            task: task.to_owned(),
            verdict: Verdict::Incomplete,
            evidence: Evidence::default(),
            compared: 0,
            unmatched: 0,
            changed: 0,
            near_ties: 0,
            far: 0,
            length: 0,
            unexplained: 0,
            tie_limit: None,
            logprob_mean_abs: None,
            logprob_scale: None,
            first_divergence: None,
            answers: None,
            rules: Vec::new(),
        }
    }
}

/// Name of the kind of unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum GenerationKind {
    /// Generations of one file.
    Generation,
}

/// Place where two generations part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Divergence {
    /// The prompt's key.
    pub doc_id: String,
    /// Number of the first different token, from 0.
    pub token: u64,
    /// Characters of the shared beginning.
    pub prefix: u64,
    /// Log-probability of the baseline's token above that of the candidate's token, on the baseline, in nats; null where it is not known.
    pub logprob_gap: Option<Number>,
    /// Kind of the difference.
    pub kind: DivergenceKind,
    /// Kullback-Leibler divergence over the tokens that both top lists hold, in nats; null where there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub divergence: Option<Number>,
    /// Texts of both sides; null where nothing is shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub texts: Option<FlippedSample>,
}

/// Kind of the first difference of two generations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DivergenceKind {
    /// The tokens tie within the noise of the log-probabilities.
    Tie,
    /// They are far from a tie.
    Far,
    /// One text is the beginning of the other.
    Length,
    /// No log-probabilities were recorded.
    Unexplained,
}

impl EvaluationUnit {
    /// A metric of a task of which nothing is known yet.
    pub fn untested(model: &str, task: &str, metric: &str, filter: Option<String>) -> Self {
        Self {
            model: model.to_owned(),
            task: task.to_owned(),
            metric: metric.to_owned(),
            filter,
            scope: EvaluationScope::Task,
            higher_is_better: None,
            is_sampled: false,
            verdict: Verdict::Incomplete,
            baseline: None,
            candidate: None,
            drop: None,
            interval: None,
            margin: Number(0.0),
            is_relative: false,
            evidence: Evidence::default(),
            samples: 0,
            paired: 0,
            worse: 0,
            better: 0,
            test: None,
            p_value: None,
            p_adjusted: None,
            detectable: None,
            shard: None,
            examples: Vec::new(),
            flipped: Vec::new(),
            rules: Vec::new(),
        }
    }

    /// Its name among the units of a run; models may share tasks, and a group may be called as a task is.
    pub fn place_of(model: &str, title: &str, scope: &str) -> String {
        format!("{model}: {title} ({scope})")
    }

    /// Its name as findings have it: task, metric and filter.
    pub fn title(&self) -> String {
        let filter = self.filter.as_ref().map(|filter| format!(" ({filter})")).unwrap_or_default();
        format!("{} {}{filter}", self.task, self.metric)
    }
}

impl EvaluationScope {
    /// The scope as results name it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Task => "task",
            Self::Group => "group",
            Self::All => "all",
        }
    }
}

impl AnyUnit for EvaluationUnit {
    fn verdict(&self) -> Verdict {
        self.verdict
    }

    fn set_verdict(&mut self, verdict: Verdict) {
        self.verdict = verdict;
    }

    fn evidence(&self) -> Option<&Evidence> {
        Some(&self.evidence)
    }

    fn name(&self) -> String {
        self.title()
    }

    fn place(&self) -> String {
        Self::place_of(&self.model, &self.title(), self.scope.as_str())
    }

    fn rules(&self) -> &[RuleOutcome] {
        &self.rules
    }

    fn settled(&self, verdict: Verdict) -> Verdict {
        if self.test.is_none() && verdict == Verdict::Pass { Verdict::Skipped } else { verdict }
    }

    fn evidence_mut(&mut self) -> Option<&mut Evidence> {
        Some(&mut self.evidence)
    }

    fn is_unread(&self) -> bool {
        self.test.is_none()
    }

    fn size(&self) -> Size {
        // Samples of several tasks together are counted with their tasks.
        if self.scope != EvaluationScope::Task {
            return Size::default();
        }
        Size { values: self.paired, steps: 0, unmatched: self.samples.saturating_sub(self.paired) }
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![("samples", self.samples), ("paired", self.paired), ("worse", self.worse), ("better", self.better)]
    }

    fn measured(&self) -> Vec<Measured> {
        let measured = |value| Measured { name: "drop".into(), value, warn: None, fail: Some(self.margin) };
        self.drop.map(measured).into_iter().collect()
    }

    fn culprit(&self) -> Option<&Culprit> {
        None
    }
}

impl AnyUnit for GenerationUnit {
    fn verdict(&self) -> Verdict {
        self.verdict
    }

    fn set_verdict(&mut self, verdict: Verdict) {
        self.verdict = verdict;
    }

    fn evidence(&self) -> Option<&Evidence> {
        Some(&self.evidence)
    }

    fn name(&self) -> String {
        self.task.clone()
    }

    fn rules(&self) -> &[RuleOutcome] {
        &self.rules
    }

    fn settled(&self, verdict: Verdict) -> Verdict {
        if self.compared == 0 && verdict == Verdict::Pass { Verdict::Skipped } else { verdict }
    }

    fn evidence_mut(&mut self) -> Option<&mut Evidence> {
        Some(&mut self.evidence)
    }

    fn is_unread(&self) -> bool {
        self.compared == 0
    }

    fn size(&self) -> Size {
        Size { values: self.compared, steps: 0, unmatched: self.unmatched }
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![
            ("compared", self.compared),
            ("changed", self.changed),
            ("near_ties", self.near_ties),
            ("far", self.far),
            ("length", self.length),
        ]
    }

    fn measured(&self) -> Vec<Measured> {
        let measured = |value| Measured { name: "logprob_mean_abs".into(), value, warn: None, fail: None };
        self.logprob_mean_abs.map(measured).into_iter().collect()
    }

    fn culprit(&self) -> Option<&Culprit> {
        None
    }
}
