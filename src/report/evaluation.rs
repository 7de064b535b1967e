//! Evaluations for documents: units in the order of their importance, their numbers in words, and the answers that got worse.

mod amount;
mod examples;
mod order;

use std::collections::BTreeSet;

use minijinja::{Value, context};
use serde::Serialize;

pub(super) use amount::{drop_text, metric, score};
pub use examples::ExampleRow;
pub(super) use order::{drop_reasons, generations, is_about_evaluation, leading_finding, rollouts, scores, weight};

use super::messages::rounded;
use super::writer::{Writer, safe};
use crate::error::Result;
use crate::result::GateResult;
use crate::result::number::Number;
use crate::result::unit::{
    AnswerCounts, AnyUnit, Divergence, EvaluationScope, EvaluationTest, EvaluationUnit, GenerationUnit, RolloutUnit,
};
use crate::verdict::Verdict;

/// Largest number of tasks that a sentence names.
const MOST_NAMES: usize = 5;

/// Largest number of steps of rollouts that a page shows.
const MOST_STEPS: usize = 100;

/// Evaluations for templates.
#[derive(Debug, Serialize)]
pub(crate) struct EvaluationView {
    /// Scores that are not pass, the worst first.
    pub wrong: Vec<ScoreRow>,
    /// Scores that passed; those whose test is the least sensitive come first.
    pub passed: Vec<ScoreRow>,
    /// Files of generations, the worst first.
    pub generations: Vec<GenerationRow>,
    /// Sentences about all of them: how many tests there were, how p was corrected, what could not be compared.
    pub notes: Vec<Value>,
    /// Whether there are several models, so that each row names its model.
    pub has_models: bool,
}

/// A metric of a task.
#[derive(Debug, Serialize)]
pub(crate) struct ScoreRow {
    /// Its verdict.
    pub verdict: Verdict,
    /// The model.
    pub model: String,
    /// The task, or words for all of them.
    pub task: Value,
    /// The metric.
    pub metric: String,
    /// The filter; empty where the harness has none.
    pub filter: String,
    /// Words for what is special: a group, sampled answers, scores alone.
    pub marks: Vec<Value>,
    /// The baseline's score; empty where it has none.
    pub baseline: Value,
    /// The candidate's score.
    pub candidate: Value,
    /// Amount by which the candidate is worse; empty without a comparison.
    pub drop: Value,
    /// Ends of the drop's 95 % confidence interval; empty without one.
    pub interval: Value,
    /// The drop that matters.
    pub margin: Value,
    /// Worse and better samples of all pairs, in words; empty without pairs.
    pub counts: Value,
    /// Probability of such a drop by chance, corrected; empty without a test.
    pub p: Value,
    /// Smallest drop that the test finds four times in five; empty without a test.
    pub detectable: Value,
    /// Answers that got worse.
    pub examples: Vec<ExampleRow>,
}

/// Generations of one file.
#[derive(Debug, Serialize)]
pub(crate) struct GenerationRow {
    /// Its verdict.
    pub verdict: Verdict,
    /// Stem of the file's name.
    pub task: String,
    /// Prompts compared.
    pub compared: u64,
    /// Prompts of one run only.
    pub unmatched: u64,
    /// Number of generations that differ, and their kinds of difference, in words.
    pub changed: Value,
    /// Differences of log-probabilities and their scale, in words; empty without log-probabilities.
    pub logprobs: Value,
    /// The place where the first differing generation begins to differ, in words; empty if none differs.
    pub first: Value,
    /// Texts of that place.
    pub examples: Vec<ExampleRow>,
}

/// The evaluations of `result`; `None` where there are none.
pub(super) fn view(result: &GateResult, writer: &Writer) -> Result<Option<EvaluationView>> {
    let (scores, generations, rollouts) = (scores(result), generations(result), rollouts(result));
    if scores.is_empty() && generations.is_empty() && rollouts.is_empty() {
        return Ok(None);
    }
    let build = Builder { writer };
    let (mut passed, wrong): (Vec<&EvaluationUnit>, Vec<&EvaluationUnit>) =
        scores.iter().partition(|unit| unit.verdict <= Verdict::Pass);
    passed.sort_by(|a, b| order::detectable_drop(b).total_cmp(&order::detectable_drop(a)));
    let rows = |units: &[&EvaluationUnit]| units.iter().map(|unit| build.score(unit)).collect::<Result<Vec<_>>>();
    let mut shown = BTreeSet::new();
    let models: BTreeSet<&str> = scores.iter().map(|unit| unit.model.as_str()).collect();
    Ok(Some(EvaluationView {
        wrong: rows(&wrong)?.into_iter().map(|row| without_told(row, &mut shown)).collect(),
        passed: rows(&passed)?,
        generations: generations
            .into_iter()
            .map(|unit| build.generation(unit))
            .chain(rollouts.into_iter().take(MOST_STEPS).map(|unit| build.rollout(unit)))
            .collect::<Result<_>>()?,
        notes: build.notes(&scores)?,
        has_models: models.len() > 1,
    }))
}

