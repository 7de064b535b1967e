//! Scores of repeated evaluations. Each run counts as one observation, however many questions it asked.

use super::curves::{JudgedSample, judged_sample};
use super::decide::{self, NumberScale, RuleNumbers, RunNumbers, SampleSetting};
use super::rules::BETTER;
use super::runs::SampleRuns;
use crate::judge::evaluation::{margin, rules as evaluation};
use crate::kind::Better;
use crate::median::midpoint_median;
use crate::policy::evaluation::margin::Margins;
use crate::result::unit::{AnyUnit, Evidence, SampleUnit, Seeds};
use crate::verdict::{CheckId, PerSide, Verdict};

/// A metric of a task with its score in each run.
#[derive(Clone, Debug)]
pub struct RunScores {
    /// The task.
    pub task: String,
    /// The metric.
    pub metric: String,
    /// The filter that extracted the answers from the texts.
    pub filter: Option<String>,
    /// Whether a larger value is better; `None` where it is unknown.
    pub higher_is_better: Option<bool>,
    /// Scores of the baseline's and the candidate's runs, in the order of the runs.
    pub of_runs: RunNumbers,
}

/// Judges the scores of all tasks together. Also returns the number of tests.
pub fn judge(
    scores: &[RunScores],
    runs: &SampleRuns,
    margins: &Margins,
    setting: SampleSetting<'_>,
) -> (Vec<JudgedSample>, usize) {
    let numbers: Vec<(String, RuleNumbers)> =
        scores.iter().map(|score| (unit(score, runs).name(), numbers(score, margins))).collect();
    let rules: Vec<(&str, &RuleNumbers)> = numbers.iter().map(|(place, numbers)| (place.as_str(), numbers)).collect();
    let decided = decide::decide_all(&rules, runs, setting);
    let judged = scores.iter().zip(&numbers).zip(decided).map(|((score, (place, _)), one)| {
        let mut judged =
            judged_sample(unit(score, runs), runs.missing_metric_findings(place, &has(score)), vec![one], setting);
        for finding in &mut judged.findings {
            if finding.is(&BETTER) {
                finding.code = evaluation::BETTER.code.to_owned();
                let size = finding.facts.get("size").cloned();
                finding.facts.extend(size.map(|size| ("drop".to_owned(), size)));
                finding.facts.insert("unit".to_owned(), place.as_str().into());
            }
            finding.check = CheckId::Evaluation;
        }
        judged
    });
    (judged.collect(), rules.len())
}

/// Whether each run has the score.
fn has(score: &RunScores) -> PerSide<Vec<bool>> {
    PerSide::of(|side| score.of_runs[side].iter().map(Option::is_some).collect())
}

fn numbers(score: &RunScores, margins: &Margins) -> RuleNumbers {
    let values = || score.of_runs.each().flatten().copied().flatten();
    let matters = margin::metric_margin(&score.task, &score.metric, margin::scale(&score.metric, values()), margins);
    let baseline = score.of_runs.baseline.iter().copied().flatten().map(f64::abs).collect();
    let unit = if matters.is_relative { midpoint_median(baseline).unwrap_or(1.0) } else { 1.0 };
    let better = score.higher_is_better.map(|higher| if higher { Better::Higher } else { Better::Lower });
    let (of_runs, matters) = (score.of_runs.clone(), matters.value * unit);
    RuleNumbers { rule: "score", of_runs, scale: NumberScale::Score, matters, better, is_main: true, target: None }
}

fn unit(score: &RunScores, runs: &SampleRuns) -> SampleUnit {
    let [n, m] = PerSide::of(|side| score.of_runs[side].iter().flatten().count() as u64).into_array();
    SampleUnit {
        metric: score.metric.clone(),
        n,
        m,
        seeds: if runs.pairs.is_empty() { Seeds::Own } else { Seeds::Paired },
        task: Some(score.task.clone()),
        filter: score.filter.clone(),
        role: None,
        rank: None,
        steps: None,
        verdict: Verdict::Skipped,
        evidence: Evidence { offered: n + m, compared: n + m, ..Evidence::default() },
        rules: Vec::new(),
    }
}
