//! False alarms and finds of the check of log-probabilities, on records of a recurrent model that is really evaluated.
//!
//! ```sh
//! cargo run --release --example token_sweep
//! ```
//!
//! The engine and the trainer compute the same small model in `float32` or in `bfloat16`, the engine in four parts; answers are
//! sampled from it. Healthy pairs vary kernels, precision, temperature, prompt lengths, ends, tools' turns, and the number of
//! answers, steps and ranks; a fault changes the weights, the temperature, places or rows of one of both.
#![allow(
    clippy::print_stdout,
    clippy::indexing_slicing,
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "a table on standard output, of arrays of known shapes"
)]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use half::bf16;
use precision_gate::gate::{Quiet, Request, run};
use precision_gate::policy::Policy;
use precision_gate::policy::location::TrustedLocation;
use precision_gate::verdict::{CheckId, Verdict};
use rayon::prelude::*;
use serde_json::json;

const WORDS: usize = 97;
const WIDTH: usize = 64;
/// Healthy pairs, and pairs of each fault.
const HEALTHY: u64 = 200;
const FAULTY: u64 = 20;
const FAULTS: [&str; 9] =
    ["stale", "temperature", "shifted", "base 10", "top 8", "one rank", "row", "prefix", "other weights"];

/// Random numbers (splitmix64).
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    fn share(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1_u64 << 24) as f32
    }

    fn normal(&mut self) -> f32 {
        (0..12).map(|_| self.share()).sum::<f32>() - 6.0
    }
}

/// Rounding and order of an engine's or a trainer's sums.
#[derive(Clone, Copy)]
struct Kernel {
    /// Whether weights and results are rounded to `bfloat16`.
    is_half: bool,
    /// Partial sums that a result is added up from, as ranks of a layer that is cut give it.
    parts: usize,
}

#[derive(Clone)]
struct Model {
    embedding: Vec<f32>,
    recurrent: Vec<f32>,
    output: Vec<f32>,
}

impl Model {
    fn new(dice: &mut Dice) -> Self {
        let mut draw = |count: usize, scale: f32| (0..count).map(|_| dice.normal() * scale).collect::<Vec<f32>>();
        let (embedding, recurrent) = (draw(WORDS * WIDTH, 0.8), draw(WIDTH * WIDTH, 0.9 / (WIDTH as f32).sqrt()));
        Self { embedding, recurrent, output: draw(WORDS * WIDTH, 0.3) }
    }

    /// The model after an update of this relative size.
    fn updated(&self, size: f32, dice: &mut Dice) -> Self {
        let mut moved = self.clone();
        for (weights, scale) in [(&mut moved.embedding, 0.8), (&mut moved.recurrent, 0.11), (&mut moved.output, 0.3)] {
            weights.iter_mut().for_each(|weight| *weight += size * scale * dice.normal());
        }
        moved
    }

    /// Logits behind a token, whose state becomes the one before the next.
    fn step(&self, token: usize, state: &mut Vec<f32>, kernel: Kernel) -> Vec<f32> {
        let round = |value: f32| if kernel.is_half { bf16::from_f32(value).to_f32() } else { value };
        let dot = |row: &[f32], state: &[f32]| {
            let parts = row.chunks(WIDTH / kernel.parts).zip(state.chunks(WIDTH / kernel.parts));
            parts
                .map(|(row, state)| round(row.iter().zip(state).map(|(weight, value)| round(*weight) * value).sum()))
                .sum::<f32>()
        };
        let next = (0..WIDTH).map(|at| {
            let given = round(self.embedding[token * WIDTH + at]);
            round(round(given + dot(&self.recurrent[at * WIDTH..(at + 1) * WIDTH], state)).tanh())
        });
        *state = next.collect();
        (0..WORDS).map(|word| round(dot(&self.output[word * WIDTH..(word + 1) * WIDTH], state))).collect()
    }

    /// Logits behind each token.
    fn logits(&self, tokens: &[usize], kernel: Kernel) -> Vec<Vec<f32>> {
        let mut state = vec![0.0_f32; WIDTH];
        tokens.iter().map(|token| self.step(*token, &mut state, kernel)).collect()
    }
}

