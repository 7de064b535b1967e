//! Several runs of a side, judged together: what a shift, a rate, a broken or a short run comes to; how often healthy runs fail and
//! shifts are found; and cases of published trainings, where they lie beside the checkout.
#![allow(
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test that indexes beyond what is there fails, as it should; it says what it could not look at"
)]

use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use precision_gate::judge::samples::decide::{self, NumberScale, RuleNumbers, SampleSetting};
use precision_gate::judge::samples::runs::SampleRuns;
use precision_gate::policy::samples::SamplesPolicy;
use precision_gate::verdict::{PerSide, Profile, Side, Verdict};
use rayon::prelude::*;
use serde_json::Value;
use tempfile::TempDir;

fn gate(arguments: &[&str]) -> (i32, String, Value) {
    let mut command = Command::cargo_bin("precision-gate").expect("a binary");
    for (name, _) in std::env::vars()
        .filter(|(name, _)| ["CI", "GITHUB_", "GITLAB_", "INPUT_"].iter().any(|start| name.starts_with(start)))
    {
        command.env_remove(name);
    }
    let out = TempDir::new().expect("a folder");
    let is_run = arguments[0] == "run";
    let command = command.args(arguments);
    if is_run {
        command.arg("--out").arg(out.path()).args(["--today", "2026-11-27"]);
    }
    let output = command.output().expect("it runs");
    let text = [output.stdout, output.stderr].map(|part| String::from_utf8_lossy(&part).into_owned()).concat();
    let result = fs::read(out.path().join("result.json")).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
    (output.status.code().unwrap_or(-1), text, result.unwrap_or(Value::Null))
}

