//! Numbers of one answer as recorded, and their assembly into a row.

use super::keys::KeyRole;
use super::row::{PromptDifference, RowQuantities, TokensRow};

/// Numbers under the keys of one answer. The buffers are reused for the next answer.
#[derive(Debug, Default)]
pub(super) struct Raw {
    pub(super) engine: Numbers,
    pub(super) trainer: Numbers,
    pub(super) difference: Numbers,
    pub(super) response: Numbers,
    pub(super) prompt: Numbers,
    /// Ids of prompt and answer, as the trainer has them.
    pub(super) whole: Numbers,
    /// Ids of the answer, or of prompt and answer.
    pub(super) tokens: Numbers,
    pub(super) masks: Vec<Numbers>,
    pub(super) attention: Numbers,
    pub(super) prompt_mask: Numbers,
    pub(super) length: Option<f64>,
    pub(super) index: Option<f64>,
    pub(super) version: Option<f64>,
    pub(super) cached: Option<f64>,
}

impl Raw {
    /// Numbers of a role; `None` for masks, of which there may be several, and for single numbers.
    pub(super) fn numbers(&mut self, role: KeyRole) -> Option<&mut Numbers> {
        match role {
            KeyRole::Engine => Some(&mut self.engine),
            KeyRole::Trainer => Some(&mut self.trainer),
            KeyRole::Difference => Some(&mut self.difference),
            KeyRole::Response => Some(&mut self.response),
            KeyRole::Prompt => Some(&mut self.prompt),
            KeyRole::Whole => Some(&mut self.whole),
            KeyRole::Tokens => Some(&mut self.tokens),
            KeyRole::Attention => Some(&mut self.attention),
            KeyRole::PromptMask => Some(&mut self.prompt_mask),
            _ => None,
        }
    }
}

/// Numbers under a key.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    /// Whether the record has the key.
    pub(super) is_there: bool,
    /// The numbers.
    pub(super) values: Vec<f64>,
}

impl Numbers {
    /// Clears the numbers, marks the key as present, and returns the buffer to fill in.
    pub(super) fn refill(&mut self) -> &mut Vec<f64> {
        self.is_there = true;
        self.values.clear();
        &mut self.values
    }

    fn clear(&mut self) {
        self.is_there = false;
        self.values.clear();
    }

    /// Numbers, if the record has the key.
    fn get(&self) -> Option<&[f64]> {
        self.is_there.then_some(self.values.as_slice())
    }

    /// Splits the numbers into those before the last `count`, and the last `count`.
    fn split_end(&self, count: usize) -> Option<(&[f64], &[f64])> {
        self.get()?.split_at_checked(self.values.len().checked_sub(count)?)
    }
}

/// Converts a number to a whole number; `None` if it is not one.
pub(super) fn whole_number(number: f64) -> Option<u64> {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a whole number that fits")]
    (number >= 0.0 && number.fract() == 0.0 && number < 9e15).then_some(number as u64)
}

/// Id of a token. A number that is not whole gets an id that no token has.
fn id(number: f64) -> i64 {
    #[allow(clippy::cast_possible_truncation, reason = "NaN and what is too large become ids that no vocabulary has")]
    if number.fract() == 0.0 { number as i64 } else { i64::MIN }
}

/// Whether the value of a mask includes a position.
fn is_on(number: f64) -> bool {
    number != 0.0
}

impl Raw {
    /// Clears all numbers and keeps the memory.
    pub(super) fn clear(&mut self) {
        let Self { engine, trainer, difference, response, prompt, whole, tokens, attention, prompt_mask, .. } = self;
        for numbers in [engine, trainer, difference, response, prompt, whole, tokens, attention, prompt_mask] {
            numbers.clear();
        }
        self.masks.clear();
        (self.length, self.index, self.version, self.cached) = (None, None, None, None);
    }

