//! The rules of the check of evaluations.

use crate::judge::rule::rules;

rules! {
    CheckId::Evaluation;

    /// The candidate scores lower by at least the margin, and not by chance.
    DROP = "evaluation-drop", Fail;
    /// The candidate scores lower by less than the margin, and not by chance.
    SMALL_DROP = "evaluation-small-drop", Warn;
    /// The candidate scores lower by at least the margin, perhaps by chance.
    POSSIBLE_DROP = "evaluation-possible-drop", Warn;
    /// The candidate scores higher by at least the margin, and not by chance.
    BETTER = "evaluation-better", Info;
    /// The candidate scores lower by at least the margin, and the answers that could decide are missing.
    ANSWERS_NEEDED = "evaluation-answers-needed", Incomplete absence;
    /// More answers changed, both ways, than noise explains.
    ANSWERS_CHANGED = "evaluation-answers-changed", Warn;
    /// The candidate's score is NaN or infinite, and the baseline's is finite.
    NON_FINITE = "evaluation-non-finite", Fail;
    /// Worse samples share a class of document numbers, as those of one rank do.
    SHARD_PATTERN = "evaluation-shard-pattern", Info;
    /// The candidate's answers end early.
    TRUNCATED = "evaluation-truncated-generation", Info;
    /// The candidate's answers go on after their end.
    OVERLONG = "evaluation-overlong-generation", Info;
    /// The test could not have found a drop that matters.
    NOT_DETECTABLE = "evaluation-not-detectable", Info;
    /// The score leaves the symmetric band of a preset.
    OUTSIDE_BAND = "evaluation-outside-band", Fail;

    /// A model was evaluated on one side only.
    MODEL_MISSING = "evaluation-model-missing", Incomplete absence;
    /// A task was run on one side only.
    TASK_MISSING = "evaluation-task-missing", Incomplete absence;
    /// A metric was computed on one side only.
    METRIC_MISSING = "evaluation-metric-missing", Incomplete absence;
    /// A task that the policy requires was not judged.
    REQUIRED_TASK_MISSING = "evaluation-required-task-missing", Incomplete absence;
    /// The task's version or prompt differs.
    VERSION_DIFFERS = "evaluation-task-version-differs", Incomplete absence;
    /// The number of examples before the question differs.
    SHOTS_DIFFER = "evaluation-shots-differ", Incomplete absence;
    /// The settings of generation differ.
    GENERATION_SETTINGS_DIFFER = "evaluation-generation-settings-differ", Incomplete absence;
    /// The number of documents asked differs.
    LIMIT_DIFFERS = "evaluation-limit-differs", Incomplete absence;
    /// Documents differ under one number.
    DOCS_DIFFER = "evaluation-docs-differ", Incomplete absence;
    /// Prompts of a sample differ.
    PROMPTS_DIFFER = "evaluation-prompts-differ", Incomplete absence;
    /// Samples are on one side only, and no other finding explains why.
    SAMPLES_UNPAIRED = "evaluation-samples-unpaired", Incomplete absence;
    /// A sample occurs twice on a side.
    DUPLICATE_SAMPLES = "evaluation-duplicate-samples", Info absence;
    /// A file or line cannot be read.
    DAMAGED = "evaluation-damaged", Incomplete absence;
    /// The harness could not compute a metric, or a request failed.
    METRIC_ERROR = "evaluation-metric-error", Incomplete absence;
    /// Settings of the model that may change numbers differ.
    MODEL_ARGS_DIFFER = "evaluation-model-args-differ", Warn;
    /// The models differ by name, type or size.
    MODEL_DIFFERS = "evaluation-model-differs", Warn;
    /// There are scores without samples.
    SAMPLES_MISSING = "evaluation-samples-missing", Warn absence;
    /// Scores without samples and without a standard error.
    NO_STDERR = "evaluation-no-stderr", Incomplete absence;
    /// A standard error is larger than the number of questions allows, and was replaced.
    STDERR_REPLACED = "evaluation-stderr-replaced", Warn;
    /// The files of answers hold fewer of them than the results count.
    ANSWERS_MISSING = "evaluation-answers-missing", Incomplete absence;
    /// Results and answers of one side give different scores.
    RESULTS_CONTRADICT = "evaluation-results-contradict", Incomplete absence;
    /// An older run lies in the same folder.
    OLDER_RUN_IGNORED = "evaluation-older-run-ignored", Info;

    /// Generations diverge where the tokens are far from a tie.
    DIVERGES = "evaluation-diverges-without-tie", Fail;
    /// Generations end at different places.
    STOP_DIFFERS = "evaluation-stop-differs", Fail;
    /// Generations of equal text end for different reasons.
    FINISH_DIFFERS = "evaluation-finish-differs", Warn;
    /// Generations diverge, and without log-probabilities the reason is unknown.
    UNEXPLAINED = "evaluation-diverges-unexplained", Warn;
    /// Log-probabilities differ where the texts agree.
    LOGPROBS_DIFFER = "evaluation-logprobs-differ", Fail;

    /// Answers are replacement characters and unknown tokens.
    GARBAGE = "generation-garbage", Fail;
    /// Answers end in repeats of one unit.
    LOOPS = "generation-loops", Fail;
    /// Answers hold no text.
    EMPTY = "generation-empty", Fail;
    /// Nearly all answers end at the limit of tokens.
    CUT = "generation-cut", Warn;
    /// Log-probabilities of answers are NaN.
    NON_FINITE_ANSWERS = "generation-non-finite", Fail;
    /// A prompt has different answers although nothing is drawn at random.
    DRIFT = "generation-drift", Warn;

    /// A step of rollouts is on one side only.
    ROLLOUT_STEP_MISSING = "rollout-step-missing", Incomplete absence;
    /// Too few answers of a step have a partner.
    ROLLOUT_UNPAIRED = "rollout-unpaired", Incomplete absence;
    /// Both runs were asked other questions, or in another template.
    ROLLOUT_PROMPTS_DIFFER = "rollout-prompts-differ", Incomplete absence;
    /// The expected answer to a shared prompt is another one.
    ROLLOUT_TRUTH_DIFFERS = "rollout-truth-differs", Incomplete absence;
    /// The same answer has another score: the reward function differs.
    ROLLOUT_SCORE_CONTRADICTS = "rollout-score-contradicts", Fail;
    /// Scores are lower, and not by chance.
    ROLLOUT_SCORE_DIFFERS = "rollout-score-differs", Fail;
    /// Scores are NaN or infinite on the candidate only.
    ROLLOUT_SCORE_NON_FINITE = "rollout-score-non-finite", Fail;
    /// Answers are much longer or shorter.
    ROLLOUT_TEXTS_DIFFER = "rollout-texts-differ", Fail;
    /// Other answers to the same prompts.
    ROLLOUT_RESAMPLED = "rollout-resampled", Info;
}
