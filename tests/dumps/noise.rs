//! Noise recorded from repeats of a dump: what it lets pass, and what it never hides.

use std::path::{Path, PathBuf};

use precision_gate::check::Command;
use precision_gate::error::Result;
use precision_gate::fetch::Fetcher;
use precision_gate::gate::repeats::{RepeatOpener, read_band_file};
use precision_gate::gate::{Quiet, UncheckedRequest, noise, recognisers, run};
use precision_gate::judge::loss::noise::NoiseBand;
use precision_gate::msprobe::dump::Matching;
use precision_gate::policy::Policy;
use precision_gate::policy::location::TrustedLocation;
use precision_gate::policy::loss::LossPolicy;
use precision_gate::report::escape::TextTarget;
use precision_gate::report::messages::Language;
use precision_gate::report::writer::Writer;
use precision_gate::result::GateResult;
use precision_gate::verdict::Verdict;

use crate::dumps::build::{Op, Tensor, dump};

/// Values that no other tensor has, `off` by that much relative to their size, in a direction told by `seed`.
fn values(kind: usize, off: f64, seed: usize) -> Vec<f32> {
    let value = |place: usize| 1.0 + kind as f64 + 0.5 * ((place * 7 + kind) % 11) as f64;
    let all: Vec<f64> = (0..64).map(value).collect();
    let rms = (all.iter().map(|value| value * value).sum::<f64>() / 64.0).sqrt();
    let sign = |place: usize| if (place * 31 + seed * 17) % 64 < 32 { 1.0 } else { -1.0 };
    #[allow(clippy::cast_possible_truncation, reason = "a made value")]
    all.iter().enumerate().map(|(place, value)| (value + off * rms * sign(place)) as f32).collect()
}

fn tensor(kind: usize, off: f64, seed: usize) -> Tensor {
    Tensor::f32(&[64], &values(kind, off, seed))
}

/// A run: its input, a sum that is taken in another order every time, and a product behind it.
struct Case {
    seed: usize,
    input: f64,
    sum: f64,
    product: f64,
    index: i64,
}

impl Case {
    fn repeat(seed: usize) -> Self {
        Self { seed, input: 0.0, sum: 1e-4, product: 0.0, index: 3 }
    }

    fn write(&self, root: &Path, name: &str) -> String {
        let ops = [
            Op::output("Torch.scatter_add.0.forward", tensor(1, self.sum, self.seed))
                .input(tensor(0, self.input, self.seed)),
            Op::output("Torch.argmax.1.forward", Tensor::i64(&[2], &[self.index, 9])).input(tensor(4, 0.0, 0)),
            Op::output("Torch.matmul.2.forward", tensor(3, self.product, self.seed)).input(tensor(2, 0.0, 0)),
        ];
        let folder = root.join(name);
        dump(&folder.join("step0/rank0"), "tensor", &ops);
        folder.display().to_string()
    }
}

fn record(runs: &[String]) -> Result<NoiseBand> {
    let fetcher = Fetcher::default();
    let repeats = RepeatOpener { fetcher: &fetcher, recognisers: recognisers() };
    let runs: Vec<TrustedLocation> = runs.iter().map(TrustedLocation::own).collect();
    noise::record(&runs, &LossPolicy::default(), repeats, true)
}

/// The file with the noise of `runs`.
fn recorded(root: &Path, runs: &[String]) -> PathBuf {
    let file = root.join("noise.json");
    std::fs::write(&file, serde_json::to_string(&record(runs).expect("repeats")).expect("JSON")).expect("written");
    file
}

fn judged(baseline: &str, candidate: &str, noise: &[String]) -> GateResult {
    let mut policy = Policy::default();
    policy.dump.noise = noise.to_vec().into();
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
    run(&asked.trust_own_files(), &Quiet).expect("judged").result
}

fn three_repeats(root: &Path) -> Vec<String> {
    (0..3).map(|seed| Case::repeat(seed).write(root, &format!("gpu-{seed}"))).collect()
}

fn culprit(result: &GateResult) -> &str {
    result.culprit.as_ref().map_or("", |culprit| &culprit.op)
}

