//! Pages of every check, as the program writes them for real runs, and of numbers that spoil an axis.

use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use precision_gate::report::messages::Language;

use crate::data::fixture;

/// Runs to judge.
enum Given {
    /// Both sides of a case.
    Pair(&'static str),
    /// The candidate of a case, without a baseline.
    Alone(&'static str),
    /// Training code.
    Source(&'static str),
    /// Runs that a test writes.
    Made(fn(&Path)),
}

/// A run of the program.
struct Shown {
    name: &'static str,
    given: Given,
}

const fn pair(name: &'static str, case: &'static str) -> Shown {
    Shown { name, given: Given::Pair(case) }
}

const fn alone(name: &'static str, case: &'static str) -> Shown {
    Shown { name, given: Given::Alone(case) }
}

/// Every check, and every kind of picture.
const SHOWN: &[Shown] = &[
    pair("dump", "dumps/glm_stats_mix_zero_getitem_grad"),
    pair("dump-ranks", "dumps/tp2_bf16_tensor_rank1_bad_tile"),
    pair("dump-nan", "dumps/zoo_tensor_nan_inf"),
    pair("dump-missing", "dumps/glm_stats_mix_jit_script_missing_bench"),
    pair("curves", "loss/diverging_trend"),
    pair("curves-nan", "loss/nan_from_step"),
    pair("rl", "rl/slime_mismatch"),
    pair("rl-length", "rl/bad-length-bias"),
    pair("monitor", "monitor/matmul-precision-v1"),
    pair("monitor-ranks", "monitor/stale-rank2-v2"),
    pair("performance", "performance/fusion-lost"),
    pair("performance-ranks", "performance/communication-not-overlapped"),
    pair("operators", "operators/gelu-2-percent"),
    pair("evaluation", "evaluation/evalscope_lost_14"),
    pair("evaluation-texts", "evaluation/gen_first_token_wrong"),
    pair("checkpoint", "checkpoint-writers/bad-fp8-row-lost"),
    pair("tokens", "tokens/one-rank-stale"),
    alone("tokens-alone", "tokens/stale-frozen"),
    pair("rollouts", "tokens/rollout-garbled-6"),
    alone("weights", "tokens/sync-stale-layer"),
    pair("layouts", "layouts/no-data-reduce-dp2"),
    pair("timeline", "onerun/pair-gradient-inf-first-0"),
    alone("health", "onerun/half-skipped-deepspeed-0"),
    alone("health-end", "onerun/crash-hccl-timeout-0"),
    pair("config", "config-check/hyper-shell-differs"),
    Shown { name: "source", given: Given::Source("source/vision_ddp_gpu_only/repo") },
    Shown { name: "arrays", given: Given::Made(arrays) },
    Shown { name: "curves-1e300", given: Given::Made(spoiled_curves) },
    Shown { name: "monitor-inf", given: Given::Made(spoiled_monitor) },
];

/// The run with curves whose axes a single number could flatten.
pub(crate) const SPOILED: &str = "curves-1e300";

/// Arrays of which one is off.
fn arrays(folder: &Path) {
    for (side, factor) in [("gpu", 1.0_f32), ("npu", 1.02)] {
        let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 8), }";
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        let padded = format!("{header:<117}\n");
        bytes.extend(u16::try_from(padded.len()).expect("short").to_le_bytes());
        bytes.extend(padded.as_bytes());
        bytes.extend((0_u8..32).flat_map(|index| (factor * (f32::from(index) - 15.5)).to_le_bytes()));
        let side = folder.join(side);
        fs::create_dir_all(&side).expect("a folder");
        fs::write(side.join("logits.npy"), bytes).expect("written");
    }
}

/// A loss that is infinite once and 1e300 once.
fn spoiled_curves(folder: &Path) {
    for side in ["gpu", "npu"] {
        let loss = |step: u32| match (side, step) {
            ("npu", 40) => "1e300".to_owned(),
            ("npu", 60) => "Infinity".to_owned(),
            _ => format!("{:.6}", 2.0 + 3.0 / f64::from(step)),
        };
        let line = |step| format!("{{\"step\": {step}, \"loss\": {}, \"grad_norm\": 1.0}}\n", loss(step));
        let side = folder.join(side);
        fs::create_dir_all(&side).expect("a folder");
        fs::write(side.join("train.jsonl"), (1..=120).map(line).collect::<String>()).expect("written");
    }
}

/// A monitor of which one norm is infinite and one 1e300.
fn spoiled_monitor(folder: &Path) {
    let case = fixture("monitor/matmul-precision-v1");
    for side in ["gpu", "npu"] {
        copied(&case.join(side), &folder.join(side), &|text| {
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            let last = lines.len().saturating_sub(1);
            let norm = lines.first().and_then(|head| head.split(',').position(|name| name == "norm"));
            for (line, value) in [(last, "inf"), (last.saturating_sub(1), "1e300")] {
                let Some(cells) = lines.get(line).map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>())
                else {
                    continue;
                };
                if side == "npu" && line > 0 {
                    let spoil =
                        |(at, cell): (usize, &String)| if Some(at) == norm { value.to_owned() } else { cell.clone() };
                    lines[line] = cells.iter().enumerate().map(spoil).collect::<Vec<_>>().join(",");
                }
            }
            lines.join("\n") + "\n"
        });
    }
}

