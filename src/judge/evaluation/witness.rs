//! Compares the results and the answers of one side of a task: both state the score and the number of questions.

use super::{decision, rules};
use crate::pair::evaluation::PairedMetric;
use crate::read::evaluation::{EvaluationSample, EvaluationTask, SampleValue, Score};
use crate::result::finding::Finding;
use crate::result::unit::EvaluationUnit;
use crate::verdict::Side;

/// Metrics that every harness computes as the mean over the answers.
const MEANS: [&str; 6] = ["acc", "acc_norm", "accuracy", "exact_match", "em", "pass@1"];
/// Difference of two rates that rounding to three digits explains, as in 77.0 percent.
const ROUNDING: f64 = 1e-3;

/// The answers of a side under a filter.
struct Answers {
    /// Number of questions that have an answer.
    count: u64,
    /// Mean of their values; `None` where an answer has no value, or one outside of 0 to 1.
    mean: Option<f64>,
}

/// One side of a metric: the score and number of questions in its results, and its answers.
struct Witnesses {
    side: Side,
    score: Option<Score>,
    asked: Option<u64>,
    answers: Answers,
}

impl Witnesses {
    fn of(side: Side, score: Option<Score>, metric: &PairedMetric, task: &EvaluationTask) -> Option<Self> {
        // Damaged files have a finding of their own, and explain missing answers.
        let samples = task.samples.as_ref().filter(|_| task.damages.is_empty())?;
        let samples = samples.by_filter.get(&metric.filter).filter(|samples| !samples.is_empty())?;
        Some(Self { side, score, asked: task.asked, answers: Answers::of(samples, &metric.metric) })
    }

    /// Whether there are as many answers as the results say.
    fn is_whole(&self) -> bool {
        self.asked.is_none_or(|asked| self.answers.count >= asked)
    }

    /// The score of the results and the mean of the answers; `None` where either is missing or incomplete.
    fn scores(&self) -> Option<(f64, f64)> {
        let score = self.score.map(|score| score.value).filter(|score| score.is_finite())?;
        Some((score, self.answers.mean.filter(|_| self.is_whole())?))
    }

    /// Whether both scores agree within rounding or half an answer; `None` where they cannot be compared.
    fn agree(&self) -> Option<bool> {
        let (score, mean) = self.scores()?;
        Some((score - mean).abs() <= (0.5 / self.answers.count as f64).max(ROUNDING))
    }
}

impl Answers {
    fn of(samples: &[EvaluationSample], metric: &str) -> Self {
        let (mut count, mut sum, mut is_rate) = (0_u64, 0.0, true);
        let mut before = None;
        // Samples are sorted by id, and repeated ids are one question.
        for sample in samples.iter().filter(|sample| before.replace(&sample.id) != Some(&sample.id)) {
            count += 1;
            match sample.values.get(metric) {
                Some(SampleValue::Number(value)) if !sample.is_failed && (0.0..=1.0).contains(value) => sum += value,
                _ => is_rate = false,
            }
        }
        Self { count, mean: is_rate.then(|| sum / count as f64) }
    }
}

/// Findings about a metric of both sides whose results and answers contradict each other.
pub(super) fn contradiction_findings(
    unit: &EvaluationUnit,
    metric: &PairedMetric,
    [baseline, candidate]: [&EvaluationTask; 2],
) -> Vec<Finding> {
    let sides: Vec<Witnesses> = [
        Witnesses::of(Side::Baseline, metric.baseline, metric, baseline),
        Witnesses::of(Side::Candidate, metric.candidate, metric, candidate),
    ]
    .into_iter()
    .flatten()
    .collect();
    let mut findings = Vec::new();
    for one in sides.iter().filter(|one| !one.is_whole()) {
        let finding = decision::metric_finding(&rules::ANSWERS_MISSING, unit).with("side", one.side.as_str());
        findings.push(finding.with("count", one.answers.count).with("asked", one.asked.unwrap_or_default()));
    }
    // The score is the mean of the answers if its name says so, or if it is on one side.
    let is_mean = MEANS.contains(&metric.metric.as_str()) || sides.iter().any(|one| one.agree() == Some(true));
    for one in sides.iter().filter(|one| is_mean && one.agree() == Some(false)) {
        let Some((score, mean)) = one.scores() else { continue };
        let finding = decision::metric_finding(&rules::RESULTS_CONTRADICT, unit).with("side", one.side.as_str());
        findings.push(finding.with("score", score).with("mean", mean).with("count", one.answers.count));
    }
    findings
}
