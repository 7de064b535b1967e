//! The rules of the check of log-probabilities.

use crate::judge::rule::rules;

rules! {
    CheckId::Tokens;

    /// Log-probabilities differ by more than rounding explains.
    DIVERGE = "tokens-diverge", Fail;
    /// A few answers differ where the others agree.
    SEQUENCES_OFF = "tokens-sequences-off", Fail;
    /// The trainer's prompt differs from the engine's.
    PROMPT_DIFFERS = "tokens-prompt-differs", Fail;
    /// A log-probability is NaN or infinite where it is judged.
    NON_FINITE = "tokens-non-finite", Fail;
    /// The engine's weights lag behind their step.
    VERSION_BEHIND = "tokens-version-behind", Warn;
    /// Engine and trainer mask an answer differently.
    MASK_DIFFERS = "tokens-mask-differs", Warn;
    /// Answers end in zeros that no mask leaves out.
    MASK_MISSING = "tokens-mask-missing", Warn;
    /// All bits are equal: a copy, or kernels that do not depend on the batch.
    EQUAL_BITS = "tokens-equal-bits", Warn;
    /// The baseline's own engine and trainer disagree.
    BASELINE_OFF = "tokens-baseline-off", Warn;
    /// The candidate's engine is less precise than the baseline's.
    OTHER_PRECISION = "tokens-other-precision", Info;
    /// Both sides answered the same prompts differently.
    RESAMPLED = "tokens-resampled", Info;
    /// Arrays of an answer have different lengths.
    LENGTH_DIFFERS = "tokens-length-differs", Incomplete absence;
    /// Values are no log-probabilities.
    NOT_LOG_PROBABILITIES = "tokens-not-log-probabilities", Incomplete absence;
    /// Values are one number throughout.
    CONSTANT = "tokens-constant", Incomplete absence;
    /// No token is left to judge.
    NOTHING_JUDGED = "tokens-nothing-judged", Incomplete absence;
    /// The sides have no answer in common.
    NOT_COMPARABLE = "tokens-not-comparable", Incomplete absence;
    /// Answers of a record could not be read.
    ANSWERS_DAMAGED = "tokens-answers-damaged", Incomplete absence;
}
