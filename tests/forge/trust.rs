//! Trust in a stranger's change: nothing that it brings along decides, in any event.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::forge::fake::github::{GitHub, HEAD, Rights, TIP, TOKEN};
use crate::forge::fake::gitlab::{self, GitLab};
use crate::forge::fake::{Fake, Reply, Wrong};
use crate::forge::gate::{Ended, Gate, Pair, finished_workflow, pull_request};

/// A policy that lets everything pass.
const LAX: &str = "waivers: [{ code: '*', where: '*', reason: all is well, owner: mallory, expires: 2027-01-01 }]\n";
/// A policy that is told from the defaults by what it requires.
const TARGET: &str = "required: [dump]\n";

fn start(event: &str, payload: &Value) -> (Fake<GitHub>, Gate) {
    let fake = GitHub::start("");
    fake.state().files.insert((TIP.into(), "precision-gate.yml".into()), TARGET.into());
    fake.state().files.insert((TIP.into(), "ci/gate.yml".into()), TARGET.into());
    let mut gate = Gate::on_github(&fake.base);
    gate.write("event.json", &payload.to_string());
    gate.set(&[("GITHUB_EVENT_NAME", event)]);
    gate.write("precision-gate.yml", LAX);
    gate.write("ci/gate.yml", LAX);
    (fake, gate)
}

/// A change of a fork in a job whose token may write.
fn strangers_change() -> (Fake<GitHub>, Gate) {
    let (fake, gate) = start("pull_request_target", &pull_request("dev/model"));
    fake.state().from_fork = true;
    (fake, gate)
}

fn result(gate: &Gate) -> Value {
    serde_json::from_str(&gate.read("precision-gate-out/result.json")).unwrap_or_default()
}

/// The change's policy was not used: the verdict blocks, and the result names the target's tip.
fn assert_target_decided(gate: &Gate, ended: &Ended, what: &str) {
    assert_eq!(ended.code, 1, "{what}: {ended:?}");
    let result = result(gate);
    assert_eq!(result["source"]["target"], json!({ "branch": "main", "commit": TIP }), "{what}");
    assert_eq!(result["waived"], json!([]), "{what}");
}

fn repository() -> Value {
    json!({ "id": 1, "full_name": "org/model", "default_branch": "main" })
}

/// Events with their payload and further arguments; whose change it is, the forge or the payload says.
fn events(head: &str) -> Vec<(&'static str, Value, Vec<&'static str>)> {
    let queue = json!({ "head_sha": HEAD, "head_ref": "refs/heads/gh-readonly-queue/main/pr-7-0123abcd", "base_ref": "refs/heads/main" });
    let mut finished = finished_workflow();
    finished["workflow_run"]["head_repository"]["full_name"] = head.into();
    let number = vec!["--number", "7"];
    vec![
        ("pull_request", pull_request(head), vec![]),
        ("pull_request_target", pull_request(head), vec![]),
        ("pull_request_review", pull_request(head), vec![]),
        ("pull_request_review_comment", pull_request(head), vec![]),
        ("workflow_run", finished, vec![]),
        ("merge_group", json!({ "repository": repository(), "merge_group": queue }), vec![]),
        ("issue_comment", json!({ "repository": repository(), "issue": { "number": 7, "pull_request": {} } }), vec![]),
        ("workflow_dispatch", json!({ "repository": repository(), "inputs": null }), number.clone()),
        ("repository_dispatch", json!({ "repository": repository() }), number.clone()),
        ("schedule", json!({ "repository": repository() }), number.clone()),
        (
            "push",
            json!({ "repository": repository(), "ref": "refs/heads/gh-readonly-queue/main/pr-7-0123abcd" }),
            vec![],
        ),
        ("release", json!({ "repository": repository() }), number),
    ]
}