    /// Assembles the numbers into a row. If arrays of one answer have different lengths, the row records these lengths and marks no
    /// token as judged.
    pub(super) fn assemble(&self, row: &mut TokensRow) {
        row.clear();
        row.index = self.index.and_then(whole_number);
        row.version = self.version.and_then(whole_number);
        row.cached = self.cached.and_then(whole_number);
        row.recorded = RowQuantities {
            engine: self.engine.is_there,
            trainer: self.trainer.is_there,
            difference: self.difference.is_there,
            mask: !self.masks.is_empty() || self.attention.is_there,
        };
        let Some((key, len)) = self.measured().next() else { return };
        row.engine.extend_from_slice(&self.engine.values);
        row.trainer.extend_from_slice(&self.trainer.values);
        row.difference.extend_from_slice(&self.difference.values);
        row.lengths = self.unequal(key, len);
        if row.lengths.is_some() {
            // The row still belongs to its sample, so its sequence is filled in.
            let (prompt, response) = self.sequence(self.response.values.len().max(len));
            row.prompt.extend(prompt.iter().copied().map(id));
            row.response.extend(response.iter().copied().map(id));
            return;
        }
        self.mask(len, row);
        let (prompt, response) = self.sequence(len);
        let padding = self.padding(prompt.len(), len);
        row.padding = padding.map(|padding| padding as u64);
        row.prompt.extend(prompt.iter().skip(padding.unwrap_or(0)).copied().map(id));
        let last = self.end(len, &row.judged);
        row.response.extend(response.iter().take(last).copied().map(id));
        let has_both = self.whole.is_there && (self.response.is_there || self.tokens.is_there);
        if has_both && !row.prompt.is_empty() {
            let trainer = self.attended(&self.whole);
            row.prompt_difference = PromptDifference::between(&row.prompt, &row.response, &trainer);
        }
    }

    /// Names and lengths of the quantities that the record has.
    fn measured(&self) -> impl Iterator<Item = (&'static str, usize)> {
        let all = [("engine", &self.engine), ("trainer", &self.trainer), ("difference", &self.difference)];
        all.into_iter().filter_map(|(name, numbers)| Some((name, numbers.get()?.len())))
    }

