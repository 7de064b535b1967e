//! Checkpoints through the whole gate; see `tests/fixtures/checkpoints/make.py`.

use std::path::{Path, PathBuf};

use precision_gate::check::Command;
use precision_gate::gate::{Quiet, Request, run};
use precision_gate::judge::register;
use precision_gate::policy::Policy;
use precision_gate::policy::location::TrustedLocation;
use precision_gate::report::escape::TextTarget;
use precision_gate::report::messages::Language;
use precision_gate::report::writer;
use precision_gate::report::writer::Writer;
use precision_gate::result::GateResult;
use precision_gate::result::finding::Finding;
use precision_gate::result::unit::Unit;
use precision_gate::verdict::{CheckId, Severity, Verdict};
use serde_json::Value;

pub(super) fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/checkpoints")
}

pub(super) fn judged(baseline: &Path, candidate: &Path, policy: &str) -> GateResult {
    let codes: Vec<&str> = register::all_rules().map(|rule| rule.code).collect();
    let request = Request {
        baseline: TrustedLocation::own(baseline.display().to_string()),
        several: Default::default(),
        candidate: candidate.display().to_string(),
        checks: Command::Compare.checks(),
        policy: Policy::parse("case.yml", policy, &codes).expect("a sound policy"),
        matching: precision_gate::msprobe::dump::Matching::default(),
    };
    run(&request, &Quiet).expect("both paths are there").result
}

fn codes(result: &GateResult) -> Vec<&str> {
    let mut codes: Vec<&str> = result.findings.iter().map(|finding| finding.code.as_str()).collect();
    codes.sort_unstable();
    codes.dedup();
    codes
}

#[test]
fn every_case_gets_its_verdict_and_its_findings() {
    let mut cases = 0;
    for case in std::fs::read_dir(root()).expect("fixtures").flatten().filter(|case| case.path().is_dir()) {
        let truth: Value =
            serde_json::from_slice(&std::fs::read(case.path().join("case.json")).expect("case.json")).expect("JSON");
        let policy = truth["policy"].as_str().unwrap_or_default();
        let mut result = judged(&case.path().join("gpu"), &case.path().join("npu"), policy);
        let name = case.file_name();
        assert_eq!(truth["verdict"].as_str(), Some(result.verdict.as_str()), "{name:?}: {:?}", result.findings);
        let expected: Vec<&str> = truth["codes"].as_array().expect("codes").iter().filter_map(Value::as_str).collect();
        // Some cases are copies, and some leave parameters out, which is told.
        let found: Vec<&str> = codes(&result)
            .into_iter()
            .filter(|code| !["sides-identical", "evidence-left-out"].contains(code))
            .collect();
        assert_eq!(found, expected, "{name:?}");
        for language in [Language::En, Language::Zh] {
            let writer = Writer::from_result(&result, language, TextTarget::Plain);
            writer::write_finding_texts(&mut result.findings, &writer).expect("every finding has its text");
        }
        cases += 1;
    }
    assert!(cases > 15, "only {cases} cases");
}

#[test]
fn checkpoints_of_many_writers_are_judged_by_what_their_values_mean() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/checkpoint-writers");
    let cases = std::fs::read_dir(root).expect("fixtures").flatten().map(|case| case.path());
    let mut count = 0;
    for case in cases.filter(|case| case.is_dir()) {
        let truth = std::fs::read(case.join("case.json")).expect("case.json");
        let truth = serde_json::from_slice::<Value>(&truth).expect("JSON")["truth"].clone();
        let result = judged(&case.join("gpu"), &case.join("npu"), "");
        let verdict = result.verdict.as_str();
        let also = truth["also"].as_array().expect("a list").iter().filter_map(Value::as_str);
        let right: Vec<&str> = truth["verdict"].as_str().into_iter().chain(also).collect();
        assert!(right.contains(&verdict), "{case:?}: {verdict} {:?}", result.findings);
        if let (Some(parameter), "fail") = (truth["param"].as_str(), verdict) {
            let is_named = |finding: &Finding| finding.severity == Severity::Fail && finding.place == parameter;
            assert!(result.findings.iter().any(is_named), "{case:?}: {:?}", result.findings);
        }
        count += 1;
    }
    assert!(count >= 5, "only {count} cases");
}

