//! Keys of the tables that trainers and engines write, and what stands under each.

/// Content under a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Role {
    /// Log-probabilities of the engine.
    Engine,
    /// Log-probabilities of the trainer.
    Trainer,
    /// Absolute differences of probabilities.
    Difference,
    /// Ids of the answer.
    Response,
    /// Ids of the prompt.
    Prompt,
    /// Ids of prompt and answer, as the trainer has them.
    Whole,
    /// Ids of the answer, or of prompt and answer, as the number says.
    Tokens,
    /// Mask of the answer.
    Mask,
    /// Mask of prompt and answer.
    Attention,
    /// Mask of the prompt.
    PromptMask,
    /// Lengths of the answers.
    Lengths,
    /// Places at which packed sequences begin and end.
    Boundaries,
    /// Number of the sample.
    Index,
    /// Version of the weights that sampled it.
    Version,
    /// Tokens of the prompt that came from a cache.
    Cached,
    /// Number of the step.
    Step,
    /// Number of the rank.
    Rank,
}

/// Keys of the engine's log-probabilities: verl, slime and miles, then TRL, then others.
pub(super) const ENGINE: [&str; 5] =
    ["rollout_log_probs", "sampling_per_token_logps", "sampling_logprobs", "rollout_logprobs", "vllm_logprobs"];
/// Keys of the trainer's: verl, TRL, slime.
pub(super) const TRAINER: [&str; 5] =
    ["old_log_probs", "old_per_token_logps", "actor_old_log_probs", "log_probs", "train_log_probs"];
/// Key of the differences that msprobe's recipe saves.
pub(super) const DIFFERENCE: [&str; 1] = ["prob_diff"];

/// Keys by role; of several keys of one role the first is read. Masks are all read.
const TABLE: [(Role, &[&str]); 17] = [
    (Role::Engine, &ENGINE),
    (Role::Trainer, &TRAINER),
    (Role::Difference, &DIFFERENCE),
    (Role::Response, &["responses", "completion_ids", "response_ids"]),
    (Role::Prompt, &["prompts", "prompt_ids", "prompt_token_ids"]),
    (Role::Whole, &["train_input_ids", "input_ids"]),
    (Role::Tokens, &["tokens"]),
    (Role::Mask, &["response_mask", "completion_mask", "loss_mask", "loss_masks", "prob_mask"]),
    (Role::Attention, &["attention_mask"]),
    (Role::PromptMask, &["prompt_mask"]),
    (Role::Lengths, &["response_length", "response_lengths"]),
    (Role::Boundaries, &["cu_seqlens"]),
    (Role::Index, &["index", "sample_index", "sample_indices"]),
    (Role::Version, &["weight_version", "weight_versions"]),
    (Role::Cached, &["cached_tokens"]),
    (Role::Step, &["step", "global_step", "rollout_id"]),
    (Role::Rank, &["rank"]),
];

/// Content under `key`, and its place among the keys of that role; `None` for any other key.
pub(super) fn role(key: &str) -> Option<(Role, usize)> {
    TABLE.iter().find_map(|(role, keys)| Some((*role, keys.iter().position(|known| *known == key)?)))
}

/// Whether log-probabilities, or their differences, stand under `key`.
pub(super) fn is_measured(key: &str) -> bool {
    ENGINE.contains(&key) || TRAINER.contains(&key) || DIFFERENCE.contains(&key)
}

/// Keys of which one has to be there.
pub(super) fn measured() -> impl Iterator<Item = &'static str> {
    ENGINE.into_iter().chain(TRAINER).chain(DIFFERENCE)
}
