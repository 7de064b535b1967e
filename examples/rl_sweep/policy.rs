//! Tiny policies that are really trained: sequences of tokens, drawn from a log-linear model, scored, and learned from by policy
//! gradients.
//!
//! A prompt has a target sequence that ends with an end token. The logits of a token are the sum of three rows of weights: of the
//! prompt and the place, of the place, and of the token before. So what is learned of one prompt changes the others.

use std::fmt::Write as _;

use precision_gate::gate::selftest::synthetic::Random;

/// Tokens; the first ends an answer.
const VOCABULARY: usize = 10;
/// Longest answer.
const LONGEST: usize = 6;
/// Updates from one set of answers.
const EPOCHS: usize = 2;
/// Range that the ratio of new to old probability is clipped to.
const CLIP: f64 = 0.2;

/// Baseline of the advantage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Algorithm {
    /// Mean of the prompt's answers, over their deviation.
    Grpo,
    /// Mean of the prompt's other answers.
    Rloo,
    /// Running mean of all rewards.
    Reinforce,
}

/// A training.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Training {
    /// Name in tables.
    pub(crate) name: &'static str,
    pub(crate) algorithm: Algorithm,
    pub(crate) steps: usize,
    /// Prompts there are, and those of a step.
    pub(crate) prompts: usize,
    pub(crate) batch: usize,
    /// Answers to a prompt.
    pub(crate) answers: usize,
    pub(crate) rate: f64,
    /// Weight of the distance from the policy at the start.
    pub(crate) kl: f64,
    /// Share of the answers that are graded by chance.
    pub(crate) misgraded: f64,
    /// Whether only a whole right answer has a reward.
    pub(crate) is_sparse: bool,
}

/// Something that is wrong with the candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Defect {
    None,
    SignLate,
    AdvantagesSwapped,
    NotNormalised,
    RateLow,
    RateHigh,
    KlSign,
    KlTimes,
    ClipTight,
    RewardShifted,
    RewardLost,
    Stale,
    Temperature,
    LengthTwice,
    EndMasked,
    GradientTimes,
}

/// Every defect, and how it is told.
pub(crate) const DEFECTS: [(Defect, &str); 15] = [
    (Defect::SignLate, "advantages of the wrong sign from the middle on"),
    (Defect::AdvantagesSwapped, "half of the prompts: advantages of the neighbouring answer"),
    (Defect::NotNormalised, "advantages not centred"),
    (Defect::RateLow, "updates 0.4 times as large, unlogged"),
    (Defect::RateHigh, "updates 3 times as large, unlogged"),
    (Defect::KlSign, "KL term of the wrong sign"),
    (Defect::KlTimes, "KL term 10 times as large, unlogged"),
    (Defect::ClipTight, "clip range 0.005 for 0.2"),
    (Defect::RewardShifted, "rewards 0.2 higher"),
    (Defect::RewardLost, "15 % of the answers graded 0"),
    (Defect::Stale, "answers of the policy of 20 steps ago"),
    (Defect::Temperature, "answers drawn at temperature 0.5"),
    (Defect::LengthTwice, "loss of an answer over its length twice"),
    (Defect::EndMasked, "end tokens not trained"),
    (Defect::GradientTimes, "gradient 8 times as large, which Adam hides"),
];

/// The place of a token: the rows that its logits are the sum of.
type Place = [usize; 3];

/// A token of an answer, with the log probability of the engine that drew it.
struct Token {
    place: Place,
    token: usize,
    drawn: f64,
}

struct Answer {
    tokens: Vec<Token>,
    reward: f64,
    advantage: f64,
    is_cut: bool,
}

#[derive(Clone)]
struct Policy {
    weights: Vec<f64>,
}

impl Policy {
    fn new(prompts: usize) -> Self {
        Self { weights: vec![0.0; (prompts * LONGEST + LONGEST + VOCABULARY) * VOCABULARY] }
    }