#[test]
fn a_stranger_is_judged_by_the_target_branch_in_every_event() {
    for (event, payload, more) in events("dev/model") {
        let (fake, gate) = start(event, &payload);
        fake.state().from_fork = true;
        let ended = gate.run(Pair::Fail, &more);
        assert_target_decided(&gate, &ended, event);
        let summary = gate.read("step-summary");
        assert!(summary.contains("It was judged by the target branch's version."), "{event}: {summary}");
        for check in &fake.state().checks {
            assert_eq!(check["conclusion"], "failure", "{event}");
        }
        let asked = fake.requests();
        assert!(asked.iter().any(|line| line.contains("/contents/precision-gate.yml")), "{event}: {asked:?}");
    }
}

#[test]
fn the_repositorys_own_change_is_judged_by_its_own_files_in_every_event() {
    for (event, payload, more) in events("org/model") {
        let (_fake, gate) = start(event, &payload);
        let ended = gate.run(Pair::Fail, &more);
        assert_eq!(ended.code, 0, "{event}: {ended:?}");
        assert_eq!(result(&gate)["source"]["target"], Value::Null, "{event}");
    }
}

/// `/ok-to-test`: a dispatch by a member checks out a fork's head.
#[test]
fn a_checkout_of_another_commit_than_the_events_is_a_strangers() {
    const FORKS: &str = "5555555555555555555555555555555555555555";
    for (event, payload, _) in events("org/model").into_iter().filter(|(event, ..)| *event != "issue_comment") {
        for head in [FORKS, "ref: refs/heads/topic\n"] {
            let (_fake, gate) = start(event, &payload);
            gate.write(".git/HEAD", head);
            let ended = gate.run(Pair::Fail, &[]);
            assert_target_decided(&gate, &ended, event);
        }
        // An archive of it in place of a repository.
        let (_fake, gate) = start(event, &payload);
        fs::remove_dir_all(gate.folder().join(".git")).expect("removed");
        let ended = gate.run(Pair::Fail, &[]);
        assert_target_decided(&gate, &ended, event);
    }
    for source in ["push", "schedule", "web", "merge_request_event"] {
        let fake = GitLab::start();
        fake.state().files.insert((gitlab::TIP.into(), "precision-gate.yml".into()), TARGET.into());
        let mut gate = Gate::on_gitlab(&fake.base);
        if source != "merge_request_event" {
            gate.unset_merge_request();
        }
        gate.set(&[("CI_PIPELINE_SOURCE", source), ("CI_COMMIT_BRANCH", "main"), ("CI_DEFAULT_BRANCH", "main")]);
        gate.write("precision-gate.yml", LAX);
        assert_eq!(gate.run(Pair::Fail, &[]).code, 0, "{source}: its own commit");
        gate.write(".git/HEAD", FORKS);
        let ended = gate.run(Pair::Fail, &[]);
        assert_target_decided(&gate, &ended, source);
    }
}

/// The event's own commit leaves the folder alone; the one that is checked out does not.
#[test]
fn a_baseline_is_held_against_the_commit_that_is_checked_out() {
    const FORKS: &str = "5555555555555555555555555555555555555555";
    let curve = "{\"step\": 1, \"loss\": 2.0}\n{\"step\": 2, \"loss\": 1.0}\n";
    let (fake, gate) = start("workflow_dispatch", &json!({ "repository": repository() }));
    let mut state = fake.state();
    for commit in [TIP, "2222222222222222222222222222222222222222"] {
        state.files.insert((commit.into(), "runs/gpu/loss.jsonl".into()), curve.into());
    }
    state.files.insert((FORKS.into(), "runs/gpu/loss.jsonl".into()), curve.replace('1', "9"));
    drop(state);
    gate.write(".git/HEAD", FORKS);
    gate.write("runs/gpu/loss.jsonl", curve);
    let ended = gate.command(&["run", "--baseline", "runs/gpu", "--candidate", "runs/gpu", "--today", "2026-11-21"]);
    assert_eq!(ended.code, 1, "{ended:?}");
    assert!(result(&gate)["findings"].to_string().contains("input-in-change"));
}

