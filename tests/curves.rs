//! Training curves against cases whose truth is known, and against every way a gate could be blind.
#![allow(clippy::indexing_slicing, reason = "a test may panic")]
#![allow(clippy::print_stderr, reason = "a skipped test says so")]

use crate::data;
mod evidence;
mod findings;
mod hiding;
mod memory;
mod parting;
mod patterns;
mod reading;
mod rl;
mod sources;
mod steps;
use crate::changes::tree;

use std::path::{Path, PathBuf};

use data::beside;
use precision_gate::gate::{Quiet, Request, run};
use precision_gate::judge::register;
use precision_gate::msprobe::dump::Matching;
use precision_gate::policy::Policy;
use precision_gate::policy::location::TrustedLocation;
use precision_gate::report::escape::TextTarget;
use precision_gate::report::messages::Language;
use precision_gate::report::writer::Writer;
use precision_gate::report::{RunOutcome, mermaid, plot, writer};
use precision_gate::result::GateResult;
use precision_gate::result::unit::{CurveUnit, Unit};
use precision_gate::verdict::{CheckId, Verdict};
use serde_json::Value;

fn judge(baseline: &Path, candidate: &Path, policy: &str) -> GateResult {
    let codes: Vec<&str> = register::all_rules().map(|rule| rule.code).collect();
    let request = Request {
        baseline: TrustedLocation::own(baseline.display().to_string()),
        several: Default::default(),
        candidate: candidate.display().to_string(),
        checks: vec![CheckId::Loss],
        policy: Policy::parse("policy.yml", policy, &codes).expect("a sound policy").trust_own_files(),
        matching: Matching::default(),
    };
    let RunOutcome { mut result, .. } = run(&request, &Quiet).expect("judged");
    for language in [Language::Zh, Language::En] {
        let writer = Writer::from_result(&result, language, TextTarget::Plain);
        writer::write_finding_texts(&mut result.findings, &writer).expect("every finding has its text");
    }
    result
}

fn units(result: &GateResult) -> Vec<&CurveUnit> {
    let all = result.checks.iter().flat_map(|check| &check.units);
    all.filter_map(|unit| if let Unit::Curve(unit) = unit { Some(unit.as_ref()) } else { None }).collect()
}

/// Whether a rule of any curve warns or fails.
fn is_broken(result: &GateResult, rule: &str) -> bool {
    units(result).iter().flat_map(|unit| &unit.rules).any(|one| one.rule == rule && one.verdict > Verdict::Pass)
}

fn loss(result: &GateResult) -> &CurveUnit {
    units(result).into_iter().find(|unit| unit.metric == "loss").expect("a loss was paired")
}

fn codes(result: &GateResult) -> Vec<&str> {
    result.findings.iter().map(|finding| finding.code.as_str()).collect()
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).expect("readable")).expect("JSON")
}

fn folders(root: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root).expect("a folder of cases");
    let mut found: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    found.sort();
    found
}