    fn place(prompts: usize, prompt: usize, nth: usize, before: usize) -> Place {
        [prompt * LONGEST + nth, prompts * LONGEST + nth, prompts * LONGEST + LONGEST + before]
    }

    /// Log probabilities of the tokens at a place.
    fn log_probabilities(&self, place: Place, temperature: f64, round: fn(f64) -> f64) -> [f64; VOCABULARY] {
        let mut logits = [0.0; VOCABULARY];
        for row in place {
            let row = self.weights.get(row * VOCABULARY..(row + 1) * VOCABULARY).unwrap_or_default();
            logits.iter_mut().zip(row).for_each(|(logit, weight)| *logit += weight);
        }
        let logits = logits.map(|logit| round(logit) / temperature);
        let highest = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = logits.iter().map(|logit| (logit - highest).exp()).sum();
        logits.map(|logit| logit - highest - sum.ln())
    }
}

/// Rounds to `bf16`, as a rollout engine computes.
fn coarse(value: f64) -> f64 {
    #[allow(clippy::cast_possible_truncation, reason = "a coarse number is what it is for")]
    let bits = (value as f32).to_bits();
    f64::from(f32::from_bits(bits.wrapping_add(0x7fff + ((bits >> 16) & 1)) & 0xffff_0000))
}

fn exact(value: f64) -> f64 {
    value
}

fn below(random: &mut Random, count: usize) -> usize {
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a small index"
    )]
    let nth = (random.uniform() * count as f64) as usize;
    nth.min(count - 1)
}

fn real(count: usize) -> f64 {
    u32::try_from(count).map_or(f64::NAN, f64::from)
}

/// Target of each prompt: two to five tokens, and the end. The same on both sides.
fn targets(prompts: usize) -> Vec<Vec<usize>> {
    let mut random = Random::new(77);
    let mut target = |_| {
        let length = 2 + below(&mut random, LONGEST - 2);
        let tokens = (0..length).map(|_| 1 + below(&mut random, VOCABULARY - 1));
        tokens.chain([0]).collect()
    };
    (0..prompts).map(&mut target).collect()
}

/// Draws an answer and grades it.
fn answer(training: Training, policy: &Policy, prompt: (usize, &[usize]), random: &mut Random, heat: f64) -> Answer {
    let (nth_prompt, target) = prompt;
    let (mut tokens, mut before, mut right) = (Vec::new(), 0, 0);
    for nth in 0..LONGEST {
        let place = Policy::place(training.prompts, nth_prompt, nth, before);
        let chances = policy.log_probabilities(place, heat, coarse);
        let mut left = random.uniform();
        let falls = |chance: &f64| {
            left -= chance.exp();
            left < 0.0
        };
        let token = chances.iter().position(falls).unwrap_or(VOCABULARY - 1);
        right += usize::from(target.get(nth) == Some(&token));
        let drawn = chances.get(token).copied().unwrap_or_default();
        tokens.push(Token { place, token, drawn });
        before = token;
        if token == 0 {
            break;
        }
    }
    let is_cut = before != 0;
    let length = tokens.len().max(target.len());
    let share = real(right) / real(length);
    let graded = if training.is_sparse { share * share } else { share };
    let reward = if random.uniform() < training.misgraded { random.uniform() } else { graded };
    Answer { tokens, reward, advantage: 0.0, is_cut }
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (count, sum) = values.fold((0.0, 0.0), |(count, sum), value| (count + 1.0, sum + value));
    if count > 0.0 { sum / count } else { 0.0 }
}

/// Sets the advantages of the answers to one prompt.
fn advantages(group: &mut [Answer], algorithm: Algorithm, running: f64, defect: Defect) {
    let centre = mean(group.iter().map(|answer| answer.reward));
    let deviation = mean(group.iter().map(|answer| (answer.reward - centre).powi(2))).sqrt();
    let count = real(group.len());
    let centre = if defect == Defect::NotNormalised { 0.0 } else { centre };
    for answer in group {
        answer.advantage = match algorithm {
            Algorithm::Grpo => (answer.reward - centre) / (deviation + 1e-4),
            Algorithm::Rloo => (answer.reward - centre) * count / (count - 1.0),
            Algorithm::Reinforce if defect == Defect::NotNormalised => answer.reward,
            Algorithm::Reinforce => answer.reward - running,
        };
    }
}