#[test]
fn noise_of_three_repeats_lets_its_own_size_pass_and_no_more() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    let repeats = three_repeats(root);
    let file = recorded(root, &repeats);
    let noise = [file.display().to_string()];
    let healthy = Case::repeat(7).write(root, "npu");
    let without = judged(&repeats[0], &healthy, &[]);
    assert_eq!((without.verdict, culprit(&without)), (Verdict::Warn, "Torch.scatter_add.0.forward"));
    assert_eq!(judged(&repeats[0], &healthy, &noise).verdict, Verdict::Pass);
    assert_eq!(judged(&repeats[0], &healthy, &repeats).verdict, Verdict::Pass, "repeats in place of a file");

    let band = read_band_file(&TrustedLocation::own(&noise[0]), &Fetcher::default()).expect("sound").expect("a band");
    let unit = &band.dumps[0];
    assert_eq!((unit.repeats, unit.comparisons, band.precision_gate_noise), (3, 3, 2));
    let moved = unit.values["Torch.scatter_add.0.forward.output.0"].added;
    assert!((5e-5..5e-4).contains(&moved), "{moved}");
    assert_eq!(unit.values.len(), 1, "nothing else moves");

    let three_times = Case { sum: 1e-4 + 3.1 * moved, ..Case::repeat(0) }.write(root, "three");
    let found = judged(&repeats[0], &three_times, &noise);
    assert_eq!((found.verdict, culprit(&found)), (Verdict::Warn, "Torch.scatter_add.0.forward"));
    let finding = found.findings.iter().find(|finding| finding.code == "other-precision").expect("a finding");
    let message =
        Writer::from_result(&found, Language::En, TextTarget::Plain).finding(finding).expect("a sentence").message;
    assert!(message.contains("rounding and recorded noise explain"), "{message}");
    let wrong = Case { sum: 0.3, ..Case::repeat(0) }.write(root, "wrong");
    assert_eq!(judged(&repeats[0], &wrong, &noise).verdict, Verdict::Fail);
    let elsewhere = Case { product: 1e-4, ..Case::repeat(1) }.write(root, "elsewhere");
    let found = judged(&repeats[0], &elsewhere, &noise);
    assert_eq!((found.verdict, culprit(&found)), (Verdict::Warn, "Torch.matmul.2.forward"));
}

#[test]
fn noise_above_the_wrong_limit_of_a_type_fails_at_three_times() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    let coarse = |seed: usize, sum: f64| Case { sum, ..Case::repeat(seed) };
    let repeats: Vec<String> = (0..3).map(|seed| coarse(seed, 5e-3).write(root, &format!("gpu-{seed}"))).collect();
    let noise = [recorded(root, &repeats).display().to_string()];
    let moved = record(&repeats).expect("repeats").dumps[0].values["Torch.scatter_add.0.forward.output.0"].added;
    assert!(moved > 1e-3, "{moved}");
    let healthy = coarse(7, 5e-3).write(root, "npu");
    assert_eq!(judged(&repeats[0], &healthy, &[]).verdict, Verdict::Fail);
    assert_eq!(judged(&repeats[0], &healthy, &noise).verdict, Verdict::Pass);
    let three_times = coarse(0, 5e-3 + 3.1 * moved).write(root, "three");
    let found = judged(&repeats[0], &three_times, &noise);
    assert_eq!((found.verdict, culprit(&found)), (Verdict::Fail, "Torch.scatter_add.0.forward"));
}

#[test]
fn a_perturbed_input_is_recorded_and_another_one_is_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    let perturbed = |seed: usize, input: f64| Case { input, ..Case::repeat(seed) };
    let repeats: Vec<String> = (0..3).map(|seed| perturbed(seed, 1e-6).write(root, &format!("gpu-{seed}"))).collect();
    let noise = [recorded(root, &repeats).display().to_string()];
    let healthy = perturbed(7, 1e-6).write(root, "npu");
    assert_eq!(judged(&repeats[0], &healthy, &[]).verdict, Verdict::Warn);
    assert_eq!(judged(&repeats[0], &healthy, &noise).verdict, Verdict::Pass);
    let other = perturbed(0, 2e-5).write(root, "other");
    let found = judged(&repeats[0], &other, &noise);
    assert!(found.verdict >= Verdict::Warn && found.findings[0].code == "input-differs", "{:?}", found.findings);
}

#[test]
fn exact_things_stay_exact() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    let repeats = three_repeats(root);
    let noise = [recorded(root, &repeats).display().to_string()];
    let other = Case { index: 4, ..Case::repeat(1) }.write(root, "npu");
    let found = judged(&repeats[0], &other, &noise);
    assert_eq!((found.verdict, culprit(&found)), (Verdict::Fail, "Torch.argmax.1.forward"));
}