/// Removes the samples from a row that an earlier row of the same task already showed under another metric.
fn without_told(mut row: ScoreRow, shown: &mut BTreeSet<String>) -> ScoreRow {
    row.examples.retain(|example| shown.insert(format!("{}\0{}\0{}", row.model, row.task, example.id)));
    row
}

/// Number of answers of a step of rollouts by their kind of fault, in words; the number of equal answers if none is wrong.
pub(super) fn rollouts_in_words(unit: &RolloutUnit, writer: &Writer) -> Result<String> {
    if unit.paired == 0 {
        return writer.word("evaluation_not_compared");
    }
    if unit.garbled + unit.looping + unit.empty == 0 {
        return writer.phrase(
            "evaluation_rollouts",
            &context! { equal => unit.equal_texts, paired => unit.paired, apart => unit.scored_apart },
        );
    }
    let (garbage, loops, empty) = (unit.garbled, unit.looping, unit.empty);
    answers_in_words(AnswerCounts { answers: unit.records, garbage, loops, empty, ..AnswerCounts::default() }, writer)
}

/// Number of answers of one run by their kind of fault, in words.
pub(super) fn answers_in_words(answers: AnswerCounts, writer: &Writer) -> Result<String> {
    let kinds = [
        ("evaluation_answers_garbage", answers.garbage),
        ("evaluation_answers_loops", answers.loops),
        ("evaluation_answers_empty", answers.empty),
        ("evaluation_answers_cut", answers.cut),
        ("evaluation_answers_non_finite", answers.non_finite),
        ("evaluation_answers_drifting", answers.drifting),
    ];
    let there = kinds.into_iter().filter(|(_, count)| *count > 0);
    let words: Vec<String> =
        there.map(|(key, count)| writer.phrase(key, &context! { count })).collect::<Result<_>>()?;
    if words.is_empty() { writer.word("evaluation_answers_sound") } else { Ok(words.join(&writer.word("comma")?)) }
}

struct Builder<'a> {
    writer: &'a Writer,
}

