//! Roles of metrics in a run of reinforcement learning.
//!
//! The last part of a name is not enough here: `mean`, `clip_ratio` and `loss` have several meanings. The whole path decides, by
//! the first condition that fits. A name that fits none keeps the role that it has in other runs, except that an unknown loss
//! counts as that of the policy.

use super::role::{is_grad_norm, is_learning_rate, performance_role, role};
use super::words::{Words, contains_sequence};
use crate::kind::Role;

/// Prefixes that trainers put in front of the same metric.
const FOLDERS: [&str; 8] = ["data", "metrics", "train", "training", "actor", "critic", "rollout", "policy"];
/// Words for held-out data, as the first word of a path.
const EVALUATIONS: [&str; 5] = ["val", "validation", "eval", "evaluation", "test"];
/// Words for scores on held-out data.
const SCORES: [&str; 9] = ["acc", "accuracy", "reward", "rewards", "score", "scores", "best", "pass", "maj"];
/// Words for a spread or an extreme.
const STATISTICS: [&str; 3] = ["max", "min", "std"];

/// Role of a metric in a run of reinforcement learning, from its canonical name.
pub(crate) fn role_in_rl(canonical: &str) -> Role {
    let lower = canonical.to_ascii_lowercase();
    let words = Words::from_name(&lower);
    performance_role(&words).or_else(|| rl_role(&lower, &words)).unwrap_or_else(|| match role(&lower) {
        Role::Loss => Role::Centred,
        other => other,
    })
}

/// Whether the metrics are those of reinforcement learning: one of `metrics` is a reward, and one of `companions` belongs to the
/// training of a policy.
pub(crate) fn is_rl<'n>(
    mut metrics: impl Iterator<Item = &'n str>,
    mut companions: impl Iterator<Item = &'n str>,
) -> bool {
    let of = |name: &str| rl_role(name, &Words::from_name(name));
    let trained = |name: &str| match of(name) {
        Some(Role::Entropy | Role::Kl | Role::ClipFraction | Role::Mismatch) => true,
        Some(Role::Centred) => Words::from_name(name).contains_any(&["pg", "policy", "actor"]),
        _ => false,
    };
    metrics.any(|name| of(name) == Some(Role::Reward)) && companions.any(trained)
}

/// Role of a name by the conditions for reinforcement learning; `None` if none fits.
fn rl_role<'n>(canonical: &'n str, words: &Words<'n>) -> Option<Role> {
    let without = |name: &'n str| FOLDERS.iter().find_map(|folder| name.strip_prefix(folder)?.strip_prefix('/'));
    let bare = std::iter::successors(Some(canonical), |name| without(name)).last().unwrap_or(canonical);
    let last = words.last_part();
    let is = |names: &[&str]| names.contains(&bare);
    let starts = |names: &[&str]| names.iter().any(|name| bare.starts_with(name));
    let has = |list: &[&str]| words.contains_any(list);
    let held_out = bare.split(['/', '_']).next().is_some_and(|first| EVALUATIONS.contains(&first));
    let statistic = last.iter().any(|word| STATISTICS.contains(word)) || has(&["frac", "variance", "var"]);
    let probabilities = mismatch(bare, words);
    Some(if held_out && !statistic && (has(&SCORES) || canonical.contains("mean@")) {
        Role::EvalScore
    } else if held_out {
        return None;
    } else if statistic {
        Role::Other
    } else if is_learning_rate(last) {
        Role::LearningRate
    } else if is_constant(bare, words) {
        Role::Constant
    } else if probabilities {
        Role::Mismatch
    } else if last.ends_with(&["ppl"]) {
        // The perplexity of one engine is not a distance between two engines.
        Role::Other
    } else if is_grad_norm(last) {
        Role::GradNorm
    } else if bare == "response_length/clip_ratio"
        || has(&["truncated", "truncation"])
        || last.ends_with(&["clipped", "ratio"])
    {
        Role::Truncation
    } else if starts(&["pg_clipfrac", "clip_ratio", "probs_ratio_clamped"])
        || has(&["clipfrac", "clipfraction"])
        || last.ends_with(&["clip", "ratio"])
        || contains_sequence(last, &["clip", "fraction"])
    {
        Role::ClipFraction
    } else if is_length(bare, words) {
        Role::Length
    } else if is_entropy(words) {
        Role::Entropy
    } else if has(&["kl", "approxkl"]) {
        Role::Kl
    } else if canonical.ends_with("rollout/rewards")
        || is(&["advantages/mean", "returns/mean", "loss", "loss/policy"])
        || ["pg", "policy", "actor"].iter().any(|word| contains_sequence(last, &[word, "loss"]))
    {
        Role::Centred
    } else if is_reward(words) {
        Role::Reward
    } else {
        return None;
    })
}

