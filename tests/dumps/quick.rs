//! Quick looks say what they left out, and are at best a warning.

use std::path::Path;
use std::sync::Arc;

use globset::Glob;
use precision_gate::compare::measurements::{Measurements, Selection};
use precision_gate::compare::sample::Sample;
use precision_gate::fetch::{self, Fetcher};
use precision_gate::gate::{self, Quiet, Request, Surroundings};
use precision_gate::judge::register;
use precision_gate::msprobe::dump::Matching;
use precision_gate::policy::Policy;
use precision_gate::policy::location::TrustedLocation;
use precision_gate::report::RunOutcome;
use precision_gate::report::escape::TextTarget;
use precision_gate::report::messages::Language;
use precision_gate::report::sink::MemorySink;
use precision_gate::report::writer;
use precision_gate::report::writer::Writer;
use precision_gate::result::finding::Fact;
use precision_gate::verdict::{CheckId, Verdict};

use super::support::fixtures;

fn judged(root: &Path, selection: Selection, policy: &str) -> RunOutcome {
    let codes: Vec<&str> = register::all_rules().map(|rule| rule.code).collect();
    let request = Request {
        several: Default::default(),
        baseline: TrustedLocation::own(root.join("gpu").display().to_string()),
        candidate: root.join("npu").display().to_string(),
        checks: vec![CheckId::Dump],
        policy: Policy::parse("case.yml", policy, &codes).expect("a sound policy"),
        matching: Matching::default(),
    };
    let mut outcome =
        super::support::by_itself(|from| gate::run_by(&request, from, &Measurements::new(selection), &Quiet))
            .expect("both sides are there");
    for language in Language::ALL {
        let writer = Writer::from_result(&outcome.result, language, TextTarget::Plain);
        writer::write_finding_texts(&mut outcome.result.findings, &writer).expect("a message for every finding");
    }
    outcome
}

fn codes(outcome: &RunOutcome) -> Vec<&str> {
    outcome.result.findings.iter().map(|finding| finding.code.as_str()).collect()
}

#[test]
fn an_operation_filter_warns_and_can_be_accepted() {
    let root = fixtures().join("identical_glm_tensor_mix");
    let select = || Selection {
        ops: Some(Glob::new("Functional.linear.*").expect("a pattern").compile_matcher()),
        ..Selection::default()
    };
    let outcome = judged(&root, select(), "");
    assert_eq!((outcome.result.verdict, codes(&outcome)), (Verdict::Warn, vec!["data-narrowed"]));
    let accepted = judged(&root, select(), "severity: {data-narrowed: info}");
    assert_eq!(accepted.result.verdict, Verdict::Pass);
}

#[test]
fn what_time_cuts_off_is_judged_by_records_and_warned_about() {
    let root = fixtures().join("identical_glm_tensor_mix");
    let stop = || Selection { stop: Some(Arc::new(|| true)), ..Selection::default() };
    let outcome = judged(&root, stop(), "");
    assert_eq!((outcome.result.verdict, codes(&outcome)), (Verdict::Warn, vec!["data-stopped"]));
    let wrong = judged(&fixtures().join("zoo_tensor_shape_mismatch"), stop(), "");
    assert_eq!(wrong.result.verdict, Verdict::Fail, "what was recorded still decides");
}

#[test]
fn a_sample_of_large_tensors_says_its_bound_and_writes_no_table() {
    let root = tempfile::tempdir().expect("a folder");
    large_pair(root.path());
    let select = || Selection { sample: Sample::new(0.05, 1), ..Selection::default() };
    let outcome = judged(root.path(), select(), "");
    // Both sides were made alike, which is told.
    assert_eq!((outcome.result.verdict, codes(&outcome)), (Verdict::Warn, vec!["data-sampled", "sides-identical"]));
    let message = &outcome.result.findings[0].message;
    assert!(message.contains("1000000"), "{message}");
    assert!(outcome.tables.is_empty());
    assert_eq!(judged(root.path(), select(), "severity: {data-sampled: info}").result.verdict, Verdict::Pass);
    assert_eq!(judged(root.path(), Selection::default(), "").result.verdict, Verdict::Pass);
}

