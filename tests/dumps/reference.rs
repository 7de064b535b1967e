//! A third run, in fp64: which side of a pair is off.

use std::path::Path;

use precision_gate::check::Command;
use precision_gate::gate::{Quiet, UncheckedRequest, run};
use precision_gate::msprobe::dump::Matching;
use precision_gate::policy::Policy;
use precision_gate::report::RunOutcome;
use precision_gate::report::escape::TextTarget;
use precision_gate::report::messages::Language;
use precision_gate::report::reference::reference_errors;
use precision_gate::report::writer::Writer;
use precision_gate::result::operation::OffSide;
use precision_gate::verdict::{Severity, Verdict};

use crate::dumps::build::{Op, Tensor, dump};

const OPERATIONS: [&str; 4] = [
    "Torch.matmul.0.forward",
    "Functional.gelu.1.forward",
    "Torch.softmax.2.forward",
    "Functional.layer_norm.3.forward",
];

fn values(kind: usize, factor: f64) -> Vec<f64> {
    (0..64).map(|place| factor * (1.0 + kind as f64 + ((place * 13 + kind) % 17) as f64 / 7.0)).collect()
}

/// Independent operations whose results are off by `factors`, each in the type that `tensor` makes.
fn write(folder: &Path, task: &str, tensor: fn(&[u64], &[f64]) -> Tensor, factors: [f64; 4]) -> String {
    let operation = |(place, (name, factor)): (usize, (&&str, f64))| {
        Op::output(name, tensor(&[64], &values(2 * place + 1, factor))).input(tensor(&[64], &values(2 * place, 1.0)))
    };
    let ops: Vec<Op> = OPERATIONS.iter().zip(factors).enumerate().map(operation).collect();
    dump(&folder.join("step0/rank0"), task, &ops);
    folder.display().to_string()
}

fn f64_with_statistics(shape: &[u64], values: &[f64]) -> Tensor {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let norm = values.iter().map(|value| value * value).sum::<f64>().sqrt();
    let of = |pick: fn(f64, f64) -> f64| values.iter().copied().reduce(pick).expect("values").to_string();
    let [mean, norm] = [mean, norm].map(|number| number.to_string());
    Tensor::f64(shape, values).with_statistics([&of(f64::max), &of(f64::min), &mean, &norm])
}

fn judged(baseline: &str, candidate: &str, reference: &str) -> RunOutcome {
    let mut policy = Policy::default();
    policy.reference.location = reference.to_owned().into();
    let (baseline, candidate) = (baseline.to_owned(), candidate.to_owned());
    let checks = Command::Compare.checks();
    let asked = UncheckedRequest {
        several: Default::default(),
        baseline,
        candidate,
        checks,
        policy,
        matching: Matching::default(),
    };
    run(&asked.trust_own_files(), &Quiet).expect("judged")
}

/// The verdict of bf16 runs, with an fp64 reference, where the baseline is off at the third operation and the candidate at
/// the second; and the outcome.
fn two_defects(task: &str) -> RunOutcome {
    let folder = tempfile::tempdir().expect("a folder");
    let baseline = write(&folder.path().join("gpu"), task, Tensor::bf16, [1.0, 1.0, 1.3, 1.0]);
    let candidate = write(&folder.path().join("npu"), task, Tensor::bf16, [1.0, 1.5, 1.0, 1.0]);
    let reference = write(&folder.path().join("cpu"), task, f64_with_statistics, [1.0; 4]);
    judged(&baseline, &candidate, &reference)
}

#[test]
fn each_of_two_planted_defects_is_found_on_its_own_side() {
    for task in ["tensor", "statistics"] {
        let outcome = two_defects(task);
        let result = &outcome.result;
        assert_eq!(result.verdict, Verdict::Fail, "{task}");
        let culprit = result.culprit.as_ref().expect("a culprit");
        let errors = culprit.reference.expect("errors");
        assert_eq!((culprit.op.as_str(), errors.off_side), (OPERATIONS[1], OffSide::Candidate), "{task}");
        assert!(errors.baseline.0 < 0.01 && errors.candidate.0 > 0.4, "{task}: {errors:?}");
        let off = |op: &str| {
            let line = outcome.operations.iter().find(|line| line.op == op && line.tensor.ends_with("output.0"));
            line.and_then(|line| line.reference).map(|errors| errors.off_side)
        };
        let expected = [OffSide::Neither, OffSide::Candidate, OffSide::Baseline, OffSide::Neither];
        assert_eq!(OPERATIONS.map(off), expected.map(Some), "{task}");
        let finding = result.findings.iter().find(|finding| finding.code == "baseline-off").expect("a finding");
        assert_eq!((finding.place.as_str(), finding.severity), ("Torch.softmax.2.forward.output.0", Severity::Warn));
        assert_eq!(result.reference.as_ref().map(|run| run.label.as_str()), Some("reference"));
    }
}

#[test]
fn a_baseline_that_is_off_still_fails_the_pair_and_is_named_in_words() {
    let folder = tempfile::tempdir().expect("a folder");
    let baseline = write(&folder.path().join("gpu"), "tensor", Tensor::bf16, [1.0, 1.3, 1.0, 1.0]);
    let candidate = write(&folder.path().join("npu"), "tensor", Tensor::bf16, [1.0; 4]);
    let reference = write(&folder.path().join("cpu"), "tensor", f64_with_statistics, [1.0; 4]);
    let result = judged(&baseline, &candidate, &reference).result;
    assert_eq!(result.verdict, Verdict::Fail);
    let culprit = result.culprit.as_ref().expect("a culprit");
    assert_eq!(culprit.reference.map(|errors| errors.off_side), Some(OffSide::Baseline));
    for (language, words) in [(Language::En, "the GPU is off"), (Language::Zh, "GPU 有误")] {
        let text = reference_errors(culprit, &Writer::from_result(&result, language, TextTarget::Plain))
            .expect("rendered")
            .expect("errors");
        assert!(text.contains(words) && text.contains("30 %"), "{text}");
    }
    assert_eq!(judged(&baseline, &candidate, "").result.culprit.and_then(|culprit| culprit.reference), None);
}

#[test]
fn sides_that_are_off_alike_are_both_named_and_none_is_blamed() {
    let folder = tempfile::tempdir().expect("a folder");
    let baseline = write(&folder.path().join("gpu"), "tensor", Tensor::bf16, [1.0, 1.30, 1.0, 1.0]);
    let candidate = write(&folder.path().join("npu"), "tensor", Tensor::bf16, [1.0, 1.36, 1.0, 1.0]);
    let reference = write(&folder.path().join("cpu"), "tensor", f64_with_statistics, [1.0; 4]);
    let result = judged(&baseline, &candidate, &reference).result;
    assert_eq!(result.culprit.and_then(|culprit| culprit.reference).map(|errors| errors.off_side), Some(OffSide::Both));
    assert!(result.findings.iter().all(|finding| finding.code != "baseline-off"));
}

#[test]
fn a_reference_without_the_step_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let healthy = |name: &str| write(&folder.path().join(name), "tensor", Tensor::bf16, [1.0; 4]);
    let (baseline, candidate) = (healthy("gpu"), healthy("npu"));
    let reference = folder.path().join("cpu");
    std::fs::create_dir_all(&reference).expect("a folder");
    std::fs::write(reference.join("notes.txt"), "nothing").expect("written");
    let result = judged(&baseline, &candidate, &reference.display().to_string()).result;
    let codes: Vec<&str> = result.findings.iter().map(|finding| finding.code.as_str()).collect();
    assert!(result.verdict == Verdict::Warn && codes.contains(&"reference-missing"), "{codes:?}");
}
