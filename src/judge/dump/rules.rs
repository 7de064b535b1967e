//! The rules of the dump check.

use crate::judge::rule::Rule;
use crate::verdict::{CheckId, Severity};

const fn rule(code: &'static str, severity: Severity) -> Rule {
    Rule::new(CheckId::Dump, code, severity)
}

/// An operation adds an error beyond what another precision explains.
pub const OUTPUT_DIVERGES: Rule = rule("output-diverges", Severity::Fail);
/// An operation adds an error beyond noise, of the size another precision or algorithm makes.
pub const OTHER_PRECISION: Rule = rule("other-precision", Severity::Warn);
/// An input that nothing dumped produced differs, and nothing before it explains that.
pub const INPUT_DIFFERS: Rule = rule("input-differs", Severity::Fail);
/// Element types differ.
pub const DTYPE_DIFFERS: Rule = rule("dtype-differs", Severity::Fail);
/// Shapes differ.
pub const SHAPE_DIFFERS: Rule = rule("shape-differs", Severity::Fail);
/// A scalar, boolean or text argument differs.
pub const ARGUMENT_DIFFERS: Rule = rule("argument-differs", Severity::Fail);
/// An integer or boolean tensor differs.
pub const INTEGER_DIFFERS: Rule = rule("integer-differs", Severity::Fail);
/// An integer or boolean result differs where its inputs tie within noise.
pub const NEAR_TIE: Rule = rule("near-tie", Severity::Warn);
/// Places or signs of NaN and infinity differ.
pub const NON_FINITE_DIFFERS: Rule = rule("non-finite-differs", Severity::Fail);
/// One side requires a gradient, the other does not.
pub const REQUIRES_GRAD_DIFFERS: Rule = rule("requires-grad-differs", Severity::Fail);
/// Checksums differ; statistics beside them, where there are any, agree within noise.
pub const CHECKSUM_DIFFERS: Rule = rule("checksum-differs", Severity::Fail);
/// An argument that the call may write in place differs while every output agrees.
pub const IN_PLACE_ARGUMENT: Rule = rule("in-place-argument", Severity::Warn);
/// Errors build up beyond the band although no single operation is suspected.
pub const ERROR_ACCUMULATES: Rule = rule("error-accumulates", Severity::Warn);
/// A value differs at all, under the profile that allows no difference.
pub const NOT_BIT_EXACT: Rule = rule("not-bit-exact", Severity::Fail);
/// A tensor does not meet the published rule that the policy chose.
pub const PRESET_NOT_MET: Rule = rule("preset-not-met", Severity::Fail);
/// The chosen rule needs tensor data, and the dump holds none.
pub const PRESET_NEEDS_DATA: Rule = rule("preset-needs-data", Severity::Incomplete).absence();
/// A tensor lies beyond a limit of the policy that counts its elements.
pub const LIMIT_NOT_MET: Rule = rule("limit-not-met", Severity::Fail);
/// A limit of the policy needs the elements of tensors, and neither dump saved those.
pub const LIMIT_NEEDS_DATA: Rule = rule("limit-needs-data", Severity::Incomplete).absence();
/// All module names of one side begin with a prefix, which was left out.
pub const MODULE_PREFIX: Rule = rule("module-prefix", Severity::Info);
/// Module names of both sides differ by a prefix, and there is more than one way to leave one out.
pub const MODULE_PREFIX_AMBIGUOUS: Rule = rule("module-prefix-ambiguous", Severity::Incomplete);
/// Operations of one side have no partner.
pub const OPERATIONS_MISSING: Rule = rule("operations-missing", Severity::Incomplete);
/// A value of a paired operation is there on one side only.
pub const VALUE_MISSING: Rule = rule("value-missing", Severity::Incomplete);
/// A tensor's file is missing or damaged.
pub const TENSOR_UNREADABLE: Rule = rule("tensor-unreadable", Severity::Incomplete).absence();
/// Statistics or checksums of a value are there on one side only.
pub const STATISTICS_MISSING: Rule = rule("statistics-missing", Severity::Incomplete).absence();
/// A statistic is a text or a list, which says nothing of the numbers.
pub const STATISTICS_UNREADABLE: Rule = rule("statistics-unreadable", Severity::Incomplete).absence();
/// Statistics of a tensor are not those of its data.
pub const STATISTICS_CONTRADICT: Rule = rule("statistics-contradict", Severity::Incomplete).absence();
/// Data of a tensor was saved on one side only.
pub const DATA_MISSING: Rule = rule("data-missing", Severity::Incomplete).absence();
/// A backward call recorded another node of a composite function on each side.
pub const DECOMPOSED_OTHERWISE: Rule = rule("decomposed-otherwise", Severity::Info);
/// Whether a gradient is required is recorded on one side only.
pub const REQUIRES_GRAD_MISSING: Rule = rule("requires-grad-missing", Severity::Warn);
/// A tensor holds nothing but NaN on both sides.
pub const NOT_A_NUMBER_ON_BOTH: Rule = rule("not-a-number-on-both", Severity::Warn);
/// An operation that the candidate alone runs makes NaN, which reaches operations of both sides.
pub const NOT_A_NUMBER_APPEARS: Rule = rule("not-a-number-appears", Severity::Fail);
/// An operation that the candidate alone runs, right before the numbers differ.
pub const OTHER_OPERATION: Rule = rule("other-operation", Severity::Fail);
/// Single elements are off, while all others agree.
pub const OUTLIERS: Rule = rule("outliers", Severity::Fail);
/// A file beside the records, with call stacks or the module tree, cannot be read.
pub const SIDE_FILE_UNREADABLE: Rule = rule("side-file-unreadable", Severity::Warn).absence();
/// Part of a record is not understood.
pub const RECORD_UNREADABLE: Rule = rule("record-unreadable", Severity::Incomplete).absence();
/// A name stands more than once where it may stand once, so that one record hides another.
pub const RECORD_REPEATED: Rule = rule("record-repeated", Severity::Incomplete).absence();
/// A step is there on one side only.
pub const STEP_MISSING: Rule = rule("step-missing", Severity::Incomplete).absence();
/// A rank is there on one side only.
pub const RANK_MISSING: Rule = rule("rank-missing", Severity::Incomplete).absence();
/// The two sides recorded different things; what both have was compared.
pub const TASK_DIFFERS: Rule = rule("task-differs", Severity::Incomplete);
/// The reference run shows that the baseline is off at a culprit, and not the candidate.
pub const BASELINE_OFF: Rule = rule("baseline-off", Severity::Warn);
/// The reference run has no such step and rank, or it cannot be read.
pub const REFERENCE_MISSING: Rule = rule("reference-missing", Severity::Warn);
/// No noise was recorded for a step and rank, although a recorded band is given.
pub const NOISE_MISSING: Rule = rule("dump-noise-missing", Severity::Info);
/// NaN or infinity is born in an operation, or enters the first one, of a run without a baseline.
pub const NON_FINITE: Rule = rule("dump-non-finite", Severity::Fail);
/// A result reaches the largest number of its type in a run without a baseline.
pub const SATURATED: Rule = rule("dump-saturated", Severity::Warn);
/// Operations that msprobe's `overflow_check` names, beside those that the gate blames.
pub const OVERFLOW_CHECK: Rule = rule("dump-overflow-check", Severity::Info);
/// Nothing at all could be compared.
pub const NOTHING_COMPARED: Rule = rule("nothing-compared", Severity::Incomplete).absence();

