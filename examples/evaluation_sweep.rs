//! False alarms and losses that are found by the rules for evaluations, and by bands around the score.
//!
//! Each pair is a baseline that answers at a given rate and a candidate whose answers noise flips both ways, with a loss on top. Writes
//! `docs/evaluation-sweep.md`.
//!
//! ```text
//! cargo run --example evaluation_sweep -- docs/evaluation-sweep.md
//! ```
#![allow(clippy::print_stdout, reason = "an example that prints what it found where it is given no file")]

use std::collections::BTreeMap;
use std::fmt::Write as _;

use precision_gate::compare::evaluation::normal;
use precision_gate::error::{Error, ErrorKind, Result};
use precision_gate::gate::selftest::synthetic::Random;
use precision_gate::judge::evaluation::run::{self, JudgedEvaluationUnit};
use precision_gate::kind::SampleId;
use precision_gate::pair::evaluation::{LeftOut, PairedMetric, PairedModel, PairedTask, ValuePair};
use precision_gate::policy::Policy;
use precision_gate::read::account::UnreadNumbers;
use precision_gate::read::evaluation::{EvaluationRun, EvaluationTask, Harness, SampleValue, Samples};
use precision_gate::result::finding::verdict_of;
use precision_gate::result::unit::Shard;
use precision_gate::verdict::Verdict;
use rayon::prelude::*;

/// Pairs of each case, of each case of numbers, and runs of many tasks.
const PAIRS: u64 = 4000;
const NUMBERS: u64 = 1000;
const RUNS: u64 = 400;
/// Relative bands, and the absolute one.
const BANDS: [f64; 3] = [0.03, 0.05, 0.08];
const POINTS: f64 = 0.05;

/// A kind of pair.
#[derive(Clone, Copy)]
struct Case {
    name: &'static str,
    samples: u32,
    /// Rate of the baseline.
    rate: f64,
    /// Share of the answers that noise changes, both ways together.
    flips: f64,
    /// Share of the answers that are lost on top.
    loss: f64,
    is_sampled: bool,
}

const fn case(name: &'static str, samples: u32, rate: f64, flips: f64, loss: f64) -> Case {
    Case { name, samples, rate, flips, loss, is_sampled: flips > 0.2 }
}

const CASES: [Case; 15] = [
    case("rerun", 200, 0.6, 0.02, 0.0),
    case("rerun", 1000, 0.6, 0.02, 0.0),
    case("bf16, other kernels", 200, 0.6, 0.04, 0.0),
    case("bf16, other kernels", 1000, 0.6, 0.04, 0.0),
    case("weak model", 200, 0.25, 0.04, 0.0),
    case("small task", 50, 0.6, 0.04, 0.0),
    case("sampled", 200, 0.6, 0.25, 0.0),
    case("sampled", 1000, 0.6, 0.25, 0.0),
    case("20 of 200 lost", 200, 0.6, 0.02, 0.1),
    case("10 of 200 lost", 200, 0.6, 0.02, 0.05),
    case("3 % lost", 1000, 0.6, 0.03, 0.03),
    case("3 % lost, strong model", 1000, 0.85, 0.03, 0.03),
    case("2 % lost, strong model", 1000, 0.85, 0.02, 0.02),
    case("5 % lost, small task", 50, 0.6, 0.02, 0.05),
    case("5 % lost, sampled", 1000, 0.6, 0.25, 0.05),
];

/// A run of many tasks: how many, of which kind, and how many of them lose.
#[derive(Clone, Copy)]
struct Suite {
    name: &'static str,
    tasks: u32,
    case: Case,
    /// Tasks that lose what the case says; the others lose nothing.
    losing: u32,
}

const SUITES: [Suite; 5] = [
    Suite { name: "nothing wrong", tasks: 60, case: case("", 100, 0.6, 0.04, 0.0), losing: 0 },
    Suite { name: "sampled, nothing wrong", tasks: 60, case: case("", 100, 0.6, 0.25, 0.0), losing: 0 },
    Suite { name: "one task loses 15 %", tasks: 60, case: case("", 100, 0.6, 0.04, 0.15), losing: 1 },
    Suite { name: "every task loses 2 %", tasks: 60, case: case("", 100, 0.6, 0.04, 0.02), losing: 60 },
    Suite { name: "one task loses 5 %", tasks: 10, case: case("", 500, 0.6, 0.04, 0.05), losing: 1 },
];

/// Draws of one pair or run.
fn draws(table: u64, row: usize, nth: u64) -> Random {
    // Far apart in the stream of states, so that no two runs share their draws.
    Random::new((table << 56) ^ ((row as u64) << 40) ^ nth.wrapping_mul(0x2545_f491_4f6c_dd1d))
}

