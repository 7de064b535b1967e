//! Runs of reinforcement learning: judged by their trends, whatever single steps do.

use std::fs;
use std::path::{Path, PathBuf};

use precision_gate::fetch::Fetcher;
use precision_gate::gate::recheck::{Against, recheck};
use precision_gate::gate::{loss, recognisers};
use precision_gate::policy::Policy;
use precision_gate::policy::location::TrustedLocation;
use precision_gate::result::GateResult;
use precision_gate::result::seal::seal;
use precision_gate::verdict::Verdict;
use serde_json::{Value, json};

use super::{codes, is_broken, judge, units};

fn side(case: &str, side: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/rl").join(case).join(side)
}

fn judged(case: &str, policy: &str) -> GateResult {
    judge(&side(case, "gpu"), &side(case, "npu"), policy)
}

fn causes(result: &GateResult) -> Vec<&str> {
    result.diagnoses.iter().map(|cause| cause.cause.as_str()).collect()
}

/// The run of NeMo-RL against itself, changed on either side.
fn changed(baseline: impl Fn(&mut Value), candidate: impl Fn(&mut Value)) -> GateResult {
    let folder = tempfile::tempdir().expect("a folder");
    let text = fs::read_to_string(side("nemo_reward_zero", "gpu").join("metrics.jsonl")).expect("text");
    let write = |name: &str, change: &dyn Fn(&mut Value)| {
        let lines = text.lines().map(|line| {
            let mut record: Value = serde_json::from_str(line).expect("JSON");
            change(&mut record);
            // A file of its own, so that the two are no copies.
            record["note"] = json!(if name == "gpu" { 1.0 } else { 2.0 });
            record.to_string() + "\n"
        });
        let path = folder.path().join(name);
        fs::create_dir(&path).expect("a folder");
        fs::write(path.join("metrics.jsonl"), lines.collect::<String>()).expect("written");
        path
    };
    let (baseline, candidate) = (write("gpu", &baseline), write("npu", &candidate));
    judge(&baseline, &candidate, "")
}

fn step(record: &Value) -> f64 {
    record["step"].as_f64().expect("a step")
}

#[test]
fn healthy_rollouts_pass_and_carry_their_windows() {
    let result = judged("slime_benign", "");
    assert_eq!(result.verdict, Verdict::Pass, "{:?}", codes(&result));
    let reward = units(&result).into_iter().find(|unit| unit.metric == "rollout/raw_reward").expect("a reward");
    assert_eq!((reward.mode.as_str(), reward.mode_source.as_str()), ("rl", "inferred"));
    let windows = reward.windows.as_ref().expect("windows");
    assert_eq!((windows.to_step.len(), windows.baseline.len()), (8, 8));
    assert!(units(&result).iter().all(|unit| unit.rules.iter().all(|rule| rule.rule != "mean_rel")));
}

#[test]
fn a_policy_may_declare_the_kind() {
    let supervised = judged("slime_benign", "loss: {kind: supervised}");
    assert_eq!(supervised.verdict, Verdict::Fail, "step by step these runs differ");
    assert!(units(&supervised).iter().all(|unit| unit.mode != "rl"));
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/policies/verl.yml");
    let example = fs::read_to_string(example).expect("the example");
    let declared = judged("verl_benign", &example);
    assert_eq!(declared.verdict, Verdict::Pass, "{:?}", codes(&declared));
    assert!(units(&declared).iter().all(|unit| unit.mode_source == "declared"));
    let defect = judged("verl_only_reward_zero", &example);
    assert_eq!((defect.verdict, codes(&defect)[0]), (Verdict::Fail, "rl-reward-dead"));
}

#[test]
fn a_dead_reward_and_a_stale_rollout_are_named_with_their_cause() {
    let dead = judged("nemo_reward_zero", "");
    assert_eq!((dead.verdict, causes(&dead)[0]), (Verdict::Fail, "reward-dead"));
    assert_eq!(codes(&dead)[0], "rl-reward-dead", "what follows from it comes after it");
    let stale = judged("slime_mismatch", "");
    assert_eq!((stale.verdict, causes(&stale)[0]), (Verdict::Fail, "rollout-mismatch"));
}

