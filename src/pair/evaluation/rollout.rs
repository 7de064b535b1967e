//! Pairing of rollouts by step and prompt. Several answers to one prompt are a set, because the order of lines has no meaning.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::read::evaluation::{RolloutRecord, RolloutStep, Rollouts};
use crate::verdict::{PerSide, Side};

/// Answers to one prompt at one step, of both runs.
#[derive(Clone, Copy, Debug)]
pub struct PairedPrompt<'a> {
    /// Hash of the prompt.
    pub prompt: u64,
    /// The baseline's answers.
    pub baseline: &'a [RolloutRecord],
    /// The candidate's answers.
    pub candidate: &'a [RolloutRecord],
}

/// One step of two runs.
#[derive(Debug)]
pub struct PairedStep<'a> {
    /// The step.
    pub step: u64,
    /// Its rollouts; `None` on a side that has none.
    pub sides: PerSide<Option<&'a RolloutStep>>,
    /// Prompts that both sides have, in order of their hashes; none if a side has no rollouts.
    pub prompts: Vec<PairedPrompt<'a>>,
}

/// Pairs the steps of two runs.
pub(crate) fn rollout_steps<'a>(baseline: &'a Rollouts, candidate: &'a Rollouts) -> Vec<PairedStep<'a>> {
    let steps: BTreeSet<u64> = baseline.steps.keys().chain(candidate.steps.keys()).copied().collect();
    let paired = |step: u64| {
        let sides = PerSide { baseline: baseline.steps.get(&step), candidate: candidate.steps.get(&step) };
        let prompts = match (sides.baseline, sides.candidate) {
            (Some(left), Some(right)) => {
                let pair = |(prompt, baseline): (&u64, &'a Vec<RolloutRecord>)| {
                    let candidate = right.prompts.get(prompt)?;
                    Some(PairedPrompt { prompt: *prompt, baseline, candidate })
                };
                left.prompts.iter().filter_map(pair).collect()
            }
            _ => Vec::new(),
        };
        PairedStep { step, sides, prompts }
    };
    steps.into_iter().map(paired).collect()
}

impl PairedStep<'_> {
    pub(crate) fn answer_count(&self, side: Side) -> u64 {
        self.sides[side].map_or(0, |step| step.prompts.values().map(|answers| answers.len() as u64).sum())
    }

    /// Answers that have a partner: one of the same prompt.
    pub(crate) fn paired_count(&self) -> u64 {
        self.prompts.iter().map(|pair| pair.baseline.len().min(pair.candidate.len()) as u64).sum()
    }
}

impl PairedPrompt<'_> {
    /// Number of answers that both runs gave, word by word.
    pub fn equal_texts(&self) -> u64 {
        let mut unmatched: HashMap<u64, u64> = HashMap::new();
        self.baseline.iter().for_each(|answer| *unmatched.entry(answer.output).or_default() += 1);
        let mut equal = 0;
        for answer in self.candidate {
            if let Some(left) = unmatched.get_mut(&answer.output).filter(|left| **left > 0) {
                *left -= 1;
                equal += 1;
            }
        }
        equal
    }

    /// Whether the candidate's answers are compared with other truths. A baseline without truths does not count.
    pub(crate) fn has_other_truth(&self) -> bool {
        let truths = |answers: &[RolloutRecord]| answers.iter().map(|answer| answer.truth).collect::<BTreeSet<_>>();
        let baseline = truths(self.baseline);
        baseline.iter().any(Option::is_some) && baseline != truths(self.candidate)
    }

    /// Scores that contradict each other: both runs gave the same answer, it was compared with the same truth, and the scores
    /// differ. Returns the first such pair of scores and the number of such pairs. Repeats of an answer are paired in order of score.
    pub(crate) fn contradiction(&self) -> Option<([f64; 2], u64)> {
        let scores = |answers: &[RolloutRecord]| {
            let mut of: BTreeMap<(u64, Option<u64>), Vec<f64>> = BTreeMap::new();
            for answer in answers {
                if let Some(score) = answer.score.filter(|score| score.is_finite()) {
                    of.entry((answer.output, answer.truth)).or_default().push(score);
                }
            }
            of.values_mut().for_each(|scores| scores.sort_by(f64::total_cmp));
            of
        };
        let (baseline, candidate) = (scores(self.baseline), scores(self.candidate));
        let (mut first, mut count) = (None, 0_u64);
        for (answer, candidate) in candidate {
            let Some(baseline) = baseline.get(&answer) else { continue };
            let differs = baseline.iter().zip(&candidate).find(|(one, other)| !are_equal(**one, **other));
            if let Some((one, other)) = differs {
                first.get_or_insert([*one, *other]);
                count +=
                    baseline.iter().zip(&candidate).filter(|(one, other)| !are_equal(**one, **other)).count() as u64;
            }
        }
        Some((first?, count))
    }
}

/// Whether two scores are equal up to the digits that were written.
fn are_equal(one: f64, other: f64) -> bool {
    /// Part of a score by which two writings of it may differ.
    const ROUNDING: f64 = 1e-6;
    (one - other).abs() <= ROUNDING * one.abs().max(other.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(output: u64, score: f64) -> RolloutRecord {
        RolloutRecord { output, truth: Some(1), score: Some(score), characters: 1 }
    }

    #[test]
    fn repeats_of_a_prompt_are_a_set() {
        let (baseline, candidate) =
            ([answer(1, 0.0), answer(2, 1.0)], [answer(2, 1.0), answer(1, 0.0), answer(1, 0.0)]);
        let pair = PairedPrompt { prompt: 0, baseline: &baseline, candidate: &candidate };
        assert_eq!((pair.equal_texts(), pair.contradiction(), pair.has_other_truth()), (2, None, false));
    }

    #[test]
    fn an_equal_answer_with_another_score_contradicts() {
        let (left, right) = ([answer(1, 1.0), answer(2, 1.0)], [answer(1, 100.0), answer(3, 0.0)]);
        let pair = PairedPrompt { prompt: 0, baseline: &left, candidate: &right };
        assert_eq!(pair.contradiction(), Some(([1.0, 100.0], 1)));
        let other = [RolloutRecord { truth: None, ..answer(1, 0.0) }];
        let pair = PairedPrompt { candidate: &other, ..pair };
        assert_eq!((pair.contradiction(), pair.has_other_truth()), (None, true));
        let pair = PairedPrompt { baseline: &other, candidate: &left, prompt: 0 };
        assert!(!pair.has_other_truth());
    }
}
