//! Codes of findings about training curves.

use crate::judge::rule::Rule;
use crate::verdict::{CheckId, Severity};

const fn rule(code: &'static str, severity: Severity) -> Rule {
    Rule::new(CheckId::Loss, code, severity)
}

/// Steps of the baseline are missing on the candidate side.
pub const COVERAGE: Rule = rule("curve-coverage", Severity::Incomplete).absence();
/// The candidate covers steps that the baseline does not have.
pub const BASELINE_SHORTER: Rule = rule("curve-baseline-shorter", Severity::Warn);
/// NaN or infinity on the candidate side where the baseline is finite.
pub const NON_FINITE: Rule = rule("curve-non-finite", Severity::Fail);
/// NaN or infinity on the baseline side: those steps cannot be judged.
pub const NON_FINITE_BASELINE: Rule = rule("curve-non-finite-baseline", Severity::Warn);
/// A loss of exactly 0.0, or frozen, while the gradient norm is NaN or 0.
pub const HIDDEN_FAILURE: Rule = rule("curve-hidden-failure", Severity::Fail);
/// A loss of exactly 0.0 where the baseline's is not small.
pub const ZERO: Rule = rule("curve-zero", Severity::Fail);
/// A loss that stands still while the baseline's moves.
pub const FROZEN: Rule = rule("curve-frozen", Severity::Fail);
/// A loss without a baseline that ends far above its start.
pub const EXPLODING: Rule = rule("curve-exploding", Severity::Fail);
/// A curve that never changes.
pub const CONSTANT: Rule = rule("curve-constant", Severity::Warn);
/// The learning rate schedules differ.
pub const LEARNING_RATE: Rule = rule("learning-rate-differs", Severity::Fail);
/// The loss cannot be judged because the learning rate schedules differ.
pub const NOT_JUDGED: Rule = rule("curve-not-judged", Severity::Incomplete);
/// The first step differs and nobody said that it may.
pub const FIRST_STEP: Rule = rule("first-step-differs", Severity::Warn);
/// The first step is a uniform prediction, which tells nothing of the weights.
pub const UNIFORM_START: Rule = rule("curve-uniform-start", Severity::Warn);
/// Declared as different weights, but the first step is equal.
pub const MODE_TOO_LOOSE: Rule = rule("mode-too-loose", Severity::Warn);
/// The first step differs although the weights are declared equal.
pub const STEP_1: Rule = rule("curve-step-1", Severity::Fail);
/// One of the first five steps differs.
pub const HEAD: Rule = rule("curve-head", Severity::Fail);
/// The curves differ on average.
pub const MEAN: Rule = rule("curve-mean", Severity::Fail);
/// The curves end at different levels.
pub const TAIL: Rule = rule("curve-tail", Severity::Fail);
/// Too many single steps differ.
pub const SPREAD: Rule = rule("curve-spread", Severity::Fail);
/// Steps in a row differ, even if the curve recovers.
pub const DEPARTURE: Rule = rule("curve-departure", Severity::Fail);
/// A single step differs by much.
pub const PEAK: Rule = rule("curve-peak", Severity::Warn);
/// The candidate spikes more often than the baseline.
pub const SPIKES: Rule = rule("curve-spikes", Severity::Warn);
/// The two runs do not change together from step to step.
pub const ORDER: Rule = rule("curve-data-order", Severity::Warn);
/// The difference begins at once instead of growing.
pub const ONSET: Rule = rule("curve-abrupt-onset", Severity::Warn);
/// Differences that look like randomness left in (dropout).
pub const RANDOMNESS: Rule = rule("curve-randomness", Severity::Warn);
/// One factor between both curves, from the first step to the last.
pub const SCALED: Rule = rule("curve-scaled", Severity::Fail);
/// One side seems to log a running mean.
pub const SMOOTHED: Rule = rule("curve-smoothed", Severity::Info);
/// The candidate's curve falls back to an earlier stretch of itself.
pub const ROLLBACK: Rule = rule("curve-rollback", Severity::Fail);
/// Gradient norms differ on average.
pub const GRAD_NORM: Rule = rule("curve-grad-norm", Severity::Fail);
/// A metric that is judged by its mean became worse.
pub const WORSE: Rule = rule("curve-worse", Severity::Fail);
/// The means of a metric differ by more than the policy allows.
pub const DIFFERENCE: Rule = rule("curve-difference", Severity::Fail);
/// The chosen published rule fails.
pub const PRESET: Rule = rule("curve-preset", Severity::Fail);
/// The chosen published rule cannot be applied to this curve.
pub const PRESET_EMPTY: Rule = rule("curve-preset-empty", Severity::Incomplete).absence();
/// A limit on speed or memory is declared, and the hardware is not known to be equal.
pub const HARDWARE: Rule = rule("curve-hardware", Severity::Warn);
/// The absolute floor hides differences that would matter.
pub const FLOOR: Rule = rule("curve-floor", Severity::Warn);
/// The source has no step numbers.
pub const BY_POSITION: Rule = rule("curve-by-position", Severity::Info);
/// The sides number their points by different counters.
pub const COUNTERS: Rule = rule("curve-counters-differ", Severity::Incomplete);
/// Both sides count the same steps from different numbers on.
pub const STEP_OFFSET: Rule = rule("step-offset", Severity::Warn);
/// The sides log at different intervals.
pub const INTERVAL: Rule = rule("curve-interval", Severity::Info);
/// The run was resumed, and logged steps again.
pub const RESUMED: Rule = rule("resumed", Severity::Info);
/// The steps began again while no epoch was logged.
pub const RESTARTED: Rule = rule("steps-restarted", Severity::Info);
/// Files that continue one another were read as one.
pub const JOINED: Rule = rule("curve-files-joined", Severity::Info);
/// Ranks log different values into one file.
pub const RANKS: Rule = rule("ranks-apart", Severity::Info);
/// Steps were logged twice.
pub const REPEATED: Rule = rule("curve-repeated-steps", Severity::Info);
/// The file ends in the middle of a record, or of what it is packed in.
pub const SOURCE_CUT: Rule = rule("source-cut", Severity::Warn);
/// The encoding of a text was taken from its bytes, as the text does not say.
pub const ENCODING_GUESSED: Rule = rule("encoding-guessed", Severity::Info);
/// Lines of data that could not be read.
pub const SKIPPED_LINES: Rule = rule("curve-skipped-lines", Severity::Warn);
/// Lines of a text hold a loss, and no rule reads them.
pub const FORMAT_UNKNOWN: Rule = rule("format-unknown", Severity::Incomplete).absence();
/// Other files say the same.
pub const DUPLICATE: Rule = rule("curve-duplicate-source", Severity::Info);
/// A loss that only one side has.
pub const ONE_SIDED: Rule = rule("curve-one-sided", Severity::Incomplete);
/// Metrics that nothing judges, and that only the baseline has.
pub const METRICS_MISSING: Rule = rule("curve-metrics-missing", Severity::Warn);
/// A metric with the name of a loss or reward was shown and not judged.
pub const SHOWN_ONLY: Rule = rule("curve-shown-only", Severity::Warn);
/// The reward ends, or stays for two windows, below the baseline's.
pub const RL_REWARD_LOWER: Rule = rule("rl-reward-lower", Severity::Fail);
/// The reward never changes, and the baseline's does.
pub const RL_REWARD_DEAD: Rule = rule("rl-reward-dead", Severity::Fail);
/// The reward ends above the baseline's: it may be too easy to earn.
pub const RL_REWARD_HIGHER: Rule = rule("rl-reward-higher", Severity::Warn);
/// Rollout and training give the same tokens other probabilities.
pub const RL_MISMATCH: Rule = rule("rl-mismatch", Severity::Fail);
/// The entropy of the policy went another way.
pub const RL_ENTROPY: Rule = rule("rl-entropy", Severity::Fail);
/// Answers have another length.
pub const RL_LENGTH: Rule = rule("rl-length", Severity::Fail);
/// More answers are cut at the longest length.
pub const RL_TRUNCATION: Rule = rule("rl-truncation", Severity::Fail);
/// Another share of the probability ratios is clipped.
pub const RL_CLIP: Rule = rule("rl-clip", Severity::Fail);
/// The policy ends at another distance from its reference.
pub const RL_KL: Rule = rule("rl-kl", Severity::Fail);
/// A value around 0 has another centre or another spread.
pub const RL_CENTRE: Rule = rule("rl-centre", Severity::Fail);
/// A coefficient differs.
pub const RL_CONSTANT: Rule = rule("rl-constant", Severity::Fail);
/// The gradient norm has another level, or is 0 at more steps.
pub const RL_GRAD_NORM: Rule = rule("rl-grad-norm", Severity::Fail);
/// The loss of the value function, or a loss beside the policy's, ends at another level.
pub const RL_VALUE_LOSS: Rule = rule("rl-value-loss", Severity::Fail);
/// A run of reinforcement learning is too short to have a trend.
pub const RL_TOO_SHORT: Rule = rule("rl-too-short", Severity::Warn);
/// Updates were skipped, more of them than the baseline skipped.
pub const UPDATES_SKIPPED: Rule = rule("updates-skipped", Severity::Fail);
/// A noise band was given, and it does not depend on this metric.
pub const NO_NOISE: Rule = rule("curve-noise-missing", Severity::Warn);