/// A copy of a case whose candidate is changed, judged.
fn changed(case: &str, change: impl Fn(&Path)) -> GateResult {
    let own = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/checkpoint-writers").join(case);
    let folder = tempfile::tempdir().expect("a folder");
    let mut stack = vec![own.join("gpu")];
    let candidate = folder.path().join("npu");
    while let Some(from) = stack.pop() {
        let to = candidate.join(from.strip_prefix(own.join("gpu")).expect("below"));
        std::fs::create_dir_all(&to).expect("a folder");
        for entry in std::fs::read_dir(&from).expect("listed").flatten() {
            let path = entry.path();
            if path.is_dir() {
                stack.push(path);
            } else {
                std::fs::copy(&path, to.join(entry.file_name())).expect("copied");
            }
        }
    }
    change(&candidate);
    judged(&own.join("gpu"), &candidate, "")
}

#[test]
fn what_lies_beside_tensors_is_missed_and_damage_is_told() {
    let configuration = |folder: &Path| folder.join("adapter_config.json");
    let without = changed("bad-lora-alpha", |folder| std::fs::remove_file(configuration(folder)).expect("removed"));
    assert_eq!(without.verdict, Verdict::Incomplete, "{:?}", without.findings);
    assert!(codes(&without).contains(&"checkpoint-setting-missing"));
    let cut = changed("bad-lora-alpha", |folder| std::fs::write(configuration(folder), "{\"r\": 8,").expect("written"));
    assert!(codes(&cut).contains(&"artifact-damaged"), "{:?}", cut.findings);
    let actor = "global_step_100/actor/model_world_size_2_rank_1.pt";
    let lost = changed("ok-verl-fsdp-dtensor", |folder| std::fs::remove_file(folder.join(actor)).expect("removed"));
    assert_eq!(lost.verdict, Verdict::Incomplete, "{:?}", lost.findings);
    assert!(codes(&lost).contains(&"shard-missing"));
    let setting = changed("bad-lora-alpha", |folder| {
        let text = std::fs::read_to_string(configuration(folder)).expect("read");
        std::fs::write(configuration(folder), text.replace("16", "64")).expect("written");
    });
    assert!(codes(&setting).contains(&"checkpoint-setting-differs"), "{:?}", setting.findings);
}

#[test]
fn one_code_that_is_a_neighbour_is_rounding_and_a_lost_part_is_not() {
    let rewritten = |change: fn(&mut [u8])| {
        changed("ok-int8", |folder| {
            let path = folder.join("model.safetensors");
            let mut bytes = std::fs::read(&path).expect("read");
            let end = bytes.len();
            // The last tensors of the file are codes.
            change(&mut bytes[end - 1000..]);
            std::fs::write(&path, bytes).expect("written");
        })
    };
    let neighbour = rewritten(|codes| codes[0] = if codes[0] == 0x7f { 0x7e } else { codes[0].wrapping_add(1) });
    assert_eq!(neighbour.verdict, Verdict::Pass, "{:?}", neighbour.findings);
    let lost = rewritten(|codes| codes.iter_mut().step_by(5).for_each(|code| *code = 0));
    assert_eq!(lost.verdict, Verdict::Fail, "{:?}", lost.findings);
    assert!(codes(&lost).contains(&"parameter-codes-differ"));
}