fn answer(is_right: bool) -> f64 {
    if is_right { 1.0 } else { 0.0 }
}

/// Answers of both sides.
fn answers(case: Case, random: &mut Random) -> Vec<(f64, f64)> {
    let one = |_| {
        let is_right = random.uniform() < case.rate;
        // As many answers change one way as the other.
        let flips = case.flips / 2.0 / if is_right { case.rate } else { 1.0 - case.rate };
        let is_kept = random.uniform() >= flips;
        let is_lost = is_right && random.uniform() < case.loss / case.rate;
        (answer(is_right), answer((is_right == is_kept) && !is_lost))
    };
    (0..case.samples).map(one).collect()
}

/// Scores per sample: those of the candidate move by noise, and a share of them loses all.
fn numbers(case: Case, random: &mut Random) -> Vec<(f64, f64)> {
    let one = |_| {
        let ours = (case.rate + 0.25 * random.normal()).clamp(0.0, 1.0);
        let is_moved = random.uniform() < 4.0 * case.flips;
        let moved = if is_moved { (ours + 0.2 * random.normal()).clamp(0.0, 1.0) } else { ours };
        // What the ends of the scale cut off is no loss.
        let theirs = if random.uniform() < 0.5 { (ours, moved) } else { (moved, ours) };
        if random.uniform() < case.loss { (theirs.0, 0.0) } else { theirs }
    };
    (0..case.samples).map(one).collect()
}

fn task(name: String, values: &[(f64, f64)], is_sampled: bool) -> PairedTask {
    let pair = |(place, (b, c)): (usize, &(f64, f64))| ValuePair {
        id: SampleId::Number(place as u64),
        baseline: SampleValue::Number(*b),
        candidate: SampleValue::Number(*c),
        same_answer: None,
        places: (place, place),
    };
    let count = values.len() as u64;
    let metric = PairedMetric {
        metric: "acc".to_owned(),
        filter: None,
        higher_is_better: Some(true),
        baseline: None,
        candidate: None,
        has_samples: true,
        counts: (Some(count), Some(count)),
        samples: count,
        pairs: values.iter().enumerate().map(pair).collect(),
        left_out: LeftOut::default(),
    };
    let metrics = vec![metric];
    PairedTask { name, unequal: Vec::new(), is_sampled, limits: None, metrics, metrics_missing: Vec::new() }
}

/// A run with samples of these tasks.
fn run_of(tasks: &[PairedTask]) -> EvaluationRun {
    let of = |task: &PairedTask| {
        (task.name.clone(), EvaluationTask { samples: Some(Samples::default()), ..EvaluationTask::default() })
    };
    EvaluationRun {
        harness: Harness::LmEval,
        model: "model".to_owned(),
        path: String::new(),
        settings: BTreeMap::new(),
        tasks: tasks.iter().map(of).collect(),
        groups: BTreeMap::new(),
        older: Vec::new(),
        damages: Vec::new(),
        account: UnreadNumbers::default(),
    }
}

/// The units of a run.
fn judge(tasks: Vec<PairedTask>, policy: &Policy) -> Vec<JudgedEvaluationUnit> {
    let (baseline, candidate) = (run_of(&tasks), run_of(&tasks));
    let model = PairedModel {
        name: "model".to_owned(),
        baseline: &baseline,
        candidate: &candidate,
        settings: Vec::new(),
        missing: Vec::new(),
        tasks,
    };
    run::judge(&[model], &[], policy, &|_, _| None).units
}

fn verdict(units: &[JudgedEvaluationUnit]) -> Verdict {
    verdict_of(units.iter().flat_map(|unit| &unit.findings))
}

fn policy(text: &str) -> Result<Policy> {
    Policy::parse("policy", text, &[])
}

/// Scores of both sides.
fn scores(values: &[(f64, f64)]) -> (f64, f64) {
    let count = values.len() as f64;
    let sums = values.iter().fold((0.0, 0.0), |sums, (b, c)| (sums.0 + b, sums.1 + c));
    (sums.0 / count, sums.1 / count)
}

/// Whether two scores differ for `np.isclose` with a relative tolerance, the candidate's rounded to four digits.
fn is_apart((ours, theirs): (f64, f64), relative: f64) -> bool {
    let rounded = (theirs * 1e4).round() / 1e4;
    (ours - rounded).abs() > 1e-8 + relative * rounded.abs()
}

