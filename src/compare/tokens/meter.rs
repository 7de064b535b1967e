//! Sums over the answers of a comparison, added one at a time.

use std::collections::BTreeMap;

use super::sums::Sums;
use crate::read::tokens::TokensStep;

/// Least number of judged tokens for which the mean of an answer is meaningful.
pub(crate) const FEWEST_TOKENS: u64 = 4;
/// Most token ids that are kept over all answers, to search for one that all noisy answers share.
const MOST_IDS: usize = 1 << 23;
/// Longest answer for which sums by position are kept.
const MOST_POSITIONS: usize = 1 << 18;
/// Most answers that get a row in the picture.
const MOST_DRAWN: usize = 4096;
/// Number of parts in a row of the picture.
pub(crate) const PARTS: usize = 32;

/// One answer, as it was measured.
#[derive(Clone, Debug)]
pub struct MeasuredAnswer {
    /// Its step.
    pub step: TokensStep,
    /// Its rank.
    pub rank: Option<u64>,
    /// Its number among those of its step and rank.
    pub index: u64,
    /// Judged tokens.
    pub tokens: u64,
    /// Mean |a - b| over them, in nats.
    pub mean: f64,
    /// Padding in front of its prompt; `None` where the record has none by its form.
    pub padding: Option<u64>,
    /// Tokens of its prompt.
    pub prompt: u64,
    /// Tokens of its prompt that came from a cache.
    pub cached: u64,
    /// Distinct token ids in it, in rising order; `None` where they are not kept.
    pub ids: Option<Box<[i64]>>,
    /// Mean |a - b| of its parts; NaN where nothing is judged, empty where it is not drawn.
    pub parts: Vec<f32>,
}

/// Place and numbers of one token.
#[derive(Clone, Debug, PartialEq)]
pub struct TokenPlace {
    /// Its step.
    pub step: TokensStep,
    /// Its rank.
    pub rank: Option<u64>,
    /// The answer among those of its step and rank.
    pub sequence: u64,
    /// Its position in the answer, from 0.
    pub position: u64,
    /// a: log-probability of the engine.
    pub a: f64,
    /// b: log-probability of the trainer.
    pub b: f64,
}

/// Facts about an answer other than its values.
#[derive(Clone, Debug)]
pub struct AnswerFacts<'r> {
    /// Its step.
    pub step: TokensStep,
    /// Its rank.
    pub rank: Option<u64>,
    /// Its number.
    pub index: u64,
    /// Padding in front of its prompt; `None` where the record has none by its form.
    pub padding: Option<u64>,
    /// Tokens of its prompt that came from a cache.
    pub cached: u64,
    /// Ids of its prompt and of its answer.
    pub ids: [&'r [i64]; 2],
}

/// Numbers that were not finite.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NonFinite {
    /// Counts of a, and of b.
    pub count: [u64; 2],
    /// The first.
    pub first: Option<TokenPlace>,
    /// Whether any is NaN, and whether any is infinite.
    pub kinds: [bool; 2],
}

impl NonFinite {
    fn note_kind(&mut self, value: f64) {
        let [nan, infinite] = &mut self.kinds;
        *nan |= value.is_nan();
        *infinite |= value.is_infinite();
    }

    /// The kind of all of them, as facts name it; `None` where there are both.
    pub fn kind(&self) -> Option<&'static str> {
        match self.kinds {
            [true, false] => Some("nan"),
            [false, true] => Some("inf"),
            _ => None,
        }
    }
}

/// Sums over all answers of a comparison.
#[derive(Clone, Debug)]
pub struct Meter {
    /// Noise with which a token's difference is compared, in nats.
    noise: f64,
    /// By step.
    pub steps: BTreeMap<TokensStep, Sums>,
    /// By rank.
    pub ranks: BTreeMap<Option<u64>, Sums>,
    /// Every answer.
    pub sequences: Vec<MeasuredAnswer>,
    /// By position in the answer: answers that reach it, and their sum of |a - b|.
    pub positions: Vec<(u64, f64)>,
    /// Tokens that a mask left out.
    pub masked: u64,
    /// Numbers that were not finite.
    pub non_finite: NonFinite,
    /// The first token above `LOUD_TOKEN` times the noise.
    pub first_loud: Option<TokenPlace>,
    /// Token ids kept so far, over all answers.
    kept: usize,
}

/// Multiple of the noise from which on a token is noisy.
const LOUD_TOKEN: f64 = 5.0;

impl Meter {
    /// An empty comparison, whose tokens are compared with a noise of `noise` nats.
    pub fn new(noise: f64) -> Self {
        Self {
            noise,
            steps: BTreeMap::new(),
            ranks: BTreeMap::new(),
            sequences: Vec::new(),
            positions: Vec::new(),
            masked: 0,
            non_finite: NonFinite::default(),
            first_loud: None,
            kept: 0,
        }
    }

