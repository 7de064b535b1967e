//! The register of causes: every code a diagnosis can carry, stable for ever, one file per cause.
//!
//! A cause may show in a dump, in training curves, or in the findings of the config check; each file defines what it
//! takes as evidence and how certain that makes it.

mod amplification;
mod argument_differs;
mod checksum_differs;
mod communication;
mod dropout_in_evaluation;
mod dtype_differs;
mod gradient_accumulates;
mod gradient_non_finite;
mod gradient_only;
mod gradient_reduction;
mod hyperparameters_differ;
mod input_differs;
mod learning_rate_zero;
mod log_base;
mod lost_update;
mod missing_collective;
mod missing_operations;
mod near_tie;
mod operator_inaccurate;
mod optimizer_differs;
mod other_algorithm;
mod other_tensor;
mod other_weights;
mod overflow;
mod overwritten;
mod padding;
mod parameter_frozen;
mod parameters_never_move;
mod permuted;
mod position;
mod prefix_cache;
mod prompt;
mod randomness;
mod rank_weights;
mod reduced_precision;
mod replicas_differ;
mod reward_dead;
mod rollout_mismatch;
mod same_mask;
mod saturation;
mod scaled;
mod sequences;
mod shape_differs;
mod shifted;
mod silent_corruption;
mod stale_weights;
mod temperature;
mod token_row;
mod trainable_differs;
mod truncated_sampling;
mod updates_skipped;
mod wrong_positions;
mod wrong_split;
mod wrong_weights_or_data;
mod zero_gradient;

pub use super::entry::Cause;
pub(super) use operator_inaccurate::add_operator_evidence;
pub(crate) use other_algorithm::PHASE_UNSEEN;
pub(crate) use wrong_weights_or_data::INDICES_UNSEEN;
pub(crate) use zero_gradient::GRADIENT_OF_INDEX;

/// Every cause, the more specific before the more general: of two equally certain ones, the first is reported first.
pub const ALL: [&Cause; 55] = [
    &missing_collective::CAUSE,
    &padding::CAUSE,
    &prompt::CAUSE,
    &shifted::CAUSE,
    &log_base::CAUSE,
    &temperature::CAUSE,
    &truncated_sampling::CAUSE,
    &stale_weights::CAUSE,
    &rank_weights::CAUSE,
    &token_row::CAUSE,
    &prefix_cache::CAUSE,
    &sequences::CAUSE,
    &position::CAUSE,
    &other_weights::CAUSE,
    &updates_skipped::CAUSE,
    &gradient_non_finite::CAUSE,
    &learning_rate_zero::CAUSE,
    &amplification::CAUSE,
    &gradient_accumulates::CAUSE,
    &replicas_differ::CAUSE,
    &parameters_never_move::CAUSE,
    &parameter_frozen::CAUSE,
    &dropout_in_evaluation::CAUSE,
    &trainable_differs::CAUSE,
    &saturation::CAUSE,
    &overflow::CAUSE,
    &randomness::CAUSE,
    &zero_gradient::CAUSE,
    &communication::CAUSE,
    &lost_update::CAUSE,
    &gradient_reduction::CAUSE,
    &optimizer_differs::CAUSE,
    &same_mask::CAUSE,
    &wrong_positions::CAUSE,
    &wrong_split::CAUSE,
    &other_tensor::CAUSE,
    &permuted::CAUSE,
    &scaled::CAUSE,
    &overwritten::CAUSE,
    &silent_corruption::CAUSE,
    &near_tie::CAUSE,
    &hyperparameters_differ::CAUSE,
    &reward_dead::CAUSE,
    &rollout_mismatch::CAUSE,
    &wrong_weights_or_data::CAUSE,
    &reduced_precision::CAUSE,
    &argument_differs::CAUSE,
    &other_algorithm::CAUSE,
    &operator_inaccurate::CAUSE,
    &missing_operations::CAUSE,
    &input_differs::CAUSE,
    &shape_differs::CAUSE,
    &dtype_differs::CAUSE,
    &checksum_differs::CAUSE,
    &gradient_only::CAUSE,
];

/// The cause with this code.
pub fn find(code: &str) -> Option<&'static Cause> {
    ALL.into_iter().find(|cause| cause.code == code)
}
