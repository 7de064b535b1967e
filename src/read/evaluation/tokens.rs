//! Answers to prompts, token by token.

use std::collections::BTreeMap;

use super::damage::Damage;

/// One file of generation records.
#[derive(Debug, Default)]
pub struct Generations {
    /// Stem of the file's name.
    pub task: String,
    /// The file.
    pub path: String,
    /// The records, in the file's order.
    pub records: Vec<Generation>,
    /// Lines that cannot be read.
    pub damages: Vec<Damage>,
}

/// One generated answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Generation {
    /// `custom_id`, `request_id` or `id`; `None` where the record has none.
    pub key: Option<String>,
    /// Line in the file, from 1.
    pub line: u64,
    /// The prompt, where it was recorded; of chats all messages in one text.
    pub prompt: Option<String>,
    /// The generated text.
    pub text: String,
    /// The tokens; characters of the text where no tokens were recorded.
    pub tokens: Vec<Token>,
    /// Whether it was drawn at random, where the record says so.
    pub is_sampled: Option<bool>,
    /// Reason for its end: `stop`, `length`.
    pub finish: Option<String>,
    /// Whether the request failed, so that it has no answer.
    pub is_failed: bool,
    /// Log-probabilities that are NaN, wherever the record has them.
    pub broken: u64,
}

/// One generated token.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Token {
    /// Its id in decimals, its text where no id was recorded, or one character.
    pub name: String,
    /// Its log-probability; `None` where none was recorded.
    pub log_probability: Option<f64>,
    /// The most likely tokens at its place with their log-probabilities, its own among them where it was recorded, by name.
    pub alternatives: BTreeMap<String, f64>,
}

impl Token {
    /// Memory that it takes.
    pub(super) fn bytes(&self) -> usize {
        let alternatives = self.alternatives.keys().map(|name| size_of::<(String, f64)>() + name.len());
        size_of::<Self>() + self.name.len() + alternatives.sum::<usize>()
    }
}
