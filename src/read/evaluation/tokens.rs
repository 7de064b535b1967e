//! Answers to prompts, token by token.

use std::collections::BTreeMap;

use super::answer::Answer;
use super::damage::Damage;
use crate::hash;

/// One file of generation records.
#[derive(Debug, Default)]
pub struct Generations {
    /// Stem of the file's name.
    pub task: String,
    /// The file.
    pub path: String,
    /// The records, in the file's order.
    pub records: Vec<Generation>,
    /// Settings of generation beside the file.
    pub settings: AnswerSettings,
    /// Lines that cannot be read.
    pub damages: Vec<Damage>,
}

/// Settings of generation that lie beside a file, for answers that do not say them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AnswerSettings {
    /// Whether answers are drawn at random; `None` where nothing tells.
    pub is_sampled: Option<bool>,
    /// Whether the end token is ignored on purpose.
    pub ignores_end: bool,
}

impl AnswerSettings {
    /// An answer under these settings; its own come first.
    pub(super) fn complete<'a>(self, answer: &Answer<'a>) -> Answer<'a> {
        let is_sampled = answer.is_sampled.or(self.is_sampled);
        Answer { is_sampled, ignores_end: answer.ignores_end || self.ignores_end, ..*answer }
    }
}

impl Generations {
    /// The answers of requests that did not fail, under the settings beside the file.
    pub fn answers(&self) -> impl Iterator<Item = Answer<'_>> {
        let answered = self.records.iter().filter(|record| !record.is_failed);
        answered.map(|record| self.settings.complete(&record.answer()))
    }
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
    /// Whether it has another form than text: a call of a tool, a refusal, tokens that were not turned into text.
    pub is_textless: bool,
    /// Whether the end token was ignored on purpose, as measurements of speed do.
    pub ignores_end: bool,
    /// Log-probabilities that are NaN, wherever the record has them.
    pub broken: u64,
}

impl Generation {
    /// The answer, as the rules of a run alone see it.
    pub fn answer(&self) -> Answer<'_> {
        Answer {
            step: None,
            line: self.line,
            prompt: self.prompt.as_ref().map(hash::of),
            text: &self.text,
            is_textless: self.is_textless || self.text.is_empty() && self.tokens.len() > 1,
            finish: self.finish.as_deref(),
            ignores_end: self.ignores_end,
            is_sampled: self.is_sampled,
            has_nan: self.broken > 0,
        }
    }
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