/// Repeats of profiles as of dumps and curves: a copy of one's own slow run would hide how slow it is.
#[test]
fn repeats_in_the_checkout_count_where_the_change_leaves_them_alone() {
    let sections = ["performance: { repeats: [again] }\n", "loss: { noise: again }\n", "dump: { noise: again }\n"];
    for section in sections {
        for (at_head, said) in [("as it was", false), ("edited", true)] {
            let (fake, gate) = strangers_change();
            let mut state = fake.state();
            state.files.insert((TIP.into(), "precision-gate.yml".into()), section.into());
            state.files.insert((TIP.into(), "again/one/x".into()), "as it was".into());
            state.files.insert((HEAD.into(), "again/one/x".into()), at_head.into());
            drop(state);
            gate.write("again/one/x", at_head);
            gate.run(Pair::Pass, &[]);
            let findings = result(&gate)["findings"].to_string();
            assert_eq!(findings.contains("input-in-change"), said, "{section}, {at_head}: {findings}");
        }
    }
}

#[test]
fn an_event_that_tells_nothing_counts_as_a_strangers() {
    for (event, payload) in [
        ("check_suite", json!({ "repository": repository() })),
        ("pull_request", json!("damaged")),
        ("merge_group", json!({ "repository": repository(), "merge_group": { "head_sha": HEAD } })),
    ] {
        let (_fake, gate) = start(event, &payload);
        let ended = gate.run(Pair::Fail, &[]);
        assert_target_decided(&gate, &ended, event);
    }
}

#[test]
fn a_target_policy_that_cannot_be_read_ends_with_three_and_never_with_defaults() {
    for (contains, reply) in [
        ("/contents/precision-gate.yml", Reply::refusal(500, "oops")),
        ("/contents/precision-gate.yml", Reply::refusal(403, "Resource not accessible by integration")),
        ("/contents/precision-gate.yml", Reply { status: 200, body: b"<html>".to_vec(), ..Reply::default() }),
        ("/contents/precision-gate.yml", Reply { status: 200, body: Vec::new(), ..Reply::default() }),
        ("/branches/main", Reply::refusal(404, "Branch not found")),
        ("/branches/main", Reply { status: 200, body: b"null".to_vec(), ..Reply::default() }),
    ] {
        let (fake, gate) = strangers_change();
        fake.fail("GET", contains, 100, Wrong::Instead(reply.clone()));
        let ended = gate.run(Pair::Fail, &[]);
        assert_eq!(ended.code, 3, "{contains} {reply:?}: {ended:?}");
        assert_eq!(fake.state().checks[0]["conclusion"], "failure", "{contains}");
    }
    let (_fake, mut gate) = strangers_change();
    gate.unset("INPUT_TOKEN");
    assert_eq!(gate.run(Pair::Fail, &[]).code, 3);
}

#[test]
fn other_judging_commands_ask_the_target_branch_too() {
    let [gpu, npu] = Pair::Fail.folders().map(|folder| folder.display().to_string());
    let curves = Pair::Curves.folders().map(|folder| folder.join("trainer_state.json").display().to_string());
    for arguments in [vec!["compare", &gpu, &npu], vec!["loss", &curves[0], &curves[1]]] {
        let (_fake, gate) = strangers_change();
        let ended = gate.command(&arguments);
        assert_eq!(ended.code, 1, "{arguments:?}: {ended:?}");
        assert_eq!(result(&gate)["waived"], json!([]), "{arguments:?}");
    }
}

#[test]
fn a_policy_that_the_target_branch_lacks_does_not_count() {
    let (_fake, gate) = strangers_change();
    gate.write("mine/gate.yml", LAX);
    let ended = gate.run(Pair::Fail, &["--config", "mine/gate.yml"]);
    assert_eq!(ended.code, 2, "{ended:?}");
    assert!(ended.stderr.contains("is not on the target branch main (444444444444)"), "{ended:?}");
}

#[test]
fn a_file_outside_of_the_checkout_is_the_jobs_own() {
    let (_fake, gate) = strangers_change();
    let outside = tempfile::tempdir().expect("a folder");
    let policy = outside.path().join("gate.yml");
    fs::write(&policy, LAX).expect("written");
    assert_eq!(gate.run(Pair::Fail, &["--config", &policy.display().to_string()]).code, 0);
}