#[test]
fn one_lost_row_of_a_quantised_weight_is_said_to_be_one() {
    let own = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/checkpoint-writers/bad-fp8-row-lost");
    let lost = judged(&own.join("gpu"), &own.join("npu"), "");
    let finding = lost.findings.iter().find(|finding| &*finding.code == "parameter-codes-differ").expect("a finding");
    assert_eq!(finding.facts.get("rows").map(|rows| serde_json::json!(rows)), Some(1.into()), "{:?}", finding.facts);
}

#[test]
fn the_worst_parameter_stands_first_with_its_numbers() {
    let case = root().join("one_parameter_wrong");
    let result = judged(&case.join("gpu"), &case.join("npu"), "");
    let check = result.checks.iter().find(|check| check.id == CheckId::Checkpoint).expect("the check");
    let Some(Unit::Checkpoint(unit)) = check.units.first() else { panic!("no unit") };
    assert_eq!((unit.compared, unit.not_compared, unit.verdict), (6, 0, Verdict::Fail));
    let worst = unit.rules.first().expect("rules");
    assert_eq!((&*worst.rule, worst.subject(), worst.verdict), ("relative-l2", "layers.0.attn.q.bias", Verdict::Fail));
    assert!((worst.value.expect("measured").0 - 0.01).abs() < 1e-6);
    assert_eq!(result.findings.first().map(|finding| finding.place.as_str()), Some("layers.0.attn.q.bias"));
}

#[test]
fn profiles_decide_about_small_differences() {
    let case = |name: &str, profile: &str| {
        let case = root().join(name);
        judged(&case.join("gpu"), &case.join("npu"), &format!("profile: {profile}")).verdict
    };
    assert_eq!(case("drift", "strict"), Verdict::Fail);
    assert_eq!(case("rounding", "strict"), Verdict::Pass);
    assert_eq!(case("rounding", "bit-exact"), Verdict::Fail);
    assert_eq!(case("sharded", "bit-exact"), Verdict::Pass);
    let codes_of = |profile: &str| {
        let case = root().join("rounding");
        let result = judged(&case.join("gpu"), &case.join("npu"), &format!("profile: {profile}"));
        codes(&result).contains(&"parameter-not-bit-exact")
    };
    assert!(codes_of("bit-exact") && !codes_of("strict"));
}

#[test]
fn two_files_are_a_pair_and_one_alone_is_none() {
    let (sound, other) = (root().join("identical/gpu/model.safetensors"), root().join("legacy_container/gpu/model.pt"));
    assert_eq!(judged(&sound, &other, "").verdict, Verdict::Pass);
    let alone = judged(&sound, &root().join("identical/case.json"), "");
    assert_eq!(alone.verdict, Verdict::Incomplete);
}

#[test]
fn a_checkpoint_of_one_side_is_told() {
    let folder = tempfile::tempdir().expect("folder");
    let place = |side: &str, step: u64| {
        let step = folder.path().join(side).join(format!("checkpoint-{step}"));
        std::fs::create_dir_all(&step).expect("made");
        std::fs::copy(root().join("identical/gpu/model.safetensors"), step.join("model.safetensors")).expect("copied");
    };
    for (side, step) in [("gpu", 100), ("gpu", 200), ("npu", 100)] {
        place(side, step);
    }
    let told =
        || codes(&judged(&folder.path().join("gpu"), &folder.path().join("npu"), "")).contains(&"checkpoint-missing");
    assert!(told());
    place("npu", 200);
    assert!(!told());
}

#[test]
fn a_file_that_is_cut_short_is_incomplete() {
    let folder = tempfile::tempdir().expect("folder");
    let bytes = std::fs::read(root().join("identical/gpu/model.safetensors")).expect("fixture");
    let cut = folder.path().join("model.safetensors");
    std::fs::write(&cut, &bytes[..bytes.len() - 8]).expect("written");
    let result = judged(&root().join("identical/gpu"), folder.path(), "");
    assert_eq!(result.verdict, Verdict::Incomplete);
    assert!(codes(&result).contains(&"artifact-damaged"), "{:?}", codes(&result));
}