/// Numbers that look like noise and are the same each time, from -1 to 1.
fn noise(run: u64, step: u64) -> f64 {
    let mut state = (run + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (step + 1).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    f64::from(u32::try_from((state ^ (state >> 31)) >> 32).unwrap_or(0)) / f64::from(u32::MAX) * 2.0 - 1.0
}

/// A run of 12 evaluations whose level scatters by 0.2 % from run to run.
fn evaluations(run: u64, factor: f64) -> String {
    let level = factor * (1.0 + 0.002 * noise(run, 0));
    let line = |step: u64| {
        let loss = level * (1.0 + 3.0 / (step + 2) as f64) * (1.0 + 0.0005 * noise(run, step));
        format!("{{\"step\": {}, \"eval_loss\": {loss:.6}}}\n", 10 * step)
    };
    (1..=12).map(line).collect()
}

/// Writes runs of a side, each a file of its name.
fn side(folder: &Path, name: &str, runs: &[(&str, String)]) -> String {
    let side = folder.join(name);
    fs::create_dir_all(&side).expect("made");
    for (name, text) in runs {
        fs::write(side.join(format!("{name}.jsonl")), text).expect("written");
    }
    side.display().to_string()
}

fn many(first: u64, count: u64, factor: f64) -> Vec<(String, String)> {
    (first..first + count).map(|run| (format!("run-{run}"), evaluations(run, factor))).collect()
}

/// The result of runs of both sides under a policy.
fn judged(ours: &[(String, String)], theirs: &[(String, String)], policy: &str) -> (String, Value) {
    let folder = TempDir::new().expect("a folder");
    let named =
        |runs: &[(String, String)]| runs.iter().map(|(name, text)| (name.clone(), text.clone())).collect::<Vec<_>>();
    let write = |name: &str, runs: Vec<(String, String)>| {
        let runs: Vec<(&str, String)> = runs.iter().map(|(name, text)| (name.as_str(), text.clone())).collect();
        side(folder.path(), name, &runs)
    };
    let (gpu, npu) = (write("gpu", named(ours)), write("npu", named(theirs)));
    let config = folder.path().join("policy.yml");
    fs::write(&config, policy).expect("written");
    let config = config.display().to_string();
    let (_, text, result) = gate(&["run", &gpu, &npu, "--runs", "--config", &config]);
    (text, result)
}

/// The first unit of the curves.
fn unit_of(result: &Value) -> &Value {
    let checks = result["checks"].as_array().expect("checks");
    &checks.iter().find(|check| check["id"] == "loss").expect("curves")["units"][0]
}

fn codes(result: &Value) -> Vec<&str> {
    result["findings"].as_array().into_iter().flatten().filter_map(|finding| finding["code"].as_str()).collect()
}

#[test]
fn what_several_runs_come_to() {
    let healthy = many(0, 10, 1.0);
    let broken = |runs: &mut Vec<(String, String)>, from: &str, to: &str| runs[0].1 = runs[0].1.replacen(from, to, 1);
    type Case<'c> = (&'c str, Vec<(String, String)>, Vec<(String, String)>, &'c str, &'c str, &'c str);
    let mut with_nan = many(20, 10, 1.0);
    let value =
        with_nan[0].1.lines().nth(5).and_then(|line| line.split("eval_loss\": ").nth(1)).expect("a value").to_owned();
    broken(&mut with_nan, value.trim_end_matches('}'), "NaN");
    let mut short = many(20, 5, 1.0);
    short[0].1 = short[0].1.lines().take(3).map(|line| format!("{line}\n")).collect();
    let mut outlier = many(20, 10, 1.0);
    outlier[0].1 = evaluations(20, 1.05);
    let mut copies = many(20, 6, 1.0);
    copies[1].1 = copies[0].1.clone();
    let moved: Vec<(String, String)> =
        many(20, 5, 1.0).into_iter().map(|(name, text)| (name, text.replace("0, \"eval", "3, \"eval"))).collect();
    let with_rate = |runs: Vec<(String, String)>, rate: &dyn Fn(usize) -> &'static str| -> Vec<(String, String)> {
        let of = |(place, (name, text)): (usize, (String, String))| {
            (name, text.replace("\"eval_loss\"", &format!("\"learning_rate\": {}, \"eval_loss\"", rate(place))))
        };
        runs.into_iter().enumerate().map(of).collect()
    };
    let mut lacking = many(20, 5, 1.0);
    lacking[0].1 = lacking[0].1.replace("eval_loss", "eval_accuracy");
    let with_reward = |first: u64| -> Vec<(String, String)> {
        let of =
            |(name, text): (String, String)| (name, text.replace("\"eval_loss\"", "\"rewards\": 0.5, \"eval_loss\""));
        many(first, 5, 1.0).into_iter().map(of).collect()
    };
    let wide = |first: u64| -> Vec<(String, String)> {
        (first..first + 3).map(|run| (format!("run-{run}"), evaluations(run, 1.0 + 0.05 * noise(run, 99)))).collect()
    };
    let cases: Vec<Case<'_>> = vec![
        ("healthy", healthy.clone(), many(20, 10, 1.0), "", "pass", ""),
        ("shift", healthy.clone(), many(20, 10, 1.02), "", "fail", "sample-shift"),
        ("too low", healthy.clone(), many(20, 10, 0.98), "", "fail", "sample-shift"),
        ("small", healthy.clone(), many(20, 10, 1.0036), "", "pass", "sample-small-shift"),
        (
            "what matters is larger",
            healthy.clone(),
            many(20, 10, 1.02),
            "samples: {effect: 0.05}",
            "warn",
            "sample-convergence",
        ),
        ("one against many", healthy.clone(), many(20, 1, 1.05), "", "fail", "sample-shift"),
        ("too few", many(0, 2, 1.0), many(20, 2, 1.0), "", "incomplete", "samples-too-few-runs"),
        ("scatter", wide(0), wide(20), "", "pass", "samples-not-detectable"),
        ("scatter, release", wide(0), wide(20), "profile: release", "incomplete", "samples-not-detectable"),
        ("NaN", healthy.clone(), with_nan, "", "fail", "curve-non-finite"),
        ("short", many(0, 5, 1.0), short, "", "incomplete", "sample-run-short"),
        ("outlier", healthy.clone(), outlier, "", "warn", "sample-outlier-run"),
        ("copies", many(0, 5, 1.0), copies, "", "warn", "samples-duplicate"),
        ("of a policy", with_reward(0), with_reward(20), "", "incomplete", "samples-not-judged"),
        ("other steps", many(0, 5, 1.0), moved, "", "incomplete", "samples-no-common-steps"),
        ("a metric is missing", many(0, 5, 1.0), lacking, "", "incomplete", "samples-metric-missing"),
        (
            "mixed",
            with_rate(many(0, 5, 1.0), &|place| if place < 3 { "0.001" } else { "0.002" }),
            with_rate(many(20, 5, 1.0), &|_| "0.001"),
            "",
            "incomplete",
            "samples-mixed",
        ),
        (
            "another rate",
            with_rate(many(0, 5, 1.0), &|_| "0.001"),
            with_rate(many(20, 5, 1.0), &|_| "0.002"),
            "",
            "fail",
            "learning-rate-differs",
        ),
    ];
    for (name, ours, theirs, policy, verdict, code) in cases {
        let (text, result) = judged(&ours, &theirs, policy);
        assert_eq!(result["verdict"], verdict, "{name}: {text}");
        assert!(code.is_empty() || codes(&result).contains(&code), "{name}: {:?}\n{text}", codes(&result));
        let unit = unit_of(&result);
        if !["mixed", "another rate"].contains(&name) {
            assert!(unit["n"].is_u64() && unit["m"].is_u64(), "{name}: {unit}");
        }
        for rule in unit["rules"].as_array().into_iter().flatten().filter(|rule| rule["test"].is_string()) {
            let number = |value: &Value| value.as_f64().expect("a number");
            let (low, high) = (number(&rule["interval"][0]), number(&rule["interval"][1]));
            assert!((low..=high).contains(&number(&rule["effect"])), "{name}: {rule}");
        }
    }
}

