//! Codes of findings about several runs of a side.

use crate::judge::rule::rules;

rules! {
    CheckId::Loss;

    /// The candidate's runs differ from the baseline's by a shift that matters, and not by chance.
    SHIFT = "sample-shift", Fail;
    /// A shift that is significant and too small to matter.
    SMALL_SHIFT = "sample-small-shift", Info;
    /// A shift that matters, perhaps by chance.
    POSSIBLE_SHIFT = "sample-possible-shift", Warn;
    /// The candidate's runs are better.
    BETTER = "sample-better", Info;
    /// A target that is taken from the data, not declared, is reached later.
    CONVERGENCE = "sample-convergence", Warn;
    /// No shift was found, and a shift that matters might not have been detected.
    NOT_DETECTABLE = "samples-not-detectable", Info;
    /// Too few runs for a verdict.
    TOO_FEW = "samples-too-few-runs", Incomplete absence;
    /// No step that all runs have.
    NO_COMMON_STEPS = "samples-no-common-steps", Incomplete absence;
    /// Runs of the baseline have different settings.
    MIXED = "samples-mixed", Incomplete;
    /// Runs of a side are the same bytes, and count once.
    DUPLICATE = "samples-duplicate", Warn;
    /// A run is far shorter than the others of its side.
    RUN_SHORT = "sample-run-short", Incomplete absence;
    /// A run lies far from the others of its side.
    OUTLIER = "sample-outlier-run", Warn;
    /// A metric that some runs lack.
    METRIC_MISSING = "samples-metric-missing", Incomplete absence;
    /// Reruns decide, or are needed.
    RERUNS = "reruns", Info;
    /// Curves that are not judged over several runs.
    NOT_JUDGED = "samples-not-judged", Incomplete absence;
    /// A dump fails, and other runs of the candidate do not.
    NOT_REPEATABLE = "not-repeatable", Warn;
}