#[test]
fn checksums_tell_equal_tensors_from_others_and_records_say_how_far_apart_they_are() {
    let by_checksum = || Selection { checksum: true, ..Selection::default() };
    let same = judged(&fixtures().join("identical_glm_tensor_mix"), by_checksum(), "profile: bit-exact");
    assert_eq!((same.result.verdict, codes(&same)), (Verdict::Pass, vec!["data-checksummed"]));
    assert!(same.tables.is_empty());
    let root = fixtures().join("gpt_bf16_tensor_layernorm_eps");
    let culprit = |outcome: &RunOutcome| outcome.result.culprit.as_ref().map(|culprit| culprit.op.clone());
    let other = judged(&root, by_checksum(), "");
    assert_eq!(other.result.verdict, Verdict::Fail);
    assert_eq!(culprit(&other), culprit(&judged(&root, Selection::default(), "")));
    // Rounding noise: no statistic is beyond it, and no bit is spared by the other profile.
    let noise = fixtures().join("benign_llama_tensor_l1");
    assert_eq!(judged(&noise, by_checksum(), "profile: bit-exact").result.verdict, Verdict::Fail);
    // What is known to differ and judged by statistics alone is a quick look.
    let quick = judged(&noise, by_checksum(), "");
    assert_eq!((quick.result.verdict, codes(&quick)), (Verdict::Warn, vec!["data-checksummed"]));
    assert_eq!(judged(&noise, by_checksum(), "severity: {data-checksummed: info}").result.verdict, Verdict::Pass);
}

#[test]
fn what_is_left_out_of_several_ranks_is_counted_once() {
    let root = fixtures().join("tp2_bf16_tensor_rank1_bad_tile");
    let ops = Glob::new("Functional.layer_norm.0.forward").expect("a pattern").compile_matcher();
    let outcome = judged(&root, Selection { ops: Some(ops), ..Selection::default() }, "");
    let finding = outcome.result.findings.iter().find(|finding| finding.code == "data-narrowed").expect("told");
    let entries = |folder: &Path| -> Vec<_> {
        std::fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path()).collect()
    };
    let ranks = entries(&root.join("npu")).into_iter().flat_map(|step| entries(&step));
    let tensors: usize = ranks.map(|rank| entries(&rank.join("dump_tensor_data")).len()).sum();
    let count = |name: &str| match finding.facts[name] {
        Fact::Count(count) => usize::try_from(count).expect("small"),
        _ => 0,
    };
    let told = count("count") + count("measured");
    assert_eq!(told, tensors);
}

/// One operation with one tensor of a million elements, the same on both sides.
fn large_pair(root: &Path) {
    let records = r#"{"task": "tensor", "level": "L1", "framework": "pytorch", "data": {"Torch.add.0.forward": {
        "input_args": [], "input_kwargs": {}, "output": [{"type": "torch.Tensor", "dtype": "torch.float32",
        "shape": [1000000], "Max": 1.0, "Min": 0.0, "Mean": 0.5, "Norm": 577.0, "requires_grad": false,
        "data_name": "Torch.add.0.forward.output.0.npy"}]}}}"#;
    let mut header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1000000,), }".to_owned();
    header.push_str(&" ".repeat(117 - header.len()));
    header.push('\n');
    let mut file = [b"\x93NUMPY\x01\x00".as_slice(), &118u16.to_le_bytes(), header.as_bytes()].concat();
    file.extend((0..1_000_000u32).flat_map(|i| ((i * 7 % 1000) as f32 / 1000.0).to_le_bytes()));
    for side in ["gpu", "npu"] {
        let folder = root.join(side).join("step0/rank0/dump_tensor_data");
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::write(folder.join("Torch.add.0.forward.output.0.npy"), &file).expect("written");
        std::fs::write(folder.with_file_name("dump.json"), records).expect("written");
    }
}

#[test]
fn ranks_that_are_read_again_are_judged_as_those_that_stay_in_memory() {
    let root = fixtures().join("tp2_bf16_tensor_rank1_bad_tile");
    let judged = |max_memory| {
        let fetcher = Fetcher::new(fetch::Settings { max_memory, ..fetch::Settings::default() });
        let kept = MemorySink::default();
        let request = Request {
            several: Default::default(),
            baseline: TrustedLocation::own(root.join("gpu").display().to_string()),
            candidate: root.join("npu").display().to_string(),
            checks: vec![CheckId::Dump],
            policy: Policy::default(),
            matching: Matching::default(),
        };
        let from = Surroundings::new(&fetcher, &kept);
        let judged = gate::run_by(&request, &from, &Measurements::default(), &Quiet).expect("judged");
        let outcome = kept.into_outcome(judged);
        format!("{:?}\n{:?}", outcome.result, outcome.operations)
    };
    // A rank of 105 values takes 31 500 bytes, of which half of 42 000 has no room; its file needs less than a quarter.
    assert_eq!(judged(42_000), judged(1 << 30));
}
