//! Records of log-probabilities by token, and manifests of weights on their way to an engine.

use std::io::Write;
use std::path::Path;

use super::{create, joined, value};

/// Answers of some tokens each; a drifted engine is off at every token.
fn answers(folder: &Path, answers: usize, tokens: usize, drift: bool) {
    let mut out = create(&folder.join("batch_step_1.jsonl"));
    for answer in 0..answers {
        let list = |one: &dyn Fn(usize) -> String| joined(tokens, ",", |token| one(answer * tokens + token));
        let trainer = list(&|at| format!("-{:.4}", value(at, false)));
        let engine = list(&|at| format!("-{:.4}", value(at, drift)));
        let (ids, mask) = (list(&|at| (at % 32_000).to_string()), list(&|_| "1".to_owned()));
        writeln!(
            out,
            r#"{{"index": {answer}, "prompt_ids": [1, 2], "response_ids": [{ids}], "response_mask": [{mask}], "rollout_log_probs": [{engine}], "old_log_probs": [{trainer}]}}"#
        )
        .expect("written");
    }
}

pub(super) fn token_answers(folder: &Path, n: usize, drift: bool) {
    answers(folder, n, 4, drift);
}

pub(super) fn token_lengths(folder: &Path, n: usize, drift: bool) {
    answers(folder, 10, n.div_ceil(10), drift);
}

/// Digests of both ends; of a drifted side every tensor arrives as another.
pub(super) fn sync_tensors(folder: &Path, n: usize, drift: bool) {
    for (role, is_off) in [("sender", false), ("receiver", drift)] {
        let mut out = create(&folder.join(format!("sync/{role}_step1_rank0.json")));
        write!(out, r#"{{"version": 1, "role": "{role}", "tensors": ["#).expect("written");
        for index in 0..n {
            let (comma, digest) = (if index > 0 { "," } else { "" }, index * 2 + usize::from(is_off));
            write!(
                out,
                "{comma}\n{{\"name\": \"model.layers.{index}.weight\", \"dtype\": \"bfloat16\", \"shape\": [8], \"sha256\": \"{digest:064x}\"}}"
            )
            .expect("written");
        }
        write!(out, "]}}").expect("written");
    }
}

/// Pointers before and after the engine was given its weights; of a drifted side none moved.
pub(super) fn sync_pointers(folder: &Path, n: usize, drift: bool) {
    let mut out = create(&folder.join("stage3_vllm/ptr_before_after_step1_rank0.json"));
    write!(out, r#"{{"status": "pass", "details": ["#).expect("written");
    for index in 0..n {
        let comma = if index > 0 { "," } else { "" };
        let (before, after) = (4096 * index, 4096 * index + if drift { 0 } else { 64 });
        write!(
            out,
            "{comma}\n{{\"name\": \"model.layers.{index}.weight\", \"ptr_before\": {before}, \"ptr_after\": {after}, \"synced\": true}}"
        )
        .expect("written");
    }
    write!(out, "]}}").expect("written");
}