#[test]
fn runs_of_one_seed_are_paired_and_a_better_score_is_a_note() {
    let seeded = |first: u64, factor: f64| -> Vec<(String, String)> {
        (0..8).map(|seed| (format!("seed-{seed}"), evaluations(first + seed, factor))).collect()
    };
    // The same seeds make the same noise.
    let (text, result) = judged(&seeded(0, 1.0), &seeded(0, 1.006), "samples: {effect: 0.004}");
    let rules = unit_of(&result)["rules"].as_array().cloned().expect("rules");
    assert!(
        rules.iter().all(|rule| ["signed-rank", "paired-t"].contains(&rule["test"].as_str().unwrap_or(""))),
        "{text}"
    );
    assert_eq!(result["verdict"], "fail", "{text}");
    let apart = judged(&seeded(0, 1.0), &seeded(0, 1.006), "samples: {pair: none}").1;
    assert_eq!(unit_of(&apart)["seeds"], "own");
    let scores = |runs: Vec<(String, String)>| -> Vec<(String, String)> {
        runs.into_iter().map(|(name, text)| (name, text.replace("eval_loss", "eval_accuracy"))).collect()
    };
    let (text, better) = judged(&scores(many(0, 10, 0.5)), &scores(many(20, 10, 0.52)), "");
    assert!(better["verdict"] == "pass" && codes(&better).contains(&"sample-better"), "{text}");
    let (text, worse) = judged(&scores(many(0, 10, 0.5)), &scores(many(20, 10, 0.48)), "");
    assert!(worse["verdict"] == "fail" && codes(&worse).contains(&"sample-shift"), "{text}");
    let perhaps =
        judged(&many(0, 6, 1.0), &many(20, 6, 1.0075), "samples: {alpha: 0.0000001, effect: 0.005, power: 0.5}").1;
    assert!(
        ["sample-possible-shift", "samples-too-few-runs"].iter().any(|code| codes(&perhaps).contains(code)),
        "{:?}",
        codes(&perhaps)
    );
}

