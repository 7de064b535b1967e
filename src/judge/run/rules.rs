//! Codes of findings about one run by itself.

use crate::judge::rule::rules;

rules! {
    CheckId::Dump;

    /// Copies of a parameter differ between ranks.
    REPLICAS_DIFFER = "replicas-differ", Fail;
    /// No parameter moves although there are gradients.
    NEVER_MOVE = "parameters-never-move", Fail;
    /// A parameter has a gradient, and no update changes it while others change.
    PARAMETER_FROZEN = "parameter-frozen", Warn;
    /// A gradient holds that of the step before.
    ACCUMULATES = "gradient-accumulates", Fail;
    /// A trainable parameter has no gradient.
    GRADIENT_MISSING = "gradient-missing", Warn;
    /// Dropout drops where the model is evaluated.
    DROPOUT_IN_EVALUATION = "dropout-in-evaluation", Warn;
    /// Batch norm is in another mode than on another rank, or than the step.
    BATCH_NORM_MODE = "batch-norm-mode", Fail;
    /// Ranks read the same samples.
    SAME_DATA = "ranks-same-data", Warn;
    /// The same samples come again.
    BATCH_REPEATED = "batch-repeated", Info;
}

/// Names that a finding lists.
pub(super) const SHOWN: usize = 5;
