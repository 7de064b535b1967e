//! Pairing of log-probabilities: the equal answers of two records, and the tokens of them that can be compared.
//!
//! Answers pair by the ids of prompt and answer, never by their place; equal answers pair in order. A token is compared only
//! where every mask includes it; padding after the end of an answer does not count.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::read::tokens::{RowQuantities, Scratch, TokensRow, TokensStep, TokensTable};

/// Place of an answer: its table, and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RowPlace {
    /// The table.
    pub table: usize,
    /// Its number, from 0.
    pub row: u64,
}

/// Digests that identify an answer: with its prompt, and alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct RowKey {
    whole: u64,
    response: u64,
}

impl RowKey {
    /// The key of an answer; `None` where the record has no ids.
    pub(crate) fn from_row(row: &TokensRow) -> Option<Self> {
        let digest = |prompt: &[i64]| {
            let mut hasher = DefaultHasher::new();
            (prompt, &row.response[..]).hash(&mut hasher);
            hasher.finish()
        };
        (!row.response.is_empty()).then(|| Self { whole: digest(&row.prompt), response: digest(&[]) })
    }
}

/// Answers of a side by step and key, each given once.
#[derive(Default)]
pub(crate) struct RowIndex {
    by_step: BTreeMap<TokensStep, StepIndex>,
    /// Whether every answer has a prompt.
    has_prompts: bool,
}

#[derive(Default)]
struct StepIndex {
    by_whole: HashMap<u64, VecDeque<RowPlace>>,
    by_response: HashMap<u64, VecDeque<RowPlace>>,
}

impl RowIndex {
    /// An index of no answer.
    pub(crate) fn new() -> Self {
        Self { by_step: BTreeMap::new(), has_prompts: true }
    }

    /// Adds an answer.
    pub(crate) fn add(&mut self, step: TokensStep, key: RowKey, has_prompt: bool, place: RowPlace) {
        self.has_prompts &= has_prompt;
        let index = self.by_step.entry(step).or_default();
        index.by_whole.entry(key.whole).or_default().push_back(place);
        index.by_response.entry(key.response).or_default().push_back(place);
    }

    /// Removes and returns the next answer of a step with the same ids. The prompt's ids are ignored where a side has no prompts.
    pub(crate) fn take_answer(&mut self, step: &TokensStep, key: RowKey, has_prompt: bool) -> Option<RowPlace> {
        let by_whole = has_prompt && self.has_prompts;
        let index = self.by_step.get_mut(step)?;
        if by_whole {
            return index.by_whole.get_mut(&key.whole)?.pop_front();
        }
        index.by_response.get_mut(&key.response)?.pop_front()
    }
}

/// Indexes the answers of all tables whose quantities are `wanted`. Answers that cannot be read are skipped here, and reported
/// where they are measured.
pub(crate) fn index_answers(tables: &[TokensTable], wanted: impl Fn(RowQuantities) -> bool) -> RowIndex {
    let mut index = RowIndex::new();
    let (mut scratch, mut row) = (Scratch::default(), TokensRow::default());
    for (nth, table) in tables.iter().enumerate() {
        for number in (0..table.rows()).filter(|row| wanted(table.quantities(*row))) {
            if table.read(number, &mut scratch, &mut row).is_err() {
                continue;
            }
            if let Some(key) = RowKey::from_row(&row) {
                index.add(table.step(number), key, !row.prompt.is_empty(), RowPlace { table: nth, row: number });
            }
        }
    }
    index
}

/// Two log-probabilities of each token of an answer, and which tokens are judged.
#[derive(Debug, Default)]
pub(crate) struct AlignedTokens {
    /// Log-probabilities of the engine, or of the candidate.
    pub a: Vec<f64>,
    /// Log-probabilities of the trainer, or of the baseline.
    pub b: Vec<f64>,
    /// Tokens that are judged.
    pub judged: Vec<bool>,
    /// Number of tokens that only one of the two masks includes.
    pub masks_apart: u64,
    /// Number of zeros at the end of the answer without any mask.
    pub unmasked_zeros: u64,
}

impl AlignedTokens {
    /// Puts the two quantities of one row side by side.
    pub(crate) fn align_own(&mut self, row: &TokensRow) {
        self.fill(&row.engine, &row.trainer, row, None);
    }

    /// Puts quantities of two rows side by side, masked by both.
    pub(crate) fn align_rows(&mut self, (a, of_a): (&[f64], &TokensRow), (b, of_b): (&[f64], &TokensRow)) {
        self.fill(a, b, of_a, Some(of_b));
    }