#[test]
fn a_recorded_sample_stands_for_the_baseline_and_is_no_band_of_runs_that_differ() {
    let folder = TempDir::new().expect("a folder");
    let names = |runs: Vec<(String, String)>| runs;
    let written = |name: &str, runs: Vec<(String, String)>| {
        let runs: Vec<(&str, String)> = runs.iter().map(|(name, text)| (name.as_str(), text.clone())).collect();
        side(folder.path(), name, &runs)
    };
    let gpu = written("gpu", names(many(0, 6, 1.0)));
    let (npu, other) = (written("npu", many(20, 6, 1.02)), written("other", many(40, 6, 1.0)));
    let sample = folder.path().join("sample.json").display().to_string();
    let (code, text, _) = gate(&["noise", &gpu, "--out", &sample]);
    assert_eq!(code, 0, "{text}");
    let (_, text, result) = gate(&["run", "--baseline", &sample, "--candidate", &npu, "--runs"]);
    assert_eq!(
        (result["verdict"].as_str(), &result["samples"]["runs"][0][0]["name"]),
        (Some("fail"), &"run-0.jsonl".into()),
        "{text}"
    );
    let (_, text, result) = gate(&["run", "--baseline", &sample, "--candidate", &other, "--runs"]);
    assert_eq!(result["verdict"], "pass", "{text}");
    let damaged = fs::read_to_string(&sample).expect("there").replace("\"sample\"", "\"sampel\"");
    fs::write(&sample, damaged).expect("written");
    let (code, text, _) = gate(&["run", "--baseline", &sample, "--candidate", &other, "--runs"]);
    assert!(code == 2 && text.contains("sampel"), "{code} {text}");
}

#[test]
fn runs_made_again_confirm_a_verdict_or_take_it_back() {
    let folder = TempDir::new().expect("a folder");
    let written = |name: &str, run: u64, factor: f64| side(folder.path(), name, &[("run", evaluations(run, factor))]);
    let gpu = {
        let runs = many(0, 8, 1.0);
        let runs: Vec<(&str, String)> = runs.iter().map(|(name, text)| (name.as_str(), text.clone())).collect();
        side(folder.path(), "gpu", &runs)
    };
    let first = written("first", 20, 1.05);
    let (bad, good) = (written("bad", 21, 1.05), written("good", 22, 1.0));
    for (again, outcome, verdict) in [
        (vec![], "rerun-needed", "fail"),
        (vec![("a", &bad)], "confirmed", "fail"),
        (vec![("a", &good)], "rerun-needed", "incomplete"),
        (vec![("a", &good), ("b", &good)], "not-confirmed", "warn"),
        (vec![("b", &good), ("a", &bad)], "node", "fail"),
        (vec![("a", &good), ("b", &bad)], "confirmed", "fail"),
    ] {
        let again: Vec<String> =
            again.iter().flat_map(|(node, run)| ["--rerun".to_owned(), format!("{node}={run}")]).collect();
        let mut arguments = vec!["run", "--baseline", &gpu, "--candidate", &first, "--runs", "--node", "a"];
        arguments.extend(again.iter().map(String::as_str));
        let (_, text, result) = gate(&arguments);
        assert_eq!((&result["confirm"]["outcome"], &result["verdict"]), (&outcome.into(), &verdict.into()), "{text}");
        assert!(codes(&result).contains(&"reruns"), "{text}");
    }
}

