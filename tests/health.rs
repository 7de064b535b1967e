//! One run without a baseline: every case with a known truth, who may ask for it, and what its documents say.
#![allow(clippy::indexing_slicing, reason = "a test that indexes beyond what is there fails, as it should")]

use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use serde_json::{Value, json};
use tempfile::TempDir;

fn cases() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/health")
}

fn gate(arguments: &[&str], out: &Path) -> (i32, String, Value) {
    let mut command = Command::cargo_bin("precision-gate").expect("a binary");
    let variables: Vec<String> = std::env::vars().map(|(name, _)| name).filter(|name| is_of_ci(name)).collect();
    for name in &variables {
        command.env_remove(name);
    }
    let output =
        command.args(arguments).arg("--out").arg(out).args(["--today", "2026-11-23"]).output().expect("it runs");
    let text = [output.stdout, output.stderr].map(|part| String::from_utf8_lossy(&part).into_owned()).concat();
    let result = fs::read(out.join("result.json")).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
    (output.status.code().expect("a code"), text, result.unwrap_or(Value::Null))
}

fn is_of_ci(name: &str) -> bool {
    ["CI", "GITHUB_", "GITLAB_", "INPUT_"].iter().any(|start| name.starts_with(start))
}

fn alone(candidate: &Path, more: &[&str], out: &Path) -> (i32, String, Value) {
    let candidate = candidate.display().to_string();
    let arguments: Vec<&str> = ["run", "--candidate", &candidate, "--health"].iter().chain(more).copied().collect();
    gate(&arguments, out)
}

fn has(result: &Value, code: &str) -> bool {
    result["findings"].as_array().is_some_and(|findings| findings.iter().any(|finding| finding["code"] == code))
}

/// Writes a dump of one step and rank with these operations.
fn dump(folder: &Path, rank: Option<u64>, operations: &[(&str, Value)]) {
    let folder = folder.join("step0").join(rank.map_or("proc1".to_owned(), |rank| format!("rank{rank}")));
    fs::create_dir_all(&folder).expect("a folder");
    let data: serde_json::Map<String, Value> =
        operations.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    let text =
        json!({"task": "statistics", "level": "L1", "framework": "pytorch", "dump_data_dir": null, "data": data});
    // Python writes these words without quotation marks.
    let text = text
        .to_string()
        .replace("\"<nan>\"", "NaN")
        .replace("\"<inf>\"", "Infinity")
        .replace("\"<-inf>\"", "-Infinity");
    fs::write(folder.join("dump.json"), text).expect("written");
    fs::write(folder.join("stack.json"), "{}").expect("written");
    fs::write(folder.join("construct.json"), "{}").expect("written");
}

fn tensor(max: impl Into<Value>, min: impl Into<Value>) -> Value {
    json!({"type": "torch.Tensor", "dtype": "torch.float32", "shape": [4, 4], "Max": max.into(), "Min": min.into(),
           "Mean": 0.5, "Norm": 2.0, "requires_grad": false})
}

fn call(inputs: &[Value], output: Value) -> Value {
    json!({"input_args": inputs, "input_kwargs": {}, "output": [output]})
}

#[test]
fn every_case_gets_its_verdict_and_its_culprit() {
    let mut judged = 0;
    for entry in fs::read_dir(cases()).expect("cases").flatten() {
        let Ok(text) = fs::read(entry.path().join("case.json")) else { continue };
        let case: Value = serde_json::from_slice(&text).expect("JSON");
        let (name, truth, out) = (entry.file_name(), &case["truth"], TempDir::new().expect("a folder"));
        let (baseline, candidate) = (entry.path().join("gpu"), entry.path().join("npu"));
        let has_baseline = baseline.exists();
        let (code, text, result) = match has_baseline {
            true => {
                let sides = [baseline, candidate].map(|side| side.display().to_string());
                gate(&["run", &sides[0], &sides[1]], out.path())
            }
            false => alone(&candidate, &[], out.path()),
        };
        assert_eq!(result["verdict"], truth["verdict"], "{name:?}: {text}");
        assert_eq!(code, i32::from(truth["verdict"] == "fail"), "{name:?}: {text}");
        assert_eq!(result["mode"] == "health", !has_baseline, "{name:?}");
        assert_eq!(result["baseline"].is_null(), !has_baseline, "{name:?}");
        assert_eq!(has(&result, "no-baseline"), !has_baseline, "{name:?}");
        match truth["culprit"].as_object() {
            Some(wanted) => {
                wanted.iter().for_each(|(key, value)| assert_eq!(result["culprit"][key], *value, "{name:?}"))
            }
            None => assert!(result["culprit"].is_null(), "{name:?}: {}", result["culprit"]),
        }
        judged += 1;
    }
    assert_eq!(judged, 12);
}