fn made_cases() -> Vec<PathBuf> {
    folders(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/loss"))
}

/// The real pairs, which are other projects' data and lie beside the checkout, not in it.
fn real_pairs() -> Vec<PathBuf> {
    beside("loss-real").map_or_else(Vec::new, |root| folders(&root))
}

fn real_files(case: &Path, pair: &Value) -> (PathBuf, PathBuf) {
    let file = |side: &str| case.join(pair[side]["file"].as_str().expect("a file name"));
    (file("baseline"), file("candidate"))
}

#[test]
fn made_curves_get_their_verdict() {
    for case in made_cases() {
        let truth = &json(&case.join("case.json"))["truth"];
        let result = judge(&case.join("gpu"), &case.join("npu"), "");
        let expected = truth["verdict"].as_str().expect("a verdict");
        let verdict = result.checks[0].verdict;
        let right = verdict.as_str() == expected || (expected == "pass" && verdict == Verdict::Warn);
        assert!(right, "{}: {verdict:?}, truth {expected}: {:?}", case.display(), codes(&result));
        if let Some(step) = truth["step"].as_u64() {
            assert_eq!(loss(&result).first_diverging_step, Some(step), "{}", case.display());
        }
    }
}

#[test]
fn measures_are_those_of_the_reference() {
    for case in made_cases() {
        let expected = json(&case.join("expected/stats.json"));
        let result = judge(&case.join("gpu"), &case.join("npu"), "loss: {absolute-floor: 0}");
        let unit = loss(&result);
        let key = if expected["window_mean_rel_err"].is_null() { "mean_rel_err" } else { "window_mean_rel_err" };
        let (Some(mean), Some(rule)) = (expected[key].as_f64(), unit.rules.iter().find(|rule| rule.rule == "mean_rel"))
        else {
            continue;
        };
        let value = rule.value.expect("measured").0;
        assert!((value - mean).abs() <= 1e-9 * mean.max(1e-3), "{}: {value} against {mean}", case.display());
    }
}

#[test]
fn real_pairs_get_a_verdict_of_their_class() {
    for case in real_pairs() {
        let pair = json(&case.join("pair.json"));
        let (baseline, candidate) = real_files(&case, &pair);
        let verdict = judge(&baseline, &candidate, "").verdict.as_str();
        let allowed: &[&str] = match pair["class"].as_str().expect("a class") {
            "benign" => &["pass", "warn"],
            "benign-unseeded" => &["pass", "warn", "incomplete"],
            "defect" => &["fail", "warn"],
            "config" => &["fail"],
            "stale" => &["fail", "incomplete"],
            _ => &["fail", "warn", "incomplete"],
        };
        assert!(allowed.contains(&verdict), "{}: {verdict}", case.display());
    }
}

/// The rules other projects use, applied by us, say what those projects say.
#[test]
fn presets_say_what_their_projects_say() {
    let presets = [
        ("torchtitan-exact", "exact"),
        ("mindspeed-mm", "mm1%step"),
        ("mindspeed-llm", "llm2%step"),
        ("msprobe-guide", "msprobe1%mean"),
        ("mindformers", "mf"),
        ("rl-mae-2pct", "verl2%mae"),
        ("flagperf", "flagperf"),
    ];
    for case in real_pairs() {
        let pair = json(&case.join("pair.json"));
        let (baseline, candidate) = real_files(&case, &pair);
        let says = |preset: &str| {
            let result = judge(&baseline, &candidate, &format!("loss: {{preset: {preset}, mode: own-weights}}"));
            let unit = loss(&result).clone();
            let rule = unit.rules.into_iter().find(|rule| rule.rule == format!("preset:{preset}"));
            rule.expect("the preset was applied").verdict
        };
        for (preset, column) in presets {
            let shared_only = &pair["other_rules_pass"][column];
            // MindSpeed-LLM and torchtitan also look at what is missing, which these columns leave out.
            if preset == "mindspeed-llm" && pair["measured"]["unpaired_or_missing"].as_u64() != Some(0) {
                continue;
            }
            let expected = match shared_only.as_bool() {
                Some(true) => Verdict::Pass,
                Some(false) => Verdict::Fail,
                None => Verdict::Incomplete,
            };
            assert_eq!(says(preset), expected, "{preset} on {}", case.display());
        }
        let own = match pair["repo"].as_str() {
            Some("NVIDIA/Megatron-LM") => "megatron",
            Some("Ascend/MindSpeed-LLM") => "mindspeed-llm",
            _ => "torchtitan-exact",
        };
        assert_eq!(
            says(own).as_str(),
            pair["source_rule"]["verdict"].as_str().expect("a verdict"),
            "{own} on {}",
            case.display()
        );
    }
}

/// A margin of a thousand million would accept any candidate.
#[test]
fn a_margin_of_the_baselines_file_is_bounded() {
    let file = |factor: f64, margin: &str| {
        let losses: Vec<f64> = (0..50).map(|step| factor * (2.0 + 0.01 * f64::from(step % 7))).collect();
        format!("{{\"lm loss\": {losses:?}, \"lm loss margin\": [{margin}]}}\n")
    };
    let verdict = |factor: f64, margin: &str| {
        let (baseline, candidate) = (file(1.0, margin), file(factor, margin));
        let pair = Pair::new(&[("baseline.json", &baseline)], &[("baseline.json", &candidate)]);
        let result = pair.judge("loss: {preset: mindspeed-llm, mode: own-weights}");
        let unit = units(&result).into_iter().find(|unit| unit.metric == "loss").expect("a curve");
        let rule = unit.rules.iter().find(|rule| rule.rule == "preset:mindspeed-llm").expect("the preset was applied");
        rule.verdict
    };
    assert_eq!(verdict(1.05, "0.08"), Verdict::Pass, "the file's own");
    assert_eq!(verdict(1.05, "0.02"), Verdict::Fail);
    for margin in ["0.5", "1e9"] {
        assert_eq!((verdict(1.08, margin), verdict(1.12, margin)), (Verdict::Pass, Verdict::Fail), "{margin}");
    }
}

#[test]
fn a_preset_decides_and_ours_stands_beside_it() {
    let case = made_cases().into_iter().find(|path| path.ends_with("aligned_bf16")).expect("the case");
    let result = judge(&case.join("gpu"), &case.join("npu"), "loss: {preset: torchtitan-exact}");
    let unit = loss(&result);
    assert_eq!(unit.verdict, Verdict::Fail);
    assert!(codes(&result).contains(&"curve-preset"));
    let ours = unit.rules.iter().find(|rule| rule.rule == "mean_rel").expect("shown");
    assert_eq!((ours.verdict, ours.note("beside-preset").is_some()), (Verdict::Pass, true));
}

#[test]
fn pictures_and_diagrams_come_from_the_result_alone() {
    for case in made_cases() {
        let result = judge(&case.join("gpu"), &case.join("npu"), "");
        let text = serde_json::to_string(&result).expect("JSON");
        let again: GateResult = serde_json::from_str(&text).expect("what was written can be read");
        let (first, second) = (plot::loss::loss_png(&result, Language::Zh), plot::loss::loss_png(&again, Language::Zh));
        let picture = first.expect("drawn").expect("there is a curve");
        assert_eq!(Some(&picture), second.expect("drawn").as_ref(), "{}", case.display());
        assert!(picture.starts_with(b"\x89PNG"));
        let diagram = mermaid::loss_chart(&result, Language::En).expect("drawn").expect("there is a curve").chart;
        assert!(diagram.starts_with("xychart-beta\n"));
        assert!(
            diagram.lines().filter(|line| line.trim().starts_with("line [")).all(|line| line.matches(',').count() < 60)
        );
    }
}

/// A pair of folders that a test fills.
struct Pair(tempfile::TempDir);

impl Pair {
    fn new(baseline: &[(&str, &str)], candidate: &[(&str, &str)]) -> Self {
        let root = tempfile::tempdir().expect("a folder");
        for (side, files) in [("b", baseline), ("c", candidate)] {
            std::fs::create_dir_all(root.path().join(side)).expect("a folder");
            for (name, text) in files {
                let path = root.path().join(side).join(name);
                std::fs::create_dir_all(path.parent().expect("below the root")).expect("a folder");
                std::fs::write(path, text).expect("a file");
            }
        }
        Self(root)
    }

    fn judge(&self, policy: &str) -> GateResult {
        judge(&self.0.path().join("b"), &self.0.path().join("c"), policy)
    }
}

/// `step loss` lines of a falling curve.
fn falling(steps: std::ops::RangeInclusive<u64>, factor: f64) -> String {
    steps
        .map(|step| format!("{step} {}\n", factor * (2.0 + (-(step as f64) / 20.0).exp() + (step % 7) as f64 * 0.01)))
        .collect()
}

fn records(steps: std::ops::RangeInclusive<u64>, record: impl Fn(u64) -> String) -> String {
    steps.map(|step| record(step) + "\n").collect()
}

#[test]
fn nothing_to_compare_is_never_a_pass() {
    let whole = falling(1..=50, 1.0);
    let nan = records(1..=50, |step| format!("{step} nan"));
    for (name, baseline, candidate) in [
        ("no shared step", whole.clone(), falling(1001..=1050, 1.0)),
        ("one shared step", whole.clone(), falling(50..=99, 1.0)),
        ("all NaN on the candidate side", whole.clone(), nan.clone()),
        ("all NaN on the baseline side", nan.clone(), whole.clone()),
        ("all NaN on both sides", nan.clone(), nan.clone()),
        ("infinite", whole.clone(), records(1..=50, |step| format!("{step} inf"))),
        ("another metric", r#"{"step": 1, "loss": 1.0}"#.into(), r#"{"step": 1, "grad_norm": 1.0}"#.into()),
        ("speed alone", r#"{"step": 1, "throughput": 9}"#.into(), r#"{"step": 1, "throughput": 9}"#.into()),
        ("empty history", whole, r#"{"log_history": [], "global_step": 0}"#.into()),
    ] {
        let result = Pair::new(&[("a", &baseline)], &[("a", &candidate)]).judge("");
        assert!(result.verdict >= Verdict::Incomplete, "{name}: {:?} {:?}", result.verdict, codes(&result));
    }
}

#[test]
fn every_kind_of_damage_is_seen() {
    let baseline = falling(1..=100, 1.0);
    let change = |at: u64, to: &str| -> String {
        baseline
            .lines()
            .map(|line| if line.starts_with(&format!("{at} ")) { format!("{at} {to}\n") } else { format!("{line}\n") })
            .collect()
    };
    for (name, candidate, code) in [
        ("NaN at one step", change(50, "nan"), "curve-non-finite"),
        ("NaN at the last step", change(100, "nan"), "curve-non-finite"),
        ("a sign", falling(1..=100, -1.0), "curve-mean"),
        ("a scale", falling(1..=100, 1.02), "curve-mean"),
        ("a missing tail", falling(1..=90, 1.0), "curve-coverage"),
        ("a missing middle", falling(1..=40, 1.0) + &falling(60..=100, 1.0), "curve-coverage"),
    ] {
        let result = Pair::new(&[("loss.txt", &baseline)], &[("loss.txt", &candidate)]).judge("");
        assert!(result.verdict >= Verdict::Incomplete, "{name}: {:?}", result.verdict);
        assert!(codes(&result).contains(&code), "{name}: {:?}", codes(&result));
    }
}

#[test]
fn a_first_step_that_differs_never_passes_unasked() {
    let pair = Pair::new(&[("a", &falling(1..=60, 1.0))], &[("a", &falling(1..=60, 1.002))]);
    let result = pair.judge("");
    assert_eq!(result.verdict, Verdict::Warn);
    assert!(codes(&result).contains(&"first-step-differs"));
    assert_eq!(pair.judge("loss: {mode: own-weights}").verdict, Verdict::Pass);
    assert!(codes(&pair.judge("loss: {mode: same-weights}")).contains(&"curve-step-1"));
}

#[test]
fn other_schedules_are_the_finding_and_the_loss_is_not_judged() {
    let run = |rate: f64| {
        records(1..=60, move |step| {
            format!(r#"{{"step": {step}, "loss": {}, "lr": {}}}"#, 3.0 / step as f64, rate * step as f64)
        })
    };
    let result = Pair::new(&[("log", &run(1e-5))], &[("log", &run(1.1e-5))]).judge("");
    assert_eq!(result.verdict, Verdict::Fail);
    assert!(codes(&result).contains(&"learning-rate-differs"));
    assert_eq!(loss(&result).verdict, Verdict::Incomplete);
    assert!(
        loss(&result).rules.iter().filter(|rule| rule.rule == "mean_rel").all(|rule| rule.verdict == Verdict::Skipped)
    );
}

#[test]
fn a_frozen_or_zero_loss_behind_a_broken_gradient_fails() {
    let healthy = records(1..=60, |step| {
        format!(r#"{{"step": {step}, "loss": {}, "grad_norm": 0.5}}"#, 3.0 - step as f64 * 0.01)
    });
    for (name, loss, grad) in
        [("zero", "0.0", "NaN"), ("zero gradient", "0.0", "0.0"), ("frozen", "2.5", "NaN"), ("text", "2.5", "\"nan\"")]
    {
        let broken = records(1..=60, |step| {
            if step < 50 {
                format!(r#"{{"step": {step}, "loss": {}, "grad_norm": 0.5}}"#, 3.0 - step as f64 * 0.01)
            } else {
                format!(r#"{{"step": {step}, "loss": {loss}, "grad_norm": {grad}}}"#)
            }
        });
        let result = Pair::new(&[("log", &healthy)], &[("log", &broken)]).judge("");
        let hidden = result.findings.iter().find(|finding| finding.code == "curve-hidden-failure").expect(name);
        assert_eq!(hidden.text("logged"), Some(if loss == "0.0" { "zero" } else { "repeated" }), "{name}");
        assert_eq!(hidden.text("gradient"), Some(if grad == "0.0" { "zero" } else { "non-finite" }), "{name}");
        assert_eq!(result.verdict, Verdict::Fail, "{name}");
    }
}

#[test]
fn speed_and_memory_judge_only_with_limits_and_equal_hardware() {
    let run = |speed: u64| {
        records(1..=40, move |step| {
            format!(r#"{{"step": {step}, "loss": {}, "throughput": {speed}}}"#, 3.0 / step as f64)
        })
    };
    let pair = Pair::new(&[("log", &run(100))], &[("log", &run(50))]);
    assert_eq!(pair.judge("").verdict, Verdict::Pass);
    let limit = "loss: {metrics: {throughput: {worse: {fail: 0.1}}}";
    assert!(codes(&pair.judge(&format!("{limit}}}"))).contains(&"curve-hardware"));
    let equal = format!("{limit}, hardware: {{baseline: 910B, candidate: 910B}}}}");
    assert!(codes(&pair.judge(&equal)).contains(&"curve-worse"));
    let other_way = Pair::new(&[("log", &run(50))], &[("log", &run(100))]);
    assert_eq!(other_way.judge(&equal).verdict, Verdict::Pass);
}

#[test]
fn sources_that_agree_are_one_and_sources_that_disagree_are_ambiguous() {
    let lines = |factor: f64| {
        records(1..=60, move |step| format!(r#"{{"step": {step}, "loss": {}}}"#, factor * 3.0 / step as f64))
    };
    let table = |factor: f64| {
        String::from("step,loss\n") + &records(1..=60, move |step| format!("{step},{:.7}", factor * 3.0 / step as f64))
    };
    let agree = Pair::new(
        &[("a.jsonl", &lines(1.0)), ("b.csv", &table(1.0))],
        &[("x.jsonl", &lines(1.0)), ("y.csv", &table(1.0))],
    );
    let result = agree.judge("");
    assert_eq!((result.verdict, loss(&result).baseline_file.as_str()), (Verdict::Pass, "a.jsonl"));
    assert!(codes(&result).contains(&"curve-duplicate-source"));
    let disagree = Pair::new(&[("a.jsonl", &lines(1.0)), ("b.csv", &table(1.1))], &[("x.jsonl", &lines(1.0))]);
    let result = disagree.judge("");
    assert_eq!(result.verdict, Verdict::Incomplete);
    assert_eq!(codes(&result), ["artifact-ambiguous"]);
    let runs = Pair::new(
        &[("one/log", &lines(1.0)), ("two/log", &lines(2.0))],
        &[("one/log", &lines(1.0)), ("two/log", &lines(2.1))],
    );
    let result = runs.judge("");
    assert_eq!(result.verdict, Verdict::Fail);
    let verdicts: Vec<(&str, Verdict)> =
        units(&result).into_iter().map(|unit| (unit.run.as_str(), unit.verdict)).collect();
    assert_eq!(verdicts, [("one", Verdict::Pass), ("two", Verdict::Fail)]);
}

#[test]
fn a_nan_that_one_log_filters_is_believed_from_the_other() {
    let history = |value: &str| {
        format!(
            r#"{{"log_history": [{{"loss": 2.0, "step": 1}}, {{"loss": 1.9, "step": 2}}, {{"loss": {value}, "step": 3}}]}}"#
        )
    };
    let side = |value: &str| {
        format!("{{\"step\": 1, \"loss\": 2.0}}\n{{\"step\": 2, \"loss\": 1.9}}\n{{\"step\": 3, \"loss\": {value}}}\n")
    };
    let pair = Pair::new(
        &[("trainer_state.json", &history("1.8")), ("log.json", &side("1.8"))],
        &[("trainer_state.json", &history("0.0")), ("log.json", &side("NaN"))],
    );
    let result = pair.judge("");
    assert!(codes(&result).contains(&"curve-non-finite"), "{:?}", codes(&result));
}

#[test]
fn noise_widens_and_narrows_the_limits() {
    let jitter = |seed: u64, size: f64| {
        records(1..=60, move |step| {
            let wobble = ((step * 7919 + seed * 104_729) % 101) as f64 / 50.0 - 1.0;
            format!("{step} {}", (2.0 + 3.0 / step as f64) * (1.0 + size * wobble * (step > 1) as u64 as f64))
        })
    };
    let repeats =
        |size: f64| Pair::new(&[("r1", &jitter(1, size)), ("r2", &jitter(2, size)), ("r3", &jitter(3, size))], &[]);
    let off = |size: f64| Pair::new(&[("a", &jitter(1, 0.0))], &[("a", &jitter(9, size))]);
    let quiet = repeats(1e-5);
    let policy = format!("loss: {{noise: {}}}", quiet.0.path().join("b").display());
    let pair = off(1e-3);
    assert!(pair.judge("").verdict <= Verdict::Warn);
    assert!(codes(&pair.judge(&policy)).contains(&"curve-mean"));
    let loud = repeats(4e-3);
    let policy = format!("loss: {{noise: {}, mode: same-weights}}", loud.0.path().join("b").display());
    let result = off(6e-3).judge(&policy);
    assert!(!codes(&result).contains(&"curve-head"), "{:?}", result.findings);
    assert!(!loss(&result).series.band.is_empty());
}

#[test]
fn bit_exact_allows_nothing() {
    let pair = Pair::new(&[("a", "1 2.5\n2 2.25\n3 2.0\n")], &[("a", "1 2.5\n2 2.25\n3 2.0000000000000004\n")]);
    assert_eq!(pair.judge("").verdict, Verdict::Pass);
    assert_eq!(pair.judge("profile: bit-exact").verdict, Verdict::Fail);
}

#[test]
fn a_log_pattern_reads_what_no_reader_knows() {
    let log = |factor: f64| records(1..=30, move |step| format!("tick~{step} ~> cost~{}", factor / step as f64));
    let pair = Pair::new(&[("log", &log(1.0))], &[("log", &log(1.5))]);
    assert_eq!(pair.judge("").verdict, Verdict::Incomplete);
    let result = pair.judge(r"loss: {log-pattern: 'tick~(?<step>\d+) ~> cost~(?<loss>\S+)'}");
    assert_eq!(result.verdict, Verdict::Fail);
    assert_eq!(loss(&result).paired, 30);
}

#[test]
fn other_json_is_no_curve() {
    let pair = Pair::new(
        &[
            (
                "dump.json",
                r#"{"task": "statistics", "level": "mix", "data": {"Functional.loss.0": {"input_args": []}}}"#,
            ),
            ("stack.json", r#"{"Functional.linear.0.forward": ["a.py:1"]}"#),
            ("all_results.json", "{\n \"epoch\": 1.0,\n \"train_loss\": 2.5,\n \"train_runtime\": 3.0\n}"),
            ("config.json", r#"{"hidden_size": 64, "num_layers": 2, "dropout": 0.1}"#),
            ("pip.csv", "package,version\ntorch,2.1\n"),
            ("notes.md", "step 1: install\nstep 2: loss: see below\n"),
        ],
        &[("a", &falling(1..=5, 1.0))],
    );
    let result = pair.judge("");
    assert!(
        result.artifacts.iter().filter(|row| row.path != "a").all(|row| row.status == "ignored" || row.kind == "dump"),
        "{:?}",
        result.artifacts
    );
}
