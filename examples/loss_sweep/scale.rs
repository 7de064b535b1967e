//! Rules for long runs, uniform starts, few evaluations and the order of the data: false alarms and the smallest size seen.

use std::collections::BTreeMap;

use precision_gate::gate::CheckOutcome;
use precision_gate::gate::loss;
use precision_gate::gate::selftest::synthetic::{Defect, Noise, SyntheticRun};
use precision_gate::policy::Policy;
use precision_gate::policy::loss::Mode;
use precision_gate::read::account::UnreadNumbers;
use precision_gate::read::curve::series::Series;
use precision_gate::read::curve::{CurveFile, LogFacts, LossMeaning};

use crate::{blocks, percent, speaks};

/// Seeds of each cell; long runs get fewer, as each of them takes seconds.
const SEEDS: u64 = 20;
const SEEDS_OF_LONG: u64 = 5;
/// Lengths of runs from the shortest that is smoothed on.
const RUNS: [u64; 4] = [200, 1000, 10_000, 100_000];
/// Steps that a fault lasts.
const LENGTHS: [u64; 9] = [1, 3, 5, 6, 8, 11, 20, 50, 300];
/// Relative size of a fault.
const SIZES: [f64; 5] = [0.005, 0.01, 0.02, 0.05, 0.1];

/// Prints every table.
pub(crate) fn tables() {
    healthy();
    for (size, noise, mode) in [
        (0.1, Noise::Dense, Mode::Auto),
        (0.1, Noise::OwnWeights, Mode::OwnWeights),
        (0.5, Noise::OwnWeights, Mode::OwnWeights),
    ] {
        long(size, noise, mode);
    }
    uniform();
    evaluations();
    order();
}

fn judged(baseline: CurveFile, candidate: CurveFile, mode: Mode) -> CheckOutcome {
    let mut policy = Policy::default();
    policy.loss.mode = mode;
    loss::judge(&[baseline], &[candidate], &policy, None).expect("curves in memory need no disk")
}

fn seeds(steps: u64) -> u64 {
    if steps > 1000 { SEEDS_OF_LONG } else { SEEDS }
}

/// A baseline and the same run as another platform computes it.
fn pair(steps: u64, noise: Noise, seed: u64) -> (SyntheticRun, SyntheticRun) {
    let baseline = SyntheticRun::healthy(steps, seed);
    (baseline.clone(), baseline.with_noise(noise, seed + 1000))
}

/// Share of the seeds that are blocked, and of those that are blocked or warned.
fn shares(seeds: u64, outcome: impl Fn(u64) -> CheckOutcome) -> String {
    let verdicts: Vec<_> = (0..seeds).map(|seed| outcome(seed).check.verdict).collect();
    let share = |hit: fn(precision_gate::verdict::Verdict) -> bool| {
        let hits = verdicts.iter().filter(|verdict| hit(**verdict)).count();
        percent(hits as f64 / verdicts.len().max(1) as f64)
    };
    format!("{} ({})", share(blocks), share(speaks))
}

fn header(first: &str, names: impl Iterator<Item = String>) {
    let names: Vec<String> = names.collect();
    println!("| {first} | {} |\n|---|{}", names.join(" | "), "---|".repeat(names.len()));
}

fn row(name: &str, cells: impl Iterator<Item = String>) {
    println!("| {name} | {} |", cells.collect::<Vec<String>>().join(" | "));
}

fn healthy() {
    println!("\nhealthy long runs: blocked (blocked or warned)\n");
    header("noise", RUNS.iter().map(|steps| format!("{steps} steps")));
    for (name, noise, mode) in [
        ("dense", Noise::Dense, Mode::Auto),
        ("mixture of experts", Noise::MixtureOfExperts, Mode::Auto),
        ("dropout", Noise::Dropout, Mode::Auto),
        ("own weights, declared", Noise::OwnWeights, Mode::OwnWeights),
    ] {
        let of = |steps: &u64| {
            shares(seeds(*steps), |seed| {
                let (baseline, candidate) = pair(*steps, noise, seed);
                judged(baseline.curve_file("b"), candidate.curve_file("c"), mode)
            })
        };
        row(name, RUNS.iter().map(of));
    }
}

