//! The scripts as the person runs them who receives the folder: alone, by another machine's Python.

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use super::{judged, reproduce};

/// Copies the folder of a script alone.
fn received(folder: &Path) -> TempDir {
    let received = tempfile::tempdir().expect("a folder");
    for entry in fs::read_dir(folder.join("reproduce")).expect("a folder").flatten() {
        fs::copy(entry.path(), received.path().join(entry.file_name())).expect("copied");
    }
    received
}

/// Runs a script in a folder of its own: exit code and what it prints.
fn run(folder: &Path) -> (i32, String) {
    run_in(received(folder).path())
}

/// Runs the script of a folder by the Python that `TORCH_PYTHON` names.
fn run_in(folder: &Path) -> (i32, String) {
    let python = std::env::var("TORCH_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let script = folder.join("reproduce.py");
    let ran = Command::new(python).arg(script).args(["--device", "cpu"]).env_clear().current_dir("/").output();
    let ran = ran.expect("TORCH_PYTHON names a Python with torch");
    let text = format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    (ran.status.code().expect("an exit code"), text)
}

#[test]
#[ignore = "needs a Python with torch, which TORCH_PYTHON names"]
fn scripts_show_the_planted_defect_again() {
    for (case, flags, code, part) in [
        ("cnn_tensor_l1_fp16_linear", &["--with-data"][..], 1, "the NPU errs"),
        ("gpt_bf16_tensor_layernorm_eps", &["--with-data"][..], 1, "the NPU errs"),
        ("tp2_bf16_tensor_rank1_bad_tile", &["--with-data"][..], 1, "the NPU errs"),
        // The operation is right; what it was given is not.
        ("glm_tensor_l1_inv_freq", &["--with-data"][..], 0, "the two runs gave another input.2"),
        // From statistics nothing is claimed about what the run computed.
        ("gpt_bf16_stats_attention_scale", &[][..], 0, "no answer of an NPU"),
        ("glm_stats_mix_zero_getitem_grad", &[][..], 0, "not those of the run"),
        ("identical_glm_tensor_mix", &["--with-data", "--op", "Functional.softmax.0.forward"][..], 0, "does not err"),
    ] {
        let folder = judged(case);
        assert_eq!(reproduce(folder.path(), flags).0, 0, "{case}");
        let (found, text) = run(folder.path());
        assert_eq!(found, code, "{case}: {text}");
        assert!(text.contains(part), "{case}: {text}");
    }
}

#[test]
#[ignore = "needs a Python with torch, which TORCH_PYTHON names"]
fn errors_of_other_machines_that_lie_beside_the_script_count() {
    let folder = judged("gpt_bf16_tensor_layernorm_eps");
    assert_eq!(reproduce(folder.path(), &["--with-data"]).0, 0);
    let received = received(folder.path());
    let copy = |from: &str, to: &str| {
        let errors = |device: &str| received.path().join(format!("errors_{device}.json"));
        fs::copy(errors(from), errors(to)).expect("copied");
    };
    assert_eq!(run_in(received.path()).0, 1);
    // An NPU that computes it right goes before what the run recorded, and so does a GPU.
    copy("cpu", "npu");
    copy("cpu", "cuda");
    let (code, text) = run_in(received.path());
    assert!(code == 0 && text.contains("NPU, here") && text.contains("GPU, here"), "{text}");
    copy("candidate", "npu");
    assert_eq!(run_in(received.path()).0, 1);
    // Errors of another operation are left out.
    let foreign = received.path().join("errors_npu.json");
    let text = fs::read_to_string(&foreign).expect("errors");
    let key = text.split_once("\"case\": \"").expect("a key").1.split('"').next().expect("a digest");
    fs::write(&foreign, text.replace(key, "0")).expect("written");
    let (code, text) = run_in(received.path());
    assert!(code == 1 && text.contains("belongs to another operation"), "{text}");
}

#[test]
#[ignore = "needs a Python with torch, which TORCH_PYTHON names"]
fn a_tensor_that_was_changed_on_the_way_is_refused() {
    let folder = judged("cnn_tensor_l1_fp16_linear");
    assert_eq!(reproduce(folder.path(), &["--with-data"]).0, 0);
    let path = folder.path().join("reproduce/tensor-0.bin");
    let mut bytes = fs::read(&path).expect("a tensor");
    bytes[0] ^= 1;
    fs::write(&path, bytes).expect("written");
    let (code, text) = run(folder.path());
    assert!(code == 2 && text.contains("SHA-256 differs"), "{text}");
}