#[test]
fn what_breaks_in_any_metric_fails() {
    let keep = |_: &mut Value| {};
    assert_eq!(changed(keep, keep).verdict, Verdict::Pass);
    let not_finite = |record: &mut Value| {
        record["train/reward_std"] = if step(record) > 119.0 { json!("nan") } else { json!(0.1) };
    };
    let shown = changed(|record| record["train/reward_std"] = json!(0.1), not_finite);
    assert_eq!((shown.verdict, codes(&shown)), (Verdict::Fail, vec!["curve-non-finite"]));
    let coefficient = |value: f64| move |record: &mut Value| record["train/kl_coef"] = json!(value);
    let other = changed(coefficient(0.001), coefficient(0.01));
    assert_eq!((other.verdict, codes(&other)), (Verdict::Fail, vec!["rl-constant"]));
    assert_eq!(causes(&other), ["hyperparameters-differ"]);
    let adaptive =
        |factor: f64| move |record: &mut Value| record["train/kl_coef"] = json!(0.001 + factor * step(record));
    assert_eq!(changed(adaptive(1e-5), adaptive(1.0003e-5)).verdict, Verdict::Pass, "moved by what was sampled");
    let lost = |record: &mut Value| {
        if step(record) > 90.0 {
            record["train/reward"] = json!(record["train/reward"].as_f64().expect("a reward") * 0.85);
        }
    };
    let lower = changed(keep, lost);
    assert_eq!((lower.verdict, codes(&lower)[0]), (Verdict::Fail, "rl-reward-lower"));
    let facts = serde_json::to_value(&lower.findings[0].facts).expect("JSON");
    assert_eq!(facts["course"], "drops", "{facts}");
    assert!(facts["onset"].as_u64().is_some_and(|step| (86..=96).contains(&step)), "{facts}");
    assert!(facts["candidate"].as_f64() < facts["baseline"].as_f64(), "{facts}");
}

/// A metric that leaves the baseline's way has its own code; what both runs log alike has none.
#[test]
fn each_metric_that_goes_another_way_has_its_code() {
    let keep = |_: &mut Value| {};
    let with = |name: &'static str, value: f64| {
        // A value that moves a little, as what is measured does.
        move |record: &mut Value| record[name] = json!(value * (1.0 + 0.01 * (step(record) % 5.0)))
    };
    let mut wrong = Vec::new();
    let mut told = |result: &GateResult, (code, rule): (&str, &str)| {
        if !codes(result).contains(&code) || !is_broken(result, rule) {
            wrong.push(format!("{code} by {rule}: {:?}", codes(result)));
        }
    };
    for (code, rule, name, baseline, candidate) in [
        ("rl-kl", "kl_tail_ratio", "train/kl", 0.01, 0.3),
        ("rl-clip", "clip_change", "train/pg_clipfrac", 0.02, 0.3),
        ("rl-truncation", "truncation_rise", "train/truncated_rate", 0.01, 0.3),
        ("rl-value-loss", "loss_tail_ratio", "train/value_loss", 0.2, 2.0),
        ("rl-length", "length_ratio", "train/response_length", 100.0, 200.0),
        ("rl-entropy", "entropy_low", "train/entropy", 1.0, 0.1),
        ("rl-entropy", "entropy_high", "train/entropy", 0.1, 1.0),
        ("rl-grad-norm", "grad_norm_ratio", "train/actor_grad_norm", 0.5, 5.0),
        ("rl-mismatch", "mismatch_level", "train/token_mult_prob_error", 1.003, 1.4),
        ("rl-mismatch", "mismatch_ratio", "train/gen_kl_error", 2e-4, 5e-2),
    ] {
        told(&changed(with(name, baseline), with(name, candidate)), (code, rule));
        let same = changed(with(name, baseline), with(name, baseline * 1.000_01));
        assert!(!codes(&same).contains(&code), "{code} where {name} agrees");
    }
    type Edit = fn(f64, f64) -> f64;
    let edits: [(&str, &str, &str, Edit); 5] = [
        ("rl-centre", "centre_shift", "train/loss", |_, loss| loss + 5.0),
        ("rl-centre", "spread_ratio", "train/loss", |_, loss| loss * 100.0),
        ("rl-grad-norm", "grad_norm_zeros", "train/grad_norm", |step, norm| if step % 2.0 > 0.0 { 0.0 } else { norm }),
        (
            "rl-reward-lower",
            "reward_tail",
            "train/reward",
            |step, reward| if step > 90.0 { reward * 0.85 } else { reward },
        ),
        ("rl-reward-lower", "reward_windows", "train/reward", |step, reward| {
            if (30.0..90.0).contains(&step) { reward * 0.5 } else { reward }
        }),
    ];
    for (code, rule, name, edit) in edits {
        let edited = |record: &mut Value| record[name] = json!(edit(step(record), record[name].as_f64().expect(name)));
        told(&changed(keep, edited), (code, rule));
    }
    let coefficient = |value: f64| move |record: &mut Value| record["train/kl_coef"] = json!(value);
    told(&changed(coefficient(0.001), coefficient(0.01)), ("rl-constant", "constant"));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // The sides of a dead reward exchanged: the candidate earns what the baseline never does.
    let higher = judge(&side("nemo_reward_zero", "npu"), &side("nemo_reward_zero", "gpu"), "");
    assert!(codes(&higher).contains(&"rl-reward-higher"), "{:?}", codes(&higher));
    assert!(!codes(&changed(keep, keep)).contains(&"rl-reward-higher"));
}

