//! The rules of the dump check.

use crate::judge::rule::rules;

/// Fact of a finding: values after its own that differ beyond noise, which are not judged where a waiver covers it.
pub(crate) const BEHIND: &str = "behind";

/// Fact of a finding of records without an order, none of which is the first.
pub const UNORDERED: &str = "unordered";

rules! {
    CheckId::Dump;

    /// An operation adds an error beyond what another precision explains.
    OUTPUT_DIVERGES = "output-diverges", Fail;
    /// An operation adds an error beyond noise, of the size another precision or algorithm makes.
    OTHER_PRECISION = "other-precision", Warn;
    /// An input that nothing dumped produced differs, and nothing before it explains that.
    INPUT_DIFFERS = "input-differs", Fail;
    /// Element types differ.
    DTYPE_DIFFERS = "dtype-differs", Fail;
    /// Shapes differ.
    SHAPE_DIFFERS = "shape-differs", Fail;
    /// A scalar, boolean or text argument differs.
    ARGUMENT_DIFFERS = "argument-differs", Fail;
    /// An integer or boolean tensor differs.
    INTEGER_DIFFERS = "integer-differs", Fail;
    /// An integer or boolean result differs where its inputs tie within noise.
    NEAR_TIE = "near-tie", Warn;
    /// Places or signs of NaN and infinity differ.
    NON_FINITE_DIFFERS = "non-finite-differs", Fail;
    /// One side requires a gradient, the other does not.
    REQUIRES_GRAD_DIFFERS = "requires-grad-differs", Fail;
    /// Checksums differ; statistics beside them, where there are any, agree within noise.
    CHECKSUM_DIFFERS = "checksum-differs", Fail;
    /// An argument that the call may write in place differs while every output agrees.
    IN_PLACE_ARGUMENT = "in-place-argument", Warn;
    /// Errors build up beyond the band although no single operation is suspected.
    ERROR_ACCUMULATES = "error-accumulates", Warn;
    /// A value differs at all, under the profile that allows no difference.
    NOT_BIT_EXACT = "not-bit-exact", Fail;
    /// A tensor does not meet the published rule that the policy chose.
    PRESET_NOT_MET = "preset-not-met", Fail;
    /// The chosen rule needs tensor data, and the dump holds none.
    PRESET_NEEDS_DATA = "preset-needs-data", Incomplete absence;
    /// A tensor lies beyond a limit of the policy that counts its elements.
    LIMIT_NOT_MET = "limit-not-met", Fail;
    /// A limit of the policy needs the elements of tensors, and neither dump saved those.
    LIMIT_NEEDS_DATA = "limit-needs-data", Incomplete absence;
    /// All module names of one side begin with a prefix, which was left out.
    MODULE_PREFIX = "module-prefix", Info;
    /// Module names of both sides differ by a prefix, and there is more than one way to leave one out.
    MODULE_PREFIX_AMBIGUOUS = "module-prefix-ambiguous", Incomplete;
    /// Operations of one side have no partner.
    OPERATIONS_MISSING = "operations-missing", Incomplete;
    /// A value of a paired operation is there on one side only.
    VALUE_MISSING = "value-missing", Incomplete;
    /// A tensor's file is missing or damaged.
    TENSOR_UNREADABLE = "tensor-unreadable", Incomplete absence;
    /// Statistics or checksums of a value are there on one side only.
    STATISTICS_MISSING = "statistics-missing", Incomplete absence;
    /// A statistic is a text or a list, which says nothing of the numbers.
    STATISTICS_UNREADABLE = "statistics-unreadable", Incomplete absence;
    /// Statistics of a tensor are not those of its data.
    STATISTICS_CONTRADICT = "statistics-contradict", Incomplete absence;
    /// Data of a tensor was saved on one side only.
    DATA_MISSING = "data-missing", Incomplete absence;
    /// A backward call recorded another node of a composite function on each side.
    DECOMPOSED_OTHERWISE = "decomposed-otherwise", Info;
    /// Whether a gradient is required is recorded on one side only.
    REQUIRES_GRAD_MISSING = "requires-grad-missing", Warn;
    /// A tensor holds nothing but NaN on both sides.
    NOT_A_NUMBER_ON_BOTH = "not-a-number-on-both", Warn;
    /// An operation that the candidate alone runs makes NaN, which reaches operations of both sides.
    NOT_A_NUMBER_APPEARS = "not-a-number-appears", Fail;
    /// An operation that the candidate alone runs, right before the numbers differ.
    OTHER_OPERATION = "other-operation", Fail;
    /// Single elements are off, while all others agree.
    OUTLIERS = "outliers", Fail;
    /// A file beside the records, with call stacks or the module tree, cannot be read.
    SIDE_FILE_UNREADABLE = "side-file-unreadable", Warn absence;
    /// Part of a record is not understood.
    RECORD_UNREADABLE = "record-unreadable", Incomplete absence;
    /// A name stands more than once where it may stand once, so that one record hides another.
    RECORD_REPEATED = "record-repeated", Incomplete absence;
    /// A step is there on one side only.
    STEP_MISSING = "step-missing", Incomplete absence;
    /// A rank is there on one side only.
    RANK_MISSING = "rank-missing", Incomplete absence;
    /// The two sides recorded different things; what both have was compared.
    TASK_DIFFERS = "task-differs", Incomplete;
    /// The reference run shows that the baseline is off at a culprit, and not the candidate.
    BASELINE_OFF = "baseline-off", Warn;
    /// The reference run has no such step and rank, or it cannot be read.
    REFERENCE_MISSING = "reference-missing", Warn;
    /// No noise was recorded for a step and rank, although a recorded band is given.
    NOISE_MISSING = "dump-noise-missing", Info;
    /// NaN or infinity is born in an operation, or enters the first one, of a run without a baseline.
    NON_FINITE = "dump-non-finite", Fail;
    /// A result reaches the largest number of its type in a run without a baseline.
    SATURATED = "dump-saturated", Warn;
    /// Operations that msprobe's `overflow_check` names, beside those that the gate blames.
    OVERFLOW_CHECK = "dump-overflow-check", Info;
    /// Nothing at all could be compared.
    NOTHING_COMPARED = "nothing-compared", Incomplete absence;
}
