//! Patterns of a curve are named where they are, and nowhere else.

use precision_gate::compare::curve::rank;
use precision_gate::gate::selftest::synthetic::Random;
use precision_gate::verdict::Verdict;

use super::{Pair, codes, json, loss, real_files, real_pairs};

/// A falling loss with batches of 2 %, seen by a platform with noise of its own, in six decimals.
struct Training {
    steps: usize,
    seed: u64,
}

impl Training {
    fn level(t: f64) -> f64 {
        2.0 + 4.0 * (-t / 150.0).exp()
    }

    fn batches(&self) -> Vec<f64> {
        let mut random = Random::new(self.seed);
        (0..self.steps).map(|_| 1.0 + 0.02 * random.normal()).collect()
    }

    /// The loss at `delay(t)` steps of training, with the batches of `data(t)`.
    fn run(&self, seen: impl Fn(usize) -> usize, data: impl Fn(usize) -> usize, noise: f64) -> Vec<f64> {
        let mut random = Random::new(self.seed + 1000);
        let batches = self.batches();
        (0..self.steps)
            .map(|t| Self::level(seen(t) as f64) * batches[data(t)] * (1.0 + noise * random.normal()))
            .collect()
    }

    fn baseline(&self) -> Vec<f64> {
        self.run(|t| t, |t| t, 0.0)
    }

    fn candidate(&self) -> Vec<f64> {
        self.run(|t| t, |t| t, 1e-5)
    }
}

fn table(name: &str, values: &[f64]) -> String {
    let rows: String = values.iter().enumerate().map(|(t, value)| format!("{},{value:.6}\n", t + 1)).collect();
    format!("step,{name}\n{rows}")
}

fn judged(metric: &str, baseline: &[f64], candidate: &[f64], policy: &str) -> (Verdict, Vec<String>) {
    let (b, c) = (table(metric, baseline), table(metric, candidate));
    let result = Pair::new(&[("a.csv", &b)], &[("a.csv", &c)]).judge(policy);
    (result.verdict, codes(&result).into_iter().map(str::to_owned).collect())
}

fn changed(values: Vec<f64>, change: impl Fn(usize, f64) -> f64) -> Vec<f64> {
    values.into_iter().enumerate().map(|(t, value)| change(t, value)).collect()
}

const PATTERNS: [&str; 7] = [
    "curve-scaled",
    "curve-smoothed",
    "curve-frozen",
    "curve-zero",
    "curve-rollback",
    "curve-departure",
    "curve-uniform-start",
];

#[test]
fn each_pattern_has_its_name_and_blocks() {
    let training = Training { steps: 600, seed: 5 };
    let fallen = |t: usize| if t < 250 { t } else { t - 100 };
    let mean = |values: Vec<f64>| {
        let mut sum = 0.0;
        changed(values, move |_, value| value)
            .into_iter()
            .enumerate()
            .map(|(t, value)| {
                sum += value;
                sum / (t + 1) as f64
            })
            .collect::<Vec<f64>>()
    };
    let held = training.candidate()[300];
    let cases: [(&str, Vec<f64>); 9] = [
        ("curve-scaled", changed(training.candidate(), |_, value| value * 8.0)),
        ("curve-scaled", changed(training.candidate(), |_, value| value / std::f64::consts::LN_2)),
        ("curve-scaled", changed(training.candidate(), |_, value| value / 6.0)),
        ("curve-smoothed", mean(training.candidate())),
        ("curve-frozen", changed(training.candidate(), |t, value| if (300..330).contains(&t) { held } else { value })),
        ("curve-zero", changed(training.candidate(), |t, value| if t % 97 == 50 { 0.0 } else { value })),
        ("curve-rollback", training.run(fallen, |t| t, 1e-5)),
        ("curve-rollback", training.run(fallen, fallen, 1e-5)),
        (
            "curve-departure",
            changed(training.candidate(), |t, value| if (400..412).contains(&t) { value * 1.2 } else { value }),
        ),
    ];
    for (code, candidate) in cases {
        let (verdict, said) = judged("loss", &training.baseline(), &candidate, "");
        assert!(verdict == Verdict::Fail && said.iter().any(|said| said == code), "{code}: {verdict:?} {said:?}");
        for other in PATTERNS.into_iter().filter(|other| *other != code && *other != "curve-departure") {
            assert!(!said.iter().any(|said| said == other), "{code} is called {other}");
        }
    }
}