/// All of them.
pub const RULES: &[&Rule] = &[
    &COVERAGE,
    &BASELINE_SHORTER,
    &NON_FINITE,
    &NON_FINITE_BASELINE,
    &HIDDEN_FAILURE,
    &ZERO,
    &FROZEN,
    &CONSTANT,
    &EXPLODING,
    &LEARNING_RATE,
    &NOT_JUDGED,
    &FIRST_STEP,
    &UNIFORM_START,
    &MODE_TOO_LOOSE,
    &STEP_1,
    &HEAD,
    &MEAN,
    &TAIL,
    &SPREAD,
    &DEPARTURE,
    &PEAK,
    &SPIKES,
    &ORDER,
    &ONSET,
    &RANDOMNESS,
    &SCALED,
    &SMOOTHED,
    &ROLLBACK,
    &GRAD_NORM,
    &WORSE,
    &DIFFERENCE,
    &PRESET,
    &PRESET_EMPTY,
    &HARDWARE,
    &FLOOR,
    &BY_POSITION,
    &COUNTERS,
    &STEP_OFFSET,
    &INTERVAL,
    &RESUMED,
    &RESTARTED,
    &JOINED,
    &RANKS,
    &REPEATED,
    &SOURCE_CUT,
    &ENCODING_GUESSED,
    &FORMAT_UNKNOWN,
    &SKIPPED_LINES,
    &DUPLICATE,
    &ONE_SIDED,
    &METRICS_MISSING,
    &SHOWN_ONLY,
    &NO_NOISE,
    &UPDATES_SKIPPED,
    &RL_REWARD_LOWER,
    &RL_REWARD_DEAD,
    &RL_REWARD_HIGHER,
    &RL_MISMATCH,
    &RL_ENTROPY,
    &RL_LENGTH,
    &RL_TRUNCATION,
    &RL_CLIP,
    &RL_KL,
    &RL_CENTRE,
    &RL_CONSTANT,
    &RL_GRAD_NORM,
    &RL_VALUE_LOSS,
    &RL_TOO_SHORT,
];
