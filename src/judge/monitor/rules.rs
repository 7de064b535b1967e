//! The rules of the check of monitors.

use crate::judge::rule::{Rule, rules};
use crate::result::finding::Finding;

rules! {
    CheckId::Monitor;

    /// A row differs by more than its type explains, and by several times more than every row before it.
    JUMP = "monitor-jump", Fail;
    /// Updates of parameters differ by more than rounding and growth explain.
    UPDATE = "monitor-update-differs", Fail;
    /// Parameters are trained on the candidate side only.
    TRAINABLE_DIFFERS = "monitor-trainable-differs", Fail;
    /// NaN or infinity on the candidate side only.
    NON_FINITE = "monitor-non-finite", Fail;
    /// NaN or infinity on the baseline side only, so that nothing can be compared there.
    BASELINE_NON_FINITE = "monitor-baseline-non-finite", Warn;
    /// NaN or infinity on both sides, so that nothing can be compared there.
    NON_FINITE_BOTH = "monitor-non-finite-both", Warn;
    /// Element types differ.
    DTYPE_DIFFERS = "monitor-dtype-differs", Fail;
    /// Shapes differ.
    SHAPE_DIFFERS = "monitor-shape-differs", Fail;
    /// A rank is recorded on one side only.
    RANKS_MISSING = "monitor-ranks-missing", Incomplete absence;
    /// Steps of a rank are recorded on one side only.
    STEPS_MISSING = "monitor-steps-missing", Incomplete absence;
    /// Tensors of a rank are recorded on one side only.
    NAMES_MISSING = "monitor-names-missing", Incomplete absence;
    /// A table cannot be read to its end.
    FILE_DAMAGED = "monitor-file-damaged", Incomplete absence;
    /// Not one row of a rank was compared.
    NOTHING_COMPARED = "monitor-nothing-compared", Incomplete absence;
    /// No statistic with a number was recorded.
    NO_STATISTICS = "monitor-no-statistics", Incomplete;
    /// The runs have drifted apart, and only exact rules apply from there on.
    NOISE_HORIZON = "monitor-noise-horizon", Warn;
    /// The monitor of the candidate reported anomalies of its own.
    ANOMALIES = "monitor-anomalies", Info;
    /// A rank was recorded by several starts that overlap.
    RANK_TWICE = "monitor-rank-twice", Warn;
    /// The sides were recorded by different versions of the monitor.
    VERSIONS_DIFFER = "monitor-versions-differ", Info;
    /// The candidate's numbers are rounded more coarsely than the baseline's.
    ROUNDING_DIFFERS = "monitor-rounding-differs", Warn;
}

/// A finding about a rank as a whole, or about the whole model where ranks are merged.
pub(crate) fn rank_finding(rule: &'static Rule, rank: Option<u64>) -> Finding {
    let place = rank.map_or_else(|| "all ranks".to_owned(), |rank| format!("rank {rank}"));
    with_rank(Finding::new(rule, place), rank)
}

/// Notes the rank in a finding, where there is one.
pub(crate) fn with_rank(finding: Finding, rank: Option<u64>) -> Finding {
    match rank {
        Some(rank) => finding.with("rank", rank),
        None => finding,
    }
}