/// Logarithms of the softmax of logits over a temperature, over the `top` largest.
fn log_softmax(logits: &[f32], temperature: f32, top: usize) -> Vec<f32> {
    let mut sorted = logits.to_vec();
    sorted.sort_by(|a, b| b.total_cmp(a));
    let least = sorted[top.min(sorted.len()) - 1];
    let scaled: Vec<f32> =
        logits.iter().map(|logit| if *logit < least { f32::NEG_INFINITY } else { logit / temperature }).collect();
    let largest = scaled.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f32 = scaled.iter().map(|logit| (logit - largest).exp()).sum();
    scaled.iter().map(|logit| logit - largest - sum.ln()).collect()
}

/// Settings of a run of both engines.
struct Run<'m> {
    engine: (&'m Model, Kernel),
    trainer: (&'m Model, Kernel),
    temperature: f32,
    fault: &'static str,
    stale: &'m Model,
}

/// An answer, as a line of JSON.
fn answer(run: &Run<'_>, dice: &mut Dice, (step, rank, index): (usize, usize, usize), answers: usize) -> String {
    let prompt: Vec<usize> = (0..4 + dice.below(12)).map(|_| 2 + dice.below(WORDS - 2)).collect();
    let is_stale = match run.fault {
        "stale" => step > 1,
        "one rank" => rank == 1,
        "prefix" => index * 4 < answers,
        "other weights" => true,
        _ => false,
    };
    let (model, kernel) = run.engine;
    let mut own = if is_stale { run.stale.clone() } else { model.clone() };
    let row = 7;
    if run.fault == "row" {
        own.embedding[row * WIDTH..(row + 1) * WIDTH].fill(0.0);
    }
    let (top, engine_temperature) = match run.fault {
        "top 8" => (8, run.temperature),
        "temperature" => (WORDS, 0.7),
        _ => (WORDS, run.temperature),
    };
    let mut tokens = prompt.clone();
    if run.fault == "row" && index % 3 == 0 {
        tokens[1] = row;
    }
    let (mut engine, mut mask) = (Vec::new(), Vec::new());
    let length = 8 + dice.below(40);
    let turn = if dice.below(3) == 0 { 3 + dice.below(6)..3 + dice.below(6) + 6 } else { 0..0 };
    let mut state = vec![0.0_f32; WIDTH];
    let mut logits = tokens.iter().map(|token| own.step(*token, &mut state, kernel)).last().expect("a prompt");
    for at in 0..length {
        let sampled = log_softmax(&logits, engine_temperature, top);
        let mut left = dice.share();
        let drawn = sampled.iter().position(|log| {
            left -= log.exp();
            left <= 0.0
        });
        let is_tool = turn.contains(&at);
        let token = if is_tool { 2 + dice.below(WORDS - 2) } else { drawn.unwrap_or(WORDS - 1) };
        let token = if run.fault == "row" && token == row { row + 1 } else { token };
        let log = sampled[token];
        engine.push(if log.is_finite() { log } else { -20.0 });
        mask.push(u8::from(!is_tool));
        tokens.push(token);
        if token == 1 {
            break;
        }
        logits = own.step(token, &mut state, kernel);
    }
    let logits = run.trainer.0.logits(&tokens[..tokens.len() - 1], run.trainer.1);
    let response = tokens[prompt.len()..].to_vec();
    let scored =
        |(at, token): (usize, &usize)| log_softmax(&logits[prompt.len() - 1 + at], run.temperature, WORDS)[*token];
    let mut trainer: Vec<f32> = response.iter().enumerate().map(scored).collect();
    match run.fault {
        "shifted" => trainer.rotate_left(1),
        "base 10" => engine.iter_mut().for_each(|log| *log *= std::f32::consts::LOG10_E),
        _ => {}
    }
    let prompt_ids = &tokens[..prompt.len()];
    json!({"step": step, "rank": rank, "sample_index": index, "prompt_ids": prompt_ids, "response_ids": response,
        "rollout_log_probs": engine, "log_probs": trainer, "loss_mask": mask})
    .to_string()
}

fn write(folder: &Path, run: &Run<'_>, seed: u64, (steps, ranks, answers): (usize, usize, usize)) {
    std::fs::create_dir_all(folder).expect("a folder");
    let mut dice = Dice(seed);
    for (step, rank) in (1..=steps).flat_map(|step| (0..ranks).map(move |rank| (step, rank))) {
        let mut text = String::new();
        for index in 0..answers {
            writeln!(text, "{}", answer(run, &mut dice, (step, rank, index), answers)).expect("written");
        }
        std::fs::write(folder.join(format!("step_{step}_rank_{rank}.jsonl")), text).expect("written");
    }
}

/// Verdict and first cause, or finding, of a pair with a fault, or without one.
fn judged(fault: &'static str, seed: u64) -> (Verdict, String) {
    let mut dice = Dice(seed);
    let model = Model::new(&mut dice);
    let stale = model.updated(if fault == "stale" { 0.05 } else { 0.15 }, &mut dice);
    // Never the same kernel: equal bits are told.
    let [engine, trainer] = [4, 1].map(|parts| Kernel { is_half: dice.below(2) == 0, parts });
    let temperature = [1.0, 1.0, 0.7, 1.3][dice.below(4)];
    let answers = if fault.is_empty() { [1, 2, 5, 16, 48, 200][dice.below(6)] } else { 24 };
    let sizes = (
        if fault == "stale" { 4 } else { 1 + dice.below(3) },
        if fault == "one rank" { 2 } else { 1 + dice.below(2) },
        answers,
    );
    let sizes = if answers == 200 { (1, 1, answers) } else { sizes };
    let room = tempfile::tempdir().expect("a folder");
    let healthy = Run { engine: (&model, engine), trainer: (&model, trainer), temperature, fault: "", stale: &stale };
    // The same answers with another kernel, or answers that were drawn anew.
    let own = if dice.below(2) == 0 { seed } else { seed + 1 };
    let is_half = trainer.is_half;
    write(&room.path().join("gpu"), &Run { engine: (&model, Kernel { is_half, ..engine }), ..healthy }, own, sizes);
    write(&room.path().join("npu"), &Run { fault, ..healthy }, seed, sizes);
    let request = Request {
        baseline: TrustedLocation::own(room.path().join("gpu").display().to_string()),
        several: Default::default(),
        candidate: room.path().join("npu").display().to_string(),
        checks: vec![CheckId::Tokens],
        policy: Policy::default(),
        matching: precision_gate::msprobe::dump::Matching::default(),
    };
    let result = run(&request, &Quiet).expect("judged").result;
    let code = || result.findings.iter().find(|finding| finding.counts()).map(|finding| finding.code.to_string());
    let cause = result.diagnoses.first().map(|first| first.cause.clone()).or_else(code).unwrap_or_default();
    (result.verdict, cause)
}

fn main() {
    println!("| records | pass | warn | fail | incomplete | first causes, or findings |");
    println!("|---|---|---|---|---|---|");
    let healthy = std::iter::once(("", HEALTHY));
    for (fault, count) in healthy.chain(FAULTS.into_iter().map(|fault| (fault, FAULTY))) {
        let all: Vec<(Verdict, String)> = (0..count).into_par_iter().map(|at| judged(fault, 1000 + 7 * at)).collect();
        let of = |verdict: Verdict| all.iter().filter(|(one, _)| *one == verdict).count();
        let mut causes: BTreeMap<&str, usize> = BTreeMap::new();
        all.iter().for_each(|(_, cause)| *causes.entry(cause).or_default() += 1);
        let causes = causes.iter().filter(|(cause, _)| !cause.is_empty());
        let causes: Vec<String> = causes.map(|(cause, count)| format!("`{cause}` {count}")).collect();
        let name = if fault.is_empty() { "healthy" } else { fault };
        let counts = [Verdict::Pass, Verdict::Warn, Verdict::Fail, Verdict::Incomplete].map(of);
        let [pass, warn, fail, incomplete] = counts;
        println!("| {name} | {pass} | {warn} | {fail} | {incomplete} | {} |", causes.join(", "));
    }
}
