//! Names of training metrics, as trainers spell them.
//!
//! [`canonical`] gives one name to what `lm loss`, `train/loss` and `loss` all mean, so that two runs logged by
//! different trainers can be paired; [`role`] says what a metric is, which decides how it is judged.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Kind of a metric, which decides how it is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// A training loss.
    Loss,
    /// A part of the loss that is noisier than the whole: load balancing, z-loss, KL terms.
    AuxiliaryLoss,
    /// The norm of the gradient.
    GradNorm,
    /// The learning rate.
    LearningRate,
    /// A loss measured on held-out data.
    EvalLoss,
    /// A score measured on held-out data; more is better.
    EvalScore,
    /// A reward of reinforcement learning; more is better.
    Reward,
    /// Time per step, in any unit; less is better.
    Time,
    /// Throughput; more is better.
    Throughput,
    /// Memory; less is better.
    Memory,
    /// Anything else: shown, not judged.
    Other,
}

impl Role {
    /// Whether a trainer that logs every k steps writes the mean over the window, not the step's own value.
    pub fn is_averaged(self) -> bool {
        matches!(self, Self::Loss | Self::AuxiliaryLoss)
    }

    /// Whether the metric measures speed or size of a run rather than its results.
    pub fn is_performance(self) -> bool {
        matches!(self, Self::Time | Self::Throughput | Self::Memory)
    }

    /// Whether more is better; `None` where neither direction is.
    pub fn more_is_better(self) -> Option<bool> {
        match self {
            Self::EvalScore | Self::Reward | Self::Throughput => Some(true),
            Self::Time | Self::Memory => Some(false),
            _ => None,
        }
    }
}

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
pub const SAMPLES: [&str; 4] = ["consumed_samples", "consumed_train_samples", "samples_count", "samples"];

/// Names of the tokens seen so far, canonical.
pub const TOKENS: [&str; 5] = ["num_input_tokens_seen", "num_tokens", "tokens", "tokens_seen", "consumed_tokens"];

/// Rank of a key as the step counter, lower is better; `None` where it is none.
pub fn step_rank(key: &str) -> Option<usize> {
    let key = key.trim().to_ascii_lowercase().replace(['-', ' '], "_");
    STEP_KEYS.iter().position(|known| *known == key)
}

/// Keys of the record that a trainer writes once a run has ended.
pub fn is_end_of_run_summary(key: &str) -> bool {
    matches!(key, "train_runtime" | "train_samples_per_second" | "train_steps_per_second" | "train_loss" | "total_flos")
}

/// Counters and bookkeeping that trainers repeat in every record.
pub fn is_bookkeeping(key: &str) -> bool {
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
/// Lower case, `_` between words, without a leading `train/`; the spellings of loss, learning rate and gradient
/// norm that trainers use become `loss`, `learning_rate` and `grad_norm`.
pub fn canonical(name: &str) -> Cow<'_, str> {
    // An export of W&B puts the run's name in front: `run-1 - train/loss`.
    let name = name.rsplit_once(" - ").map_or(name, |(_, metric)| metric).trim();
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
        "lr" | "learning_rate" | "learning_rate/default" => "learning_rate",
        "grad_norm" | "gradient_norm" | "gnorm" | "global_norm" | "global_grad_norm" | "total_grad_norm"
        | "gradnorm" => "grad_norm",
        other => return if other == name { Cow::Borrowed(name) } else { Cow::Owned(other.to_owned()) },
    };
    Cow::Borrowed(known)
}

/// The kind of a metric, from its canonical name.
pub fn role(canonical: &str) -> Role {
    let last = canonical.rsplit('/').next().unwrap_or(canonical);
    let held_out = ["eval", "valid", "test", "val_", "val/"].iter().any(|prefix| canonical.starts_with(prefix));
    let has = |words: &[&str]| words.iter().any(|word| canonical.contains(word));
    let is_part = has(&["aux", "balanc", "z_loss", "router", "kl_", "vf_", "pg_"])
        || canonical.contains("entropy") && !canonical.contains("cross_entropy");
    if let Some(role) = performance_role(canonical) {
        return role;
    }
    if canonical == "learning_rate" || last == "lr" || last.starts_with("lr_") || last.starts_with("learning_rate") {
        return Role::LearningRate;
    }
    if last.contains("grad_norm") {
        return Role::GradNorm;
    }
    if last.contains("scale") || last.starts_with("num_") {
        return Role::Other;
    }
    // Lightning logs a metric of the step and of the epoch beside each other.
    let stem = ["_step", "_epoch", "_train"].iter().find_map(|end| last.strip_suffix(end)).unwrap_or(last);
    if stem.ends_with("loss")
        || stem.starts_with("loss_")
        || matches!(stem, "perplexity" | "ppl" | "nll" | "ce" | "xent")
        || stem.ends_with("cross_entropy")
        || stem.ends_with("_ppl")
    {
        return match () {
            () if held_out => Role::EvalLoss,
            () if stem.starts_with("loss_") || is_part => Role::AuxiliaryLoss,
            () => Role::Loss,
        };
    }
    if last.contains("reward") || canonical.starts_with("reward/") {
        return if last.contains("std") { Role::Other } else { Role::Reward };
    }
    let score =
        ["acc", "accuracy", "score", "f1", "bleu", "rouge", "exact_match"].iter().any(|word| last.contains(word));
    if score { Role::EvalScore } else { Role::Other }
}