    fn fill(&mut self, a: &[f64], b: &[f64], row: &TokensRow, other: Option<&TokensRow>) {
        let len = a.len().min(b.len());
        let refill = |to: &mut Vec<f64>, from: &[f64]| {
            to.clear();
            to.extend(from.iter().take(len));
        };
        refill(&mut self.a, a);
        refill(&mut self.b, b);
        self.judged.clear();
        self.judged.extend(row.judged.iter().copied().take(len));
        self.judged.resize(len, true);
        (self.masks_apart, self.unmasked_zeros) = (row.masks_apart, 0);
        if let Some(other) = other {
            self.masks_apart += other.masks_apart;
            let are_masked = row.recorded.mask && other.recorded.mask;
            for (judged, other_judged) in self.judged.iter_mut().zip(&other.judged) {
                self.masks_apart += u64::from(are_masked && *judged != *other_judged);
                *judged &= *other_judged;
            }
        }
        let has_mask = row.recorded.mask || other.is_some_and(|other| other.recorded.mask);
        self.drop_end(has_mask);
    }

    /// Excludes zeros at the end. With a mask both values have to be zero (padding that the mask includes); without one, either.
    fn drop_end(&mut self, has_mask: bool) {
        let is_padding = |a: f64, b: f64| if has_mask { a == 0.0 && b == 0.0 } else { a == 0.0 || b == 0.0 };
        let last = (0..self.a.len()).rev().find(|place| {
            let both = self.a.get(*place).zip(self.b.get(*place));
            both.is_some_and(|(a, b)| !is_padding(*a, *b))
        });
        // An array of only zeros was never filled in, which is no padding.
        let Some(last) = last else { return };
        for judged in self.judged.iter_mut().skip(last + 1).filter(|judged| **judged) {
            *judged = false;
            self.unmasked_zeros += u64::from(!has_mask);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(mask: Option<&[bool]>, engine: &[f64], trainer: &[f64]) -> TokensRow {
        let judged = mask.map_or_else(|| vec![true; engine.len()], <[bool]>::to_vec);
        let has = RowQuantities { engine: true, trainer: true, difference: false, mask: mask.is_some() };
        TokensRow { engine: engine.to_vec(), trainer: trainer.to_vec(), judged, recorded: has, ..TokensRow::default() }
    }

    fn own(row: &TokensRow) -> (Vec<bool>, u64) {
        let mut aligned = AlignedTokens::default();
        aligned.align_own(row);
        (aligned.judged, aligned.unmasked_zeros)
    }

    #[test]
    fn zeros_at_the_end_are_padding_and_those_within_are_not() {
        let (engine, trainer) = ([-1.0, 0.0, -2.0, 0.0, 0.0], [-1.0, -0.5, -2.0, -3.0, 0.0]);
        assert_eq!(own(&row(None, &engine, &trainer)), (vec![true, true, true, false, false], 2));
        // A mask that was widened over padding counts as before.
        assert_eq!(own(&row(Some(&[true; 5]), &engine, &trainer)), (vec![true, true, true, true, false], 0));
        assert_eq!(own(&row(None, &[0.0; 3], &[0.0; 3])), (vec![true; 3], 0));
    }

    #[test]
    fn equal_answers_are_taken_by_order_and_once() {
        let answer = TokensRow { prompt: vec![1], response: vec![2, 3], ..TokensRow::default() };
        let key = RowKey::from_row(&answer).expect("ids");
        let step = TokensStep::Number(1);
        let mut index = RowIndex::new();
        for row in 0..2 {
            index.add(step.clone(), key, true, RowPlace { table: 0, row });
        }
        let mut take = |step: &TokensStep| index.take_answer(step, key, true).map(|place| place.row);
        assert_eq!(
            (take(&TokensStep::Number(2)), take(&step), take(&step), take(&step)),
            (None, Some(0), Some(1), None)
        );
    }

    #[test]
    fn the_answer_alone_pairs_where_a_side_has_no_prompt() {
        let with = TokensRow { prompt: vec![1], response: vec![2, 3], ..TokensRow::default() };
        let without = TokensRow { response: vec![2, 3], ..TokensRow::default() };
        let (baseline, candidate) = (RowKey::from_row(&with).expect("ids"), RowKey::from_row(&without).expect("ids"));
        let step = TokensStep::Number(1);
        let mut index = RowIndex::new();
        index.add(step.clone(), baseline, true, RowPlace { table: 0, row: 0 });
        assert!(index.take_answer(&step, candidate, false).is_some());
        assert!(RowKey::from_row(&TokensRow::default()).is_none());
    }
}