/// Whether the normal test of two rates fails at 0.01, with our margin.
fn fails_unpaired((ours, theirs): (f64, f64), count: usize) -> bool {
    let variance = |rate: f64| rate * (1.0 - rate) / (count - 1) as f64;
    let drop = ours - theirs;
    normal::upper_tail(drop / (variance(ours) + variance(theirs)).sqrt()) <= 0.01 && drop >= 0.01
}

/// Shares of runs, in the order of the table's columns.
type Shares = Vec<f64>;

/// Shares of `count` runs in which each of the questions that `ask` answers is answered with yes.
fn shares(count: u64, ask: impl Fn(u64) -> Vec<bool> + Send + Sync) -> Shares {
    let answers: Vec<Vec<bool>> = (0..count).into_par_iter().map(ask).collect();
    let columns = answers.first().map_or(0, Vec::len);
    let yes = |column| answers.iter().filter(|row| row.get(column) == Some(&true)).count();
    (0..columns).map(|column| yes(column) as f64 / count as f64).collect()
}

fn of_case(row: usize, case: Case, policy: &Policy) -> Shares {
    shares(PAIRS, |nth| {
        let values = answers(case, &mut draws(1, row, nth));
        let units = judge(vec![task("task".to_owned(), &values, case.is_sampled)], policy);
        let (ours, scores) = (verdict(&units), scores(&values));
        let mut found = vec![ours == Verdict::Fail, ours == Verdict::Warn, fails_unpaired(scores, values.len())];
        found.extend(BANDS.map(|band| is_apart(scores, band)));
        found.push((scores.0 - scores.1).abs() > POINTS);
        found
    })
}

fn of_suite(row: usize, suite: Suite, policy: &Policy, uncorrected: &Policy) -> Shares {
    shares(RUNS, |nth| {
        let mut random = draws(2, row, nth);
        let values = |task: u32, random: &mut Random| {
            let loss = if task < suite.losing { suite.case.loss } else { 0.0 };
            answers(Case { loss, ..suite.case }, random)
        };
        let values: Vec<Vec<(f64, f64)>> = (0..suite.tasks).map(|task| values(task, &mut random)).collect();
        let tasks =
            || values.iter().zip(0..).map(|(values, nth)| task(format!("{nth}"), values, suite.case.is_sampled));
        let ours = verdict(&judge(tasks().collect(), policy));
        let alone = tasks().any(|task| verdict(&judge(vec![task], uncorrected)) == Verdict::Fail);
        let apart = values.iter().any(|values| is_apart(scores(values), 0.05));
        vec![ours == Verdict::Fail, ours == Verdict::Warn, alone, apart]
    })
}

fn of_numbers(row: usize, case: Case, policy: &Policy) -> Shares {
    shares(NUMBERS, |nth| {
        let values = numbers(case, &mut draws(3, row, nth));
        let ours = verdict(&judge(vec![task("task".to_owned(), &values, false)], policy));
        vec![ours == Verdict::Fail, ours == Verdict::Warn]
    })
}

/// One rank of `ranks` loses its right answers; of 1 rank, as many answers are lost anywhere as one of eight would lose.
fn of_ranks(row: usize, ranks: u64, policy: &Policy) -> Shares {
    shares(NUMBERS, |nth| {
        let mut random = draws(4, row, nth);
        let mut values = answers(case("", 200, 0.85, 0.02, 0.0), &mut random);
        for (number, (ours, theirs)) in (0_u64..).zip(&mut values) {
            let is_hit = if ranks > 1 { number % ranks == 1 } else { random.uniform() < 1.0 / 8.0 };
            if is_hit && *ours > 0.5 {
                *theirs = 0.0;
            }
        }
        let units = judge(vec![task("task".to_owned(), &values, false)], policy);
        let named = units.iter().filter_map(|unit| unit.unit.shard).collect::<Vec<_>>();
        let is_right = named.iter().any(|shard| shard.modulus == ranks && shard.remainder == 1);
        let holds = |shard: &Shard| ranks.is_multiple_of(shard.modulus) && shard.remainder == 1 % shard.modulus;
        let is_around = !is_right && named.iter().any(holds);
        vec![is_right, is_around, !named.is_empty() && !is_right && !is_around]
    })
}

fn percent(share: &f64) -> String {
    format!("{:.1}", share * 100.0)
}

fn row(text: &mut String, cells: &[String]) {
    let _ = writeln!(text, "| {} |", cells.join(" | "));
}

fn table(text: &mut String, title: &str, columns: &[&str]) {
    let _ = writeln!(text, "\n## {title}\n");
    row(text, &columns.iter().map(|column| (*column).to_owned()).collect::<Vec<_>>());
    let _ = writeln!(text, "|{}", "---|".repeat(columns.len()));
}