/// Checked out with `path: src`: the forge is asked for the file's name in the repository.
#[test]
fn a_checkout_in_a_folder_of_the_workspace_is_found() {
    for (working, config) in
        [(".", Some("src/precision-gate.yml")), ("src", None), ("src/deep", Some("../precision-gate.yml"))]
    {
        let (fake, gate) = strangers_change();
        fs::remove_dir_all(gate.folder().join(".git")).expect("removed");
        fs::remove_file(gate.folder().join("precision-gate.yml")).expect("removed");
        gate.write("src/.git/HEAD", "ref: refs/heads/topic\n");
        gate.write("src/precision-gate.yml", LAX);
        gate.write("src/deep/x", "");
        let [gpu, npu] = Pair::Fail.folders().map(|folder| folder.display().to_string());
        let out = gate.path("precision-gate-out");
        let mut arguments =
            vec!["run", "--baseline", &gpu, "--candidate", &npu, "--out", &out, "--today", "2026-11-21"];
        arguments.extend(config.iter().flat_map(|config| ["--config", config]));
        let ended = gate.command_in(working, &arguments);
        assert_target_decided(&gate, &ended, working);
        assert!(fake.requests().iter().any(|line| line.contains("/contents/precision-gate.yml -> 200")));
    }
    // An archive in place of a checkout: nobody knows the name.
    let (_fake, gate) = strangers_change();
    fs::remove_dir_all(gate.folder().join(".git")).expect("removed");
    gate.write("src/precision-gate.yml", LAX);
    let ended = gate.run(Pair::Fail, &["--config", "src/precision-gate.yml"]);
    assert_eq!(ended.code, 3, "{ended:?}");
    assert!(ended.stderr.contains("without its .git folder"), "{ended:?}");
}

#[cfg(unix)]
#[test]
fn a_policy_folder_that_is_a_link_is_asked_for_by_its_own_name() {
    for target in ["lax", "../outside", ".", ".."] {
        let (fake, gate) = strangers_change();
        gate.write("lax/gate.yml", LAX);
        fs::remove_dir_all(gate.folder().join("ci")).expect("removed");
        std::os::unix::fs::symlink(target, gate.folder().join("ci")).expect("a link");
        fake.state().files.insert((TIP.into(), "lax/gate.yml".into()), LAX.into());
        fake.state().files.insert((TIP.into(), "gate.yml".into()), LAX.into());
        gate.write("gate.yml", LAX);
        let ended = gate.run(Pair::Fail, &["--config", "ci/gate.yml"]);
        assert_target_decided(&gate, &ended, target);
    }
}

fn git(folder: &Path, arguments: &[&str]) {
    let identity = ["-c", "user.name=a", "-c", "user.email=a@b"];
    let ran = Command::new("git").arg("-C").arg(folder).args(identity).args(arguments).output().expect("git");
    assert!(ran.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&ran.stderr));
}

/// A program that leaves a mark, at every place from which something is known to be run.
fn plant(gate: &Gate, folder: &str, mark: &Path) {
    let program = gate.write("planted.sh", &format!("#!/bin/sh\necho \"$0 $*\" >> {}\nexit 1\n", mark.display()));
    executable(Path::new(&program));
    let config = format!(
        "[core]\n\trepositoryformatversion = 1\n\tfsmonitor = {program}\n\tsshCommand = {program}\n\teditor = {program}\n\
         \tpager = {program}\n\tgitProxy = {program}\n\taskPass = {program}\n\thooksPath = hooks\n\
         [extensions]\n\tpartialClone = origin\n\
         [remote \"origin\"]\n\turl = file://{}\n\tpromisor = true\n\tuploadpack = {program}\n\treceivepack = {program}\n\
         [filter \"x\"]\n\tclean = {program}\n\tsmudge = {program}\n\tprocess = {program}\n\
         [diff \"x\"]\n\ttextconv = {program}\n\tcommand = {program}\n\
         [credential]\n\thelper = {program}\n\
         [alias]\n\tls-tree = !{program}\n\tcat-file = !{program}\n\trev-parse = !{program}\n\tshow = !{program}\n",
        gate.path("elsewhere")
    );
    for (name, text) in
        [("HEAD", "ref: refs/heads/main\n"), ("config", &config), ("objects/info/x", ""), ("refs/heads/x", "")]
    {
        gate.write(&format!("{folder}{name}"), text);
    }
    let hooks = ["post-checkout", "pre-push", "reference-transaction", "post-index-change", "fsmonitor-watchman"];
    for hook in hooks {
        executable(Path::new(&gate.write(&format!("{folder}hooks/{hook}"), &format!("#!/bin/sh\n{program}\n"))));
    }
}

