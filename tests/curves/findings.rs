//! Findings about curves: each given by one pair of them, beside a pair that does not give it.

use precision_gate::result::GateResult;

use super::{Pair, codes, is_broken, made_cases};

/// `metrics` in a record for each step, from 1 on.
fn log(steps: u32, metrics: impl Fn(u32) -> String) -> String {
    (1..=steps).map(|step| format!("{{\"step\": {step}, {}}}\n", metrics(step))).collect()
}

fn loss(step: u32) -> f64 {
    2.0 + 4.0 * (-f64::from(step) / 40.0).exp() + f64::from(step % 7) * 0.02
}

fn judged(baseline: &str, candidate: &str, policy: &str) -> GateResult {
    Pair::new(&[("log.jsonl", baseline)], &[("log.jsonl", candidate)]).judge(policy)
}

/// A code, the policy, and the log that the candidate has in place of the healthy one.
type Change = (&'static str, &'static str, fn() -> String);

fn plain() -> String {
    log(120, |step| format!("\"loss\": {}, \"lr\": 0.001", loss(step)))
}

fn of_loss(change: impl Fn(u32, f64) -> f64) -> String {
    log(120, |step| format!("\"loss\": {}, \"lr\": 0.001", change(step, loss(step))))
}

const CHANGES: [Change; 7] = [
    ("curve-abrupt-onset", "loss: {mode: same-weights}", || {
        of_loss(|step, loss| if step > 60 { loss * 1.03 } else { loss })
    }),
    ("curve-data-order", "loss: {mode: own-weights}", || {
        of_loss(|step, loss| loss + f64::from((step + 3) % 7) * 0.2 - f64::from(step % 7) * 0.02)
    }),
    ("curve-difference", "profile: bit-exact", || of_loss(|step, loss| if step == 60 { loss + 1e-9 } else { loss })),
    ("curve-not-judged", "", || log(120, |step| format!("\"loss\": {}, \"lr\": 0.002", loss(step)))),
    ("curve-one-sided", "", || log(120, |step| format!("\"lr\": 0.001, \"loss_of_rank\": {}", loss(step)))),
    ("curve-repeated-steps", "", || {
        plain() + &format!("{{\"step\": 120, \"loss\": {}, \"lr\": 0.001}}\n", loss(120) + 0.001)
    }),
    ("curve-spikes", "", || of_loss(|step, loss| if step % 20 == 10 { loss * 1.6 } else { loss })),
];

