//! The rules of the check of evaluations.

use crate::judge::rule::Rule;
use crate::verdict::{CheckId, Severity};

const fn rule(code: &'static str, severity: Severity) -> Rule {
    Rule::new(CheckId::Evaluation, code, severity)
}

/// The candidate scores lower by at least the margin, and not by chance.
pub const DROP: Rule = rule("evaluation-drop", Severity::Fail);
/// The candidate scores lower by less than the margin, and not by chance.
pub const SMALL_DROP: Rule = rule("evaluation-small-drop", Severity::Warn);
/// The candidate scores lower by at least the margin, perhaps by chance.
pub const POSSIBLE_DROP: Rule = rule("evaluation-possible-drop", Severity::Warn);
/// The candidate scores higher by at least the margin, and not by chance.
pub const BETTER: Rule = rule("evaluation-better", Severity::Info);
/// The candidate scores lower by at least the margin, and its answers, which could tell, are not there.
pub const ANSWERS_NEEDED: Rule = rule("evaluation-answers-needed", Severity::Incomplete).absence();
/// More answers changed, both ways, than noise explains.
pub const ANSWERS_CHANGED: Rule = rule("evaluation-answers-changed", Severity::Warn);
/// The candidate's score is NaN or infinite, and the baseline's is finite.
pub const NON_FINITE: Rule = rule("evaluation-non-finite", Severity::Fail);
/// Worse samples share a class of document numbers, as those of one rank do.
pub const SHARD_PATTERN: Rule = rule("evaluation-shard-pattern", Severity::Info);
/// The candidate's answers end early.
pub const TRUNCATED: Rule = rule("evaluation-truncated-generation", Severity::Info);
/// The candidate's answers go on after their end.
pub const OVERLONG: Rule = rule("evaluation-overlong-generation", Severity::Info);
/// The test could not have found a drop that matters.
pub const NOT_DETECTABLE: Rule = rule("evaluation-not-detectable", Severity::Info);
/// The score leaves the symmetric band of a preset.
pub const OUTSIDE_BAND: Rule = rule("evaluation-outside-band", Severity::Fail);

/// A model was evaluated on one side only.
pub const MODEL_MISSING: Rule = rule("evaluation-model-missing", Severity::Incomplete).absence();
/// A task was run on one side only.
pub const TASK_MISSING: Rule = rule("evaluation-task-missing", Severity::Incomplete).absence();
/// A metric was computed on one side only.
pub const METRIC_MISSING: Rule = rule("evaluation-metric-missing", Severity::Incomplete).absence();
/// A task that the policy requires was not judged.
pub const REQUIRED_TASK_MISSING: Rule = rule("evaluation-required-task-missing", Severity::Incomplete).absence();
/// The task's version or prompt differs.
pub const VERSION_DIFFERS: Rule = rule("evaluation-task-version-differs", Severity::Incomplete);
/// The number of examples before the question differs.
pub const SHOTS_DIFFER: Rule = rule("evaluation-shots-differ", Severity::Incomplete);
/// The settings of generation differ.
pub const GENERATION_SETTINGS_DIFFER: Rule = rule("evaluation-generation-settings-differ", Severity::Incomplete);
/// The number of documents asked differs.
pub const LIMIT_DIFFERS: Rule = rule("evaluation-limit-differs", Severity::Incomplete);
/// Documents differ under one number.
pub const DOCS_DIFFER: Rule = rule("evaluation-docs-differ", Severity::Incomplete);
/// Prompts of a sample differ.
pub const PROMPTS_DIFFER: Rule = rule("evaluation-prompts-differ", Severity::Incomplete);
/// Samples stand on one side only, for no reason that was told otherwise.
pub const SAMPLES_UNPAIRED: Rule = rule("evaluation-samples-unpaired", Severity::Incomplete).absence();
/// A sample stands twice on a side.
pub const DUPLICATE_SAMPLES: Rule = rule("evaluation-duplicate-samples", Severity::Info);
/// A file or line cannot be read.
pub const DAMAGED: Rule = rule("evaluation-damaged", Severity::Incomplete).absence();
/// The harness could not compute a metric, or a request failed.
pub const METRIC_ERROR: Rule = rule("evaluation-metric-error", Severity::Incomplete).absence();
/// Settings of the model that may change numbers differ.
pub const MODEL_ARGS_DIFFER: Rule = rule("evaluation-model-args-differ", Severity::Warn);
/// The models differ by name, type or size.
pub const MODEL_DIFFERS: Rule = rule("evaluation-model-differs", Severity::Warn);
/// There are scores without samples.
pub const SAMPLES_MISSING: Rule = rule("evaluation-samples-missing", Severity::Warn).absence();
/// Scores without samples and without a standard error.
pub const NO_STDERR: Rule = rule("evaluation-no-stderr", Severity::Incomplete).absence();
/// A standard error is larger than the number of questions allows, and was replaced.
pub const STDERR_REPLACED: Rule = rule("evaluation-stderr-replaced", Severity::Warn);
/// The files of answers hold fewer of them than the results count.
pub const ANSWERS_MISSING: Rule = rule("evaluation-answers-missing", Severity::Incomplete).absence();
/// Results and answers of one side give different scores.
pub const RESULTS_CONTRADICT: Rule = rule("evaluation-results-contradict", Severity::Incomplete).absence();
/// An older run lies in the same folder.
pub const OLDER_RUN_IGNORED: Rule = rule("evaluation-older-run-ignored", Severity::Info);

/// Generations part where the tokens are far from a tie.
pub const DIVERGES: Rule = rule("evaluation-diverges-without-tie", Severity::Fail);
/// Generations end at different places.
pub const STOP_DIFFERS: Rule = rule("evaluation-stop-differs", Severity::Fail);
/// Generations part, and without log-probabilities nobody knows why.
pub const UNEXPLAINED: Rule = rule("evaluation-diverges-unexplained", Severity::Warn);
/// Log-probabilities differ where the texts agree.
pub const LOGPROBS_DIFFER: Rule = rule("evaluation-logprobs-differ", Severity::Fail);

/// All of them.
pub const RULES: &[&Rule] = &[
    &DROP,
    &SMALL_DROP,
    &POSSIBLE_DROP,
    &BETTER,
    &ANSWERS_NEEDED,
    &ANSWERS_CHANGED,
    &NON_FINITE,
    &SHARD_PATTERN,
    &TRUNCATED,
    &OVERLONG,
    &NOT_DETECTABLE,
    &OUTSIDE_BAND,
    &MODEL_MISSING,
    &TASK_MISSING,
    &METRIC_MISSING,
    &REQUIRED_TASK_MISSING,
    &VERSION_DIFFERS,
    &SHOTS_DIFFER,
    &GENERATION_SETTINGS_DIFFER,
    &LIMIT_DIFFERS,
    &DOCS_DIFFER,
    &PROMPTS_DIFFER,
    &SAMPLES_UNPAIRED,
    &DUPLICATE_SAMPLES,
    &DAMAGED,
    &METRIC_ERROR,
    &MODEL_ARGS_DIFFER,
    &MODEL_DIFFERS,
    &SAMPLES_MISSING,
    &NO_STDERR,
    &STDERR_REPLACED,
    &ANSWERS_MISSING,
    &RESULTS_CONTRADICT,
    &OLDER_RUN_IGNORED,
    &DIVERGES,
    &STOP_DIFFERS,
    &UNEXPLAINED,
    &LOGPROBS_DIFFER,
];