#[cfg(unix)]
fn executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("executable");
}

/// The policy's folder is a bare repository whose missing objects a program of the change would fetch; and one whose
/// replaced objects or working tree lead elsewhere.
#[cfg(unix)]
#[test]
fn a_repository_in_the_checkout_is_never_asked() {
    for arguments in [vec!["--config", "ci/gate.yml"], vec!["--templates", "ci"], vec![]] {
        let (fake, gate) = strangers_change();
        let mark = tempfile::tempdir().expect("a folder");
        let mark = mark.path().join("ran");
        plant(&gate, "ci/", &mark);
        plant(&gate, "", &mark);
        let ended = gate.run(Pair::Fail, &arguments);
        assert_target_decided(&gate, &ended, &arguments.join(" "));
        assert!(!mark.exists(), "a program of the change ran: {}", fs::read_to_string(&mark).unwrap_or_default());
        fake.requests();
    }
    let (_fake, gate) = strangers_change();
    fs::remove_dir_all(gate.folder().join("ci")).expect("removed");
    gate.write("lax/gate.yml", LAX);
    git(gate.folder(), &["init", "-q", "--bare", "ci"]);
    git(&gate.folder().join("ci"), &["config", "core.bare", "false"]);
    git(&gate.folder().join("ci"), &["config", "core.worktree", "../lax"]);
    gate.write("ci/gate.yml", LAX);
    let ended = gate.run(Pair::Fail, &["--config", "ci/gate.yml"]);
    assert_target_decided(&gate, &ended, "core.worktree");
}

/// One program in every place that git, Python, shells and editors are known to run something from: none runs.
#[cfg(unix)]
#[test]
fn nothing_of_a_checkout_is_run() {
    let (fake, gate) = strangers_change();
    let folder = tempfile::tempdir().expect("a folder");
    let mark = folder.path().join("ran");
    plant(&gate, ".git/", &mark);
    plant(&gate, "", &mark);
    plant(&gate, "ci/", &mark);
    let program = gate.path("planted.sh");
    gate.write(".gitattributes", "* filter=x diff=x merge=x\n");
    gate.write(".gitmodules", &format!("[submodule \"x\"]\n\tpath = x\n\turl = x\n\tupdate = !{program}\n"));
    let python = format!("import os; os.system('{program} python')\n");
    for name in ["sitecustomize.py", "usercustomize.py", "json.py", "conftest.py", "torch.py", "x.pth"] {
        gate.write(name, &python);
    }
    for name in ["git", "sh", "bash", "python3", "less", "vi", "xdg-open", "ssh", "gpg", "git-remote-https"] {
        executable(Path::new(&gate.write(name, &format!("#!/bin/sh\n{program} {name}\n"))));
    }
    for name in [".bashrc", ".bash_profile", ".profile", ".zshenv", ".envrc", ".env"] {
        gate.write(name, &format!("{program} shell\n"));
    }
    for name in [".vimrc", ".exrc", ".vscode/tasks.json", ".gdbinit", "Makefile", ".gitconfig", ".inputrc"] {
        gate.write(name, &format!("!{program}\n"));
    }
    gate.write("own/summary.md.j2", "{% include '/etc/passwd' %}");
    let [gpu, npu] = Pair::Fail.folders().map(|folder| folder.display().to_string());
    let judged = gate.path("precision-gate-out/result.json");
    for arguments in [
        vec!["run", "--baseline", &gpu, "--candidate", &npu, "--history", "branch:history", "--config", "ci/gate.yml"],
        vec!["run", "--baseline", &gpu, "--candidate", &npu, "--templates", "own", "--source-root", "."],
        vec!["run", "--baseline", "baseline:glm", "--candidate", &npu],
        vec!["compare", &gpu, &npu],
        vec!["publish", &judged],
        vec!["report", &judged],
        vec!["init", "--nightly", "--forge", "github", "--root", "ci"],
        vec!["init", "--release", "--root", "."],
    ] {
        let ended = gate.command(&arguments);
        assert!((0..=3).contains(&ended.code), "{arguments:?}: {ended:?}");
        let ran = fs::read_to_string(&mark).unwrap_or_default();
        assert!(ran.is_empty(), "{arguments:?} ran a program of the change: {ran}");
    }
    fake.requests();
}

