//! Numbers of one answer as they stand in a record, and the row that they make.

use super::keys::Role;
use super::row::{Holds, PromptDifference, Row};

/// Numbers under the keys of one answer. A table fills it again for the next.
#[derive(Debug, Default)]
pub(super) struct Raw {
    pub(super) engine: Numbers,
    pub(super) trainer: Numbers,
    pub(super) difference: Numbers,
    pub(super) response: Numbers,
    pub(super) prompt: Numbers,
    /// Prompt and answer of the trainer.
    pub(super) whole: Numbers,
    /// The answer, or prompt and answer.
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
    /// The numbers that stand for a role; `None` for masks, of which there may be several, and for single numbers.
    pub(super) fn numbers(&mut self, role: Role) -> Option<&mut Numbers> {
        match role {
            Role::Engine => Some(&mut self.engine),
            Role::Trainer => Some(&mut self.trainer),
            Role::Difference => Some(&mut self.difference),
            Role::Response => Some(&mut self.response),
            Role::Prompt => Some(&mut self.prompt),
            Role::Whole => Some(&mut self.whole),
            Role::Tokens => Some(&mut self.tokens),
            Role::Attention => Some(&mut self.attention),
            Role::PromptMask => Some(&mut self.prompt_mask),
            _ => None,
        }
    }
}

/// Numbers under a key.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    /// Whether the key is there.
    pub(super) is_there: bool,
    /// The numbers.
    pub(super) values: Vec<f64>,
}

impl Numbers {
    /// Empties it and says that the key is there; the numbers are to be filled in.
    pub(super) fn fill(&mut self) -> &mut Vec<f64> {
        self.is_there = true;
        self.values.clear();
        &mut self.values
    }

    fn clear(&mut self) {
        self.is_there = false;
        self.values.clear();
    }

    /// The numbers, where the key is there.
    fn get(&self) -> Option<&[f64]> {
        self.is_there.then_some(self.values.as_slice())
    }

    /// Its last `count` numbers, and those before.
    fn split_end(&self, count: usize) -> Option<(&[f64], &[f64])> {
        self.get()?.split_at_checked(self.values.len().checked_sub(count)?)
    }
}

/// A number as a whole one; `None` for what is none.
pub(super) fn whole(number: f64) -> Option<u64> {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a whole number that fits")]
    (number >= 0.0 && number.fract() == 0.0 && number < 9e15).then_some(number as u64)
}

/// A token's id; one that is no whole number is told apart from all that are.
fn id(number: f64) -> i64 {
    #[allow(clippy::cast_possible_truncation, reason = "NaN and what is too large become ids that no vocabulary has")]
    if number.fract() == 0.0 { number as i64 } else { i64::MIN }
}

/// Whether a mask lets a place through.
fn is_on(number: f64) -> bool {
    number != 0.0
}

impl Raw {
    /// Empties it, keeping its memory.
    pub(super) fn clear(&mut self) {
        let Self { engine, trainer, difference, response, prompt, whole, tokens, attention, prompt_mask, .. } = self;
        for numbers in [engine, trainer, difference, response, prompt, whole, tokens, attention, prompt_mask] {
            numbers.clear();
        }
        self.masks.clear();
        (self.length, self.index, self.version, self.cached) = (None, None, None, None);
    }

    /// The row that the numbers make. Where arrays of one answer have different lengths, it says so, and holds nothing else
    /// that could be compared.
    pub(super) fn assemble(&self, row: &mut Row) {
        row.clear();
        row.index = self.index.and_then(whole);
        row.version = self.version.and_then(whole);
        row.cached = self.cached.and_then(whole);
        row.has = Holds {
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
            // Still the row of its sample: what can be told of it is its sequence.
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

    /// Quantities that are there, with their lengths.
    fn measured(&self) -> impl Iterator<Item = (&'static str, usize)> {
        let all = [("engine", &self.engine), ("trainer", &self.trainer), ("difference", &self.difference)];
        all.into_iter().filter_map(|(name, numbers)| Some((name, numbers.get()?.len())))
    }

    /// Two arrays of the answer whose lengths differ.
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
        let told = self.length.and_then(whole).and_then(|told| usize::try_from(told).ok());
        // A batch is as wide as its longest answer.
        told.filter(|told| *told > len).and_then(|told| found("response_length", told))
    }

    /// Ids of the prompt, padding included, and of the answer.
    fn sequence(&self, len: usize) -> (&[f64], &[f64]) {
        let prompt = self.prompt.get();
        if let Some(response) = self.response.get() {
            return (prompt.unwrap_or_default(), response);
        }
        let joined = self.tokens.split_end(len).or_else(|| self.whole.split_end(len));
        let (before, response) = joined.unwrap_or_default();
        (prompt.unwrap_or(before), response)
    }

    /// Marks the tokens that are judged: those that every mask lets through.
    fn mask(&self, len: usize, row: &mut Row) {
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

    /// Padding in front of the prompt, where a mask tells it.
    fn padding(&self, prompt: usize, len: usize) -> Option<usize> {
        let mask = self.prompt_mask.get().or_else(|| Some(self.attention.split_end(len)?.0))?;
        let padding = mask.iter().take_while(|value| !is_on(**value)).count();
        (mask.len() == prompt).then_some(padding)
    }

    /// Number of the answer's tokens up to the last that is attended or judged.
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

    /// Ids that are attended, of a sequence of prompt and answer.
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

    fn row(raw: &Raw) -> Row {
        let mut row = Row::default();
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