#[test]
fn one_dump_of_several_that_fails_is_a_rate() {
    let case = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/onerun/ok-micro-steps/npu/dump");
    let folder = TempDir::new().expect("a folder");
    let copy = |name: &str, is_wrong: bool| {
        for step in fs::read_dir(&case).expect("steps").flatten().filter(|step| step.file_name() == "step0") {
            for file in fs::read_dir(step.path().join("rank0")).expect("files").flatten() {
                let to = folder.path().join(name).join("step0/rank0");
                fs::create_dir_all(&to).expect("made");
                let mut text = fs::read_to_string(file.path()).expect("text");
                if is_wrong && file.file_name() == "dump.json" {
                    let mut dump: Value = serde_json::from_str(&text).expect("JSON");
                    spoil(&mut dump["data"]);
                    text = dump.to_string();
                }
                fs::write(to.join(file.file_name()), text).expect("written");
            }
        }
    };
    ["gpu/one", "npu/one", "npu/two"].into_iter().for_each(|name| copy(name, false));
    copy("npu/three", true);
    let [gpu, npu] = ["gpu", "npu"].map(|side| folder.path().join(side).display().to_string());
    let (_, text, result) = gate(&["run", &gpu, &npu, "--runs"]);
    assert_eq!(result["verdict"], "fail", "{text}");
    assert!(codes(&result).contains(&"not-repeatable") && text.contains("three"), "{text}");
    let dump = result["checks"]
        .as_array()
        .and_then(|checks| checks.iter().find(|check| check["id"] == "dump"))
        .expect("a check");
    assert_eq!(dump["samples"], serde_json::json!({"n": 1, "m": 3, "failed": 1}));
}

/// Makes the outputs of the forward pass half as large again.
fn spoil(data: &mut Value) {
    for (name, operation) in
        data.as_object_mut().expect("operations").iter_mut().filter(|(name, _)| name.contains("forward"))
    {
        for output in operation["output"].as_array_mut().into_iter().flatten() {
            for key in ["Max", "Min", "Mean", "Norm"] {
                let value = output[key].as_f64().unwrap_or_default();
                output[key] = (1.5 * value).into();
            }
        }
        let _named = name;
    }
}

#[test]
fn a_limit_is_found_from_past_runs() {
    let folder = TempDir::new().expect("a folder");
    let nights = folder.path().join("nights.csv");
    let rows = |count: u64| {
        (0..count).map(|night| format!("{night},{:.4}\n", 0.9 + 0.01 * noise(night, 7))).collect::<String>()
    };
    fs::write(&nights, format!("night,score\n{}", rows(30))).expect("written");
    let name = nights.display().to_string();
    let (code, text, _) = gate(&["calibrate", &name, "--metric", "score", "--gate", "0.895", "--json"]);
    let found: Value = serde_json::from_str(&text).expect("JSON");
    assert!(code == 0 && found["n"] == 30 && found["inside"] == true, "{text}");
    let (_, text, _) = gate(&["calibrate", &name, "--metric", "score", "--gate", "0.895"]);
    assert!(text.contains("lies inside the scatter"), "{text}");
    fs::write(&nights, format!("night,score\n{}", rows(7))).expect("written");
    let (code, text, _) = gate(&["calibrate", &name, "--metric", "score"]);
    assert!(code == 1 && text.contains("samples-too-few-runs"), "{text}");
    let (code, text, _) = gate(&["calibrate", &name, "--metric", "loss"]);
    assert!(code == 2 && text.contains("no column `loss`"), "{text}");
}

