//! Roles of metrics, decided by whole words in all parts of their names.

use super::words::{Words, contains_sequence, is_one_of, without_digits};
use crate::kind::{Better, Role};

/// Words for a loss, as the last word of a metric's subject.
const LOSSES: [&str; 17] = [
    "loss",
    "losses",
    "nll",
    "ce",
    "xent",
    "ppl",
    "perplexity",
    "objective",
    "crossentropy",
    "cost",
    "logloss",
    "bce",
    "mse",
    "mae",
    "rmse",
    "bpb",
    "bpc",
];
/// Words for a part of a loss.
const PARTS: [&str; 16] = [
    "aux",
    "auxiliary",
    "balance",
    "balancing",
    "z",
    "router",
    "kl",
    "pg",
    "policy",
    "actor",
    "entropy",
    "reg",
    "regularization",
    "regularizer",
    "penalty",
    "moe",
];
/// Words for a value function.
const VALUE: [&str; 4] = ["vf", "value", "values", "critic"];
/// Words for scores of which a higher value is better.
const SCORES: [&str; 30] = [
    "acc",
    "accuracy",
    "accuracies",
    "score",
    "scores",
    "f1",
    "em",
    "auc",
    "iou",
    "miou",
    "pass",
    "ap",
    "map",
    "dice",
    "chrf",
    "precision",
    "recall",
    "psnr",
    "ssim",
    "nds",
    "mrr",
    "ndcg",
    "mcc",
    "success",
    "top",
    "bleu",
    "rouge",
    "meteor",
    "cider",
    "jaccard",
];
/// Words for scores of which a lower value is better.
const ERRORS: [&str; 10] = ["wer", "cer", "ter", "fid", "kid", "eer", "error", "err", "lpips", "mape"];
/// Words for counts.
const COUNTS: [&str; 16] = [
    "num",
    "count",
    "counts",
    "number",
    "samples",
    "tokens",
    "images",
    "size",
    "parameters",
    "params",
    "zeros",
    "skipped",
    "timesteps",
    "steps",
    "total_num",
    "seqs",
];
/// Words for properties of a loss or a reward, such as its scale or its number. The metric itself is then not a loss or reward.
const ABOUT: [&str; 20] = [
    "momentum",
    "best",
    "threshold",
    "size",
    "gamma",
    "scale",
    "scaler",
    "scaling",
    "num",
    "count",
    "counts",
    "clipfrac",
    "ratio",
    "weight",
    "weights",
    "coef",
    "coeff",
    "coefficient",
    "frac",
    "fraction",
];

