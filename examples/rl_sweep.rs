//! Smallest defects of reinforcement learning that the rules see, and their false-alarm rate.
//!
//! Every run is a policy that learns: prompts of different difficulty, answers that are right by chance, advantages
//! normalised per prompt, a step that follows the gradient of what was sampled. Two runs share the start and nothing else. Writes
//! `docs/rl-sweep.md` and its picture.
//!
//! ```text
//! cargo run --example rl_sweep -- docs/rl-sweep.md docs/rl-sweep.png
//! ```
#![allow(clippy::print_stdout, reason = "an example that prints what it found where it is given no file")]

#[path = "rl_sweep/policy.rs"]
mod policy;
#[path = "rl_sweep/trained.rs"]
mod trained;

use std::fmt::Write as _;
use std::sync::Arc;

use plotters::prelude::{ChartBuilder, IntoLogRange, LineSeries, PathElement, RGBColor, Text, WHITE};
use plotters::style::Color;
use precision_gate::error::{Error, ErrorKind, Result};
use precision_gate::fetch::{MemorySource, Room};
use precision_gate::gate::loss;
use precision_gate::gate::selftest::synthetic::Random;
use precision_gate::policy::Policy;
use precision_gate::read::curve::{self, CurveFile};
use precision_gate::report::plot;
use precision_gate::verdict::Verdict;

/// Healthy pairs of each task, and pairs of each defect and size.
const PAIRS: u64 = 60;
const SEEDS: u64 = 6;
const SIZES: [f64; 8] = [0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 3.0, 12.0];

/// A task, and how it is trained.
#[derive(Clone, Copy)]
struct Task {
    name: &'static str,
    steps: u32,
    prompts: u32,
    answers: u32,
    /// Skill at the start, and what a step of full signal adds.
    start: f64,
    rate: f64,
}

const TASKS: [Task; 5] = [
    Task { name: "solved soon", steps: 120, prompts: 24, answers: 8, start: -0.5, rate: 0.45 },
    Task { name: "learned slowly", steps: 200, prompts: 32, answers: 8, start: -1.5, rate: 0.12 },
    Task { name: "rarely rewarded", steps: 160, prompts: 32, answers: 8, start: -3.5, rate: 0.25 },
    Task { name: "long run", steps: 600, prompts: 32, answers: 8, start: -2.0, rate: 0.04 },
    Task { name: "few answers", steps: 150, prompts: 8, answers: 4, start: -1.0, rate: 0.2 },
];

/// Something that is wrong with the candidate, from a step on that is a share of the run.
#[derive(Clone, Copy, PartialEq)]
enum Defect {
    None,
    /// The policy learns so much slower or faster.
    Pace,
    /// A share of right answers is graded as wrong.
    RewardLost,
    /// The same in the last quarter alone.
    RewardLostLate,
    /// Updates so much smaller, without a trace in the logged rate.
    SlowUpdates,
    /// Distance of rollout and training so many times larger.
    Mismatch,
    /// The same, growing from 0.
    StaleRollout,
    Entropy,
    Length,
    Truncation,
    ClipFraction,
    GradientScale,
    KlDistance,
    KlCoefficient,
    LossScale,
    ValueLoss,
}

const DEFECTS: [(Defect, &str); 14] = [
    (Defect::RewardLost, "right answers graded as wrong, from the start"),
    (Defect::RewardLostLate, "the same in the last quarter"),
    (Defect::SlowUpdates, "updates smaller by"),
    (Defect::Mismatch, "rollout and training farther apart by"),
    (Defect::StaleRollout, "the same, growing from 0"),
    (Defect::Entropy, "entropy higher by"),
    (Defect::Length, "answers longer by"),
    (Defect::Truncation, "more answers cut"),
    (Defect::ClipFraction, "more tokens clipped"),
    (Defect::GradientScale, "gradient norm larger by"),
    (Defect::KlDistance, "KL larger by"),
    (Defect::KlCoefficient, "KL coefficient larger by (logged)"),
    (Defect::LossScale, "policy loss larger by"),
    (Defect::ValueLoss, "value loss larger by"),
];

/// Draws of a run.
struct Draw(Random);

impl Draw {
    fn normal(&mut self) -> f64 {
        self.0.normal()
    }

    /// Number of successes of `n` draws.
    fn binomial(&mut self, n: u32, chance: f64) -> f64 {
        (0..n).map(|_| if self.0.uniform() < chance { 1.0 } else { 0.0 }).sum()
    }

    /// A factor around 1.
    fn factor(&mut self, spread: f64) -> f64 {
        (spread * self.normal()).exp()
    }
}