#[test]
fn suites_are_renewed_where_they_agree_and_say_why() {
    let folder = TempDir::new().expect("a folder");
    for (suite, factor) in [("same", 1.0), ("moved", 1.05)] {
        for (name, first, factor) in [("old", 0, 1.0), ("new", 20, factor)] {
            let runs = many(first, 6, factor);
            let runs: Vec<(&str, String)> = runs.iter().map(|(name, text)| (name.as_str(), text.clone())).collect();
            side(&folder.path().join(suite), name, &runs);
        }
    }
    let request = folder.path().join("renew.yml");
    let suite = |name: &str, of: &str, because: &str| {
        format!("  - {{suite: {name}, baseline: {of}/old, candidate: {of}/new{because}}}\n")
    };
    let because = ", because: new base image";
    let text =
        format!("renew:\n{}{}{}", suite("a", "same", because), suite("b", "moved", because), suite("c", "same", ""));
    fs::write(&request, text).expect("written");
    let (code, text, _) = gate(&["baseline", "renew", &request.display().to_string(), "--json"]);
    let found: Value = serde_json::from_str(&text).expect("JSON");
    let accepted: Vec<bool> = (0..3).map(|suite| found["suites"][suite]["accepted"] == true).collect();
    assert_eq!((code, accepted), (1, vec![true, false, false]), "{text}");
    assert!(found["suites"][1]["reason"].as_str().is_some_and(|reason| reason.contains("sample-shift")), "{text}");
}

/// Numbers of a rule whose runs are drawn from one normal distribution, the candidate's shifted.
fn drawn(draw: u64, [n, m]: [u64; 2], shift: f64) -> RuleNumbers {
    let normal = |run: u64| {
        // The sum of twelve uniform numbers has the variance of four on -1 to 1.
        (0..12).map(|part| noise(run, part)).sum::<f64>() / 2.0
    };
    let of = |first: u64, count: u64, shift: f64| {
        (first..first + count).map(|run| Some(100.0 + shift + normal(draw * 64 + run))).collect::<Vec<_>>()
    };
    RuleNumbers {
        rule: "level",
        of_runs: PerSide { baseline: of(0, n, 0.0), candidate: of(32, m, shift) },
        scale: NumberScale::Relative,
        matters: 1e-6,
        better: None,
        is_main: true,
        target: None,
    }
}

/// The same draws as pairs of the same seeds, which share most of their spread.
fn drawn_pairs(draw: u64, pairs: u64, shift: f64) -> (RuleNumbers, SampleRuns) {
    let mut numbers = drawn(draw, [pairs, pairs], shift);
    for side in Side::BOTH {
        for (pair, value) in (0..).zip(numbers.of_runs[side].iter_mut().flatten()) {
            *value += 5.0 * noise(draw * 64 + 63, pair);
        }
    }
    let pairs = (0..usize::try_from(pairs).expect("few")).map(|pair| [pair, pair]).collect();
    (numbers, SampleRuns { pairs, ..SampleRuns::default() })
}

/// Numbers and runs of a draw with a shift.
type Draws<'a> = dyn Fn(u64, f64) -> (RuleNumbers, SampleRuns) + Sync + 'a;

/// Draws of healthy runs, and of shifted ones.
const DRAWS: u64 = 1000;