    /// Names and lengths of two arrays of the answer whose lengths differ; `None` if all fit.
    fn unequal(&self, key: &'static str, len: usize) -> Option<[(&'static str, u64); 2]> {
        let found = |other: &'static str, found: usize| Some([(key, len as u64), (other, found as u64)]);
        let response = self.response.get().map(|ids| ("responses", ids.len()));
        if let Some((other, count)) = self.measured().chain(response).find(|(_, count)| *count != len) {
            return found(other, count);
        }
        let shorter = |numbers: &Numbers| numbers.get().map(<[f64]>::len).filter(|count| *count < len);
        if let Some(count) = self.masks.iter().find_map(shorter) {
            return found("mask", count);
        }
        if let Some(count) = shorter(&self.tokens).or_else(|| shorter(&self.whole)) {
            return found("tokens", count);
        }
        let told = self.length.and_then(whole_number).and_then(|told| usize::try_from(told).ok());
        // A smaller length is valid, because a batch is as wide as its longest answer.
        told.filter(|told| *told > len).and_then(|told| found("response_length", told))
    }

    /// Ids of the prompt, including padding, and of the answer.
    fn sequence(&self, len: usize) -> (&[f64], &[f64]) {
        let prompt = self.prompt.get();
        if let Some(response) = self.response.get() {
            return (prompt.unwrap_or_default(), response);
        }
        let joined = self.tokens.split_end(len).or_else(|| self.whole.split_end(len));
        let (before, response) = joined.unwrap_or_default();
        (prompt.unwrap_or(before), response)
    }

    /// Marks the tokens that are judged, which are those that all masks include.
    fn mask(&self, len: usize, row: &mut TokensRow) {
        row.judged.resize(len, true);
        let ends = self.masks.iter().filter_map(|mask| Some(mask.split_end(len)?.1));
        let first = self.masks.first().and_then(|mask| Some(mask.split_end(len)?.1));
        for (nth, mask) in ends.enumerate() {
            for (judged, value) in row.judged.iter_mut().zip(mask) {
                *judged &= is_on(*value);
            }
            if let Some(first) = first.filter(|_| nth > 0) {
                row.masks_apart += first.iter().zip(mask).filter(|(a, b)| is_on(**a) != is_on(**b)).count() as u64;
            }
        }
        if let Some((_, attended)) = self.attention.split_end(len) {
            for (judged, value) in row.judged.iter_mut().zip(attended) {
                *judged &= is_on(*value);
            }
        }
    }

    /// Number of padding tokens in front of the prompt; `None` if no mask shows it.
    fn padding(&self, prompt: usize, len: usize) -> Option<usize> {
        let mask = self.prompt_mask.get().or_else(|| Some(self.attention.split_end(len)?.0))?;
        let padding = mask.iter().take_while(|value| !is_on(**value)).count();
        (mask.len() == prompt).then_some(padding)
    }

    /// Number of tokens of the answer up to the last one that is attended or judged.
    fn end(&self, len: usize, judged: &[bool]) -> usize {
        let last = |mut values: std::iter::Rev<std::slice::Iter<'_, f64>>| values.position(|value| is_on(*value));
        if let Some((_, attended)) = self.attention.split_end(len) {
            return last(attended.iter().rev()).map_or(0, |behind| len - behind);
        }
        if self.masks.is_empty() {
            return len;
        }
        judged.iter().rposition(|judged| *judged).map_or(0, |last| last + 1)
    }

    /// Attended ids of a sequence of prompt and answer.
    fn attended(&self, whole: &Numbers) -> Vec<i64> {
        let attention = self.attention.get().filter(|mask| mask.len() == whole.values.len());
        let is_attended = |place: usize| attention.is_none_or(|mask| mask.get(place).copied().is_some_and(is_on));
        whole
            .values
            .iter()
            .enumerate()
            .filter(|(place, _)| is_attended(*place))
            .map(|(_, number)| id(*number))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(values: &[f64]) -> Numbers {
        Numbers { is_there: true, values: values.to_vec() }
    }

    fn row(raw: &Raw) -> TokensRow {
        let mut row = TokensRow::default();
        raw.assemble(&mut row);
        row
    }

    #[test]
    fn a_batch_is_padded_on_the_left_and_on_the_right() {
        let raw = Raw {
            engine: numbers(&[-1.0, -2.0, 0.0]),
            trainer: numbers(&[-1.0, -2.0, 0.0]),
            response: numbers(&[7.0, 8.0, 0.0]),
            prompt: numbers(&[0.0, 0.0, 1.0, 5.0]),
            whole: numbers(&[0.0, 0.0, 1.0, 5.0, 7.0, 8.0, 0.0]),
            masks: vec![numbers(&[1.0, 1.0, 1.0])],
            attention: numbers(&[0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 0.0]),
            ..Raw::default()
        };
        let row = row(&raw);
        assert_eq!((&row.prompt[..], &row.response[..], row.padding), (&[1, 5][..], &[7, 8][..], Some(2)));
        assert_eq!((&row.judged[..], row.prompt_difference, row.lengths), (&[true, true, false][..], None, None));
    }

    #[test]
    fn two_masks_are_both_kept() {
        let (engine, trainer) = (numbers(&[-1.0; 3]), numbers(&[-1.0; 3]));
        let masks = vec![numbers(&[1.0, 1.0, 0.0]), numbers(&[0.0, 1.0, 0.0, 1.0])];
        let row = row(&Raw { engine, trainer, masks, ..Raw::default() });
        assert_eq!((&row.judged[..], row.masks_apart), (&[true, false, false][..], 2));
    }

    #[test]
    fn arrays_of_other_lengths_are_named() {
        let raw = Raw { engine: numbers(&[-1.0; 3]), trainer: numbers(&[-1.0; 2]), ..Raw::default() };
        assert_eq!(row(&raw).lengths, Some([("engine", 3), ("trainer", 2)]));
        let raw = Raw { engine: numbers(&[-1.0; 3]), length: Some(5.0), ..Raw::default() };
        assert_eq!(row(&raw).lengths, Some([("engine", 3), ("response_length", 5)]));
    }
}