fn is_constant(bare: &str, words: &Words<'_>) -> bool {
    let coefficient = ["coef", "coeff", "coefficient"];
    matches!(
        bare,
        "beta"
            | "kl_beta"
            | "temperature"
            | "rollout_temperature"
            | "clip_range"
            | "cliprange"
            | "kl_ctl"
            | "kl_ctl_value"
    ) || words.last_part().last().is_some_and(|word| coefficient.contains(word))
}

fn mismatch(bare: &str, words: &Words<'_>) -> bool {
    let level = words.last_part().ends_with(&["ppl"]);
    let starts = [
        "rollout_probs_diff",
        "rollout_actor_probs",
        "rollout_corr/",
        "mismatch/",
        "train_rollout_",
        "train_infer_",
        "sampling/",
    ];
    let ends = ["token_mult_prob_error", "gen_kl_error", "policy_kl_error", "js_divergence_error", "vllm_kl"];
    let differs = bare.starts_with("log_ppl_") && bare.ends_with("diff");
    let listed = starts.iter().any(|start| bare.starts_with(start)) || ends.iter().any(|end| bare.ends_with(end));
    (listed && !level) || differs
}

fn is_length(bare: &str, words: &Words<'_>) -> bool {
    let length = |word: &&str| matches!(*word, "length" | "lengths" | "len" | "lens");
    let answer = words.contains_any(&[
        "response",
        "responses",
        "completion",
        "completions",
        "answer",
        "answers",
        "output",
        "gen",
        "generation",
    ]);
    let prompt = words.contains_any(&["prompt", "prompts", "input", "total"]);
    let tokens = matches!(bare, "mean_gen_tokens_per_sample");
    tokens || answer && !prompt && words.subject().iter().any(length)
}

fn is_entropy(words: &Words<'_>) -> bool {
    let subject = words.subject();
    !contains_sequence(subject, &["cross", "entropy"])
        && (subject.ends_with(&["entropy"]) || subject.ends_with(&["entropy", "loss"]))
}

