//! The rules of the checkpoint check.

use crate::judge::rule::rules;

rules! {
    CheckId::Checkpoint;

    /// A parameter differs by more than another precision explains.
    DIVERGES = "parameter-diverges", Fail;
    /// A parameter is the transpose of the baseline's.
    TRANSPOSED = "parameter-transposed", Fail;
    /// A parameter holds the numbers of another one of the baseline.
    SWAPPED = "parameter-swapped", Fail;
    /// A parameter holds the numbers of an earlier iteration.
    STALE = "parameter-stale", Fail;
    /// A parameter holds the baseline's numbers in another order.
    PERMUTED = "parameter-permuted", Fail;
    /// A parameter is the baseline's times a factor.
    SCALED = "parameter-scaled", Fail;
    /// A parameter is the baseline's rounded to fewer bits.
    ROUNDED = "parameter-rounded", Warn;
    /// Rows beyond the vocabulary hold numbers.
    PADDING = "parameter-padding", Warn;
    /// A parameter differs by more than noise, as much as another precision or algorithm makes.
    DRIFTS = "parameter-drifts", Warn;
    /// Codes of a quantised parameter are further apart than rounding puts them.
    CODES_DIFFER = "parameter-codes-differ", Fail;
    /// A parameter differs at all, under the profile that allows no difference.
    NOT_BIT_EXACT = "parameter-not-bit-exact", Fail;
    /// An integer or boolean tensor differs.
    INTEGER_DIFFERS = "parameter-integer-differs", Fail;
    /// Places or signs of NaN and infinity differ.
    NON_FINITE_DIFFERS = "parameter-non-finite-differs", Fail;
    /// NaN or infinity at the same places on both sides.
    NON_FINITE = "parameter-non-finite", Warn;
    /// Shapes differ.
    SHAPE_DIFFERS = "parameter-shape-differs", Fail;
    /// Element types differ; between floating-point types it is a warning.
    DTYPE_DIFFERS = "parameter-dtype-differs", Fail;
    /// A parameter exists on one side only.
    MISSING = "parameter-missing", Incomplete;
    /// All names of one side have a prefix that the other side lacks.
    PREFIX_DIFFERS = "parameter-prefix-differs", Incomplete absence;
    /// A parameter cannot be read.
    UNREAD = "parameter-unread", Incomplete absence;
    /// A rank's file that other files refer to is missing.
    SHARD_MISSING = "shard-missing", Incomplete absence;
    /// Tensors of the optimizer are on one side only, or in a form that is not read.
    OPTIMIZER_UNREAD = "optimizer-state-unread", Info;
    /// The checkpoint holds states of random generators or data loaders, which are not judged.
    STATE = "checkpoint-state", Info;
    /// A value in the checkpoint or beside it differs: of a configuration, of trainer or optimizer.
    SETTING_DIFFERS = "checkpoint-setting-differs", Fail;
    /// Such a value exists on one side only.
    SETTING_MISSING = "checkpoint-setting-missing", Incomplete;
    /// Nothing could be compared.
    NOTHING_COMPARED = "checkpoint-not-compared", Incomplete absence;
    /// More parameters have a fault than are listed in findings.
    UNLISTED = "parameters-unlisted", Incomplete absence;
    /// A checkpoint exists on one side only.
    UNPAIRED = "checkpoint-missing", Incomplete absence;

    /// A tensor was sent and not received.
    SYNC_MISSING = "sync-missing", Fail;
    /// The engine holds a tensor of an earlier step.
    SYNC_STALE = "sync-stale", Fail;
    /// Tensors of a synchronisation are exchanged.
    SYNC_SWAPPED = "sync-swapped", Fail;
    /// Rows of a tensor arrived in another order.
    SYNC_REORDERED = "sync-reordered", Fail;
    /// Some rows of a tensor arrived, others did not.
    SYNC_PARTIAL = "sync-partial", Fail;
    /// The engine holds weights that were never loaded.
    SYNC_NOT_LOADED = "sync-not-loaded", Fail;
    /// A tensor of the engine holds NaN.
    SYNC_NON_FINITE = "sync-non-finite", Fail;
    /// A tensor of the engine is not what was sent.
    SYNC_DIFFERS = "sync-differs", Fail;
    /// A tensor was rounded to the engine's element type.
    SYNC_CAST = "sync-cast", Warn;
    /// The engine has further rows of zeros.
    SYNC_PADDED = "sync-padded", Info;
    /// A step has one stage only.
    SYNC_STAGE_MISSING = "sync-stage-missing", Incomplete absence;
    /// A tensor exists at both ends, in forms that cannot be compared.
    SYNC_NOT_COMPARABLE = "sync-not-comparable", Incomplete absence;
}