/// Whether a canonical name that no role fits reads like a training loss or a reward: what a run is about.
pub fn looks_like_goal(canonical: &str) -> bool {
    let lower = canonical.to_ascii_lowercase();
    let words: Vec<&str> = lower.split(|c: char| !c.is_ascii_alphanumeric()).collect();
    // Their spread, their scale and how many there were are not a goal.
    let about = ["scale", "scaler", "std", "var", "min", "max", "num", "count", "clipfrac", "ratio", "weight", "coef"];
    let goal = ["nll", "ce", "xent", "objective", "perplexity", "ppl"];
    let has = |list: &[&str]| words.iter().any(|word| list.contains(word));
    let is_goal = |word: &&str| {
        word.starts_with("loss") || word.ends_with("loss") || word.starts_with("reward") || *word == "crossentropy"
    };
    let named = words.iter().any(is_goal) || lower.contains("cross_entropy") || has(&goal);
    role(canonical) == Role::Other && !has(&about) && !lower.contains("lossscale") && named
}

fn performance_role(canonical: &str) -> Option<Role> {
    let has = |words: &[&str]| words.iter().any(|word| canonical.contains(word));
    if has(&["mem", "memory", "memo_"]) && !has(&["member"]) {
        return Some(Role::Memory);
    }
    if has(&["per_sec", "throughput", "tflop", "tokens/s", "samples/s", "steps/s"])
        || matches!(canonical, "tps" | "mfu" | "tgs")
        || canonical.ends_with("/tps")
    {
        return Some(Role::Throughput);
    }
    let time = has(&["elapsed", "iteration_time", "step_time", "time_info", "runtime", "timing", "time_per"]);
    time.then_some(Role::Time)
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
        ] {
            assert_eq!(canonical(spelled), name, "{spelled}");
        }
    }

    #[test]
    fn what_a_run_is_about_is_told_from_its_surroundings() {
        for name in ["critic/rewards/mean", "objective", "train_xent_mean"] {
            assert!(looks_like_goal(name), "{name}");
        }
        for name in ["loss", "loss_scale", "critic/rewards/std", "entropy", "glossary", "num_losses", "reward"] {
            assert!(!looks_like_goal(name), "{name}");
        }
    }

    #[test]
    fn roles_follow_from_names() {
        for (name, expected) in [
            ("loss", Role::Loss),
            ("loss_step", Role::Loss),
            ("train_loss_step", Role::Loss),
            ("cross_entropy_loss", Role::Loss),
            ("nll", Role::Loss),
            ("val_cross_entropy", Role::EvalLoss),
            ("loss_bbox", Role::AuxiliaryLoss),
            ("entropy_loss", Role::AuxiliaryLoss),
            ("validation/lm_loss_ppl", Role::EvalLoss),
            ("mtp_1_loss", Role::Loss),
            ("eval_loss", Role::EvalLoss),
            ("load_balancing_loss", Role::AuxiliaryLoss),
            ("loss_scale", Role::Other),
            ("grad_norm", Role::GradNorm),
            ("learning_rate", Role::LearningRate),
            ("eval_accuracy", Role::EvalScore),
            ("critic/rewards/mean", Role::Other),
            ("reward", Role::Reward),
            ("iteration_time", Role::Time),
            ("eval_runtime", Role::Time),
            ("eval_samples_per_second", Role::Throughput),
            ("throughput", Role::Throughput),
            ("mem_allocated_bytes", Role::Memory),
            ("num_zeros", Role::Other),
            ("entropy", Role::Other),
        ] {
            assert_eq!(role(name), expected, "{name}");
        }
    }
}
