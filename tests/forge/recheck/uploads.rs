//! `publish --judge`: what was uploaded is judged here, under the target's policy and baseline.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::{fixture, second_half};
use crate::forge::fake::github::{GitHub, HEAD, TIP};
use crate::forge::gate::{Ended, Gate};

const FAILING: &str = "dumps/gpt_bf16_stats_attention_scale";

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder").flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("copied");
        }
    }
}

/// A job with the candidate's artifacts of a fixture in `incoming`.
fn with_upload(gate: &Gate, name: &str) {
    copy(&fixture(name)[1], &gate.folder().join("incoming"));
}

fn judge(gate: &Gate, name: &str, more: &[&str]) -> Ended {
    let baseline = fixture(name)[0].display().to_string();
    let arguments = ["publish", "--judge", "incoming", "--baseline", &baseline, "--today", "2026-11-21"];
    gate.command(&[&arguments[..], more].concat())
}

#[test]
fn a_lying_result_beside_the_artifacts_changes_nothing() {
    let fake = GitHub::start("");
    let gate = second_half(&fake);
    with_upload(&gate, FAILING);
    let lie = r#"{"schema_version":2,"verdict":"pass","source":{"commit":"5555555","repository":"dev/model"}}"#;
    gate.write("incoming/result.json", lie);
    gate.write("incoming/precision-gate.yml", "severity: { output-diverges: info }\n");
    let ended = judge(&gate, FAILING, &[]);
    assert_eq!(ended.code, 0, "{ended:?}");
    let state = fake.state();
    let check = state.checks.last().unwrap();
    assert_eq!((&check["conclusion"], &check["head_sha"]), (&"failure".into(), &HEAD.into()));
    let said = state.said();
    let body = said[0].1;
    assert!(body.contains("verdict=fail") && body.contains("were judged again here"), "{body}");
    assert!(!body.contains("The numbers were measured by"), "{body}");
    assert!(!check["output"]["title"].as_str().unwrap().contains("own numbers"), "{check}");
    drop(state);
    let written: serde_json::Value = serde_json::from_str(&gate.read("precision-gate-out/result.json")).expect("JSON");
    assert_eq!((&written["verdict"], &written["source"]["commit"]), (&"fail".into(), &HEAD.into()));
    assert_eq!(written["source"]["repository"], "org/model");
    fake.requests();
}

#[test]
fn the_baseline_and_the_limits_are_the_policys() {
    let fake = GitHub::start("");
    let gate = second_half(&fake);
    with_upload(&gate, "dumps/md5_identical");
    let baseline = fixture("dumps/md5_identical")[0].display().to_string();
    let policy = |text: String| fake.state().files.insert((TIP.into(), "precision-gate.yml".into()), text);
    policy(format!("baseline: {{ location: {baseline} }}\nrequired: [loss]\n"));
    let ended = gate.command(&["publish", "--judge", "incoming"]);
    assert_eq!(ended.code, 0, "{ended:?}");
    assert_eq!(fake.state().checks.last().unwrap()["conclusion"], "failure", "a required check is missing");
    policy(format!("baseline: {{ location: {baseline} }}\n"));
    assert_eq!(gate.command(&["publish", "--judge", "incoming"]).code, 0);
    assert_eq!(fake.state().checks.last().unwrap()["conclusion"], "success");
}

#[test]
fn nothing_uploaded_is_incomplete_and_says_so() {
    for there in [false, true] {
        let fake = GitHub::start("");
        let gate = second_half(&fake);
        if there {
            fs::create_dir_all(gate.folder().join("incoming/npu")).expect("a folder");
        }
        let ended = judge(&gate, FAILING, &[]);
        assert_eq!(ended.code, 0, "{ended:?}");
        let state = fake.state();
        assert_eq!(state.checks.last().unwrap()["conclusion"], "failure");
        let body = state.said()[0].1;
        assert!(body.contains("verdict=incomplete") && body.contains("Nothing was uploaded"), "{body}");
        assert!(!body.contains("were judged again here"), "{body}");
    }
}

/// A job whose upload is refused: exit code 2, a failed check, and no comment with a verdict.
fn refused(change: impl FnOnce(&Gate), more: &[&str], said: &str) {
    let fake = GitHub::start("");
    let gate = second_half(&fake);
    with_upload(&gate, FAILING);
    change(&gate);
    let ended = judge(&gate, FAILING, more);
    assert_eq!(ended.code, 2, "{said}: {ended:?}");
    assert!(ended.stderr.contains(said), "{said}: {ended:?}");
    let state = fake.state();
    assert_eq!(state.checks.last().unwrap()["conclusion"], "failure", "{said}");
    let said_so = state.said().iter().all(|(_, body)| body.contains("verdict=unfinished"));
    assert!(said_so, "{said}: {:?}", state.said());
}

#[test]
fn links_sizes_and_places_are_refused_before_anything_is_read() {
    refused(|gate| symlink("/etc/passwd", gate.path("incoming/train.log")).expect("a link"), &[], "is a link");
    refused(|gate| symlink("..", gate.path("incoming/up")).expect("a link"), &[], "is a link");
    refused(|_| {}, &["--max-input", "1KB"], "has more than 1000 bytes");
    let elsewhere = |gate: &Gate| {
        fs::rename(gate.path("incoming"), gate.path("outside")).expect("moved");
        symlink("outside", gate.path("incoming")).expect("a link");
    };
    refused(elsewhere, &[], "is no folder");
    let policy = |gate: &Gate| {
        gate.write("incoming/gate.yml", "profile: default\n");
    };
    refused(policy, &["--config", "incoming/gate.yml"], "the policy lies in the uploaded folder");
}

#[test]
fn exactly_one_of_a_result_and_a_folder_is_given() {
    let gate = Gate::outside();
    for (arguments, said) in [
        (&["publish"][..], "nothing to publish is given"),
        (&["publish", ""][..], "nothing to publish is given"),
        (&["publish", "r.json", "--judge", "incoming"][..], "takes the place of RESULT.json"),
        (&["publish", "r.json", "--baseline", "gpu"][..], "is for --judge alone"),
    ] {
        let ended = gate.command(arguments);
        assert!(ended.code == 2 && ended.stderr.contains(said), "{arguments:?}: {ended:?}");
    }
}