fn long(size: f64, noise: Noise, mode: Mode) {
    let kind = if noise == Noise::Dense { "same weights" } else { "own weights" };
    println!("\na fault of {} that heals, {kind}: blocked (blocked or warned)\n", percent(size));
    header("run", LENGTHS.iter().map(|length| format!("{length} step{}", if *length == 1 { "" } else { "s" })));
    for steps in RUNS {
        let from = steps / 2;
        let of = |length: &u64| {
            shares(seeds(steps), |seed| {
                let (baseline, candidate) = pair(steps, noise, seed);
                let fault = Defect::Window { size, from, to: (from + length - 1).min(steps) };
                judged(baseline.curve_file("b"), candidate.with_defect(fault, seed + 2000).curve_file("c"), mode)
            })
        };
        row(&format!("{steps} steps"), LENGTHS.iter().map(of));
    }
}

fn uniform() {
    println!("\na uniform start, own weights: blocked (blocked or warned)\n");
    let sizes = || std::iter::once(0.0).chain(SIZES);
    header("classes", sizes().map(|size| if size > 0.0 { percent_of(size) } else { "healthy".to_owned() }));
    for classes in [1000, 32_000, 50_257, 151_936] {
        let of = |size: f64| {
            shares(SEEDS, |seed| {
                let (baseline, candidate) = pair(300, Noise::OwnWeights, seed);
                let candidate = candidate.with_defect(Defect::Scale { size, from: 100 }, seed + 2000);
                let [b, c] = [baseline, candidate].map(|run| run.with_uniform_start(classes));
                judged(b.curve_file("b"), c.curve_file("c"), Mode::Auto)
            })
        };
        row(&classes.to_string(), sizes().map(of));
    }
}

/// A held-out loss: the mean of the training loss around `count` points, early ones apart as repeats are there.
fn evaluated(run: &SyntheticRun, count: usize, early: f64) -> CurveFile {
    let every = run.loss().len() / count;
    let mean = |chunk: &[f64]| chunk.iter().sum::<f64>() / chunk.len() as f64;
    let points = run.loss().chunks(every).take(count).map(mean);
    let apart = |index: usize| 1.0 + early * (-(index as f64)).exp();
    let values = (1..).zip(points.enumerate().map(|(index, value)| value * apart(index)));
    CurveFile {
        run: None,
        path: String::new(),
        format: "JSON lines",
        series: vec![Series::by_step("eval_loss", values).into()],
        logged: LossMeaning::Samples,
        interval: Some(1),
        margins: BTreeMap::new(),
        updates: None,
        told: LogFacts::default(),
        account: UnreadNumbers::default(),
        notes: Vec::new(),
    }
}

fn evaluations() {
    println!("\nevaluations, own weights, the first of them 3 % apart: blocked (blocked or warned)\n");
    let sizes = || std::iter::once(0.0).chain(SIZES);
    header("evaluations", sizes().map(|size| if size > 0.0 { percent_of(size) } else { "healthy".to_owned() }));
    for count in [5, 8, 12, 19, 30] {
        let of = |size: f64| {
            shares(SEEDS, |seed| {
                let (baseline, candidate) = pair(600, Noise::OwnWeights, seed);
                let candidate = candidate.with_defect(Defect::Scale { size, from: 1 }, seed + 2000);
                judged(evaluated(&baseline, count, 0.0), evaluated(&candidate, count, 0.03), Mode::OwnWeights)
            })
        };
        row(&count.to_string(), sizes().map(of));
    }
}

fn order() {
    println!("\n`curve-data-order`: share of runs in which it is found\n");
    let lengths = [20, 25, 30, 40, 50, 100, 200];
    header("runs", lengths.iter().map(|steps| format!("{steps} steps")));
    let says = |steps: u64, noise: Noise, mode: Mode, defect: Option<Defect>| {
        let found = (0..SEEDS).filter(|seed| {
            let (baseline, healthy) = pair(steps, noise, *seed);
            let candidate = match defect {
                Some(defect) => healthy.with_defect(defect, seed + 2000),
                None => healthy,
            };
            let outcome = judged(baseline.curve_file("b"), candidate.curve_file("c"), mode);
            outcome.observations.iter().any(|one| one.finding.code == "curve-data-order")
        });
        percent(found.count() as f64 / SEEDS as f64)
    };
    for (name, noise, mode) in [
        ("dense", Noise::Dense, Mode::Auto),
        ("dropout", Noise::Dropout, Mode::Auto),
        ("own weights", Noise::OwnWeights, Mode::OwnWeights),
    ] {
        row(&format!("healthy, {name}"), lengths.iter().map(|steps| says(*steps, noise, mode, None)));
        let other = Some(Defect::DataOrder { from: 2 });
        row(&format!("another order, {name}"), lengths.iter().map(|steps| says(*steps, noise, mode, other)));
    }
}

fn percent_of(size: f64) -> String {
    format!("{} %", precision_gate::report::messages::short_number(size * 100.0))
}
