//! Answers to prompts, token by token.

use std::collections::BTreeMap;

use super::answer::Answer;
use super::damage::EvaluationDamage;
use crate::hash;

/// One file of generation records.
#[derive(Debug, Default)]
pub struct Generations {
    /// Stem of the file's name.
    pub task: String,
    /// Path of the file.
    pub path: String,
    /// The records, in the file's order.
    pub records: Vec<Generation>,
    /// Settings of generation in the file's folder.
    pub settings: AnswerSettings,
    /// Lines that cannot be read.
    pub damages: Vec<EvaluationDamage>,
}

/// Settings of generation in the folder of a file, for answers that do not record their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AnswerSettings {
    /// Whether answers are sampled at random; `None` if unknown.
    pub is_sampled: Option<bool>,
    /// Whether the end token is ignored on purpose.
    pub ignores_end: bool,
}

impl AnswerSettings {
    /// Completes an answer by these settings. The answer's own settings take precedence.
    pub(super) fn apply<'a>(self, answer: &Answer<'a>) -> Answer<'a> {
        let is_sampled = answer.is_sampled.or(self.is_sampled);
        Answer { is_sampled, ignores_end: answer.ignores_end || self.ignores_end, ..*answer }
    }
}

impl Generations {
    /// Answers of requests that did not fail, completed by the settings in the file's folder.
    pub fn answers(&self) -> impl Iterator<Item = Answer<'_>> {
        let answered = self.records.iter().filter(|record| !record.is_failed);
        answered.map(|record| self.settings.apply(&record.answer()))
    }
}

/// One generated answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Generation {
    /// Value of `custom_id`, `request_id` or `id`; `None` if the record has none.
    pub key: Option<String>,
    /// Line number in the file, from 1.
    pub line: u64,
    /// Prompt, if it was recorded. For a chat it holds all messages in one text.
    pub prompt: Option<String>,
    /// The generated text.
    pub text: String,
    /// Tokens, or the characters of the text if no tokens were recorded.
    pub tokens: Vec<Token>,
    /// Whether it was sampled at random; `None` if the record does not say.
    pub is_sampled: Option<bool>,
    /// Reason why the generation ended: `stop`, `length`.
    pub finish: Option<String>,
    /// Whether the request failed, so that it has no answer.
    pub is_failed: bool,
    /// Whether it needs no text: a tool call, a refusal, or tokens that were not converted to text.
    pub is_textless: bool,
    /// Whether the end token was ignored on purpose, as in speed measurements.
    pub ignores_end: bool,
    /// Number of log-probabilities in the record that are NaN.
    pub broken: u64,
}

impl Generation {
    /// Answer in the form that rules of a single run use.
    pub fn answer(&self) -> Answer<'_> {
        Answer {
            step: None,
            line: self.line,
            prompt: self.prompt.as_ref().map(hash::hash_of),
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
    /// Its id in decimal digits, or its text if no id was recorded, or one character.
    pub name: String,
    /// Its log-probability; `None` if none was recorded.
    pub log_probability: Option<f64>,
    /// Log-probabilities of the most likely tokens at its position, by name. The token itself is included if it was recorded.
    pub alternatives: BTreeMap<String, f64>,
}

impl Token {
    /// Bytes of memory that the token takes.
    pub(super) fn bytes(&self) -> usize {
        let alternatives = self.alternatives.keys().map(|name| size_of::<(String, f64)>() + name.len());
        size_of::<Self>() + self.name.len() + alternatives.sum::<usize>()
    }
}