#[test]
fn healthy_runs_have_no_pattern() {
    for seed in 0..20 {
        let training = Training { steps: 300, seed };
        for noise in [1e-6, 1e-4, 3e-3] {
            let candidate = training.run(|t| t, |t| t, noise);
            let (verdict, said) = judged("loss", &training.baseline(), &candidate, "");
            let pattern = PATTERNS.into_iter().find(|pattern| said.iter().any(|said| said == pattern));
            assert!(pattern.is_none() && verdict <= Verdict::Warn, "seed {seed}, {noise}: {verdict:?} {said:?}");
        }
    }
}

/// A head that starts at zero: both sides begin at ln V and learn from weights of their own.
#[test]
fn a_uniform_start_is_judged_as_own_weights_and_faults_are_seen() {
    let uniform = |seed: u64, classes: f64, own: f64| -> Vec<f64> {
        let training = Training { steps: 300, seed: 5 };
        let mut random = Random::new(seed);
        let mut drift = 0.0;
        let wander =
            |t: usize, value: f64| if t == 0 { classes.ln() } else { value + classes.ln() - Training::level(0.0) };
        let start = changed(training.baseline(), wander);
        let mut values = Vec::new();
        for (t, value) in start.into_iter().enumerate() {
            drift = 0.9 * drift + own * random.normal();
            values.push(if t == 0 { value } else { value * (1.0 + drift) });
        }
        values
    };
    for classes in [50_257.0, 32_000.0, 151_936.0, 1000.0] {
        for seed in 0..10 {
            let (verdict, said) = judged("loss", &uniform(1, classes, 0.0), &uniform(seed, classes, 1.5e-3), "");
            assert!(verdict == Verdict::Warn && said.contains(&"curve-uniform-start".to_owned()), "{classes} {said:?}");
        }
    }
    let same = judged("loss", &uniform(1, 32_000.0, 0.0), &uniform(2, 32_000.0, 1e-7), "");
    assert_eq!(same.0, Verdict::Pass, "{:?}", same.1);
    let late = changed(uniform(3, 32_000.0, 1.5e-3), |t, value| if t > 100 { value * 1.3 } else { value });
    assert_eq!(judged("loss", &uniform(1, 32_000.0, 0.0), &late, "").0, Verdict::Fail);
    // The same start and a fault in the first update: no uniform prediction excuses it.
    let training = Training { steps: 300, seed: 5 };
    let early = changed(training.run(|t| t, |t| t, 1e-7), |t, value| if t == 0 { value } else { value * 1.004 });
    assert_eq!(judged("loss", &training.baseline(), &early, "").0, Verdict::Fail);
}

#[test]
fn a_fault_is_as_long_as_it_is_however_long_the_run() {
    for (steps, policy) in [(1000, ""), (20_000, ""), (20_000, "loss: {mode: own-weights}")] {
        let training = Training { steps, seed: 5 };
        let faulty = |length: usize| {
            let fault = move |t: usize, value: f64| if (500..500 + length).contains(&t) { value * 1.5 } else { value };
            judged("loss", &training.baseline(), &changed(training.candidate(), fault), policy)
        };
        assert_ne!(faulty(1).0, Verdict::Fail, "{steps} {policy}");
        for length in [11, 50, steps / 200] {
            let (verdict, said) = faulty(length.max(11));
            assert!(
                verdict == Verdict::Fail && said.contains(&"curve-departure".to_owned()),
                "{length} of {steps}: {said:?}"
            );
        }
    }
}

#[test]
fn few_evaluations_are_judged_by_their_median() {
    let falling: Vec<f64> = (0..12).map(|t| 3.0 + 7.0 * (-f64::from(t) / 1.5).exp()).collect();
    // A delay at the start, where the loss falls fastest: 6 % there, nothing later.
    let early = changed(
        falling.clone(),
        |t, value| if t == 0 { value } else { value * (1.0 + 0.12 * (-(t as f64) / 1.5).exp()) },
    );
    let own = "loss: {mode: own-weights}";
    assert_eq!(judged("eval_loss", &falling, &early, own).0, Verdict::Warn, "the mean still says so");
    let lasting = changed(falling.clone(), |_, value| value * 1.02);
    assert_eq!(judged("eval_loss", &falling, &lasting, own).0, Verdict::Fail);
}