#[test]
fn units_list_what_overflow_check_names() {
    for case in ["ok", "ok-additive-mask", "ok-log-zero-where", "nan-behind-mask", "nan-step1-only", "inf-bf16-product"]
    {
        let out = TempDir::new().expect("a folder");
        let (.., result) = alone(&cases().join(case).join("npu"), &[], out.path());
        let spec: Value =
            serde_json::from_slice(&fs::read(cases().join(case).join("case.json")).expect("a file")).expect("JSON");
        let units =
            result["checks"].as_array().expect("checks").iter().find(|check| check["id"] == "dump").expect("a check");
        for unit in units["units"].as_array().expect("units") {
            let named = &spec["truth"]["msprobe_overflow"][format!("step{}", unit["step"])]["rank_0"];
            let wanted = if named.is_null() { json!([]) } else { named.clone() };
            assert_eq!(unit["msprobe_overflow"], wanted, "{case}");
        }
    }
}

#[test]
fn only_who_asks_for_it_is_judged_without_a_baseline() {
    let (out, npu) = (TempDir::new().expect("a folder"), cases().join("ok/npu").display().to_string());
    let (code, text, _) = gate(&["run", "--candidate", &npu], out.path());
    assert!(code == 2 && text.contains("--health"), "{code}: {text}");
    let (code, text, _) = gate(&["run", "--candidate", &npu, "--health", "--profile", "release"], out.path());
    assert!(code == 2 && text.contains("release"), "{code}: {text}");
    for flag in ["--noise", "--reference"] {
        let (code, text, _) = gate(&["run", "--candidate", &npu, "--health", flag, &npu], out.path());
        assert!(code == 2 && text.contains(flag) && text.contains("no baseline is named"), "{code}: {text}");
    }
    let (code, text, _) = gate(&["run", "--candidate", &npu, "--health", "--baseline", "no/such/folder"], out.path());
    assert_eq!(code, 2, "a baseline that is named has to be there: {text}");
    let policy = out.path().join("policy.yml");
    fs::write(&policy, "health: true\n").expect("written");
    let policy = policy.display().to_string();
    let (code, text, result) = gate(&["run", "--candidate", &npu, "--config", &policy], out.path());
    assert!(code == 0 && result["mode"] == "health", "{code}: {text}");
    let (code, text, result) = gate(&["run", &npu, "--health"], out.path());
    assert!(code == 0 && result["mode"] == "health", "{code}: {text}");
    let gpu = cases().join("pair-nan-candidate-only/gpu").display().to_string();
    let (.., result) = gate(&["run", "--candidate", &npu, "--baseline", &gpu, "--health"], out.path());
    assert!(result["mode"].is_null() && result["baseline"].is_object(), "a baseline that is there is compared with");
}

#[test]
fn documents_say_that_there_is_no_baseline() {
    for (case, language) in
        [("ok", "en"), ("ok", "zh"), ("nan-behind-mask", "en"), ("nan-behind-mask", "zh"), ("curve-nan", "zh")]
    {
        let out = TempDir::new().expect("a folder");
        let (_, terminal, _) = alone(&cases().join(case).join("npu"), &["--lang", language], out.path());
        let read = |name: &str| fs::read_to_string(out.path().join(name)).unwrap_or_default();
        let word = if language == "zh" { "没有标杆" } else { "baseline" };
        for text in [terminal, read("summary.md"), read("report.html"), read("junit.xml")] {
            assert!(text.contains(word), "{case} {language}");
        }
        let again = TempDir::new().expect("a folder");
        let result = out.path().join("result.json").display().to_string();
        let (code, text, _) = gate_report(&result, again.path());
        assert_eq!(code, 0, "{case}: {text}");
    }
}

fn gate_report(result: &str, out: &Path) -> (i32, String, Value) {
    let mut command = Command::cargo_bin("precision-gate").expect("a binary");
    let output = command.args(["report", result, "--out"]).arg(out).output().expect("it runs");
    let text = [output.stdout, output.stderr].map(|part| String::from_utf8_lossy(&part).into_owned()).concat();
    (output.status.code().expect("a code"), text, Value::Null)
}