/// Sums of an update.
#[derive(Default)]
struct Update {
    gradient: Vec<f64>,
    tokens: f64,
    entropy: f64,
    kl: f64,
    moved: f64,
    clipped: f64,
    loss: f64,
    apart: f64,
}

/// Gradient of the clipped objective over all answers, and what trainers log of it.
fn update(
    now: &Policy,
    old: &Policy,
    start: &Policy,
    answers: &[Answer],
    training: Training,
    defect: Defect,
) -> Update {
    let mut sums = Update { gradient: vec![0.0; now.weights.len()], ..Update::default() };
    let clip = if defect == Defect::ClipTight { 0.005 } else { CLIP };
    let kl = match defect {
        Defect::KlSign => -training.kl,
        Defect::KlTimes => 10.0 * training.kl,
        _ => training.kl,
    };
    for answer in answers {
        let weight = if defect == Defect::LengthTwice { 2.0 / real(answer.tokens.len()) } else { 1.0 };
        for token in &answer.tokens {
            let of = |policy: &Policy| policy.log_probabilities(token.place, 1.0, exact);
            let (chances, before, first) = (of(now), of(old), of(start));
            let at = |chances: &[f64; VOCABULARY]| chances.get(token.token).copied().unwrap_or_default();
            let ratio = (at(&chances) - at(&before)).exp();
            let is_clipped = if answer.advantage > 0.0 { ratio > 1.0 + clip } else { ratio < 1.0 - clip };
            sums.tokens += 1.0;
            sums.entropy -= chances.iter().map(|chance| chance * chance.exp()).sum::<f64>();
            let apart = at(&first) - at(&chances);
            sums.kl += apart.exp() - apart - 1.0;
            sums.moved += at(&before) - at(&chances);
            sums.clipped += f64::from(u8::from(is_clipped));
            sums.loss -= ratio * answer.advantage;
            sums.apart += (token.drawn.exp() - at(&before).exp()).abs();
            let pull = if is_clipped { 0.0 } else { weight * ratio * answer.advantage } + kl * apart;
            if defect == Defect::EndMasked && token.token == 0 {
                continue;
            }
            for row in token.place {
                let row = sums.gradient.get_mut(row * VOCABULARY..(row + 1) * VOCABULARY).unwrap_or_default();
                for (nth, (slot, chance)) in row.iter_mut().zip(chances).enumerate() {
                    *slot += pull * (f64::from(u8::from(nth == token.token)) - chance.exp());
                }
            }
        }
    }
    let scale = if defect == Defect::GradientTimes { 8.0 } else { 1.0 } / sums.tokens;
    sums.gradient.iter_mut().for_each(|value| *value *= scale);
    sums
}

/// Adam's moments of each weight.
struct Adam {
    moments: Vec<(f64, f64)>,
    steps: i32,
}

impl Adam {
    fn step(&mut self, policy: &mut Policy, gradient: &[f64], rate: f64) {
        self.steps += 1;
        let (first, second) = (1.0 - 0.9_f64.powi(self.steps), 1.0 - 0.99_f64.powi(self.steps));
        for ((weight, moments), slope) in policy.weights.iter_mut().zip(&mut self.moments).zip(gradient) {
            *moments = (0.9 * moments.0 + 0.1 * slope, 0.99 * moments.1 + 0.01 * slope * slope);
            *weight += rate * (moments.0 / first) / ((moments.1 / second).sqrt() + 1e-8);
        }
    }
}