/// All of them.
pub const RULES: &[&Rule] = &[
    &OUTPUT_DIVERGES,
    &OTHER_PRECISION,
    &INPUT_DIFFERS,
    &DTYPE_DIFFERS,
    &SHAPE_DIFFERS,
    &ARGUMENT_DIFFERS,
    &INTEGER_DIFFERS,
    &NEAR_TIE,
    &NON_FINITE_DIFFERS,
    &REQUIRES_GRAD_DIFFERS,
    &CHECKSUM_DIFFERS,
    &IN_PLACE_ARGUMENT,
    &ERROR_ACCUMULATES,
    &NOT_BIT_EXACT,
    &PRESET_NOT_MET,
    &PRESET_NEEDS_DATA,
    &LIMIT_NOT_MET,
    &LIMIT_NEEDS_DATA,
    &MODULE_PREFIX,
    &MODULE_PREFIX_AMBIGUOUS,
    &OPERATIONS_MISSING,
    &VALUE_MISSING,
    &TENSOR_UNREADABLE,
    &STATISTICS_MISSING,
    &STATISTICS_UNREADABLE,
    &STATISTICS_CONTRADICT,
    &DATA_MISSING,
    &DECOMPOSED_OTHERWISE,
    &REQUIRES_GRAD_MISSING,
    &NOT_A_NUMBER_ON_BOTH,
    &NOT_A_NUMBER_APPEARS,
    &OTHER_OPERATION,
    &OUTLIERS,
    &SIDE_FILE_UNREADABLE,
    &RECORD_UNREADABLE,
    &RECORD_REPEATED,
    &STEP_MISSING,
    &RANK_MISSING,
    &TASK_DIFFERS,
    &NOTHING_COMPARED,
    &NOISE_MISSING,
    &BASELINE_OFF,
    &NON_FINITE,
    &SATURATED,
    &OVERFLOW_CHECK,
    &REFERENCE_MISSING,
];