#[test]
fn a_value_from_outside_is_told_from_one_that_is_born() {
    let (folder, out) = (TempDir::new().expect("a folder"), TempDir::new().expect("a folder"));
    let broken = || tensor("<nan>", "<nan>");
    dump(
        folder.path(),
        None,
        &[
            ("Tensor.add.0.forward", call(&[tensor(1.0, 0.0), broken()], broken())),
            ("Torch.mul.0.forward", call(&[broken()], broken())),
        ],
    );
    let (_, text, result) = alone(folder.path(), &[], out.path());
    assert_eq!(
        (&result["culprit"]["op"], &result["culprit"]["kind"]),
        (&json!("Tensor.add.0.forward"), &json!("input")),
        "{text}"
    );
    assert_eq!(result["verdict"], "fail");
}

#[test]
fn memory_that_nobody_wrote_is_blamed_only_where_it_is_used() {
    let (folder, out) = (TempDir::new().expect("a folder"), TempDir::new().expect("a folder"));
    let broken = || tensor("<nan>", "<nan>");
    let made = ("Torch.empty_like.0.forward", call(&[tensor(1.0, 0.0)], broken()));
    let copied = ("Tensor.copy_.0.forward", call(&[broken(), tensor(1.0, 0.0)], tensor(1.0, 0.0)));
    dump(folder.path(), None, &[made.clone(), copied]);
    let (_, text, result) = alone(folder.path(), &[], out.path());
    assert!(result["verdict"] == "pass" && result["culprit"].is_null(), "{text}");
    dump(folder.path(), None, &[made, ("Tensor.add.0.forward", call(&[broken(), tensor(1.0, 0.0)], broken()))]);
    let (_, text, result) = alone(folder.path(), &[], out.path());
    assert!(result["verdict"] == "fail" && result["culprit"]["op"] == "Tensor.add.0.forward", "{text}");
}

#[test]
fn saturation_warns_and_gives_way_to_nan() {
    let (folder, out) = (TempDir::new().expect("a folder"), TempDir::new().expect("a folder"));
    let full = || tensor(3.402_823_466_385_288_6e38, -1.0);
    let saturated = ("Torch.mul.0.forward", call(&[tensor(1e30, 0.0), tensor(1e30, 0.0)], full()));
    dump(folder.path(), None, &[saturated.clone(), ("Torch.relu.0.forward", call(&[full()], full()))]);
    let (code, text, result) = alone(folder.path(), &[], out.path());
    assert!(code == 0 && result["verdict"] == "warn" && result["culprit"]["kind"] == "saturation", "{text}");
    assert!(has(&result, "dump-saturated") && !has(&result, "dump-non-finite"), "{text}");
    dump(folder.path(), None, &[saturated, ("Torch.log.0.forward", call(&[tensor(1.0, -1.0)], tensor(0.0, "<nan>")))]);
    let (.., result) = alone(folder.path(), &[], out.path());
    assert_eq!(result["culprit"]["kind"], "non-finite");
    assert!(has(&result, "dump-non-finite") && !has(&result, "dump-saturated"));
}

#[test]
fn a_softmax_of_masked_rows_is_blamed_and_the_mask_is_named() {
    let (folder, out) = (TempDir::new().expect("a folder"), TempDir::new().expect("a folder"));
    let mask = || tensor(1.0, "<-inf>");
    dump(
        folder.path(),
        None,
        &[
            ("Tensor.masked_fill.0.forward", call(&[tensor(1.0, 0.0)], mask())),
            ("Functional.softmax.0.forward", call(&[mask()], tensor("<nan>", "<nan>"))),
        ],
    );
    let (_, text, result) = alone(folder.path(), &[], out.path());
    assert_eq!(result["culprit"]["op"], "Functional.softmax.0.forward", "{text}");
    assert_eq!(result["culprit"]["mask"], "Tensor.masked_fill.0.forward");
}