#[test]
fn healthy_runs_fail_less_than_once_in_a_hundred_and_the_detectable_shift_is_found_nine_times_in_ten() {
    let policy = SamplesPolicy::default();
    let setting = SampleSetting { policy: &policy, profile: Profile::Default };
    let apart = |sides: [u64; 2]| move |draw, shift| (drawn(draw, sides, shift), SampleRuns::default());
    let paired = |pairs: u64| move |draw, shift| drawn_pairs(draw, pairs, shift);
    let kinds: [(&str, &Draws<'_>); 9] = [
        ("3+3", &apart([3, 3])),
        ("5+5", &apart([5, 5])),
        ("6+4", &apart([6, 4])),
        ("7+7", &apart([7, 7])),
        ("10+10", &apart([10, 10])),
        ("10+1", &apart([10, 1])),
        ("6 pairs", &paired(6)),
        ("10 pairs", &paired(10)),
        ("12 pairs", &paired(12)),
    ];
    for (kind, of) in kinds {
        let rule = |draw: u64, shift: f64| {
            let (numbers, runs) = of(draw, shift);
            decide::decide_all(&[("loss", &numbers)], &runs, setting).remove(0).rule
        };
        let fails = |draw: &u64, shift: f64| rule(*draw, shift).verdict == Verdict::Fail;
        let alarms = (0..DRAWS).into_par_iter().filter(|draw| fails(draw, 0.0)).count();
        // Ten in a thousand are allowed; chance gives twenty once in three hundred tests.
        assert!(alarms <= 20, "{kind}: {alarms} of {DRAWS} healthy draws fail");
        // The smallest shift of the median draw, which is one of the relative numbers at 100.
        let mut detectable: Vec<f64> =
            (0..101_u64).into_par_iter().map(|draw| 100.0 * rule(draw, 0.0).detectable.expect("tested").0).collect();
        detectable.sort_by(f64::total_cmp);
        let found = (0..DRAWS).into_par_iter().filter(|draw| fails(draw, detectable[50])).count();
        println!("{kind}: {alarms} alarms, {found} found of {DRAWS}");
        assert!((850..=950).contains(&found), "{kind}: {found} of {DRAWS} shifts of {} found", detectable[50]);
    }
}

#[test]
fn published_trainings_are_judged_right() {
    let cases = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/fixtures/samples");
    let Ok(cases) = fs::read_dir(&cases) else {
        println!("no shared fixtures beside the checkout: nothing was looked at");
        return;
    };
    let cases: Vec<PathBuf> = cases.flatten().map(|case| case.path()).filter(|case| case.is_dir()).collect();
    let wrong: Vec<String> = cases.par_iter().filter_map(|case| fault(case)).collect();
    println!("{} cases were looked at", cases.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Fault of a case that is judged in one call; `None` where there is none.
fn fault(case: &Path) -> Option<String> {
    let spec: Value = serde_json::from_slice(&fs::read(case.join("case.json")).ok()?).ok()?;
    let truth = &spec["truth"];
    if spec["call"] != "runs" || truth["exit"] == 2 {
        return None;
    }
    let [gpu, npu] = ["baseline", "candidate"].map(|side| case.join(side).display().to_string());
    let mut arguments = vec!["run", "--baseline", &gpu, "--candidate", &npu, "--runs"];
    let config = spec["config"].as_str().map(|name| case.join(name).display().to_string());
    arguments.extend(config.iter().flat_map(|config| ["--config", config.as_str()]));
    let (_, text, result) = gate(&arguments);
    let id = spec["check"].as_str().unwrap_or("loss");
    let check = result["checks"].as_array().into_iter().flatten().find(|check| check["id"] == id);
    let verdict =
        check.map(|check| &check["verdict"]).filter(|verdict| **verdict != "skipped").unwrap_or(&result["verdict"]);
    let is_allowed = truth["verdicts"].as_array().into_iter().flatten().any(|allowed| allowed == verdict);
    let wanted = truth["codes"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let missing: Vec<&str> = wanted.filter(|code| !codes(&result).contains(code)).collect();
    (!is_allowed || !missing.is_empty()).then(|| format!("{}: {verdict}, without {missing:?}\n{text}", case.display()))
}

#[test]
fn what_does_not_go_with_several_runs_is_refused() {
    let folder = TempDir::new().expect("a folder");
    let runs = many(0, 3, 1.0);
    let runs: Vec<(&str, String)> = runs.iter().map(|(name, text)| (name.as_str(), text.clone())).collect();
    let gpu = side(folder.path(), "gpu", &runs);
    for (more, said) in [
        (vec![&*gpu, &gpu, "--runs", "--reference", &gpu], "is for one run against one"),
        (vec!["--candidate", &gpu, "--runs", "--health"], "several runs are judged against a baseline"),
        (vec![&gpu, &gpu, "--runs", "--rerun", "node"], "is not NODE=LOCATION"),
    ] {
        let (code, text, _) = gate(&[vec!["run"], more].concat());
        assert!(code == 2 && text.contains(said), "{said}: {code} {text}");
    }
}