/// Yield of a step of rollouts: mean reward, mean advantage over tokens, and how much there is to learn.
struct Rollout {
    reward: f64,
    advantage: f64,
    signal: f64,
}

fn roll(task: Task, skill: f64, lost: f64, draw: &mut Draw) -> Rollout {
    let (mut reward, mut advantage, mut signal) = (0.0, 0.0, 0.0);
    let answers = f64::from(task.answers);
    for _ in 0..task.prompts {
        let chance = 1.0 / (1.0 + (-(skill + 1.2 * draw.normal())).exp());
        let right = draw.binomial(task.answers, chance * (1.0 - lost)) / answers;
        reward += right;
        let spread = (right * (1.0 - right)).sqrt();
        signal += spread;
        // Normalised within the prompt, so 0 over answers; answers of other lengths leave a rest over tokens.
        if spread > 0.0 {
            advantage += 0.15 * draw.normal() / answers.sqrt();
        }
    }
    let prompts = f64::from(task.prompts);
    Rollout { reward: reward / prompts, advantage: advantage / prompts, signal: signal / prompts }
}

/// The log of a run, as verl's file logger writes it.
fn log(task: Task, seed: u64, defect: Defect, size: f64) -> String {
    let mut draw = Draw(Random::new(seed));
    let mut skill = task.start;
    let mut text = String::new();
    let is = |kind: Defect| if defect == kind { size } else { 0.0 };
    let pace = 1.0 + is(Defect::Pace) - is(Defect::SlowUpdates).min(1.0);
    for step in 1..=task.steps {
        let share = f64::from(step) / f64::from(task.steps);
        let late = if share > 0.75 { is(Defect::RewardLostLate) } else { 0.0 };
        let rollout = roll(task, skill, (is(Defect::RewardLost) + late).min(1.0), &mut draw);
        let learned = skill - task.start;
        let entropy = 1.4 * (-0.45 * learned).exp() * draw.factor(0.03) * (1.0 + is(Defect::Entropy));
        let apart = 1.0 + is(Defect::Mismatch) + is(Defect::StaleRollout) * share;
        let engines = 0.0012 * (0.4 + entropy / 1.4) * draw.factor(0.12) * apart;
        let cut = (0.02 + is(Defect::Truncation)).min(1.0);
        let clipped = (0.02 * rollout.signal * draw.factor(0.4) + is(Defect::ClipFraction)).min(1.0);
        let noise = draw.normal() / f64::from(task.prompts * task.answers).sqrt();
        let metrics = [
            ("actor/lr", 1e-6),
            ("actor/kl_coef", 0.001 * (1.0 + is(Defect::KlCoefficient))),
            ("critic/score/mean", rollout.reward),
            ("critic/advantages/mean", rollout.advantage),
            ("critic/vf_loss", (0.02 + rollout.signal * 0.2) * draw.factor(0.2) * (1.0 + is(Defect::ValueLoss))),
            ("actor/pg_loss", (0.3 * rollout.signal * noise - rollout.advantage) * (1.0 + is(Defect::LossScale))),
            ("actor/entropy", entropy),
            ("actor/kl_loss", (2e-3 + 0.02 * learned * learned) * draw.factor(0.15) * (1.0 + is(Defect::KlDistance))),
            ("actor/ppo_kl", 2e-4 * draw.normal()),
            ("actor/pg_clipfrac", clipped),
            ("actor/grad_norm", rollout.signal.sqrt() * 0.5 * draw.factor(0.2) * (1.0 + is(Defect::GradientScale))),
            (
                "response_length/mean",
                (180.0 + 40.0 * learned.max(0.0)) * draw.factor(0.02) * (1.0 + is(Defect::Length)),
            ),
            (
                "response_length/clip_ratio",
                draw.binomial(task.prompts * task.answers, cut) / f64::from(task.prompts * task.answers),
            ),
            ("training/rollout_probs_diff_mean", engines),
            ("training/rollout_actor_probs_pearson_corr", 1.0 - 0.08 * engines),
        ];
        let values: Vec<String> = metrics.iter().map(|(name, value)| format!("\"{name}\":{value:.9e}")).collect();
        let eval = (step % 20 == 0).then(|| {
            let chance = (0..200).map(|_| 1.0 / (1.0 + (-(skill + 1.2 * draw.normal())).exp())).sum::<f64>() / 200.0;
            format!(",\"val-core/task/acc/mean@4\":{:.6}", draw.binomial(800, chance) / 800.0)
        });
        let eval = eval.unwrap_or_default();
        let _infallible = writeln!(text, "{{\"step\":{step},{}{eval}}}", values.join(","));
        // A gradient of sampled answers: what it adds varies with the sample.
        skill += pace * task.rate * rollout.signal * (1.0 + 0.3 * draw.normal());
    }
    text
}

