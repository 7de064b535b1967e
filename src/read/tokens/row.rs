//! One recorded answer.

/// One answer. The buffers are reused for the next answer.
#[derive(Clone, Debug, Default)]
pub struct TokensRow {
    /// Ids of the prompt, without padding; empty if none are recorded.
    pub prompt: Vec<i64>,
    /// Ids of the answer, without padding at its end; empty if none are recorded.
    pub response: Vec<i64>,
    /// Log-probabilities of the engine; empty if none are recorded.
    pub engine: Vec<f64>,
    /// Log-probabilities of the trainer; empty if none are recorded.
    pub trainer: Vec<f64>,
    /// Absolute differences of probabilities; empty if none are recorded.
    pub difference: Vec<f64>,
    /// Whether each token is judged, which requires that all masks include it.
    pub judged: Vec<bool>,
    /// Quantities that the record holds, which the lengths do not show for an empty answer.
    pub recorded: RowQuantities,
    /// Number of tokens that one mask of the record excludes and another includes.
    pub masks_apart: u64,
    /// Number of padding tokens in front of the prompt; `None` if no mask shows it.
    pub padding: Option<u64>,
    /// Number of the sample.
    pub index: Option<u64>,
    /// Version of the weights that sampled it.
    pub version: Option<u64>,
    /// Tokens of the prompt that came from a cache.
    pub cached: Option<u64>,
    /// Keys and lengths of two arrays of the row whose lengths differ.
    pub lengths: Option<[(&'static str, u64); 2]>,
    /// Difference between the trainer's sequence and the engine's; `None` if they are equal or not recorded.
    pub prompt_difference: Option<PromptDifference>,
}

/// Quantities of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowQuantities {
    /// Log-probabilities of the engine.
    pub engine: bool,
    /// Log-probabilities of the trainer.
    pub trainer: bool,
    /// Differences of probabilities.
    pub difference: bool,
    /// A mask.
    pub mask: bool,
}

/// Difference of the trainer's sequence from the engine's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromptDifference {
    /// The trainer's sequence lacks the engine's first token.
    FirstMissing {
        /// The token.
        token: i64,
    },
    /// The trainer's sequence has a token in front of the engine's first.
    FirstAdded {
        /// The token.
        token: i64,
    },
    /// The sequences differ at a position.
    At {
        /// Position, from 0.
        place: u64,
        /// Token of the engine; `None` after its end.
        engine: Option<i64>,
        /// Token of the trainer; `None` after its end.
        trainer: Option<i64>,
    },
}

impl PromptDifference {
    /// Finds the difference between the trainer's sequence and the engine's. Tokens after the engine's end are padding.
    pub(super) fn between(prompt: &[i64], response: &[i64], trainer: &[i64]) -> Option<Self> {
        let engine = || prompt.iter().chain(response).copied();
        let len = prompt.len() + response.len();
        let first = engine().next()?;
        if trainer.len() >= len && engine().eq(trainer.iter().copied().take(len)) {
            return None;
        }
        if trainer.len() + 1 >= len && engine().skip(1).eq(trainer.iter().copied().take(len - 1)) {
            return Some(Self::FirstMissing { token: first });
        }
        if let Some((added, rest)) = trainer.split_first()
            && rest.len() >= len
            && engine().eq(rest.iter().copied().take(len))
        {
            return Some(Self::FirstAdded { token: *added });
        }
        let same = engine().zip(trainer.iter().copied()).take_while(|(a, b)| a == b).count();
        Some(Self::At { place: same as u64, engine: engine().nth(same), trainer: trainer.get(same).copied() })
    }
}

impl TokensRow {
    /// Clears the row and keeps the memory.
    pub(super) fn clear(&mut self) {
        for ids in [&mut self.prompt, &mut self.response] {
            ids.clear();
        }
        for values in [&mut self.engine, &mut self.trainer, &mut self.difference] {
            values.clear();
        }
        self.judged.clear();
        (self.recorded, self.masks_apart, self.padding) = (RowQuantities::default(), 0, None);
        (self.index, self.version, self.cached) = (None, None, None);
        (self.lengths, self.prompt_difference) = (None, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_difference_of_two_sequences_is_named() {
        let of = |trainer: &[i64]| PromptDifference::between(&[1, 5, 6], &[7, 8], trainer);
        assert_eq!(of(&[1, 5, 6, 7, 8]), None);
        assert_eq!(of(&[1, 5, 6, 7, 8, 0, 0]), None);
        assert_eq!(of(&[5, 6, 7, 8]), Some(PromptDifference::FirstMissing { token: 1 }));
        assert_eq!(of(&[2, 1, 5, 6, 7, 8]), Some(PromptDifference::FirstAdded { token: 2 }));
        let at = |place, engine, trainer| Some(PromptDifference::At { place, engine, trainer });
        assert_eq!(of(&[1, 9, 6, 7, 8]), at(1, Some(5), Some(9)));
        assert_eq!(of(&[1, 5]), at(2, Some(6), None));
        assert_eq!(PromptDifference::between(&[], &[], &[1]), None);
    }
}