/// Copies a folder with what `change` makes of the table of inputs' gradients.
fn copied(from: &Path, to: &Path, change: &dyn Fn(&str) -> String) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder").flatten() {
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        let is_changed = entry.file_name().to_string_lossy().starts_with("actv_0");
        if path.is_dir() {
            copied(&path, &target, change);
        } else if is_changed {
            fs::write(target, change(&fs::read_to_string(path).expect("a table"))).expect("written");
        } else {
            fs::copy(path, target).expect("copied");
        }
    }
}

/// Runs the program on all of them, documents below `folder`: the names, and each run's folder.
pub(crate) fn written(language: Language, folder: &Path) -> Vec<(&'static str, PathBuf)> {
    SHOWN.iter().map(|shown| (shown.name, document(shown, language, folder))).collect()
}

/// Runs the program on the one of this name, and gives its folder.
pub(crate) fn of(name: &str, language: Language, folder: &Path) -> PathBuf {
    document(SHOWN.iter().find(|shown| shown.name == name).expect("a known name"), language, folder)
}

fn document(shown: &Shown, language: Language, folder: &Path) -> PathBuf {
    let out = folder.join(format!("{}-{}", shown.name, language.tag()));
    let _gone = fs::remove_dir_all(&out);
    let path = |case: &str, side: &str| {
        let path = fixture(case).join(side);
        let packed = path.with_extension("zip");
        if path.exists() { path } else { packed }.display().to_string()
    };
    let made = folder.join(format!("{}-runs", shown.name)).join(language.tag());
    let mut command = Command::cargo_bin("precision-gate").expect("a binary");
    for (name, _) in std::env::vars() {
        if ["CI", "GITHUB_", "GITLAB_", "INPUT_"].iter().any(|start| name.starts_with(start)) {
            command.env_remove(name);
        }
    }
    match &shown.given {
        Given::Pair(case) => {
            command.args(["run", "--baseline", &path(case, "gpu"), "--candidate", &path(case, "npu")]);
        }
        Given::Alone(case) => {
            command.args(["run", "--candidate", &path(case, "npu"), "--health"]);
        }
        Given::Source(repository) => {
            command.arg("source").arg(fixture(repository));
        }
        Given::Made(make) => {
            make(&made);
            command.arg("run").arg("--baseline").arg(made.join("gpu")).arg("--candidate").arg(made.join("npu"));
        }
    }
    let spoken = if language == Language::Zh { "zh" } else { "en" };
    let words = ["--lang", spoken, "--today", "2026-11-27", "--out"];
    let ran = command.args(words).arg(&out).output().expect("it runs");
    assert!(out.join("report.html").is_file(), "{}: {}", shown.name, String::from_utf8_lossy(&ran.stderr));
    out
}