    /// Adds an answer: a and b of its tokens, and which of them are judged.
    pub fn add(&mut self, about: &AnswerFacts<'_>, (a, b): (&[f64], &[f64]), judged: &[bool]) {
        let mut sums = Sums::default();
        let mut parts = Parts::new(a.len(), self.sequences.len() < MOST_DRAWN);
        let mut before: Option<(usize, f64, f64)> = None;
        for (position, ((a, b), judged)) in a.iter().zip(b).zip(judged).enumerate() {
            if !judged {
                self.masked += 1;
                continue;
            }
            let place = || TokenPlace {
                step: about.step.clone(),
                rank: about.rank,
                sequence: about.index,
                position: position as u64,
                a: *a,
                b: *b,
            };
            if !(a.is_finite() && b.is_finite()) {
                let [of_a, of_b] = &mut self.non_finite.count;
                *of_a += u64::from(!a.is_finite());
                *of_b += u64::from(!b.is_finite());
                self.non_finite.note_kind(*a);
                self.non_finite.note_kind(*b);
                self.non_finite.first.get_or_insert_with(place);
                continue;
            }
            let difference = (a - b).abs();
            sums.add(*a, *b, self.noise);
            parts.add(position, difference);
            self.add_position(position, difference);
            if difference > LOUD_TOKEN * self.noise {
                self.first_loud.get_or_insert_with(place);
            }
            if let Some((_, before_a, before_b)) = before.filter(|(at, ..)| at + 1 == position) {
                sums.moments.add_neighbours((before_a, before_b), (*a, *b));
            }
            before = Some((position, *a, *b));
        }
        self.keep(about, &sums, parts.finish());
        self.steps.entry(about.step.clone()).or_default().join(&sums);
        self.ranks.entry(about.rank).or_default().join(&sums);
    }

    /// Adds an answer of which only differences of probabilities are known.
    pub(crate) fn add_differences(&mut self, about: &AnswerFacts<'_>, differences: &[f64], judged: &[bool]) {
        let mut sums = Sums::default();
        for (position, (difference, judged)) in differences.iter().zip(judged).enumerate() {
            if !judged {
                self.masked += 1;
                continue;
            }
            if !difference.is_finite() {
                let [of_a, _] = &mut self.non_finite.count;
                *of_a += 1;
                self.non_finite.note_kind(*difference);
                let (step, rank) = (about.step.clone(), about.rank);
                let (sequence, position) = (about.index, position as u64);
                let place = || TokenPlace { step, rank, sequence, position, a: *difference, b: f64::NAN };
                self.non_finite.first.get_or_insert_with(place);
                continue;
            }
            sums.add_difference(*difference);
        }
        self.keep(about, &sums, Vec::new());
        self.steps.entry(about.step.clone()).or_default().join(&sums);
        self.ranks.entry(about.rank).or_default().join(&sums);
    }

    /// Removes the sums of a step.
    pub(crate) fn remove_step(&mut self, step: &TokensStep) {
        self.steps.remove(step);
        self.sequences.retain(|sequence| sequence.step != *step);
    }

    /// Sums over everything.
    pub fn total(&self) -> Sums {
        let mut all = Sums::default();
        self.steps.values().for_each(|sums| all.join(sums));
        all
    }

    fn add_position(&mut self, position: usize, difference: f64) {
        if position >= MOST_POSITIONS {
            return;
        }
        if self.positions.len() <= position {
            self.positions.resize(position + 1, (0, 0.0));
        }
        if let Some((count, sum)) = self.positions.get_mut(position) {
            (*count, *sum) = (*count + 1, *sum + difference);
        }
    }

    fn keep(&mut self, about: &AnswerFacts<'_>, sums: &Sums, parts: Vec<f32>) {
        let [prompt, response] = about.ids;
        let mut ids: Vec<i64> = Vec::new();
        if self.kept + prompt.len() + response.len() <= MOST_IDS {
            ids.extend(prompt.iter().chain(response));
            ids.sort_unstable();
            ids.dedup();
            self.kept += ids.len();
        } else {
            // From here on no answer keeps its ids. The search for a shared token needs those of all answers, so it finds none.
            self.kept = MOST_IDS;
        }
        self.sequences.push(MeasuredAnswer {
            step: about.step.clone(),
            rank: about.rank,
            index: about.index,
            tokens: sums.tokens,
            mean: sums.measures().mean_abs,
            padding: about.padding,
            prompt: prompt.len() as u64,
            cached: about.cached,
            ids: (!ids.is_empty()).then(|| ids.into_boxed_slice()),
            parts,
        });
    }
}

/// Means of parts of an answer, for its row of the picture.
struct Parts {
    len: usize,
    parts: Vec<(u32, f64)>,
}

impl Parts {
    fn new(len: usize, is_drawn: bool) -> Self {
        Self { len: len.max(1), parts: vec![(0, 0.0); if is_drawn { PARTS.min(len) } else { 0 }] }
    }

    fn add(&mut self, position: usize, difference: f64) {
        let part = position * self.parts.len() / self.len;
        if let Some((count, sum)) = self.parts.get_mut(part) {
            (*count, *sum) = (*count + 1, *sum + difference);
        }
    }

    fn finish(self) -> Vec<f32> {
        #[allow(clippy::cast_possible_truncation, reason = "a picture has 256 colours")]
        self.parts.into_iter().map(|(count, sum)| (sum / f64::from(count)) as f32).collect()
    }
}