/// The planted programs do run where git is left to find its repository: the test above can fail.
#[cfg(unix)]
#[test]
fn what_is_planted_would_run() {
    let gate = Gate::outside();
    let folder = tempfile::tempdir().expect("a folder");
    let mark = folder.path().join("ran");
    plant(&gate, "ci/", &mark);
    let ran = Command::new("git").arg("-C").arg(gate.path("ci")).args(["ls-tree", HEAD, "./gate.yml"]).output();
    assert!(ran.is_ok_and(|ran| !ran.status.success()));
    assert!(mark.exists(), "git asked the promisor, as it does");
}

fn lock_and_manifest(location: &str) -> (String, String) {
    let manifest = json!({
        "precision_gate_baseline": 1, "name": "glm", "location": location, "digest": "sha256:00", "files": {},
        "recorded": {}, "approval": { "by": "ann", "reason": "first", "date": "2026-11-01" },
    })
    .to_string();
    let digest = precision_gate::fetch::Digest::of(manifest.as_bytes()).to_string();
    let lock = json!({
        "precision_gate_lock": 1,
        "pins": [{ "branch": "*", "name": "glm", "manifest": "baselines/glm.json", "digest": digest }],
    });
    (lock.to_string(), manifest)
}

#[test]
fn a_named_baseline_is_the_target_branchs() {
    let (fake, gate) = strangers_change();
    let [trusted, own] = Pair::Fail.folders().map(|folder| folder.display().to_string());
    let (lock, manifest) = lock_and_manifest(&trusted);
    for (name, text) in [("precision-gate.lock", lock), ("baselines/glm.json", manifest)] {
        fake.state().files.insert((TIP.into(), name.into()), text);
    }
    // The change points the baseline at its own run.
    let (lock, manifest) = lock_and_manifest(&own);
    gate.write("precision-gate.lock", &lock);
    gate.write("baselines/glm.json", &manifest);
    let given = ["run", "--baseline", "baseline:glm", "--candidate", &own, "--today", "2026-11-21"];
    let ended = gate.command(&given);
    assert_target_decided(&gate, &ended, "lock");
    assert_eq!(result(&gate)["baseline"]["location"], trusted.as_str());
    // A lock that the target branch lacks pins nothing.
    fake.state().files.retain(|(_, path), _| path != "precision-gate.lock");
    let ended = gate.command(&given);
    assert_ne!(ended.code, 0, "{ended:?}");
    assert_ne!(result(&gate)["baseline"]["location"], own.as_str());
}

