//! Records of rollouts, log-probabilities and synchronisations, arrays, and dumps of other tools: a file of a real candidate
//! with any content and any name, through the gate.
//!
//! The first byte chooses the file, the second the length of the name that it gets in its folder, 0 for its own.
#![no_main]

#[path = "../../tests/changes/mod.rs"]
#[allow(dead_code, reason = "shared with the tests")]
mod changes;
#[path = "../../tests/data.rs"]
#[allow(dead_code, reason = "shared with the tests")]
mod data;

use std::path::Path;

use changes::judge;
use changes::tree::copy;
use data::fixture;
use libfuzzer_sys::fuzz_target;
use precision_gate::error::ErrorKind;

/// Folder of a case, and the candidate's file.
const FILES: [(&str, &str); 14] = [
    ("tokens/rollout-ok-permuted", "rollout_data/2.jsonl"),
    ("tokens/copied", "rollouts/1.jsonl"),
    ("tokens/ok-fp16-alone", "rollout_data/1.pt"),
    ("tokens/ok-two-ranks-two-steps", "rollout/step_3_rank_0.npz"),
    ("tokens/prob-diff-ok", "prob_diff_step_2.npy"),
    ("tokens/sync-manifest-missing", "sync/rollout_step1.json"),
    ("tokens/sync-half", "stage2_transfer/P5_receiver_step1_rank0.pt"),
    ("tools/atb-ok", "atb_dump_data/statistic.csv"),
    ("tools/hf-trace-missing-layer", "LlamaForCausalLM_debug_tree_SUMMARY.json"),
    ("tools/inspect-scaled", "nvdlfw_inspect_statistics_logs/nvdlfw_inspect_globalrank-0.log"),
    ("tools/save-npy-ok", "step0/rank0/lm_head_float32_0.npy"),
    ("tools/sglang-shape", "exp/step=0___rank=0___dump_index=10___name=model.layers.0.mlp.pt"),
    ("tools/array-ok-members", "acts.npz"),
    ("tools/image-ok", "samples/00000.png"),
];

/// A name of one file, whatever the bytes are.
fn file_name(bytes: &[u8]) -> Option<String> {
    let name: String = String::from_utf8_lossy(bytes).chars().filter(|letter| !matches!(letter, '/' | '\0')).collect();
    let is_own = name != "." && name != ".." && !name.is_empty() && name.len() < 200;
    is_own.then_some(name)
}

fuzz_target!(|bytes: &[u8]| {
    let [file, length, rest @ ..] = bytes else { return };
    let (case, path) = FILES[usize::from(*file) % FILES.len()];
    let (name, content) = rest.split_at(usize::from(*length).min(rest.len()));
    let case = fixture(case);
    let baseline = Some(case.join("gpu")).filter(|folder| folder.is_dir()).unwrap_or_else(|| case.join("npu"));
    let folder = tempfile::tempdir().expect("a folder");
    copy(&case.join("npu"), folder.path());
    let own = folder.path().join(path);
    let place = file_name(name).map_or_else(|| own.clone(), |name| own.parent().unwrap_or(Path::new("")).join(name));
    std::fs::remove_file(own).expect("the case holds the file");
    if std::fs::write(&place, content).is_err() {
        return;
    }
    if let Err(error) = judge(&baseline, folder.path(), "") {
        assert!(error.kind() != ErrorKind::Internal, "{error}");
    }
});
