//! Codes of findings about training curves.

use crate::judge::rule::rules;
use crate::result::finding::Finding;

rules! {
    CheckId::Loss;

    /// Steps of the baseline are missing on the candidate side.
    COVERAGE = "curve-coverage", Incomplete absence;
    /// The candidate covers steps that the baseline does not have.
    BASELINE_SHORTER = "curve-baseline-shorter", Warn;
    /// NaN or infinity on the candidate side where the baseline is finite.
    NON_FINITE = "curve-non-finite", Fail;
    /// NaN or infinity on the candidate side of a time, a speed, an amount of memory or a count.
    NON_FINITE_SPEED = "curve-non-finite-speed", Info;
    /// NaN or infinity on the baseline side: those steps cannot be judged.
    NON_FINITE_BASELINE = "curve-non-finite-baseline", Warn;
    /// A loss of exactly 0.0, or frozen, while the gradient norm is NaN or 0.
    HIDDEN_FAILURE = "curve-hidden-failure", Fail;
    /// A loss of exactly 0.0 where the baseline's is not small.
    ZERO = "curve-zero", Fail;
    /// A loss that stands still while the baseline's moves.
    FROZEN = "curve-frozen", Fail;
    /// A gradient norm that is 0 at half of the steps and more.
    GRADIENT_ZERO = "gradient-zero", Fail;
    /// A learning rate that is 0 at every step.
    LEARNING_RATE_ZERO = "learning-rate-zero", Fail;
    /// A gradient norm that is not finite at a tenth of the updates that took place.
    GRADIENT_NON_FINITE = "gradient-non-finite", Fail;
    /// A gradient norm that is always the same number.
    GRADIENT_CONSTANT = "gradient-norm-constant", Info;
    /// A learning rate that stands although a decay is declared.
    LEARNING_RATE_SCHEDULE = "learning-rate-schedule", Warn;
    /// A loss that ends far above its lowest stretch.
    ENDS_HIGH = "curve-ends-high", Fail;
    /// A held-out loss that rises again from the first half of the run on.
    OVERFITS = "curve-overfits", Warn;
    /// A loss that stays at the loss of a guess.
    AT_CHANCE = "curve-at-chance", Warn;
    /// A loss whose values repeat exactly.
    PERIODIC = "curve-periodic", Fail;
    /// A throughput that ends below a third of that of the first half.
    THROUGHPUT_COLLAPSE = "throughput-collapse", Warn;
    /// Gradient norms, or their difference to the baseline's, that grow from layer to layer.
    GROWTH_BY_LAYER = "growth-by-layer", Warn;
    /// The run ended in an error.
    RUN_ENDED_WITH_ERROR = "run-ended-with-error", Fail;
    /// The log stops before the steps that it declares.
    RUN_ENDED_EARLY = "run-ended-early", Info;
    /// A loss without a baseline that ends far above its start.
    EXPLODING = "curve-exploding", Fail;
    /// A curve that never changes.
    CONSTANT = "curve-constant", Warn;
    /// The two sides log the loss of other batches: the held-out losses agree far closer.
    OTHER_BATCHES = "curve-other-batches", Warn;
    /// The learning rate schedules differ.
    LEARNING_RATE = "learning-rate-differs", Fail;
    /// The loss cannot be judged because the learning rate schedules differ.
    NOT_JUDGED = "curve-not-judged", Incomplete;
    /// The first step differs and nobody said that it may.
    FIRST_STEP = "first-step-differs", Warn;
    /// The first step is a uniform prediction, which tells nothing of the weights.
    UNIFORM_START = "curve-uniform-start", Warn;
    /// Declared as different weights, but the first step is equal.
    MODE_TOO_LOOSE = "mode-too-loose", Warn;
    /// The first step differs although the weights are declared equal.
    STEP_1 = "curve-step-1", Fail;
    /// One of the first five steps differs.
    HEAD = "curve-head", Fail;
    /// The curves differ on average.
    MEAN = "curve-mean", Fail;
    /// The curves end at different levels.
    TAIL = "curve-tail", Fail;
    /// Too many single steps differ.
    SPREAD = "curve-spread", Fail;
    /// Steps in a row differ, even if the curve recovers.
    DEPARTURE = "curve-departure", Fail;
    /// A single step differs by much.
    PEAK = "curve-peak", Warn;
    /// The candidate spikes more often than the baseline.
    SPIKES = "curve-spikes", Warn;
    /// The two runs do not change together from step to step.
    ORDER = "curve-data-order", Warn;
    /// The difference begins at once instead of growing.
    ONSET = "curve-abrupt-onset", Warn;
    /// Differences that look like randomness left in (dropout).
    RANDOMNESS = "curve-randomness", Warn;
    /// One factor between both curves, from the first step to the last.
    SCALED = "curve-scaled", Fail;
    /// One side seems to log a running mean.
    SMOOTHED = "curve-smoothed", Info;
    /// The candidate's curve falls back to an earlier stretch of itself.
    ROLLBACK = "curve-rollback", Fail;
    /// Gradient norms differ on average.
    GRAD_NORM = "curve-grad-norm", Fail;
    /// A metric that is judged by its mean became worse.
    WORSE = "curve-worse", Fail;
    /// The means of a metric differ by more than the policy allows.
    DIFFERENCE = "curve-difference", Fail;
    /// The chosen published rule fails.
    PRESET = "curve-preset", Fail;
    /// The chosen published rule cannot be applied to this curve.
    PRESET_EMPTY = "curve-preset-empty", Incomplete absence;
    /// A limit on speed or memory is declared, and the hardware is not known to be equal.
    HARDWARE = "curve-hardware", Warn;
    /// The absolute floor hides differences that would matter.
    FLOOR = "curve-floor", Warn;
    /// The source has no step numbers.
    BY_POSITION = "curve-by-position", Info;
    /// The sides number their points by different counters.
    COUNTERS = "curve-counters-differ", Incomplete;
    /// Both sides count the same steps from different numbers on.
    STEP_OFFSET = "step-offset", Warn;
    /// The sides log at different intervals.
    INTERVAL = "curve-interval", Info;
    /// The run was resumed, and logged steps again.
    RESUMED = "resumed", Info;
    /// The steps began again while no epoch was logged.
    RESTARTED = "steps-restarted", Info;
    /// Files that continue one another were read as one.
    JOINED = "curve-files-joined", Info;
    /// Ranks log different values into one file.
    RANKS = "ranks-apart", Info;
    /// Steps were logged twice.
    REPEATED = "curve-repeated-steps", Info;
    /// The file ends in the middle of a record, or of what it is packed in.
    SOURCE_CUT = "source-cut", Warn;
    /// The encoding of a text was taken from its bytes, as the text does not say.
    ENCODING_GUESSED = "encoding-guessed", Info;
    /// Lines of data that could not be read.
    SKIPPED_LINES = "curve-skipped-lines", Warn;
    /// Numbers beside a metric's name were not read.
    UNREAD_VALUES = "unread-values", Info;
    /// Lines of a text hold a loss, and no rule reads them.
    FORMAT_UNKNOWN = "format-unknown", Incomplete absence;
    /// Other files say the same.
    DUPLICATE = "curve-duplicate-source", Info;
    /// A loss that only one side has.
    ONE_SIDED = "curve-one-sided", Incomplete;
    /// Metrics that nothing judges, and that only the baseline has.
    METRICS_MISSING = "curve-metrics-missing", Warn;
    /// A metric that no rule judges has the name of a loss or reward, or moved far beyond its own variation.
    SHOWN_ONLY = "curve-shown-only", Warn;
    /// The reward ends, or stays for two windows, below the baseline's.
    RL_REWARD_LOWER = "rl-reward-lower", Fail;
    /// The reward never changes, and the baseline's does.
    RL_REWARD_DEAD = "rl-reward-dead", Fail;
    /// The reward ends above the baseline's: it may be too easy to earn.
    RL_REWARD_HIGHER = "rl-reward-higher", Warn;
    /// Rollout and training give the same tokens other probabilities.
    RL_MISMATCH = "rl-mismatch", Fail;
    /// The entropy of the policy went another way.
    RL_ENTROPY = "rl-entropy", Fail;
    /// Answers have another length.
    RL_LENGTH = "rl-length", Fail;
    /// More answers are cut at the longest length.
    RL_TRUNCATION = "rl-truncation", Fail;
    /// Another share of the probability ratios is clipped.
    RL_CLIP = "rl-clip", Fail;
    /// The policy ends at another distance from its reference.
    RL_KL = "rl-kl", Fail;
    /// A value around 0 has another centre or another spread.
    RL_CENTRE = "rl-centre", Fail;
    /// A coefficient differs.
    RL_CONSTANT = "rl-constant", Fail;
    /// The gradient norm has another level, or is 0 at more steps.
    RL_GRAD_NORM = "rl-grad-norm", Fail;
    /// The loss of the value function, or a loss beside the policy's, ends at another level.
    RL_VALUE_LOSS = "rl-value-loss", Fail;
    /// A run of reinforcement learning is too short to have a trend.
    RL_TOO_SHORT = "rl-too-short", Warn;
    /// Updates were skipped, more of them than the baseline skipped.
    UPDATES_SKIPPED = "updates-skipped", Fail;
    /// Updates took place with gradients that had overflowed.
    UPDATES_OVERFLOWED = "updates-overflowed", Fail;
    /// A noise band was given, and it does not depend on this metric.
    NO_NOISE = "curve-noise-missing", Warn;
}

/// Whether a finding says that the first loss, before any update, differs already.
pub(crate) fn is_first_loss(finding: &Finding) -> bool {
    finding.is(&STEP_1) || finding.is(&FIRST_STEP) && !finding.facts.contains_key("steps")
}
