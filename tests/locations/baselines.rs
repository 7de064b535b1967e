//! Baselines as reviewed things, as a user meets them.

use std::path::Path;

use assert_cmd::Command;
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;

use super::data::fixture;
use super::objects::sides;

/// A repository with two runs of a model, that differ, in `runs/old` and `runs/new`.
fn repository() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("folder");
    let [gpu, npu] = sides(&fixture("dumps/gpt_bf16_tensor_layernorm_eps"));
    copy(&gpu, &folder.path().join("runs/old"));
    copy(&npu, &folder.path().join("runs/new"));
    std::fs::create_dir_all(folder.path().join("src")).expect("made");
    std::fs::write(folder.path().join("src/model.py"), "eps = 1e-5").expect("written");
    std::fs::write(
        folder.path().join("precision-gate.yml"),
        "baselines:\n  max-age-days: 90\n  sources: ['src/**']\nseverity:\n  baseline-old: fail\n",
    )
    .expect("written");
    folder
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("made");
    for entry in std::fs::read_dir(from).expect("a folder").flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).expect("copied");
        }
    }
}

fn gate(repository: &Path) -> Command {
    let mut command = Command::cargo_bin("precision-gate").expect("built");
    command.current_dir(repository).env_clear().env("TMPDIR", repository);
    command
}

fn promote(repository: &Path, run: &str, reason: &str) -> Command {
    let mut command = gate(repository);
    command.args(["baseline", "promote", run, "--name", "glm", "--approved-by", "ann", "--today", "2026-11-01"]);
    command.args(["--commit", "0123abc", "--hardware", "8x A100", "--with", "cann=8.2", "--reason", reason]);
    command
}

fn judge(repository: &Path, candidate: &str, today: &str) -> Command {
    let mut command = gate(repository);
    command.args(["run", "--baseline", "baseline:glm", "--candidate", candidate, "--today", today, "--color", "never"]);
    command
}

#[test]
fn a_baseline_is_promoted_pinned_and_judged_against() {
    let repository = repository();
    let root = repository.path();
    judge(root, "runs/old", "2026-11-02").assert().code(1).stdout(contains("baseline promote"));
    promote(root, "runs/old", " ").assert().code(2).stderr(contains("--reason"));
    promote(root, "src", "empty").assert().code(2).stderr(contains("holds no dump"));
    promote(root, "runs/old", "first").assert().code(0).stdout(contains("written: ./baselines/glm.json"));
    gate(root).args(["baseline", "list", "--today", "2026-11-03"]).assert().code(0).stdout(contains("2 days"));
    gate(root).args(["baseline", "show"]).assert().code(0).stdout(contains("8x A100")).stdout(contains("cann 8.2"));
    gate(root).args(["baseline", "verify", "glm"]).assert().code(0).stdout(contains("are as recorded"));
    judge(root, "runs/old", "2026-11-02").assert().code(0).stdout(contains("baseline-").not());
    judge(root, "runs/new", "2026-11-02").assert().code(1);
}

#[test]
fn a_larger_change_than_the_band_has_to_be_accepted() {
    let repository = repository();
    let root = repository.path();
    promote(root, "runs/old", "first").assert().code(0);
    let before = std::fs::read(root.join("baselines/glm.json")).expect("written");
    gate(root)
        .args(["baseline", "diff", "glm", "runs/new"])
        .assert()
        .code(1)
        .stdout(contains("new judged against old: fail"));
    promote(root, "runs/new", "new eps").assert().code(1).stdout(contains("--accept-change"));
    assert_eq!(std::fs::read(root.join("baselines/glm.json")).expect("there"), before, "nothing was written");
    promote(root, "runs/new", "new eps").arg("--accept-change").assert().code(0).stdout(contains("accepted"));
    let manifest = std::fs::read_to_string(root.join("baselines/glm.json")).expect("written");
    assert!(manifest.contains("\"exceeds_band\": true") && manifest.contains("\"replaces\": \"sha256:"), "{manifest}");
    judge(root, "runs/new", "2026-11-02").assert().code(0);
}

#[test]
fn a_baseline_that_changed_or_aged_is_told() {
    let repository = repository();
    let root = repository.path();
    promote(root, "runs/old", "first").assert().code(0);
    judge(root, "runs/old", "2027-05-01").assert().code(1).stdout(contains("days old"));
    std::fs::write(root.join("src/model.py"), "eps = 1e-6").expect("written");
    judge(root, "runs/old", "2026-11-02")
        .assert()
        .code(0)
        .stdout(contains("changed since").and(contains("baseline-moved")));
    let dump = root
        .join("runs/old/step0")
        .read_dir()
        .expect("a step")
        .flatten()
        .next()
        .expect("a rank")
        .path()
        .join("dump.json");
    let text = std::fs::read_to_string(&dump).expect("readable");
    std::fs::write(&dump, text.replacen("\"task\"", " \"task\"", 1)).expect("written");
    judge(root, "runs/old", "2026-11-02")
        .assert()
        .code(1)
        .stdout(contains("manifest glm").and(contains("baseline-changed")));
    gate(root).args(["baseline", "verify"]).assert().code(1).stdout(contains("dump.json: has"));
    let manifest = root.join("baselines/glm.json");
    let text = std::fs::read_to_string(&manifest).expect("readable");
    std::fs::write(&manifest, text.replace("8x A100", "8x H100")).expect("written");
    judge(root, "runs/old", "2026-11-02").assert().code(2).stderr(contains("is not the manifest"));
}

#[test]
fn the_release_profile_reads_every_byte_of_the_baseline() {
    let repository = repository();
    let root = repository.path();
    std::fs::write(root.join("precision-gate.yml"), "profile: release\n").expect("written");
    gate(root)
        .args(["run", "--baseline", "runs/old", "--candidate", "runs/old", "--today", "2026-11-02", "-v"])
        .assert()
        .code(1)
        .stdout(contains("requires a baseline with a manifest").and(contains("baseline-unverified")));
    promote(root, "runs/old", "first").assert().code(0);
    judge(root, "runs/old", "2026-11-02").assert().code(1).stdout(contains("compared with itself"));
    // Another run of the same numbers: its records end with one line more.
    copy(&root.join("runs/old"), &root.join("runs/again"));
    let records = root.join("runs/again/step0/proc12975/dump.json");
    let text = std::fs::read_to_string(&records).expect("readable");
    std::fs::write(&records, text + "\n").expect("written");
    judge(root, "runs/again", "2026-11-02").assert().code(0);
}

#[test]
fn the_job_that_judges_does_not_promote() {
    let repository = repository();
    let root = repository.path();
    let ci = |mut command: Command, event: &str| {
        command.env("CI", "true").env("GITHUB_RUN_ID", "1").env("GITHUB_RUN_ATTEMPT", "1").env("GITHUB_JOB", "gate");
        command.env("RUNNER_TEMP", root).env("GITHUB_EVENT_NAME", event);
        command
    };
    ci(promote(root, "runs/old", "first"), "pull_request").assert().code(2).stderr(contains("not merged"));
    ci(promote(root, "runs/old", "first"), "workflow_dispatch").assert().code(0);
    ci(judge(root, "runs/old", "2026-11-02"), "workflow_dispatch").assert().code(0);
    ci(promote(root, "runs/new", "again"), "workflow_dispatch").assert().code(2).stderr(contains("has judged"));
}
