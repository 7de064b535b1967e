//! Keys of the records that trainers and engines write, with the role of each.

/// Role of the content under a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum KeyRole {
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
    /// Ids of the answer, or of prompt and answer, depending on their number.
    Tokens,
    /// Mask of the answer.
    Mask,
    /// Mask of prompt and answer.
    Attention,
    /// Mask of the prompt.
    PromptMask,
    /// Lengths of the answers.
    Lengths,
    /// Positions at which packed sequences begin and end.
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

/// Keys of the engine's log-probabilities: those of verl, slime and miles, then of TRL, then of others.
pub(super) const ENGINE: [&str; 5] =
    ["rollout_log_probs", "sampling_per_token_logps", "sampling_logprobs", "rollout_logprobs", "vllm_logprobs"];
/// Keys of the trainer's log-probabilities: those of verl, TRL and slime.
pub(super) const TRAINER: [&str; 5] =
    ["old_log_probs", "old_per_token_logps", "actor_old_log_probs", "log_probs", "train_log_probs"];
/// Key of the differences that msprobe's recipe saves.
pub(super) const DIFFERENCE: [&str; 1] = ["prob_diff"];

/// Keys by role. If several keys of one role are present, the first is read; masks are all read.
const TABLE: [(KeyRole, &[&str]); 17] = [
    (KeyRole::Engine, &ENGINE),
    (KeyRole::Trainer, &TRAINER),
    (KeyRole::Difference, &DIFFERENCE),
    (KeyRole::Response, &["responses", "completion_ids", "response_ids"]),
    (KeyRole::Prompt, &["prompts", "prompt_ids", "prompt_token_ids"]),
    (KeyRole::Whole, &["train_input_ids", "input_ids"]),
    (KeyRole::Tokens, &["tokens"]),
    (KeyRole::Mask, &["response_mask", "completion_mask", "loss_mask", "loss_masks", "prob_mask"]),
    (KeyRole::Attention, &["attention_mask"]),
    (KeyRole::PromptMask, &["prompt_mask"]),
    (KeyRole::Lengths, &["response_length", "response_lengths"]),
    (KeyRole::Boundaries, &["cu_seqlens"]),
    (KeyRole::Index, &["index", "sample_index", "sample_indices"]),
    (KeyRole::Version, &["weight_version", "weight_versions"]),
    (KeyRole::Cached, &["cached_tokens"]),
    (KeyRole::Step, &["step", "global_step", "rollout_id"]),
    (KeyRole::Rank, &["rank"]),
];

/// Role of the content under `key`, and the key's index among the keys of that role; `None` for any other key.
pub(super) fn role_of_key(key: &str) -> Option<(KeyRole, usize)> {
    TABLE.iter().find_map(|(role, keys)| Some((*role, keys.iter().position(|known| *known == key)?)))
}

/// Whether `key` holds log-probabilities or their differences.
pub(super) fn is_measured(key: &str) -> bool {
    ENGINE.contains(&key) || TRAINER.contains(&key) || DIFFERENCE.contains(&key)
}

/// Keys of log-probabilities and their differences. A record must have one of them.
pub(super) fn measured_keys() -> impl Iterator<Item = &'static str> {
    ENGINE.into_iter().chain(TRAINER).chain(DIFFERENCE)
}