/// A baseline in the checkout counts where the change leaves it alone, or where a step of the job put it there.
#[test]
fn a_baseline_in_the_checkout_counts_where_the_change_leaves_it_alone() {
    let curve = |loss: f64| {
        (0..50)
            .map(|step| format!("{{\"step\": {step}, \"loss\": {}}}\n", loss / f64::from(step + 1)))
            .collect::<String>()
    };
    let (good, bad) = (curve(2.0), curve(3.0));
    for (at_tip, at_head, said) in [
        (Some(&good), Some(&good), false),
        (None, None, false),
        (Some(&good), Some(&bad), true),
        (None, Some(&bad), true),
        (Some(&good), None, true),
    ] {
        let (fake, gate) = strangers_change();
        let mut state = fake.state();
        state.files.insert((TIP.into(), "precision-gate.yml".into()), "required: [loss]\n".into());
        state.files.insert((HEAD.into(), "precision-gate.yml".into()), LAX.into());
        for (commit, text) in [(TIP, at_tip), (HEAD, at_head)] {
            if let Some(text) = text {
                state.files.insert((commit.into(), "runs/gpu/loss.jsonl".into()), text.clone());
            }
        }
        drop(state);
        gate.write("runs/gpu/loss.jsonl", &good);
        gate.write("runs/npu/loss.jsonl", &good);
        let ended =
            gate.command(&["run", "--baseline", "runs/gpu", "--candidate", "runs/npu", "--today", "2026-11-21"]);
        let findings = result(&gate)["findings"].to_string();
        assert_eq!(findings.contains("input-in-change"), said, "{at_tip:?} {at_head:?}: {findings}");
        assert_eq!(ended.code, i32::from(said), "{ended:?}");
        fake.requests();
    }
}

#[cfg(unix)]
#[test]
fn a_baseline_behind_a_link_of_the_checkout_proves_nothing() {
    let (fake, gate) = strangers_change();
    fake.state().files.insert((HEAD.into(), "precision-gate.yml".into()), LAX.into());
    gate.write("mine/loss.jsonl", "{\"step\": 1, \"loss\": 2.0}\n");
    std::os::unix::fs::symlink("mine", gate.folder().join("gpu")).expect("a link");
    let ended = gate.command(&["run", "--baseline", "gpu", "--candidate", "mine"]);
    assert_eq!(ended.code, 1, "{ended:?}");
    assert!(result(&gate)["findings"].to_string().contains("input-in-change"));
}

#[test]
fn a_noise_band_is_the_target_branchs() {
    let curve = |factor: f64| {
        (0..50)
            .map(|step| format!("{{\"step\": {step}, \"loss\": {}}}\n", factor * 2.0 / f64::from(step + 1)))
            .collect::<String>()
    };
    let desk = Gate::outside();
    for (name, factor) in [("a", 1.0), ("b", 1.4), ("c", 0.7), ("d", 1.0001), ("e", 0.9999)] {
        desk.write(&format!("{name}.jsonl"), &curve(factor));
    }
    assert_eq!(
        desk.command(&["noise", "--allow-different-runs", "a.jsonl", "b.jsonl", "c.jsonl", "-o", "wide.json"]).code,
        0
    );
    assert_eq!(
        desk.command(&["noise", "--allow-different-runs", "a.jsonl", "d.jsonl", "e.jsonl", "-o", "narrow.json"]).code,
        0
    );
    for (in_policy, more) in [(true, vec![]), (false, vec!["--noise", "noise.json"])] {
        let (fake, gate) = strangers_change();
        let policy = if in_policy { "loss: { noise: noise.json }\n" } else { "required: [loss]\n" };
        let mut state = fake.state();
        state.files.insert((TIP.into(), "precision-gate.yml".into()), policy.into());
        state.files.insert((TIP.into(), "noise.json".into()), desk.read("narrow.json"));
        state.files.insert((HEAD.into(), "precision-gate.yml".into()), policy.into());
        drop(state);
        gate.write("precision-gate.yml", policy);
        gate.write("noise.json", &desk.read("wide.json"));
        gate.write("gpu/loss.jsonl", &curve(1.0));
        gate.write("npu/loss.jsonl", &curve(1.3));
        let run = ["run", "--baseline", "gpu", "--candidate", "npu", "--today", "2026-11-21"];
        let ended = gate.command(&[&run[..], &more].concat());
        assert_target_decided(&gate, &ended, policy);
        assert!(gate.read("step-summary").contains("noise.json"), "the change of the band is told");
        // A band that the target branch lacks is the change's own.
        fake.state().files.retain(|(_, path), _| path != "noise.json");
        let ended = gate.command(&[&run[..], &more].concat());
        assert_eq!(ended.code, 1, "{ended:?}");
        assert!(result(&gate)["findings"].to_string().contains("input-in-change"));
    }
}