fn file(name: &str, text: &str) -> Result<CurveFile> {
    let source = MemorySource::new(name, text.as_bytes().to_vec());
    let format = curve::recognise(text.as_bytes(), &source)
        .ok_or_else(|| Error::new(ErrorKind::Internal, name, "is not recognised"))?;
    let mut runs = curve::read(Arc::new(source), format, &Room::unlimited())?;
    runs.pop().ok_or_else(|| Error::new(ErrorKind::Internal, name, "holds no run"))
}

fn verdict(task: Task, seed: u64, defect: Defect, size: f64) -> Result<Verdict> {
    let (baseline, candidate) = (log(task, 2 * seed, Defect::None, 0.0), log(task, 2 * seed + 1, defect, size));
    judged(&format!("{} {seed} {size}", task.name), &baseline, &candidate)
}

/// The verdict on two logs, by the default rules.
fn judged(name: &str, baseline: &str, candidate: &str) -> Result<Verdict> {
    let (baseline, candidate) = (file("gpu.jsonl", baseline)?, file("npu.jsonl", candidate)?);
    let mut outcome = loss::judge(&[baseline], &[candidate], &Policy::default(), None)?;
    let applied = outcome.settle(&Policy::default());
    if std::env::var_os("RL_SWEEP_FINDINGS").is_some() {
        for finding in &applied.findings {
            println!("{name}: {} {} {:?}", finding.code, finding.place, finding.facts);
        }
    }
    Ok(outcome.check.verdict)
}

/// Count of verdicts: all, those that fail, and those that fail or warn.
#[derive(Clone, Copy, Default)]
struct Tally {
    all: u32,
    failed: u32,
    spoke: u32,
}

impl Tally {
    fn add(&mut self, verdict: Verdict) {
        self.all += 1;
        self.failed += u32::from(verdict >= Verdict::Incomplete);
        self.spoke += u32::from(verdict >= Verdict::Warn);
    }

    fn share(self) -> f64 {
        f64::from(self.failed) / f64::from(self.all.max(1))
    }

    fn cell(self) -> String {
        let percent = |count: u32| format!("{:.0} %", 100.0 * f64::from(count) / f64::from(self.all.max(1)));
        format!("{} ({})", percent(self.failed), percent(self.spoke))
    }
}

fn healthy(text: &mut String) -> Result<()> {
    let paces = [(0.0, PAIRS), (-0.1, SEEDS), (0.1, SEEDS), (-0.2, SEEDS), (0.2, SEEDS)];
    let head = "| task | same pace | 10 % slower | 10 % faster | 20 % slower | 20 % faster |";
    let _infallible = writeln!(text, "## Healthy runs\n\n{head}\n|---|---|---|---|---|---|");
    for task in TASKS {
        let mut cells = Vec::new();
        for (pace, pairs) in paces {
            let mut tally = Tally::default();
            for seed in 0..pairs {
                tally.add(verdict(task, 1000 + seed, Defect::Pace, pace)?);
            }
            cells.push(tally.cell());
        }
        let _infallible = writeln!(text, "| {} | {} |", task.name, cells.join(" | "));
    }
    Ok(())
}

