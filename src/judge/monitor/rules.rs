//! The rules of the check of monitors.

use crate::judge::rule::Rule;
use crate::verdict::{CheckId, Severity};

const fn rule(code: &'static str, severity: Severity) -> Rule {
    Rule::new(CheckId::Monitor, code, severity)
}

/// A row is off by more than its type explains and several times more than every row before it.
pub const JUMP: Rule = rule("monitor-jump", Severity::Fail);
/// NaN or infinity on the candidate side only.
pub const NON_FINITE: Rule = rule("monitor-non-finite", Severity::Fail);
/// NaN or infinity on the baseline side only, so that nothing can be compared there.
pub const BASELINE_NON_FINITE: Rule = rule("monitor-baseline-non-finite", Severity::Warn);
/// NaN or infinity on both sides, so that nothing can be compared there.
pub const NON_FINITE_BOTH: Rule = rule("monitor-non-finite-both", Severity::Warn);
/// Element types differ.
pub const DTYPE_DIFFERS: Rule = rule("monitor-dtype-differs", Severity::Fail);
/// Shapes differ.
pub const SHAPE_DIFFERS: Rule = rule("monitor-shape-differs", Severity::Fail);
/// A rank is recorded on one side only.
pub const RANKS_MISSING: Rule = rule("monitor-ranks-missing", Severity::Incomplete).absence();
/// Steps of a rank are recorded on one side only.
pub const STEPS_MISSING: Rule = rule("monitor-steps-missing", Severity::Incomplete).absence();
/// Tensors of a rank are recorded on one side only.
pub const NAMES_MISSING: Rule = rule("monitor-names-missing", Severity::Incomplete).absence();
/// A table cannot be read to its end.
pub const FILE_DAMAGED: Rule = rule("monitor-file-damaged", Severity::Incomplete).absence();
/// Not one row of a rank was compared.
pub const NOTHING_COMPARED: Rule = rule("monitor-nothing-compared", Severity::Incomplete).absence();
/// No statistic with a number was recorded.
pub const NO_STATISTICS: Rule = rule("monitor-no-statistics", Severity::Incomplete);
/// The runs are apart by growth, and only exact rules hold from there on.
pub const NOISE_HORIZON: Rule = rule("monitor-noise-horizon", Severity::Warn);
/// The monitor of the candidate reported anomalies of its own.
pub const ANOMALIES: Rule = rule("monitor-anomalies", Severity::Info);
/// A rank was recorded by several starts that overlap.
pub const RANK_TWICE: Rule = rule("monitor-rank-twice", Severity::Warn);
/// The sides were recorded by different versions of the monitor.
pub const VERSIONS_DIFFER: Rule = rule("monitor-versions-differ", Severity::Info);
/// The candidate's numbers are rounded more coarsely than the baseline's.
pub const ROUNDING_DIFFERS: Rule = rule("monitor-rounding-differs", Severity::Warn);

/// A parameter has a gradient, and no update changes it.
pub const PARAMETER_FROZEN: Rule = rule("parameter-frozen", Severity::Warn);

/// All of them.
pub const RULES: &[&Rule] = &[
    &JUMP,
    &NON_FINITE,
    &BASELINE_NON_FINITE,
    &NON_FINITE_BOTH,
    &DTYPE_DIFFERS,
    &SHAPE_DIFFERS,
    &RANKS_MISSING,
    &STEPS_MISSING,
    &NAMES_MISSING,
    &FILE_DAMAGED,
    &NOTHING_COMPARED,
    &NO_STATISTICS,
    &NOISE_HORIZON,
    &ANOMALIES,
    &RANK_TWICE,
    &VERSIONS_DIFFER,
    &ROUNDING_DIFFERS,
    &PARAMETER_FROZEN,
];
