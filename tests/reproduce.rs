//! `reproduce`: a folder with a script that runs the culprit alone, and the report to file.
#![allow(
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test that indexes beyond what is there fails, as it should, and says what it counted"
)]

use crate::data;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use assert_cmd::cargo::cargo_bin;
use tempfile::TempDir;

fn fixture(case: &str) -> PathBuf {
    data::fixture("dumps").join(case)
}

/// The program in an empty surrounding.
fn gate(folder: &Path) -> Command {
    let mut gate = Command::new(cargo_bin("precision-gate"));
    gate.current_dir(folder).env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    gate
}

/// A folder with the result of a case below `out`.
fn judged(case: &str) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let (gpu, npu) = (fixture(case).join("gpu"), fixture(case).join("npu"));
    let ran = gate(folder.path()).arg("run").args([gpu, npu]).args(["--out", "out", "-q"]).output().expect("it runs");
    assert!(folder.path().join("out/result.json").exists(), "{}", String::from_utf8_lossy(&ran.stderr));
    folder
}

/// Runs `reproduce` on a judged case: exit code, standard output, standard error.
fn reproduce(folder: &Path, flags: &[&str]) -> (i32, String, String) {
    let ran = gate(folder).args(["reproduce", "out/result.json"]).args(flags).output().expect("it runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (ran.status.code().expect("an exit code"), text(&ran.stdout), text(&ran.stderr))
}

/// The constant of a script, and the program around it.
fn parts(folder: &Path) -> (String, String) {
    let script = fs::read_to_string(folder.join("reproduce/reproduce.py")).expect("a script");
    let (before, rest) = script.split_once("\nCASE = (\n").expect("the constant begins");
    let (constant, after) = rest.split_once("\n)\n").expect("the constant ends");
    (constant.to_owned(), format!("{before}\nCASE = '{{}}'\n{after}"))
}

fn names(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder.join("reproduce")).expect("a folder").flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn a_folder_holds_the_script_the_operation_and_the_report() {
    for (case, flags, name) in [
        ("cnn_tensor_l1_fp16_linear", &["--with-data"][..], "data"),
        ("gpt_bf16_stats_attention_scale", &[][..], "statistics"),
        ("glm_stats_mix_zero_getitem_grad", &[][..], "backward"),
    ] {
        let folder = judged(case);
        let (code, out, error) = reproduce(folder.path(), flags);
        assert_eq!((code, error.as_str()), (0, ""), "{case}: {out}");
        let (constant, program) = parts(folder.path());
        let shipped = include_str!("../templates/reproduce/reproduce.py");
        assert_eq!(program, shipped, "{case}: the program is the same for every operation");
        let report = |file: &str| fs::read_to_string(folder.path().join("reproduce").join(file)).expect("a report");
        let version = |text: &str| text.replace(env!("CARGO_PKG_VERSION"), "[version]");
        insta::with_settings!({ snapshot_path => "reproduce/snapshots", prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!(format!("{name}.case"), version(&constant));
            insta::assert_snapshot!(format!("{name}.en"), version(&report("issue.md")));
            insta::assert_snapshot!(format!("{name}.zh"), version(&report("issue.zh.md")));
        });
    }
}

#[test]
fn tensors_are_copied_only_where_that_was_asked_for() {
    let folder = judged("cnn_tensor_l1_fp16_linear");
    assert_eq!(reproduce(folder.path(), &[]).0, 0);
    let documents: BTreeSet<String> = ["issue.md", "issue.zh.md", "reproduce.py"].map(str::to_owned).into();
    assert_eq!(names(folder.path()), documents);
    assert!(parts(folder.path()).0.contains(r#""inputs": "statistics""#));
    assert_eq!(reproduce(folder.path(), &["--with-data"]).0, 0);
    let copied: Vec<String> = names(folder.path()).difference(&documents).cloned().collect();
    assert!(copied.len() > 5 && copied.iter().all(|name| name.ends_with(".bin")), "{copied:?}");
    let input = fs::read(folder.path().join("reproduce/tensor-0.bin")).expect("a copy");
    assert_eq!(input.len(), 4 * 256 * 4, "the elements alone");
    // Written again without them, none of them stays.
    assert_eq!(reproduce(folder.path(), &[]).0, 0);
    assert_eq!(names(folder.path()), documents);
}

#[test]
fn the_report_names_the_versions_of_both_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    for side in ["gpu", "npu"] {
        let step = folder.path().join(side).join("step0/rank0");
        fs::create_dir_all(&step).expect("a folder");
        let dump = fixture("gpt_bf16_stats_attention_scale").join(side).join("step0");
        let process = fs::read_dir(dump).expect("a step").flatten().next().expect("a process").path();
        fs::copy(process.join("dump.json"), step.join("dump.json")).expect("copied");
        let pack = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/config-check/pip-watched-differ");
        fs::copy(pack.join(format!("{side}.zip")), folder.path().join(side).join("pack.zip")).expect("copied");
    }
    let ran = gate(folder.path()).args(["run", "gpu", "npu", "--out", "out", "-q"]).output().expect("it runs");
    assert_eq!(ran.status.code(), Some(1), "{}", String::from_utf8_lossy(&ran.stderr));
    let (code, out, error) = reproduce(folder.path(), &[]);
    assert_eq!((code, error.as_str()), (0, ""), "{out}");
    assert!(!out.contains("note: "), "{out}");
    let report = fs::read_to_string(folder.path().join("reproduce/issue.md")).expect("a report");
    assert!(report.contains("`torch` `2.7.1+cu126`") && report.contains("`torch-npu` `2.7.1`"), "{report}");
}

#[test]
fn a_folder_that_changed_since_the_result_is_told() {
    let folder = judged("cnn_tensor_l1_fp16_linear");
    let side = |name: &str| fixture("gpt_bf16_stats_attention_scale").join(name).display().to_string();
    // Another run's folder has a call of this name, too.
    let (code, out, _) = reproduce(folder.path(), &["--baseline", &side("gpu"), "--candidate", &side("npu")]);
    assert!(code == 0 && out.contains("its files are not those of the result"), "{out}");
}

#[test]
fn the_same_result_gives_the_same_bytes() {
    let folder = judged("gpt_bf16_tensor_layernorm_eps");
    let written = || {
        assert_eq!(reproduce(folder.path(), &["--with-data"]).0, 0);
        let read = |name: &String| fs::read(folder.path().join("reproduce").join(name)).expect("a file");
        names(folder.path()).iter().map(read).collect::<Vec<_>>()
    };
    assert_eq!(written(), written());
}

#[test]
fn another_operation_is_named_by_its_name() {
    let folder = judged("cnn_tensor_l1_fp16_linear");
    let (code, _, error) = reproduce(folder.path(), &["--op", "Functional.relu.0.forward", "--with-data"]);
    assert_eq!((code, error.as_str()), (0, ""));
    assert!(parts(folder.path()).0.contains(r#""name": "relu""#));
    let (code, _, error) = reproduce(folder.path(), &["--op", "Functional.relu.0.forwrad"]);
    assert!(code == 2 && error.contains("did you mean `Functional.relu.0.forward`?"), "{error}");
}

#[test]
fn what_cannot_run_says_why_and_writes_nothing() {
    for (case, flags, part) in [
        ("debug_save_tensor", &[][..], "saved by hand"),
        ("glm_stats_mix_dropout", &[][..], "drawn at random"),
        ("legacy_ptdbg_api_stack_npy", &[][..], "ptdbg_ascend"),
        ("tp2_bf16_tensor_rank1_bad_tile", &["--op", "Distributed.all_reduce.0.forward"][..], "other ranks"),
        ("identical_glm_tensor_mix", &[][..], "names no culprit"),
        ("identical_glm_tensor_mix", &["--op", "Module.layers.0.GLMBlock.forward.0"][..], "constructor"),
    ] {
        let folder = judged(case);
        let (code, out, error) = reproduce(folder.path(), flags);
        assert_eq!((code, out.as_str()), (2, ""), "{case}");
        assert!(error.contains(part) && error.contains("\nhelp: "), "{case}: {error}");
        assert!(!folder.path().join("reproduce/reproduce.py").exists(), "{case}");
    }
}

#[test]
fn folders_that_moved_are_given_again() {
    let folder = judged("cnn_tensor_l1_fp16_linear");
    let result = folder.path().join("out/result.json");
    let text = fs::read_to_string(&result).expect("a result");
    let moved = text.replace("cnn_tensor_l1_fp16_linear", "moved_away");
    fs::write(&result, moved).expect("written");
    let (code, _, error) = reproduce(folder.path(), &[]);
    assert!(code == 2 && error.contains("--baseline"), "{error}");
    let side = |name: &str| fixture("cnn_tensor_l1_fp16_linear").join(name).display().to_string();
    let flags = ["--baseline", &side("gpu"), "--candidate", &side("npu")];
    assert_eq!(reproduce(folder.path(), &flags).0, 0);
}

#[test]
fn a_result_names_no_place_elsewhere_that_is_fetched() {
    let folder = judged("cnn_tensor_l1_fp16_linear");
    let result = folder.path().join("out/result.json");
    let mut value: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(&result).expect("a result")).expect("JSON");
    value["candidate"]["location"] = "https://192.0.2.1/secret".into();
    fs::write(&result, value.to_string()).expect("written");
    let (code, _, error) = reproduce(folder.path(), &[]);
    assert!(code == 2 && error.contains("--candidate"), "{error}");
}

mod hostile;
mod python;