#[test]
fn the_largest_difference_is_held_against_recorded_noise() {
    let training = Training { steps: 100, seed: 5 };
    let spiking =
        |size: f64| changed(training.candidate(), move |t, value| if t == 50 { value * (1.0 + size) } else { value });
    let files: Vec<(String, String)> =
        (0..3).map(|run| (format!("run{run}.csv"), table("loss", &spiking(0.01 * f64::from(run))))).collect();
    let repeats: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let repeats = Pair::new(&repeats, &[]);
    let policy = format!(
        "loss: {{noise: [{}]}}",
        (0..3)
            .map(|run| repeats.0.path().join(format!("b/run{run}.csv")).display().to_string())
            .collect::<Vec<_>>()
            .join(", ")
    );
    let says = |size: f64, policy: &str| {
        judged("loss", &training.baseline(), &spiking(size), policy).1.contains(&"curve-peak".to_owned())
    };
    // The repeats differ by up to 2 %: 1.5 times that is allowed.
    assert!(says(0.025, "") && !says(0.025, &policy));
    assert!(says(0.035, &policy));
}

/// The test of the data's order accuses at most one of a thousand runs on the same data, and finds most of the others.
#[test]
fn the_significance_of_the_data_order_holds_what_it_promises() {
    let mut random = Random::new(7);
    // 0.95 of the variance is the batches', so that the changes correlate by 0.95.
    let (batch, own) = (0.95_f64.sqrt(), 0.05_f64.sqrt());
    let mut draw = |size: f64| -> Vec<f64> { (0..20).map(|_| size * random.normal()).collect() };
    let (mut accused, mut found) = (0, 0);
    for _ in 0..2000 {
        let (shared, elsewhere) = (draw(batch), draw(batch));
        let mut side =
            |data: &[f64]| -> Vec<f64> { draw(own).iter().zip(data).map(|(own, data)| own + data).collect() };
        let (b, same, other) = (side(&shared), side(&shared), side(&elsewhere));
        let low = |run: &[f64]| {
            rank::is_below(rank::change_correlation(&b, run).expect("moves"), 0.9, rank::change_count(20))
        };
        accused += usize::from(low(&same));
        found += usize::from(low(&other));
    }
    assert!(accused <= 4, "{accused} of 2000 runs on the same data");
    assert!(found > 1200, "{found} of 2000 runs on other data");
}

/// Healthy real pairs stay healthy with their sides swapped, cut to any stretch, or thinned to a few evaluations.
#[test]
fn parts_of_healthy_real_pairs_are_not_blocked() {
    let (mut blocked, mut all) = (Vec::new(), 0);
    for case in real_pairs() {
        let pair = json(&case.join("pair.json"));
        if !pair["class"].as_str().is_some_and(|class| class.starts_with("benign")) {
            continue;
        }
        let (baseline, candidate) = real_files(&case, &pair);
        let unit = loss(&super::judge(&baseline, &candidate, "")).clone();
        // Longer series are thinned in results, with their extremes kept: they are no measured curves any more.
        if unit.paired != unit.series.step.len() as u64 {
            continue;
        }
        let sides = unit.series.baseline.iter().zip(&unit.series.candidate);
        let (b, c): (Vec<f64>, Vec<f64>) = sides.filter_map(|(b, c)| Some((b.as_ref()?.0, c.as_ref()?.0))).unzip();
        let mut part = |metric: &str, b: Vec<f64>, c: Vec<f64>| {
            all += 1;
            let (verdict, said) = judged(metric, &b, &c, "");
            if verdict > Verdict::Warn {
                blocked.push(format!("{} {} of {metric}: {said:?}", case.display(), b.len()));
            }
        };
        for (b, c) in [(&b, &c), (&c, &b)] {
            for length in [10, 15, 25, 50, 100, 200, 400].into_iter().filter(|length| *length <= b.len()) {
                for start in [0, b.len() - length] {
                    let range = start..start + length;
                    part("loss", b[range.clone()].to_vec(), c[range].to_vec());
                }
            }
            for points in [5, 8, 12, 19].into_iter().filter(|points| *points <= b.len()) {
                let thinned = |side: &[f64]| side.iter().copied().step_by(side.len() / points).take(points).collect();
                part("eval_loss", thinned(b), thinned(c));
            }
        }
    }
    assert!(blocked.is_empty(), "{} of {all}: {blocked:#?}", blocked.len());
}