#[test]
fn templates_are_the_target_branchs() {
    let (fake, gate) = strangers_change();
    fake.state().files.insert((TIP.into(), "own/summary.md.j2".into()), "by the target".into());
    gate.write("own/summary.md.j2", "all is well");
    assert_eq!(gate.run(Pair::Fail, &["--templates", "own"]).code, 1);
    assert!(gate.read("precision-gate-out/summary.md").starts_with("by the target"));
    assert!(!gate.read("step-summary").contains("all is well"));
}

#[test]
fn a_stranger_has_no_part_in_the_history() {
    let (_fake, gate) = strangers_change();
    let ended = gate.run(Pair::Fail, &["--history", "records"]);
    assert_eq!(ended.code, 1, "{ended:?}");
    assert!(!gate.folder().join("records").exists());
    let (_fake, gate) = start("push", &json!({ "repository": repository(), "ref": "refs/tags/v1" }));
    gate.run(Pair::Fail, &["--history", "records"]);
    assert!(gate.folder().join("records").exists());
}

/// A fork's own pipeline at GitLab has no token of the target project.
#[test]
fn a_pipeline_that_cannot_read_the_target_is_incomplete_and_posts_nothing() {
    let fake = GitLab::start();
    let mut gate = Gate::on_gitlab(&fake.base);
    gate.set(&[("CI_PROJECT_ID", "2"), ("CI_MERGE_REQUEST_SOURCE_PROJECT_ID", "2"), ("PRECISION_GATE_TOKEN", "")]);
    gate.write("precision-gate.yml", LAX);
    let ended = gate.run(Pair::Pass, &[]);
    assert_eq!(ended.code, 1, "{ended:?}");
    let result = result(&gate);
    assert_eq!(result["verdict"], "incomplete");
    assert_eq!(result["findings"][0]["code"], "policy-unread", "{}", result["findings"]);
    assert_eq!(fake.requests(), [""; 0]);
}

#[test]
fn every_merge_request_pipeline_of_a_fork_asks_for_the_tip() {
    for more in [
        &[][..],
        &[("CI_MERGE_REQUEST_EVENT_TYPE", "merged_result"), ("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA", gitlab::HEAD)],
        &[("CI_MERGE_REQUEST_EVENT_TYPE", "merge_train"), ("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA", gitlab::HEAD)],
    ] {
        let fake = GitLab::start();
        fake.state().files.insert((gitlab::TIP.into(), "precision-gate.yml".into()), TARGET.into());
        let mut gate = Gate::on_gitlab(&fake.base);
        gate.set(&[("CI_MERGE_REQUEST_SOURCE_PROJECT_ID", "2"), ("CI_PROJECT_DIR", &gate.path(""))]);
        gate.set(more);
        gate.write(".git/HEAD", "");
        gate.write("precision-gate.yml", LAX);
        let ended = gate.run(Pair::Fail, &[]);
        assert_target_decided(&gate, &ended, &format!("{more:?}"));
        fake.requests();
    }
}

#[test]
fn dependabots_change_is_the_repositorys_own_and_reaches_a_verdict() {
    let (fake, mut gate) = start("pull_request", &pull_request("org/model"));
    fake.state().tokens.insert(TOKEN.into(), Rights::read_only());
    gate.set(&[("GITHUB_ACTOR", "dependabot[bot]")]);
    gate.write("precision-gate.yml", TARGET);
    let ended = gate.run(Pair::Fail, &[]);
    assert_eq!(ended.code, 1, "{ended:?}");
    assert!(ended.stdout.contains("Dependabot's token cannot write"), "{ended:?}");
    assert_eq!(fake.writes(), [""; 0]);
}