type Line = (&'static str, Vec<(f64, f64)>);

fn defects(text: &mut String) -> Result<Vec<Line>> {
    let sizes: Vec<String> = SIZES.iter().map(|size| format!("{:.0} %", size * 100.0)).collect();
    let mut lines = Vec::new();
    let _infallible =
        writeln!(text, "\n## Defects\n\n| defect | {} |\n|---|{}", sizes.join(" | "), "---|".repeat(sizes.len()));
    for (defect, name) in DEFECTS {
        let (mut cells, mut points) = (Vec::new(), Vec::new());
        for size in SIZES {
            let mut tally = Tally::default();
            for task in [TASKS[0], TASKS[1]] {
                for seed in 0..SEEDS {
                    tally.add(verdict(task, 5000 + seed, defect, size)?);
                }
            }
            cells.push(tally.cell());
            points.push((size, tally.share()));
        }
        let _infallible = writeln!(text, "| {name} | {} |", cells.join(" | "));
        lines.push((name, points));
    }
    Ok(lines)
}

const HEAD: &str = "# Smallest defects of reinforcement learning that are found

Made by `cargo run --example rl_sweep -- docs/rl-sweep.md docs/rl-sweep.png`. Every run is a policy that learns: prompts of
different difficulty, answers that are right by chance, advantages normalised per prompt, a step along the gradient of what was
sampled. Two runs share the start and nothing else. They are logged as verl logs them, and judged by the
[default rules](rl.md) without a policy. *Blocked* is `fail` or `incomplete`; in brackets, blocked or warned.

Healthy runs of the same pace give no alarm on any of these tasks. A run that learns more slowly than the limits hold is reported where its
reward ends lower for that, and passes where both runs solve the task. A size is a share of the value in the row
(`100 %`: twice as large), for rewards, cuts and clipped tokens a share of the answers or tokens.

The runs of the first two tables are synthetic. Those of the last two are trained, by gradients of what they drew: a log-linear model of
sequences of up to six of ten tokens, drawn in `bf16`, graded by the share of right tokens (some by chance), with PPO's clip, a KL term and
Adam. **Their rewards still climb when they end**, which is where healthy runs part most: their ends are late by 4 % of the steps in the
median, by 13 % in one pair of twenty and by up to 25 %. The sides of a pair share the task and the weights they start from, and draw by
other seeds. All of them show what the limits find, and do not predict how often your runs fail.

Not seen are defects that these tasks hardly feel: the sign of a KL term of weight 0.02, end tokens that are not trained while answers are
cut at six tokens, some answers graded 0 where a tenth to a third is graded by chance anyway. A reward that is only higher warns, whatever its size.

![share of runs blocked against the size of the defect](rl-sweep.png)
";

fn main() -> Result<()> {
    let mut text = format!("{HEAD}\n");
    if std::env::var_os("RL_SWEEP_TRAINED_ONLY").is_some() {
        trained::tables(&mut text)?;
        println!("{text}");
        return Ok(());
    }
    healthy(&mut text)?;
    let lines = defects(&mut text)?;
    trained::tables(&mut text)?;
    match std::env::args().nth(1) {
        Some(path) => std::fs::write(&path, &text).map_err(|error| Error::new(ErrorKind::Internal, path, error))?,
        None => println!("{text}"),
    }
    match std::env::args().nth(2) {
        Some(path) => draw(&path, &lines),
        None => Ok(()),
    }
}

/// Detection against size; the legend stands beside it.
fn draw(path: &str, lines: &[Line]) -> Result<()> {
    let bytes = plot::picture(1700, 800, |root| paint(root, lines))?;
    std::fs::write(path, bytes).map_err(|error| Error::io(path, &error))
}

fn paint(root: &plot::Area<'_>, lines: &[Line]) -> Result<()> {
    root.fill(&WHITE).map_err(picture)?;
    let (left, legend) = root.split_horizontally(1080);
    let mut chart = ChartBuilder::on(&left)
        .margin(24)
        .margin_right(40)
        .caption("share of runs blocked", ("sans-serif", 36))
        .x_label_area_size(80)
        .y_label_area_size(110)
        .build_cartesian_2d((0.019..12.5).log_scale(), -0.03..1.06)
        .map_err(picture)?;
    chart
        .configure_mesh()
        .x_label_formatter(&|size| format!("{} %", precision_gate::report::messages::short_number(size * 100.0)))
        .y_label_formatter(&|rate| {
            if (0.0..=1.01).contains(rate) { format!("{:.0} %", rate * 100.0) } else { String::new() }
        })
        .x_desc("size of the defect")
        .label_style(("sans-serif", 26))
        .light_line_style(WHITE)
        .draw()
        .map_err(picture)?;
    const COLOURS: [(u8, u8, u8); 7] =
        [(185, 28, 28), (37, 99, 235), (22, 163, 74), (147, 51, 234), (202, 138, 4), (8, 145, 178), (68, 64, 60)];
    let widths = [7_u32, 3].into_iter().flat_map(|width| COLOURS.map(|colour| (colour, width)));
    for ((row, (name, points)), ((r, g, b), width)) in (0_i32..).zip(lines).zip(widths) {
        let style = RGBColor(r, g, b).stroke_width(width);
        chart.draw_series(LineSeries::new(points.iter().copied(), style)).map_err(picture)?;
        let y = 60 + row * 48;
        legend.draw(&PathElement::new([(0, y), (44, y)], style)).map_err(picture)?;
        legend.draw(&Text::new(*name, (60, y - 14), ("sans-serif", 26))).map_err(picture)?;
    }
    Ok(())
}

fn picture(error: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Internal, "picture", error)
}
