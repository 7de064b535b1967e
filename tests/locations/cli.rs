//! Exit codes and flags, as a job sees them.

use assert_cmd::Command;
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;

use super::data::fixture;
use super::objects::{location, sides, upload};
use super::server::{Fault, Server};

/// The binary, with credentials of the server's bucket and nothing else from here.
fn binary(folder: &std::path::Path) -> Command {
    let mut command = Command::cargo_bin("precision-gate").expect("built");
    command
        .current_dir(folder)
        .env_clear()
        .env("AWS_ACCESS_KEY_ID", "access")
        .env("AWS_SECRET_ACCESS_KEY", "s3cret")
        .env("HOME", folder);
    command
}

fn gate(server: &Server, folder: &std::path::Path, baseline: &str, candidate: &str) -> Command {
    let mut command = binary(folder);
    command
        .args(["run", "--baseline", &location(server, baseline), "--candidate", &location(server, candidate)])
        .args(["--max-disk", "10MB", "--max-memory", "256MB", "--today", "2026-11-21", "--color", "never"]);
    command
}

#[test]
fn exit_codes_say_whether_the_run_or_the_world_failed() {
    let folder = tempfile::tempdir().expect("folder");
    let server = Server::start();
    let [gpu, npu] = sides(&fixture("dumps/zoo_tensor_identical"));
    upload(&server, &gpu, "/bucket/gpu");
    upload(&server, &npu, "/bucket/npu");
    gate(&server, folder.path(), "gpu", "npu").assert().code(0);
    // The verdict can be made again, and nothing secret stands in it.
    let result = std::fs::read_to_string(folder.path().join("precision-gate-out/result.json")).expect("written");
    assert!(result.contains("s3://bucket/gpu") && !result.contains("s3cret") && !result.contains("127.0.0.1"));
    gate(&server, folder.path(), "none", "npu").assert().code(1).stdout(contains("baseline promote"));
    let mut denied = gate(&server, folder.path(), "gpu", "npu");
    server.fail("/bucket", &[Fault::Status(403)]);
    denied.assert().code(3).stderr(contains("access is denied").and(contains("AWS_ACCESS_KEY_ID")));
    let mut wrong = gate(&server, folder.path(), "gpu?acess=1", "npu");
    wrong.assert().code(2);
}

#[test]
fn a_policy_and_a_noise_band_are_made_of_runs_in_a_bucket() {
    let folder = tempfile::tempdir().expect("folder");
    let server = Server::start();
    let [gpu, npu] = sides(&fixture("loss/aligned_bf16"));
    upload(&server, &gpu, "/bucket/gpu");
    upload(&server, &npu, "/bucket/npu");
    let at = |key: &str| location(&server, key);
    let sides = [at("gpu"), at("npu")];
    binary(folder.path()).arg("init").args(&sides).assert().code(0).stdout(contains("s3://bucket/npu"));
    binary(folder.path()).arg("noise").args(&sides).assert().code(0).stdout(contains("loss: head"));
    let band = std::fs::read(folder.path().join("noise.json")).expect("written");
    assert!(!String::from_utf8_lossy(&band).contains("127.0.0.1"), "locations without what may be secret");
    server.put("/bucket/noise.json", &band);
    let mut loss = binary(folder.path());
    loss.arg("loss").args(&sides).args(["--noise", &at("noise.json")]).assert().code(0);
    loss.args(["--noise", &at("none")]).assert().code(2).stderr(contains("s3://bucket/none: is not there"));
}

#[test]
fn a_bucket_without_a_candidate_is_explained_by_the_training_that_failed() {
    let folder = tempfile::tempdir().expect("folder");
    let server = Server::start();
    let [gpu, _] = sides(&fixture("dumps/zoo_tensor_identical"));
    upload(&server, &gpu, "/bucket/gpu");
    let mut failed = gate(&server, folder.path(), "gpu", "none");
    failed.args(["--training", "failure"]).assert().code(1).stdout(contains("Nothing to judge: training failed"));
    let result = std::fs::read_to_string(folder.path().join("precision-gate-out/result.json")).expect("written");
    let result: serde_json::Value = serde_json::from_str(&result).expect("JSON");
    let codes = result["findings"].as_array().expect("findings").iter().map(|finding| finding["code"].as_str());
    assert_eq!(codes.take(2).collect::<Vec<_>>(), [Some("training-failed"), Some("location-missing")]);
    // Denied is not absent: the outside world failed, whatever became of training.
    let mut denied = gate(&server, folder.path(), "gpu", "none");
    server.fail("/bucket", &[Fault::Status(403)]);
    denied.args(["--training", "failure"]).assert().code(3);
}
