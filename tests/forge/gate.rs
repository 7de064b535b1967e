//! The program itself, in a folder and an environment of its own.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::data::fixture;
use crate::forge::fake::github::{BASE, HEAD, PULL, TOKEN};
use crate::forge::fake::gitlab;

/// The commit that a job of GitHub has checked out.
pub(crate) const SHA: &str = "2222222222222222222222222222222222222222";

/// One way to run the program.
pub(crate) struct Gate {
    folder: TempDir,
    environment: BTreeMap<String, String>,
}

/// Result of a run.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// A pair of runs with a known end.
#[derive(Clone, Copy)]
pub(crate) enum Pair {
    /// The culprit is a batched product.
    Fail,
    /// The same again.
    Pass,
    /// Curves that differ.
    Curves,
    /// Another culprit than that of [`Pair::Fail`].
    OtherCulprit,
}

impl Pair {
    /// Both sides.
    pub(crate) fn folders(self) -> [PathBuf; 2] {
        match self {
            Self::Fail => ["gpu", "npu"].map(|side| fixture("dumps/gpt_bf16_stats_attention_scale").join(side)),
            Self::OtherCulprit => ["gpu", "npu"].map(|side| fixture("dumps/gpt_bf16_tensor_layernorm_eps").join(side)),
            Self::Pass => ["gpu", "npu"].map(|side| fixture("dumps/md5_identical").join(side)),
            Self::Curves => {
                ["gpu", "npu"].map(|side| Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/quickstart").join(side))
            }
        }
    }
}

impl Gate {
    /// Outside of any CI system.
    pub(crate) fn outside() -> Self {
        let kept = ["PATH", "HOME", "LLVM_PROFILE_FILE"].into_iter();
        let environment = kept.filter_map(|name| Some((name.to_owned(), std::env::var(name).ok()?))).collect();
        Self { folder: tempfile::tempdir().expect("a folder"), environment }
    }

    /// In a job of GitHub Actions for the pull request of all tests.
    pub(crate) fn on_github(base: &str) -> Self {
        let mut gate = Self::outside();
        let path = gate.write("event.json", &pull_request("org/model").to_string());
        gate.write(".git/HEAD", SHA);
        let (output, summary) = (gate.path("output"), gate.path("step-summary"));
        gate.set(&[
            ("GITHUB_ACTIONS", "true"),
            ("GITHUB_API_URL", base),
            ("GITHUB_SERVER_URL", "https://github.com"),
            ("GITHUB_REPOSITORY", "org/model"),
            ("GITHUB_EVENT_NAME", "pull_request"),
            ("GITHUB_EVENT_PATH", &path),
            ("GITHUB_SHA", SHA),
            ("GITHUB_RUN_ID", "77"),
            ("GITHUB_RUN_ATTEMPT", "1"),
            ("GITHUB_OUTPUT", &output),
            ("GITHUB_STEP_SUMMARY", &summary),
            ("GITHUB_WORKSPACE", &gate.path("")),
            ("INPUT_TOKEN", TOKEN),
            ("INPUT_PUBLISH", "true"),
        ]);
        gate
    }