/// Answers of one step, with their advantages.
fn rollout(
    training: Training,
    drawing: &Policy,
    running: f64,
    (step, defect): (usize, Defect),
    random: &mut Random,
    targets: &[Vec<usize>],
) -> Vec<Answer> {
    let heat = if defect == Defect::Temperature { 0.5 } else { 1.0 };
    let mut answers = Vec::new();
    for _ in 0..training.batch {
        let prompt = below(random, training.prompts);
        let target = targets.get(prompt).map(Vec::as_slice).unwrap_or_default();
        let mut group: Vec<Answer> =
            (0..training.answers).map(|_| answer(training, drawing, (prompt, target), random, heat)).collect();
        for answer in &mut group {
            match defect {
                Defect::RewardShifted => answer.reward += 0.2,
                Defect::RewardLost if random.uniform() < 0.15 => answer.reward = 0.0,
                _ => {}
            }
        }
        advantages(&mut group, training.algorithm, running, defect);
        if defect == Defect::SignLate && 2 * step > training.steps {
            group.iter_mut().for_each(|answer| answer.advantage = -answer.advantage);
        }
        if defect == Defect::AdvantagesSwapped && random.uniform() < 0.5 {
            let last = group.last().map_or(0.0, |answer| answer.advantage);
            let _before =
                group.iter_mut().fold(last, |before, answer| std::mem::replace(&mut answer.advantage, before));
        }
        answers.extend(group);
    }
    answers
}

/// The log of a training, as verl's file logger writes it.
pub(crate) fn log(training: Training, seed: u64, defect: Defect) -> String {
    let mut random = Random::new(seed);
    let targets = targets(training.prompts);
    let mut policy = Policy::new(training.prompts);
    let start = policy.clone();
    let mut adam = Adam { moments: vec![(0.0, 0.0); policy.weights.len()], steps: 0 };
    let mut past = std::collections::VecDeque::new();
    let (mut running, mut text) = (0.0, String::new());
    let rate = training.rate
        * match defect {
            Defect::RateLow => 0.4,
            Defect::RateHigh => 3.0,
            _ => 1.0,
        };
    for step in 1..=training.steps {
        past.push_back(policy.clone());
        let lag = if defect == Defect::Stale { 21 } else { 1 };
        while past.len() > lag {
            past.pop_front();
        }
        let drawing = past.front().unwrap_or(&policy);
        let answers = rollout(training, drawing, running, (step, defect), &mut random, &targets);
        let reward = mean(answers.iter().map(|answer| answer.reward));
        running = if step == 1 { reward } else { 0.9 * running + 0.1 * reward };
        let old = policy.clone();
        let mut norms = Vec::new();
        let mut last = Update::default();
        for _ in 0..EPOCHS {
            last = update(&policy, &old, &start, &answers, training, defect);
            norms.push(last.gradient.iter().map(|value| value * value).sum::<f64>().sqrt());
            adam.step(&mut policy, &last.gradient, rate);
        }
        let metrics = [
            ("actor/lr", training.rate),
            ("critic/score/mean", reward),
            ("critic/advantages/mean", mean(answers.iter().map(|answer| answer.advantage))),
            ("actor/pg_loss", last.loss / last.tokens),
            ("actor/entropy", last.entropy / last.tokens),
            ("actor/kl_loss", last.kl / last.tokens),
            ("actor/ppo_kl", last.moved / last.tokens),
            ("actor/pg_clipfrac", last.clipped / last.tokens),
            ("actor/grad_norm", mean(norms.into_iter())),
            ("response_length/mean", mean(answers.iter().map(|answer| real(answer.tokens.len())))),
            ("response_length/clip_ratio", mean(answers.iter().map(|answer| f64::from(u8::from(answer.is_cut))))),
            ("training/rollout_probs_diff_mean", last.apart / last.tokens),
        ];
        let values: Vec<String> = metrics.iter().map(|(name, value)| format!("\"{name}\":{value:.9e}")).collect();
        let _infallible = writeln!(text, "{{\"step\":{step},{}}}", values.join(","));
    }
    text
}