impl Builder<'_> {
    /// A step of rollouts as a row of generations.
    fn rollout(&self, unit: &RolloutUnit) -> Result<GenerationRow> {
        let (equal, paired) = (unit.equal_texts, unit.paired);
        let told = match (unit.score_baseline, unit.score_candidate) {
            (Some(baseline), Some(candidate)) => {
                context! { equal, paired, baseline => baseline.0, candidate => candidate.0 }
            }
            _ => context! { equal, paired },
        };
        Ok(GenerationRow {
            verdict: unit.verdict,
            task: unit.name(),
            compared: paired,
            unmatched: unit.evidence.unpaired_count(),
            changed: self.phrase("evaluation_rollouts", told)?,
            logprobs: Value::from(""),
            first: safe(rollouts_in_words(unit, self.writer)?),
            examples: Vec::new(),
        })
    }

    fn score(&self, unit: &EvaluationUnit) -> Result<ScoreRow> {
        let lost = |value: Option<Number>| amount::number_text(value, |value| drop_text(value, unit));
        let interval = |[low, high]: [Number; 2]| {
            let ends = context! { low => safe(lost(Some(low))), high => safe(lost(Some(high))) };
            self.writer.phrase("evaluation_interval", &ends).map(safe)
        };
        let p = unit.p_adjusted.or(unit.p_value);
        Ok(ScoreRow {
            verdict: unit.verdict,
            model: unit.model.clone(),
            task: match unit.scope {
                EvaluationScope::All => self.word("evaluation_all_tasks")?,
                EvaluationScope::Task | EvaluationScope::Group => Value::from(unit.task.as_str()),
            },
            metric: unit.metric.clone(),
            filter: amount::filter(unit).unwrap_or_default().to_owned(),
            marks: self.marks(unit)?,
            baseline: safe(amount::number_text(unit.baseline, score)),
            candidate: safe(amount::number_text(unit.candidate, score)),
            drop: safe(lost(unit.drop)),
            interval: unit.interval.map_or_else(|| Ok(Value::from("")), interval)?,
            margin: safe(lost(Some(unit.margin))),
            counts: match unit.paired {
                0 => Value::from(""),
                _ => self.phrase(
                    "evaluation_counts",
                    context! { worse => unit.worse, better => unit.better, paired => unit.paired },
                )?,
            },
            p: safe(amount::number_text(p, |p| rounded(p, 2))),
            detectable: safe(lost(unit.detectable)),
            examples: unit.flipped.iter().map(|sample| ExampleRow::new(sample, self.writer)).collect(),
        })
    }

    fn marks(&self, unit: &EvaluationUnit) -> Result<Vec<Value>> {
        let marks = [
            (unit.scope == EvaluationScope::Group, "evaluation_group"),
            (unit.is_sampled, "evaluation_sampled"),
            (unit.test == Some(EvaluationTest::Unpaired), "evaluation_scores_alone"),
            (unit.test.is_none(), "evaluation_not_compared"),
        ];
        marks.into_iter().filter(|(is_so, _)| *is_so).map(|(_, key)| self.word(key)).collect()
    }

    fn generation(&self, unit: &GenerationUnit) -> Result<GenerationRow> {
        let changed = context! {
            changed => unit.changed, near_ties => unit.near_ties, far => unit.far, length => unit.length,
            unexplained => unit.unexplained,
        };
        let number = |value: Number, digits| safe(rounded(value.0, digits));
        let logprobs = |mean: Number| {
            let scale = unit.logprob_scale.map(|scale| number(scale, 3));
            let limit = unit.tie_limit.map(|limit| number(limit, 2));
            self.phrase("evaluation_logprobs", context! { mean => number(mean, 2), scale, limit })
        };
        let first = unit.first_divergence.as_ref();
        let texts = first.and_then(|first| first.texts.as_ref());
        Ok(GenerationRow {
            verdict: unit.verdict,
            task: unit.task.clone(),
            compared: unit.compared,
            unmatched: unit.unmatched,
            changed: match unit.answers {
                Some(answers) => safe(answers_in_words(answers, self.writer)?),
                None => self.phrase("evaluation_changed", changed)?,
            },
            logprobs: unit.logprob_mean_abs.map_or_else(|| Ok(Value::from("")), logprobs)?,
            first: first.map_or_else(|| Ok(Value::from("")), |first| self.first(first))?,
            examples: texts.map(|sample| ExampleRow::new(sample, self.writer)).into_iter().collect(),
        })
    }

    /// The place where two generations begin to differ, in words.
    fn first(&self, first: &Divergence) -> Result<Value> {
        let number = |value: Option<Number>| value.map(|value| safe(rounded(value.0, 2)));
        let facts = context! {
            prompt => first.doc_id.as_str(), token => first.token, gap => number(first.logprob_gap),
            divergence => number(first.divergence),
        };
        self.phrase("evaluation_first", facts)
    }

    fn notes(&self, scores: &[&EvaluationUnit]) -> Result<Vec<Value>> {
        let mut notes = Vec::new();
        let tests: Vec<(f64, f64)> =
            scores.iter().filter_map(|unit| Some((unit.p_value?.0, unit.p_adjusted?.0))).collect();
        if !tests.is_empty() {
            let is_corrected = tests.iter().any(|(own, adjusted)| adjusted > own);
            let is_plain = tests.len() > 1 && tests.iter().any(|(own, _)| *own < 1.0) && !is_corrected;
            notes.push(self.phrase("evaluation_tests", context! { count => tests.len(), is_plain })?);
        }
        let mut left: Vec<String> =
            scores.iter().filter(|unit| unit.test.is_none()).map(|unit| unit.task.clone()).collect();
        left.sort();
        left.dedup();
        if !left.is_empty() {
            let more = left.len().saturating_sub(MOST_NAMES);
            left.truncate(MOST_NAMES);
            notes.push(self.phrase("evaluation_left", context! { names => left, more })?);
        }
        Ok(notes)
    }

    fn word(&self, key: &str) -> Result<Value> {
        self.writer.word(key).map(safe)
    }

    fn phrase(&self, key: &str, context: Value) -> Result<Value> {
        self.writer.phrase(key, &context).map(safe)
    }
}