    /// In a merge request pipeline of GitLab.
    pub(crate) fn on_gitlab(base: &str) -> Self {
        let mut gate = Self::outside();
        gate.write(".git/HEAD", gitlab::HEAD);
        gate.set(&[
            ("GITLAB_CI", "true"),
            ("CI_API_V4_URL", base),
            ("CI_PROJECT_ID", "1"),
            ("CI_MERGE_REQUEST_IID", "5"),
            ("CI_MERGE_REQUEST_PROJECT_ID", "1"),
            ("CI_MERGE_REQUEST_SOURCE_PROJECT_ID", "1"),
            ("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "main"),
            ("CI_COMMIT_SHA", gitlab::HEAD),
            ("CI_PROJECT_DIR", &gate.path("")),
            ("CI_PIPELINE_ID", "9"),
            ("CI_JOB_ID", "3"),
            ("CI_JOB_URL", "https://gitlab.example/job/3"),
            ("PRECISION_GATE_TOKEN", gitlab::TOKEN),
            ("CI_JOB_TOKEN", gitlab::JOB_TOKEN),
            ("INPUT_PUBLISH", "true"),
        ]);
        gate
    }

    /// A nightly job of GitHub Actions: no pull request.
    pub(crate) fn nightly_on_github(base: &str) -> Self {
        let mut gate = Self::on_github(base);
        gate.write("event.json", r#"{"schedule":"30 18 * * *"}"#);
        gate.set(&[("GITHUB_EVENT_NAME", "schedule"), ("INPUT_ISSUE", "true"), ("INPUT_CHECK", "none")]);
        gate
    }

    /// A scheduled pipeline of GitLab.
    pub(crate) fn nightly_on_gitlab(base: &str) -> Self {
        let mut gate = Self::on_gitlab(base);
        gate.unset_merge_request();
        gate.set(&[("CI_PIPELINE_SOURCE", "schedule"), ("CI_COMMIT_BRANCH", "main"), ("INPUT_ISSUE", "true")]);
        gate
    }

    pub(crate) fn set(&mut self, variables: &[(&str, &str)]) {
        self.environment.extend(variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    }

    pub(crate) fn unset(&mut self, name: &str) {
        self.environment.remove(name);
    }

    /// Leaves the merge request.
    pub(crate) fn unset_merge_request(&mut self) {
        self.environment.retain(|name, _| !name.starts_with("CI_MERGE_REQUEST_"));
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> String {
        let path = self.folder.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(&path, text).expect("written");
        path.display().to_string()
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join(name)).unwrap_or_default()
    }

    /// `run` on a pair, with more arguments.
    pub(crate) fn run(&self, pair: Pair, more: &[&str]) -> Ended {
        self.run_on("2026-11-21", pair, more)
    }

    /// `run` on a day.
    pub(crate) fn run_on(&self, today: &str, pair: Pair, more: &[&str]) -> Ended {
        let [baseline, candidate] = pair.folders().map(|folder| folder.display().to_string());
        let start = ["run", "--baseline", &baseline, "--candidate", &candidate, "--today", today, "--color=never"];
        self.command(&[&start, more].concat())
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Ended {
        self.command_in(".", arguments)
    }

    /// A command whose working folder is `folder` of the workspace.
    pub(crate) fn command_in(&self, folder: &str, arguments: &[&str]) -> Ended {
        let mut command = self.started(arguments);
        let ran = command.current_dir(self.folder.path().join(folder)).output().expect("runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let ended =
            Ended { code: ran.status.code().unwrap_or(-1), stdout: text(&ran.stdout), stderr: text(&ran.stderr) };
        for secret in [TOKEN, gitlab::TOKEN, gitlab::JOB_TOKEN] {
            assert!(!ended.stdout.contains(secret) && !ended.stderr.contains(secret), "a token was printed: {ended:?}");
        }
        ended
    }

    pub(crate) fn started(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_precision-gate"));
        command.args(arguments).current_dir(self.folder.path()).env_clear().envs(&self.environment);
        command.stdin(Stdio::null());
        command
    }
}

/// The event of the pull request of all tests, from a branch of `head`.
pub(crate) fn pull_request(head: &str) -> Value {
    json!({
        "number": PULL,
        "repository": { "id": 1, "full_name": "org/model", "default_branch": "main" },
        "pull_request": {
            "number": PULL, "head": { "sha": HEAD, "repo": { "full_name": head } }, "base": { "sha": BASE, "ref": "main" },
        },
    })
}

/// The event of a finished workflow on a fork's pull request.
pub(crate) fn finished_workflow() -> Value {
    json!({
        "repository": { "id": 1, "full_name": "org/model", "default_branch": "main" },
        "workflow_run": {
            "event": "pull_request", "head_sha": HEAD, "head_branch": "topic", "pull_requests": [],
            "head_repository": { "id": 2, "full_name": "dev/model", "owner": { "login": "dev" } },
        },
    })
}

/// Whether a comment ends with the gate's own two lines, of the key `default`, and shows this verdict.
pub(crate) fn shows(body: &str, verdict: &str) -> bool {
    let lines: Vec<&str> = body.trim_end().lines().rev().take(2).collect();
    let [marker, stamp] = lines[..] else { return false };
    marker.starts_with("<!-- precision-gate:v2 key=default of=")
        && stamp.starts_with(&format!("<!-- verdict={verdict} "))
}

/// The start of a comment as earlier releases wrote it.
pub(crate) const OLD: &str = "<!-- precision-gate:v1 key=default -->\n<!-- verdict=pass culprit=none -->\n";
