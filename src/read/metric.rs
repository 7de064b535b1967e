//! Names of training metrics, as trainers spell them.
//!
//! [`canonical`] gives `lm loss`, `train/loss` and `loss` the same name, so that two runs logged by different trainers can be
//! paired. [`role`] returns the kind of a metric, which decides how it is judged, and `role_in_rl` its kind in a run of
//! reinforcement learning.

mod chinese;
mod rl;
mod role;
mod words;

use std::borrow::Cow;

use crate::kind::Role;

pub(crate) use chinese::in_english;
pub(crate) use rl::{is_rl, role_in_rl};
pub use role::{better_direction, is_count, role, words_by_role};
pub(crate) use role::{is_loss_part, looks_like_goal};

/// Keys that number the steps of a record, best first.
const STEP_KEYS: [&str; 11] = [
    "step",
    "global_step",
    "iteration",
    "iter",
    "current_steps",
    "_step",
    "global_step/max_steps",
    "train/global_step",
    "steps",
    "num_updates",
    "trainer/global_step",
];

/// Names of the samples seen so far, canonical.
pub(crate) const SAMPLES: [&str; 4] = ["consumed_samples", "consumed_train_samples", "samples_count", "samples"];

/// Names of the tokens seen so far, canonical.
pub(crate) const TOKENS: [&str; 5] =
    ["num_input_tokens_seen", "num_tokens", "tokens", "tokens_seen", "consumed_tokens"];

/// Rank of a key as the step counter, lower is better; `None` where it is no step counter.
pub(crate) fn step_rank(key: &str) -> Option<usize> {
    let key = in_english(key.trim()).to_ascii_lowercase().replace(['-', ' '], "_");
    STEP_KEYS.iter().position(|known| *known == key)
}

/// Whether a key belongs to the record that a trainer writes once a run has ended.
pub(crate) fn is_end_of_run_summary(key: &str) -> bool {
    matches!(key, "train_runtime" | "train_samples_per_second" | "train_steps_per_second" | "train_loss" | "total_flos")
}

/// Whether a key is a counter or bookkeeping that trainers repeat in every record.
pub(crate) fn is_bookkeeping(key: &str) -> bool {
    let name = canonical(key);
    step_rank(key).is_some()
        || SAMPLES.contains(&name.as_ref())
        || TOKENS.contains(&name.as_ref())
        || matches!(
            name.as_ref(),
            "epoch"
                | "total_steps"
                | "max_steps"
                | "percentage"
                | "elapsed_time_since_start"
                | "time"
                | "wall_time"
                | "timestamp"
                | "_timestamp"
                | "_runtime"
                | "total_flos"
                | "global_batch_size"
                | "rank"
                | "relative_time"
                | "relative"
        )
}

/// One name for all spellings of a metric.
///
/// Lower case, `_` between words, without a leading `train/`; the spellings of loss, held-out loss, learning rate and
/// gradient norm that trainers use become `loss`, `eval_loss`, `learning_rate` and `grad_norm`.
pub fn canonical(name: &str) -> Cow<'_, str> {
    // An export of W&B puts the run's name first: `run-1 - train/loss`.
    let name = name.rsplit_once(" - ").map_or(name, |(_, metric)| metric).trim();
    if let Cow::Owned(english) = in_english(name) {
        return Cow::Owned(canonical(&english).into_owned());
    }
    let lower: String = name.to_ascii_lowercase().replace([' ', '-'], "_");
    let bare = lower.strip_prefix("train/").or_else(|| lower.strip_prefix("training/")).unwrap_or(&lower);
    let known = match bare {
        "loss"
        | "lm_loss"
        | "train_loss"
        | "reduced_train_loss"
        | "step_loss"
        | "avr_loss"
        | "loss/train"
        | "global_avg_loss"
        | "loss_metrics/global_avg_loss" => "loss",
        "eval_loss" | "eval/loss" | "val_loss" | "val/loss" | "valid_loss" | "valid/loss" | "validation_loss"
        | "validation/loss" | "validation/lm_loss" => "eval_loss",
        // A rate per optimizer, or per group of its parameters: `lr-AdamW`, `lr-pg_0`.
        _ if is_rate_of_optimizer(name) => "learning_rate",
        "lr" | "learning_rate" | "learning_rate/default" => "learning_rate",
        "grad_norm" | "gradient_norm" | "gnorm" | "global_norm" | "global_grad_norm" | "total_grad_norm"
        | "gradnorm" => "grad_norm",
        // `val/lm loss`: the loss on the data that the folder names.
        _ if held_out(bare).is_some_and(|rest| !rest.contains("train") && canonical(rest) == "loss") => "eval_loss",
        other => return if other == name { Cow::Borrowed(name) } else { Cow::Owned(other.to_owned()) },
    };
    Cow::Borrowed(known)
}

/// Whether a canonical name is that of a key metric of a run: a loss, a score, a gradient norm, a learning rate, a reward.
pub(crate) fn is_key_metric(canonical: &str) -> bool {
    matches!(
        role(canonical),
        Role::Loss
            | Role::AuxiliaryLoss
            | Role::ValueLoss
            | Role::EvalLoss
            | Role::EvalScore
            | Role::GradNorm
            | Role::LearningRate
            | Role::Reward
    )
}

/// Whether a single word names data that a run does not train on.
pub(crate) fn is_held_out(word: &str) -> bool {
    words::HELD_OUT.iter().chain(&["dev"]).any(|known| known.eq_ignore_ascii_case(word))
}

/// A lower-case name without its leading folder of held-out data; `None` where it has no such folder.
fn held_out(name: &str) -> Option<&str> {
    ["val/", "valid/", "validation/", "eval/", "test/"].iter().find_map(|folder| name.strip_prefix(folder))
}

fn is_rate_of_optimizer(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let bare = lower.strip_prefix("train/").unwrap_or(&lower);
    bare.strip_prefix("lr-").is_some_and(|optimizer| !optimizer.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_meet_in_one_name() {
        for (spelled, name) in [
            ("lm loss", "loss"),
            ("train/loss", "loss"),
            ("loss", "loss"),
            ("run 7 - train/loss", "loss"),
            ("grad-norm", "grad_norm"),
            ("grad norm", "grad_norm"),
            ("lr", "learning_rate"),
            ("train/learning_rate", "learning_rate"),
            ("mtp_1 loss", "mtp_1_loss"),
            ("eval_loss", "eval_loss"),
            ("val loss", "eval_loss"),
            ("eval/loss", "eval_loss"),
            ("validation/lm_loss", "eval_loss"),
            ("lr-AdamW", "learning_rate"),
            ("train/lr-pg_0", "learning_rate"),
            ("lr_ratio", "lr_ratio"),
        ] {
            assert_eq!(canonical(spelled), name, "{spelled}");
        }
    }
}