fn described(case: Case) -> Vec<String> {
    let share = |share: f64| format!("{:.0} %", share * 100.0);
    vec![case.name.to_owned(), case.samples.to_string(), case.rate.to_string(), share(case.flips), share(case.loss)]
}

fn document() -> Result<String> {
    let (ours, uncorrected) = (policy("")?, policy("evaluation: {correction: none}")?);
    let mut text = HEAD.to_owned();
    let columns = [
        "case",
        "n",
        "rate",
        "flips",
        "true loss",
        "fails",
        "warns",
        "unpaired z",
        "isclose 3 %",
        "isclose 5 %",
        "isclose 8 %",
        "±5 points",
    ];
    table(&mut text, "One task", &columns);
    for (nth, case) in CASES.into_iter().enumerate() {
        let shares = of_case(nth, case, &ours);
        row(&mut text, &described(case).into_iter().chain(shares.iter().map(percent)).collect::<Vec<_>>());
    }
    table(
        &mut text,
        "Many tasks",
        &["run", "tasks", "n", "flips", "fails", "warns", "1 % without correction", "isclose 5 % in any task"],
    );
    for (nth, suite) in SUITES.into_iter().enumerate() {
        let shares = of_suite(nth, suite, &ours, &uncorrected);
        let Suite { name, tasks, case, .. } = suite;
        let named =
            [name.to_owned(), tasks.to_string(), case.samples.to_string(), format!("{:.0} %", case.flips * 100.0)];
        row(&mut text, &named.into_iter().chain(shares.iter().map(percent)).collect::<Vec<_>>());
    }
    table(
        &mut text,
        "Scores between 0 and 1 per sample",
        &["case", "n", "samples that noise moves", "samples that lose all", "fails", "warns"],
    );
    for (nth, (name, flips, loss)) in
        [("healthy", 0.02, 0.0), ("healthy, more noise", 0.1, 0.0), ("3 % lost", 0.02, 0.03), ("8 % lost", 0.02, 0.08)]
            .into_iter()
            .enumerate()
    {
        let shares = of_numbers(nth, case(name, 200, 0.6, flips, loss), &ours);
        let named =
            [name.to_owned(), "200".to_owned(), format!("{:.0} %", 400.0 * flips), format!("{:.0} %", 100.0 * loss)];
        row(&mut text, &named.into_iter().chain(shares.iter().map(percent)).collect::<Vec<_>>());
    }
    table(
        &mut text,
        "One rank that computes wrongly",
        &["ranks", "n", "named", "a class around it named", "another one named"],
    );
    for (nth, (name, ranks)) in [("4", 4), ("8", 8), ("16", 16), ("none, lost anywhere", 1)].into_iter().enumerate() {
        let shares = of_ranks(nth, ranks, &ours);
        let named = [name.to_owned(), "200".to_owned()];
        row(&mut text, &named.into_iter().chain(shares.iter().map(percent)).collect::<Vec<_>>());
    }
    Ok(text)
}

const HEAD: &str = "# False alarms of evaluations, and losses that are found

Made by `cargo run --example evaluation_sweep -- docs/evaluation-sweep.md`. Each pair is simulated: a baseline that answers at a given rate, a
candidate whose answers noise flips, as often one way as the other, and a loss on top. 4000 pairs per row of the first table, 400 runs per row
of the second, 1000 pairs per row of the others. Shares are percent of pairs or runs; those of 4000 have a standard error of at most 0.8 points,
and 0.16 points at 1 %.

*Fails* and *warns* are the default rules of this check. The other columns say *not equal*: the unpaired normal test of both scores at 0.01, with
the same margin; `np.isclose(baseline, candidate, rtol)` with the candidate rounded to four digits, each task by itself; and five points around
the baseline. A band fails a better candidate too.

Healthy pairs fail in at most 1 % of the runs, within the error of the simulation, whatever their size and noise, and so does a healthy run of
sixty tasks. A band that lets as few healthy runs fail on small, weak or sampled tasks misses losses that pairs show.

The last table is of a baseline that answers at 0.85 with 2 % of flips on top: one rank gets every answer wrong, or as many answers as one
rank of eight has are lost anywhere. Where noise hides the class of 8 ranks, that of 4 or 2 around it may show.
";

fn main() -> Result<()> {
    let text = document()?;
    match std::env::args().nth(1) {
        Some(path) => {
            std::fs::write(&path, text).map_err(|error| Error::new(ErrorKind::Usage, path, error.to_string()))
        }
        None => {
            print!("{text}");
            Ok(())
        }
    }
}