#[test]
fn a_collective_leads_to_the_rank_that_makes_the_nan() {
    let (folder, out) = (TempDir::new().expect("a folder"), TempDir::new().expect("a folder"));
    let (sound, broken) = (|| tensor(1.0, 0.0), || tensor("<nan>", "<nan>"));
    let reduce = |input: Value| ("Distributed.all_reduce.0.forward", call(&[input], broken()));
    dump(folder.path(), Some(0), &[reduce(sound()), ("Torch.mul.0.forward", call(&[broken()], broken()))]);
    let births =
        [("Torch.add.0.forward", call(&[sound()], sound())), ("Torch.log.0.forward", call(&[sound()], broken()))];
    dump(folder.path(), Some(1), &[births[0].clone(), births[1].clone(), reduce(broken())]);
    let (_, text, result) = alone(folder.path(), &[], out.path());
    assert_eq!(
        (&result["culprit"]["op"], &result["culprit"]["rank"]),
        (&json!("Torch.log.0.forward"), &json!(1)),
        "{text}"
    );
    let units =
        result["checks"].as_array().expect("checks").iter().find(|check| check["id"] == "dump").expect("a check");
    assert_eq!(units["units"][0]["inherited_from"]["rank"], 1);
    assert!(units["units"].as_array().expect("units").iter().all(|unit| unit["verdict"] == "fail"));
}

#[test]
fn a_nan_that_only_the_candidate_makes_fails_a_comparison_even_where_it_goes_nowhere() {
    let (gpu, npu, out) =
        (TempDir::new().expect("a folder"), TempDir::new().expect("a folder"), TempDir::new().expect("a folder"));
    let linear = ("Functional.linear.0.forward", call(&[tensor(1.0, 0.0)], tensor(2.0, 0.0)));
    dump(gpu.path(), None, std::slice::from_ref(&linear));
    dump(npu.path(), None, &[linear, ("Torch.log.0.forward", call(&[tensor(1.0, -1.0)], tensor(0.0, "<nan>")))]);
    let sides = [gpu.path(), npu.path()].map(|side| side.display().to_string());
    let (_, text, result) = gate(&["run", &sides[0], &sides[1]], out.path());
    assert!(result["verdict"] == "fail" && result["culprit"]["op"] == "Torch.log.0.forward", "{text}");
}

#[test]
fn an_answer_of_overflow_check_is_shown_and_never_judged() {
    let (folder, out) = (TempDir::new().expect("a folder"), TempDir::new().expect("a folder"));
    dump(folder.path(), None, &[("Functional.linear.0.forward", call(&[tensor(1.0, 0.0)], tensor(2.0, 0.0)))]);
    let answer = json!({"rank_0": [{"op_name": "Torch.exp.3.forward", "data_info": {}, "construct_info": [], "stack_info": []}]});
    fs::write(folder.path().join("anomaly_analyze_1.json"), answer.to_string()).expect("written");
    let (_, text, result) = alone(folder.path(), &[], out.path());
    assert!(result["verdict"] == "pass" && result["culprit"].is_null(), "{text}");
    let shown =
        result["findings"].as_array().expect("findings").iter().find(|one| one["code"] == "dump-overflow-check");
    assert!(shown.is_some_and(|one| one["message"].as_str().is_some_and(|text| text.contains("Torch.exp.3.forward"))));
}

#[test]
fn a_dump_without_numbers_and_an_evaluation_are_incomplete() {
    let (folder, out) = (TempDir::new().expect("a folder"), TempDir::new().expect("a folder"));
    dump(folder.path(), None, &[]);
    let (code, text, result) = alone(folder.path(), &[], out.path());
    assert!(code == 1 && result["verdict"] == "incomplete", "{text}");
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/evaluation/npu");
    let (code, text, result) = alone(&example, &[], out.path());
    assert!(code == 1 && result["verdict"] == "incomplete" && has(&result, "needs-baseline"), "{text}");
}

/// Writes a loss curve, one value a step.
fn curve(folder: &Path, values: &[(f64, Option<f64>)]) {
    let line = |(step, (loss, norm)): (usize, &(f64, Option<f64>))| {
        let norm = norm.map_or(String::new(), |norm| format!(", \"grad_norm\": {}", number(norm)));
        format!("{{\"step\": {}, \"loss\": {}{norm}}}\n", step + 1, number(*loss))
    };
    fs::write(folder.join("log.jsonl"), values.iter().enumerate().map(line).collect::<String>()).expect("written");
}

fn number(value: f64) -> String {
    if value.is_nan() { "NaN".to_owned() } else { value.to_string() }
}