/// Whether the words name a reward: `critic/score/mean`, `rewards/accuracy_reward/mean`, `raw_reward`; not `rewards/chosen`, which
/// belongs to preference training.
fn is_reward(words: &Words<'_>) -> bool {
    let subject = words.subject();
    let reward = |word: &&str| matches!(*word, "reward" | "rewards" | "score" | "scores");
    let function = words.last_part() == ["mean"] && words.earlier_parts().next() == Some(&["rewards"]);
    let described = words.contains_any(&["scale", "count", "num", "ratio", "penalty", "margin", "margins", "weight"]);
    !described && (function || subject.last().is_some_and(reward))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_path_tells_roles_apart() {
        for (name, expected) in [
            ("learning_rate", Role::LearningRate),
            ("actor/lr", Role::LearningRate),
            ("actor_lr", Role::LearningRate),
            ("lr_pg_0", Role::LearningRate),
            ("actor/kl_coef", Role::Constant),
            ("beta", Role::Constant),
            ("rollout_probs_diff_mean", Role::Mismatch),
            ("training/rollout_probs_diff_mean", Role::Mismatch),
            ("rollout_probs_diff_max", Role::Other),
            ("rollout_actor_probs_pearson_corr", Role::Mismatch),
            ("rollout_corr/kl", Role::Mismatch),
            ("rollout_corr/log_ppl_abs_diff", Role::Mismatch),
            ("rollout_corr/rollout_ppl", Role::Other),
            ("token_mult_prob_error", Role::Mismatch),
            ("gen_kl_error", Role::Mismatch),
            ("train_rollout_logprob_abs_diff", Role::Mismatch),
            ("actor/train_infer_diff_mean", Role::Mismatch),
            ("actor/train_infer_diff_max", Role::Other),
            ("sampling/sampling_logp_difference/mean", Role::Mismatch),
            ("sampling/importance_sampling_ratio/min", Role::Other),
            ("vllm_kl", Role::Mismatch),
            ("actor/grad_norm", Role::GradNorm),
            ("act_grad_norm", Role::GradNorm),
            ("response_length/clip_ratio", Role::Truncation),
            ("completions/clipped_ratio", Role::Truncation),
            ("rollout/truncated", Role::Truncation),
            ("actor/pg_clipfrac", Role::ClipFraction),
            ("actor/pg_clipfrac_lower", Role::ClipFraction),
            ("clip_ratio/region_mean", Role::ClipFraction),
            ("clip_ratio/high_max", Role::Other),
            ("ppo_clip_ratio", Role::ClipFraction),
            ("response_length/mean", Role::Length),
            ("response_length/max", Role::Other),
            ("prompt_length/mean", Role::Other),
            ("total_length", Role::Other),
            ("completions/mean_length", Role::Length),
            ("rollout/response_lengths", Role::Length),
            ("mean_gen_tokens_per_sample", Role::Length),
            ("actor/entropy", Role::Entropy),
            ("approx_entropy", Role::Entropy),
            ("entropy_loss", Role::Entropy),
            ("actor/kl_loss", Role::Kl),
            ("ppo_kl", Role::Kl),
            ("objective/kl", Role::Kl),
            ("reward_std", Role::Other),
            ("frac_reward_zero_std", Role::Other),
            ("val_core/toy/acc/mean@1", Role::EvalScore),
            ("validation/accuracy", Role::EvalScore),
            ("eval_reward", Role::EvalScore),
            ("eval_loss", Role::EvalLoss),
            ("critic/score/mean", Role::Reward),
            ("critic/rewards/mean", Role::Reward),
            ("critic/rewards/max", Role::Other),
            ("reward", Role::Reward),
            ("reward/overall", Role::Reward),
            ("rewards/accuracy_reward/mean", Role::Reward),
            ("rollout/raw_reward", Role::Reward),
            ("rollout/rewards", Role::Centred),
            ("actor/pg_loss", Role::Centred),
            ("policy_loss", Role::Centred),
            ("loss", Role::Centred),
            ("total_loss", Role::Centred),
            ("critic/advantages/mean", Role::Centred),
            ("critic/returns/mean", Role::Centred),
            ("critic/vf_loss", Role::ValueLoss),
            ("critic_loss", Role::ValueLoss),
            ("load_balancing_loss", Role::AuxiliaryLoss),
            ("timing_s/reward", Role::Time),
            ("perf/throughput", Role::Throughput),
        ] {
            assert_eq!(role_in_rl(name), expected, "{name}");
        }
    }

    #[test]
    fn a_reward_and_a_policy_make_a_run_of_reinforcement_learning() {
        let told = |names: &[&str]| is_rl(names.iter().copied(), names.iter().copied());
        for names in [
            ["critic/score/mean", "actor/entropy"],
            ["reward", "policy_loss"],
            ["rollout/raw_reward", "pg_loss"],
            ["reward", "token_mult_prob_error"],
            ["rewards/accuracy_reward/mean", "kl"],
            ["reward", "clip_ratio/region_mean"],
        ] {
            assert!(told(&names), "{names:?}");
        }
        for names in [
            ["rewards/chosen", "kl"],
            ["loss", "entropy"],
            ["reward", "loss"],
            ["reward_scale", "entropy"],
            ["eval_reward", "kl"],
        ] {
            assert!(!told(&names), "{names:?}");
        }
    }
}