#[test]
fn a_metric_that_one_side_lacks_is_told_by_its_weight() {
    let keep = |_: &mut Value| {};
    let without = |name: &'static str| {
        move |record: &mut Value| {
            record.as_object_mut().expect("an object").remove(name);
        }
    };
    for (name, verdict) in [
        ("train/reward", Verdict::Incomplete),
        ("train/grad_norm", Verdict::Incomplete),
        ("validation/accuracy", Verdict::Incomplete),
        ("train/approx_entropy", Verdict::Warn),
    ] {
        assert_eq!(changed(keep, without(name)).verdict, verdict, "{name}");
    }
    // Agreement of the engines has limits that need no baseline.
    let apart = |record: &mut Value| record["train/token_mult_prob_error"] = json!(1.4);
    let alone = changed(without("train/token_mult_prob_error"), apart);
    assert_eq!((alone.verdict, codes(&alone)[0]), (Verdict::Fail, "rl-mismatch"));
    assert_eq!(changed(without("train/token_mult_prob_error"), keep).verdict, Verdict::Pass);
}

#[test]
fn metrics_of_the_candidate_alone_do_not_choose_the_rules() {
    let supervised = |record: &mut Value| {
        let loss = 2.0 + 1.0 / step(record);
        *record = json!({ "step": record["step"], "loss": loss });
    };
    let disguised = |record: &mut Value| {
        let loss = 2.3 + 1.0 / step(record);
        *record = json!({ "step": record["step"], "loss": loss, "reward": 0.5, "kl": 0.1, "pg_loss": 0.0 });
    };
    let result = changed(supervised, disguised);
    assert_eq!(result.verdict, Verdict::Fail);
    assert!(units(&result).iter().all(|unit| unit.mode != "rl"));
}

#[test]
fn a_short_run_is_no_pass() {
    let short = |record: &mut Value| {
        if step(record) > 12.0 {
            *record = json!({ "text": "" });
        }
    };
    let result = changed(short, short);
    assert_eq!((result.verdict, codes(&result)), (Verdict::Warn, vec!["rl-too-short", "evidence-damaged"]));
}

#[test]
fn repeats_of_a_case_replace_its_limits() {
    let runs = ["nemo_reward_zero/gpu", "slime_benign/gpu", "slime_benign/npu"];
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/rl");
    let runs = runs.map(|run| root.join(run).display().to_string());
    let fetcher = Fetcher::default();
    let repeats = precision_gate::gate::repeats::RepeatOpener { fetcher: &fetcher, recognisers: recognisers() };
    let band = loss::record_curve_band(
        &[TrustedLocation::own(&runs[1]), TrustedLocation::own(&runs[2])],
        &Policy::default().loss,
        repeats,
        false,
    )
    .expect("repeats");
    let entropy = &band.metrics["entropy_loss"];
    assert!(entropy.trends["entropy_low"] >= 1.0 && entropy.is_sound());
    let zero = root.join("nemo_reward_zero/npu").display().to_string();
    let refused = loss::record_curve_band(
        &[TrustedLocation::own(&runs[0]), TrustedLocation::own(zero)],
        &Policy::default().loss,
        repeats,
        false,
    );
    assert!(refused.is_err_and(|error| error.to_string().contains("is not a repeat")));
}

#[test]
fn a_result_whose_numbers_were_changed_is_refused() {
    let policy = Policy::default();
    let against = Against { name: "result.json", policy: &policy, repository: "", operations: None };
    let mut result = judged("nemo_reward_zero", "");
    result.seal = Some(seal(&result));
    let again = recheck(result.clone(), &against).expect("a result as the gate writes it").result;
    assert_eq!(again.verdict, Verdict::Fail);
    let value = serde_json::to_value(&result).expect("JSON");
    let of = |value: &mut Value, metric: &str, change: &dyn Fn(&mut Value)| {
        let units = value["checks"]
            .as_array_mut()
            .expect("checks")
            .iter_mut()
            .flat_map(|check| check.get_mut("units").and_then(Value::as_array_mut).into_iter().flatten());
        units.filter(|unit| unit["metric"] == metric).for_each(change);
    };
    type Edit<'e> = (&'e str, &'e dyn Fn(&mut Value));
    let edits: [Edit<'_>; 5] = [
        ("approx_entropy", &|unit| {
            unit["rules"].as_array_mut().expect("rules").retain(|rule| rule["rule"] != "entropy_high")
        }),
        ("approx_entropy", &|unit| unit["windows"]["candidate"][7] = json!(0.1)),
        ("token_mult_prob_error", &|unit| unit["role"] = json!("other")),
        ("loss", &|unit| unit["mode"] = json!("own-weights")),
        ("reward", &|unit| {
            for rule in unit["rules"].as_array_mut().expect("rules").iter_mut() {
                if rule["rule"] == "reward_higher" {
                    rule["warn"] = json!(9.0);
                    rule["margin"] = json!(1.0);
                }
            }
        }),
    ];
    for (metric, edit) in edits {
        let mut forged = value.clone();
        of(&mut forged, metric, &|unit| edit(unit));
        let forged: GateResult = serde_json::from_value(forged).expect("a result");
        assert!(recheck(forged, &against).is_err(), "{metric}");
    }
}