#[test]
fn curves_fail_where_they_stay_broken() {
    let falling = |step: u32| 3.0 - f64::from(step) * 0.01 + f64::from(step % 7) * 0.003;
    let values = |change: &dyn Fn(u32, f64) -> f64| -> Vec<(f64, Option<f64>)> {
        (0..60).map(|step| (change(step, falling(step)), Some(1.0 + f64::from(step % 5)))).collect()
    };
    let mut hidden = values(&|_, value| value);
    hidden[40..].iter_mut().for_each(|point| *point = (0.0, Some(f64::NAN)));
    let late = |from: u32, change: &dyn Fn(f64) -> f64| {
        values(&|step, value| if step >= from { change(value) } else { value })
    };
    for (name, points, verdict, (code, rule)) in [
        ("sound", values(&|_, value| value), "pass", ("", "")),
        ("a spike", values(&|step, value| if step == 30 { 90.0 } else { value }), "pass", ("", "")),
        ("a NaN that comes back", values(&|step, value| if step == 30 { f64::NAN } else { value }), "pass", ("", "")),
        ("NaN at the end", late(59, &|_| f64::NAN), "fail", ("curve-non-finite", "lasting_non_finite")),
        ("frozen", late(55, &|_| 2.5), "fail", ("curve-frozen", "standstill")),
        ("hidden", hidden, "fail", ("curve-frozen", "standstill")),
        ("exploding", late(41, &|value| value * 9.0), "fail", ("curve-exploding", "growth")),
    ] {
        let (folder, out) = (TempDir::new().expect("a folder"), TempDir::new().expect("a folder"));
        curve(folder.path(), &points);
        let (_, text, result) = alone(folder.path(), &[], out.path());
        assert_eq!(result["verdict"], verdict, "{name}: {text}");
        assert!(code.is_empty() || has(&result, code), "{name}: {text}");
        let units = result["checks"].as_array().expect("checks").iter().filter_map(|check| check["units"].as_array());
        let mut rules = units.flatten().filter_map(|unit| unit["rules"].as_array()).flatten();
        assert!(
            rule.is_empty() || rules.any(|one| one["rule"] == rule && one["verdict"] == "fail"),
            "{name}: {rule}: {result}"
        );
    }
}

#[test]
fn packs_and_checkpoints_are_judged_alone() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/config-check/identical-gpu-vs-npu/npu.zip");
    let out = TempDir::new().expect("a folder");
    let (code, text, result) = alone(&root, &[], out.path());
    assert!(code == 0 && ["pass", "warn"].iter().any(|word| result["verdict"] == *word), "{text}");
    assert!(has(&result, "determinism-off") == (result["verdict"] == "warn"), "{text}");
}

#[test]
fn the_example_is_judged_as_its_readme_says() {
    let (out, example) =
        (TempDir::new().expect("a folder"), Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/health/npu"));
    let (code, text, result) = alone(&example, &[], out.path());
    assert_eq!((code, &result["culprit"]["op"]), (1, &json!("Torch.log.0.forward")), "{text}");
    assert!(text.contains("makes NaN or infinity: its input goes down to"), "{text}");
    let comment = fs::read_to_string(out.path().join("summary.md")).expect("a comment");
    assert!(comment.contains("names `Tensor.masked_fill.0.forward`; it counts -inf"), "{comment}");
}

#[test]
fn a_run_that_learns_nothing_fails_and_a_rounded_zero_does_not() {
    let log = |norm: &dyn Fn(u64) -> String, rate: &dyn Fn(u64) -> String| -> String {
        (1..=20_u64)
            .map(|step| {
                let loss = 2.0 + 1.0 / f64::from(u32::try_from(step).expect("small"));
                format!(
                    "{{'loss': {loss:.4}, 'grad_norm': {}, 'learning_rate': {}, 'epoch': 0.{step:02}}}\n",
                    norm(step),
                    rate(step)
                )
            })
            .collect()
    };
    let moving = |step: u64| format!("1.{step:02}");
    for (text, code) in [
        (log(&|_| "0.0".into(), &moving), Some("gradient-zero")),
        (log(&moving, &|_| "0.0".into()), Some("learning-rate-zero")),
        (log(&moving, &|step| if step == 1 || step == 20 { "0.0".into() } else { moving(step) }), None),
        (log(&moving, &|_| "0.0000".into()), None),
    ] {
        let folder = TempDir::new().expect("a folder");
        fs::create_dir_all(folder.path().join("run")).expect("made");
        fs::write(folder.path().join("run/train.log"), text).expect("written");
        let (exit, text, result) = alone(&folder.path().join("run"), &[], &folder.path().join("out"));
        match code {
            Some(code) => assert!(exit == 1 && has(&result, code), "{code}: {text}"),
            None => assert!(!has(&result, "gradient-zero") && !has(&result, "learning-rate-zero"), "{text}"),
        }
    }
}