#[test]
fn each_change_of_a_curve_has_its_finding() {
    let mut wrong = Vec::new();
    for (code, policy, change) in CHANGES {
        let unchanged = judged(&plain(), &(plain() + "\n"), policy);
        assert!(!codes(&unchanged).contains(&code), "{code} without a change");
        let result = judged(&plain(), &change(), policy);
        if !codes(&result).contains(&code) {
            wrong.push(format!("{code}: {:?}", codes(&result)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A curve that never moves shows nothing, whichever side it is on; where the baseline moves, the candidate is frozen.
#[test]
fn a_curve_that_never_moves_is_told() {
    let still = of_loss(|_, _| 2.5);
    let result = judged(&still, &(still.clone() + "\n"), "");
    assert!(codes(&result).contains(&"curve-constant"), "{:?}", codes(&result));
    let frozen = judged(&plain(), &still, "");
    assert!(codes(&frozen).contains(&"curve-frozen") && !codes(&frozen).contains(&"curve-constant"));
}

/// Rules about metrics that are judged by their mean, by few points, or as the policy declares.
#[test]
fn each_rule_is_measured_and_breaks() {
    let with = |name: &str, steps: u32, value: &dyn Fn(f64) -> f64| {
        log(steps, |step| format!("\"loss\": {}, \"{name}\": {}", loss(step), value(f64::from(step))))
    };
    type Way = fn(f64) -> f64;
    let flat: Way = |step| 0.7 + 0.01 * (step % 5.0);
    let lower: Way = |step| 0.5 + 0.01 * (step % 5.0);
    let declared = |limit: &str| format!("loss: {{metrics: {{other_loss: {{{limit}: {{fail: 0.01}}}}}}}}");
    let mut wrong = Vec::new();
    for (rule, policy, name, steps, candidate) in [
        ("worse_mean", String::new(), "eval_accuracy", 120, lower),
        ("median_rel", String::new(), "eval_loss", 8, lower),
        ("last_rel", String::new(), "eval_loss", 120, lower),
        ("declared_mean_rel", declared("mean"), "other_loss", 120, lower),
        ("declared_difference", declared("difference"), "other_loss", 120, lower),
        ("declared_worse", declared("worse"), "other_loss", 120, |step| 0.9 + 0.01 * (step % 5.0)),
    ] {
        let baseline = with(name, steps, &flat);
        let same = judged(&baseline, &(baseline.clone() + "\n"), &policy);
        assert!(!is_broken(&same, rule), "{rule} where both sides agree");
        let other = judged(&baseline, &with(name, steps, &candidate), &policy);
        if !is_broken(&other, rule) {
            wrong.push(format!("{rule}: {:?}", codes(&other)));
        }
    }
    for (rule, policy, change) in [
        ("abrupt_onset", "loss: {mode: same-weights}", CHANGES[0].2),
        (
            "bit_exact",
            "profile: bit-exact",
            (|| of_loss(|step, loss| if step == 60 { loss + 1e-9 } else { loss })) as fn() -> String,
        ),
    ] {
        let other = judged(&plain(), &change(), policy);
        if !is_broken(&other, rule) {
            wrong.push(format!("{rule}: {:?}", codes(&other)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Findings about what a policy says: under it, and under another one.
#[test]
fn policies_that_do_not_fit_are_told() {
    let band =
        Pair::new(&[("a.csv", "step,aux_loss\n1,2.0\n2,1.9\n"), ("b.csv", "step,aux_loss\n1,2.0\n2,1.9\n")], &[]);
    let noise = format!("loss: {{noise: '{}'}}", band.0.path().join("b").display());
    let candidate = of_loss(|step, loss| loss * (1.0 + 1e-6 * f64::from(step % 3)));
    for (code, policy, other) in [
        ("curve-floor", "loss: {absolute-floor: 0.5}", "loss: {absolute-floor: 1e-6}"),
        ("mode-too-loose", "loss: {mode: own-weights}", "loss: {mode: same-weights}"),
        ("curve-noise-missing", noise.as_str(), ""),
    ] {
        let told = judged(&plain(), &candidate, policy);
        assert!(codes(&told).contains(&code), "{code}: {:?}", codes(&told));
        assert!(!codes(&judged(&plain(), &candidate, other)).contains(&code), "{code} under `{other}`");
    }
}

#[test]
fn lines_that_cannot_be_read_are_counted() {
    let table = |odd: &str| {
        let rows: String = (1..=60).map(|step| format!("{step},{}\n", loss(step))).collect();
        format!("step,loss\n{rows}{odd}")
    };
    for (odd, is_told) in [("61,half\n62,2.0\n", true), ("61,2.0\n", false)] {
        let pair = Pair::new(&[("log.csv", &table("61,2.0\n62,2.0\n"))], &[("log.csv", &table(odd))]);
        let result = pair.judge("");
        assert_eq!(codes(&result).contains(&"curve-skipped-lines"), is_told, "{odd}: {:?}", codes(&result));
    }
}

/// FlagPerf's rule begins at step 21.
#[test]
fn a_published_rule_without_a_step_to_hold_is_told() {
    for (steps, is_told) in [(20, true), (40, false)] {
        let log = log(steps, |step| format!("\"loss\": {}", loss(step)));
        let result = judged(&log, &(log.clone() + "\n"), "loss: {preset: flagperf}");
        assert_eq!(codes(&result).contains(&"curve-preset-empty"), is_told, "{steps}: {:?}", codes(&result));
    }
}

/// NaN in a baseline leaves steps that nobody can judge, and is no fault of the candidate.
#[test]
fn a_baseline_that_breaks_is_told_apart_from_a_candidate_that_does() {
    let case = made_cases().into_iter().find(|path| path.ends_with("nan_from_step")).expect("the case");
    let [gpu, npu] = ["gpu", "npu"].map(|side| case.join(side));
    let (forth, back) = (super::judge(&gpu, &npu, ""), super::judge(&npu, &gpu, ""));
    for (code, here, there) in [("curve-non-finite", &forth, &back), ("curve-non-finite-baseline", &back, &forth)] {
        assert!(codes(here).contains(&code) && !codes(there).contains(&code), "{code}");
    }
}