/// Lists of words, each with the role that its words give a metric.
pub fn words_by_role() -> [(&'static str, &'static [&'static str]); 5] {
    [
        ("loss, or held-out loss", &LOSSES),
        ("part of a loss, beside a word of a loss", &PARTS),
        ("score, higher is better", &SCORES),
        ("score, lower is better", &ERRORS),
        ("count, which is no result", &COUNTS),
    ]
}

/// Role of a metric in a run of supervised training, from its canonical name.
pub fn role(canonical: &str) -> Role {
    // A canonical name may hold upper-case letters if a file has two spellings of one name.
    let lower = canonical.to_ascii_lowercase();
    let words = Words::from_name(&lower);
    if let Some(role) = performance_role(&words) {
        return role;
    }
    if is_learning_rate(words.last_part()) || words.earlier_parts().any(|part| part == ["lr"]) {
        return Role::LearningRate;
    }
    if is_grad_norm(words.last_part()) || is_norm_alone(words.last_part()) {
        return Role::GradNorm;
    }
    if words.is_statistic() || words.last_part().iter().any(|word| ABOUT.contains(word)) {
        return Role::Other;
    }
    loss(&words).or_else(|| reward(&words)).or_else(|| score(&words)).unwrap_or(Role::Other)
}

/// Whether the words name a learning rate.
pub(super) fn is_learning_rate(words: &[&str]) -> bool {
    let lr = |word: Option<&&str>| word.is_some_and(|word| without_digits(word) == "lr");
    // Ignore a number at the end, as in `current_lr_0`.
    let last = words.iter().rfind(|word| !without_digits(word).is_empty());
    lr(words.first()) || lr(last) || contains_sequence(words, &["learning", "rate"]) || words == ["l", "r"]
}

/// Whether the words name the norm of a gradient.
pub(super) fn is_grad_norm(words: &[&str]) -> bool {
    let joined = |word: &&str| matches!(*word, "gnorm" | "gradnorm" | "grdn");
    words.iter().any(joined)
        || ["grad", "gradient", "gradients"].iter().any(|grad| contains_sequence(words, &[grad, "norm"]))
}

/// Whether the words name only a norm, which is then taken for the norm of the gradient.
fn is_norm_alone(words: &[&str]) -> bool {
    matches!(words, ["norm"] | ["total" | "global", "norm"])
}

fn is_loss(word: &str) -> bool {
    let glued = ["loss", "crossentropy", "perplexity"].iter().any(|end| without_digits(word).ends_with(end));
    glued || is_one_of(word, &LOSSES)
}

fn loss(words: &Words<'_>) -> Option<Role> {
    let subject = words.subject();
    let ends = subject.last().is_some_and(|word| is_loss(word)) || subject.ends_with(&["cross", "entropy"]);
    // In `loss_cls` and `loss/policy` the part of the loss follows the word `loss`.
    let begins = subject.first().is_some_and(|word| is_loss(word));
    let within = words.earlier_parts().any(|part| part.last().is_some_and(|word| is_loss(word)));
    if !ends && !begins && !within {
        return None;
    }
    let part = words.contains_any(&PARTS) && !contains_sequence(subject, &["cross", "entropy"]);
    let named_part = !ends && subject.iter().any(|word| !is_whole(word));
    Some(if words.is_held_out() {
        Role::EvalLoss
    } else if words.contains_any(&VALUE) && !ends_in_aggregate(words, "value") {
        Role::ValueLoss
    } else if part || named_part {
        Role::AuxiliaryLoss
    } else {
        Role::Loss
    })
}

/// Whether `word` only ends a name and describes the kind of number, as in `loss_value`.
fn ends_in_aggregate(words: &Words<'_>, word: &str) -> bool {
    words.last_part().last() == Some(&word)
        && words.all().filter(|other| VALUE.contains(other)).count() == 1
        && words.subject().last().is_some_and(|subject| is_loss(subject))
        && words.last_part().len() > 1
}

/// Whether a metric with this word next to `loss` is still the whole loss.
fn is_whole(word: &str) -> bool {
    is_loss(word)
        || matches!(word, "lm" | "model" | "all" | "main" | "global" | "batch" | "iter" | "iteration" | "micro")
}

fn reward(words: &Words<'_>) -> Option<Role> {
    let is = |word: &str| matches!(word, "reward" | "rewards");
    words
        .all()
        .any(is)
        .then(|| if words.subject().iter().any(|word| SCORES.contains(word)) { Role::EvalScore } else { Role::Reward })
}

fn score(words: &Words<'_>) -> Option<Role> {
    // A name such as `grad_acc_steps` is a count, not an accuracy.
    let counts = words.contains_any(&["grad", "gradient", "steps"]);
    let named = names_score(words) || names_error(words);
    ((named && !counts) || contains_sequence(words.subject(), &["exact", "match"])).then_some(Role::EvalScore)
}

fn names_score(words: &Words<'_>) -> bool {
    let is_score = |word: &&str| {
        is_one_of(word, &SCORES) || word.starts_with("rouge") || word.starts_with("bleu") || word.ends_with("accuracy")
    };
    words.subject().iter().any(is_score) || words.earlier_parts().any(|part| part.last().is_some_and(is_score_word))
}

fn is_score_word(word: &&str) -> bool {
    is_one_of(word, &SCORES)
}

fn names_error(words: &Words<'_>) -> bool {
    words.subject().iter().any(|word| is_one_of(word, &ERRORS))
}

/// Whether a loss is only a part, which regularises, balances or trains a value function. Parts are noisier than the main loss.
pub(crate) fn is_loss_part(canonical: &str) -> bool {
    let lower = canonical.to_ascii_lowercase();
    let words = Words::from_name(&lower);
    words.contains_any(&PARTS) || words.contains_any(&VALUE)
}

/// Direction in which a metric improves, by its canonical name and its role; `None` if neither direction is better.
pub fn better_direction(canonical: &str, role: Role) -> Option<Better> {
    let lower = canonical.to_ascii_lowercase();
    match role {
        Role::EvalScore if names_error(&Words::from_name(&lower)) => Some(Better::Lower),
        Role::EvalScore | Role::Reward | Role::Throughput => Some(Better::Higher),
        Role::Loss | Role::AuxiliaryLoss | Role::EvalLoss | Role::ValueLoss | Role::Time | Role::Memory => {
            Some(Better::Lower)
        }
        _ => None,
    }
}

/// Whether a metric is a count, which is not a result of a run.
pub fn is_count(canonical: &str) -> bool {
    let lower = canonical.to_ascii_lowercase();
    let words = Words::from_name(&lower);
    role(canonical) == Role::Other && words.last_part().iter().any(|word| COUNTS.contains(word))
}

/// Role of a metric of time, speed or memory; `None` for any other metric.
pub(super) fn performance_role(words: &Words<'_>) -> Option<Role> {
    let last = words.last_part();
    let any = |list: &[&str]| last.iter().any(|word| list.contains(word));
    // Times come first, because `timing_s/reward` is the time that rewards took. After that, a name that ends with a loss is a loss.
    let timed = |part: &[&str]| matches!(part.first(), Some(&"timing" | &"time" | &"timer" | &"timers"));
    if words.earlier_parts().any(timed) {
        return Some(Role::Time);
    }
    if last.last().is_some_and(|word| is_loss(word)) {
        return None;
    }
    if any(&["mem", "memory", "memo", "gpumem", "vram"]) {
        return Some(Role::Memory);
    }
    let per_second = ["sec", "second", "s"].iter().any(|unit| contains_sequence(last, &["per", unit]))
        || matches!(last, ["s" | "sec" | "second"]);
    if per_second || any(&["throughput", "tflop", "tflops", "tps", "mfu", "tgs", "fps", "ips", "wps", "ups", "speed"]) {
        return Some(Role::Throughput);
    }
    any(&["elapsed", "time", "runtime", "timing", "seconds", "ms", "dt", "duration", "eta"]).then_some(Role::Time)
}

/// Whether a canonical name without a role looks like a training loss or a reward, which are the main metrics of a run.
pub(crate) fn looks_like_goal(canonical: &str) -> bool {
    let lower = canonical.to_ascii_lowercase();
    let words = Words::from_name(&lower);
    let is_goal = |word: &str| is_loss(word) || word.starts_with("loss") || word.starts_with("reward");
    let named = words.all().any(is_goal) && !lower.contains("lossscale");
    role(canonical) == Role::Other && named && !words.is_statistic() && !words.contains_any(&ABOUT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_run_is_about_is_told_from_its_surroundings() {
        for name in ["lossy", "rewarded/x"] {
            assert!(looks_like_goal(name), "{name}");
        }
        for name in ["loss", "loss_scale", "critic/rewards/std", "entropy", "glossary", "num_losses", "reward"] {
            assert!(!looks_like_goal(name), "{name}");
        }
    }

    #[test]
    fn roles_follow_from_whole_words_of_every_part() {
        for (name, expected) in [
            ("loss", Role::Loss),
            ("loss_step", Role::Loss),
            ("train_loss_step", Role::Loss),
            ("cross_entropy_loss", Role::Loss),
            ("total_loss", Role::Loss),
            ("loss/total", Role::Loss),
            ("loss/mean", Role::Loss),
            ("losses/lm", Role::Loss),
            ("celoss", Role::Loss),
            ("nll", Role::Loss),
            ("objective", Role::Loss),
            ("train_xent_mean", Role::Loss),
            ("mtp_1_loss", Role::Loss),
            ("memory_loss", Role::Loss),
            ("val_cross_entropy", Role::EvalLoss),
            ("valloss", Role::EvalLoss),
            ("validation/lm_loss_ppl", Role::EvalLoss),
            ("eval_loss", Role::EvalLoss),
            ("loss/val", Role::EvalLoss),
            ("interval_loss", Role::Loss),
            ("loss_bbox", Role::AuxiliaryLoss),
            ("loss/policy", Role::AuxiliaryLoss),
            ("entropy_loss", Role::AuxiliaryLoss),
            ("load_balancing_loss", Role::AuxiliaryLoss),
            ("z_loss", Role::AuxiliaryLoss),
            ("critic/vf_loss", Role::ValueLoss),
            ("value_loss", Role::ValueLoss),
            ("loss/value", Role::ValueLoss),
            ("loss_value", Role::Loss),
            ("loss_scale", Role::Other),
            ("grad_norm", Role::GradNorm),
            ("act_grad_norm", Role::GradNorm),
            ("learning_rate", Role::LearningRate),
            ("lr_adamw", Role::LearningRate),
            ("critic/lr", Role::LearningRate),
            ("eval_accuracy", Role::EvalScore),
            ("critic/score/mean", Role::EvalScore),
            ("underscore", Role::Other),
            ("critic/rewards/mean", Role::Reward),
            ("critic/rewards/max", Role::Other),
            ("reward", Role::Reward),
            ("rewards/chosen", Role::Reward),
            ("unrewarding", Role::Other),
            ("iteration_time", Role::Time),
            ("timing_s/reward", Role::Time),
            ("eval_runtime", Role::Time),
            ("eval_samples_per_second", Role::Throughput),
            ("samples/s", Role::Throughput),
            ("throughput", Role::Throughput),
            ("mem_allocated_bytes", Role::Memory),
            ("members", Role::Other),
            ("num_zeros", Role::Other),
            ("entropy", Role::Other),
        ] {
            assert_eq!(role(name), expected, "{name}");
        }
    }
}