#[test]
fn runs_that_are_no_repeats_record_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    let first = Case::repeat(0).write(root, "first");
    let refused = |name: &str, case: Case, reason: &str| {
        let error = record(&[first.clone(), case.write(root, name)]).expect_err(name).to_string();
        assert!(error.contains("is not a repeat of") && error.contains(reason), "{name}: {error}");
    };
    refused("data", Case { input: 0.2, ..Case::repeat(1) }, "scatter_add.0.forward.input.0");
    refused("integers", Case { index: 5, ..Case::repeat(1) }, "integer-differs");
    refused("defect", Case { product: 0.11, ..Case::repeat(1) }, "Torch.matmul.2.forward.output.0");
    let moved = root.join("moved");
    std::fs::create_dir(&moved).expect("a folder");
    std::fs::rename(root.join("defect/step0"), moved.join("step3")).expect("moved");
    let error = record(&[first.clone(), moved.display().to_string()]).expect_err("another step").to_string();
    assert!(error.contains("other steps or ranks"), "{error}");
    assert!(record(&[first]).expect_err("one run").to_string().contains("two repeats at least"));
}

#[test]
fn units_without_recorded_noise_keep_their_limits_and_are_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    let repeats = three_repeats(root);
    let mut band = record(&repeats).expect("repeats");
    band.dumps[0].rank = Some(5);
    let file = root.join("other.json");
    std::fs::write(&file, serde_json::to_string(&band).expect("JSON")).expect("written");
    let healthy = Case::repeat(7).write(root, "npu");
    let found = judged(&repeats[0], &healthy, &[file.display().to_string()]);
    assert_eq!(found.verdict, Verdict::Warn);
    assert!(found.findings.iter().any(|finding| finding.code == "dump-noise-missing"), "{:?}", found.findings);
}

#[test]
fn a_file_that_would_hide_a_defect_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    let repeats = three_repeats(root);
    let sound = serde_json::to_value(record(&repeats).expect("repeats")).expect("JSON");
    let read = |value: &serde_json::Value| {
        let file = root.join("band.json");
        std::fs::write(&file, value.to_string()).expect("written");
        read_band_file(&TrustedLocation::own(file.to_str().expect("UTF-8")), &Fetcher::default())
    };
    assert!(read(&sound).is_ok_and(|band| band.is_some()));
    type Change = fn(&mut serde_json::Value);
    let changes: [(&str, Change); 6] = [
        ("wide", |band| band["dumps"][0]["values"]["Torch.scatter_add.0.forward.output.0"]["added"] = 0.5.into()),
        ("negative", |band| {
            band["dumps"][0]["values"]["Torch.scatter_add.0.forward.output.0"]["error"] = (-1.0).into()
        }),
        ("no comparison", |band| band["dumps"][0]["comparisons"] = 0.into()),
        ("twice", |band| {
            let unit = band["dumps"][0].clone();
            band["dumps"].as_array_mut().expect("a list").push(unit);
        }),
        ("older layout", |band| band["precision_gate_noise"] = 1.into()),
        ("newer layout", |band| band["precision_gate_noise"] = 4.into()),
    ];
    for (name, change) in changes {
        let mut value = sound.clone();
        change(&mut value);
        assert!(read(&value).is_err(), "{name}");
    }
}

#[test]
fn the_command_line_records_judges_and_measures_against_a_third_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    let repeats = three_repeats(root);
    let healthy = Case::repeat(7).write(root, "npu");
    let wrong = Case { product: 0.3, ..Case::repeat(0) }.write(root, "wrong");
    let ran = |arguments: &[&str]| {
        let mut command = assert_cmd::Command::cargo_bin("precision-gate").expect("built");
        for name in ["CI", "GITHUB_ACTIONS", "GITLAB_CI"] {
            command.env_remove(name);
        }
        let output = command.current_dir(root).args(arguments).output().expect("runs");
        let said = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8_lossy(&said).into_owned())
    };
    let (code, said) = ran(&["noise", &repeats[0], &repeats[1], &repeats[2], "--out", "noise.json"]);
    assert!(code == Some(0) && said.contains("step 0 rank 0: values that move by themselves: 1, largest"), "{said}");
    for command in ["compare", "run"] {
        let (code, said) = ran(&[command, &repeats[0], &healthy, "--noise", "noise.json", "--warn-exit-code", "7"]);
        assert_eq!(code, Some(0), "{said}");
        let (code, said) = ran(&[command, &repeats[0], &healthy, "--warn-exit-code", "7"]);
        assert_eq!(code, Some(7), "{said}");
        let (code, said) = ran(&[command, &wrong, &healthy, "--noise", "noise.json", "--reference", &repeats[1]]);
        assert!(code == Some(1) && said.contains("from the reference:"), "{said}");
        let text = std::fs::read_to_string(root.join("precision-gate-out/summary.md")).expect("a summary");
        assert!(text.contains("from the reference:") && text.contains("is off"), "{text}");
    }
    let (code, said) = ran(&["compare", &wrong, &healthy, "--reference", "nowhere"]);
    assert!(code == Some(2) && said.contains("nowhere"), "{said}");
}
