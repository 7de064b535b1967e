//! A release candidate with three suites, judged by the release profile against promoted baselines.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use precision_gate::result::GateResult;
use precision_gate::result::seal::seal;
use serde_json::Value;
use tempfile::TempDir;

use crate::data;
use crate::signoff::tree::copy;

/// The commit of the candidate.
pub(crate) const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";
/// The day it is judged and signed off.
pub(crate) const TODAY: &str = "2026-11-21";
/// Suites and their fixtures.
pub(crate) const SUITES: [(&str, &str); 3] =
    [("llama", "loss/aligned_fp32"), ("gpt", "dumps/benign_gpt_bf16_stats_mix"), ("cnn", "dumps/md5_one_diff")];
/// Requirements of the release, and the waiver of its one known difference.
const POLICY: &str = "
waivers:
  - { code: 'checksum-*', where: '*', reason: 'head runs in another kernel', owner: bea, expires: 2026-12-01 }
severity: { waiver-unused: info }
signoff:
  approvers: [ann]
  suites:
    - { name: llama, checks: [loss], labels: { model: llama-8b, platform: Atlas 800 } }
    - { name: gpt, checks: [dump] }
    - { name: cnn }
";

/// Result of a command.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// A folder with policy and results.
pub(crate) struct Release(TempDir);

impl Release {
    /// A copy of the candidate whose results are judged once for all tests.
    pub(crate) fn candidate() -> Self {
        static JUDGED: OnceLock<Release> = OnceLock::new();
        let judged = JUDGED.get_or_init(Self::judge);
        let copied = Self(tempfile::tempdir().expect("a folder"));
        copy(judged.0.path(), copied.0.path());
        copied
    }

    /// A folder with nothing in it.
    pub(crate) fn empty() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn judge() -> Self {
        let release = Self(tempfile::tempdir().expect("a folder"));
        fs::write(release.path("precision-gate.yml"), POLICY).expect("written");
        for (suite, fixture) in SUITES {
            let runs = release.path(&format!("runs/{suite}"));
            copy(&data::fixture(fixture), &runs);
            let promote = ["baseline", "promote", &format!("runs/{suite}/gpu"), "--name", suite, "--reason", "first"];
            let facts =
                ["--approved-by", "carl", "--today", "2026-11-01", "--hardware", "8x A100", "--with", "cann=8.2"];
            assert_eq!(release.run(&[&promote[..], &facts].concat()).code, 0);
            let (baseline, candidate) = (format!("baseline:{suite}"), format!("runs/{suite}/npu"));
            let out = format!("results/{suite}");
            let sides = ["run", "--baseline", &baseline, "--candidate", &candidate, "--out", &out];
            let how = ["--profile", "release", "--sha", COMMIT, "--today", TODAY];
            let ended = release.run(&[&sides[..], &how].concat());
            assert_eq!(ended.code, 0, "{suite}: {ended:?}");
        }
        release
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    pub(crate) fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.read(name)).expect("JSON")
    }

    /// Changes a result in place, as another run would have written it.
    pub(crate) fn change(&self, suite: &str, change: impl FnOnce(&mut Value)) {
        let name = format!("results/{suite}/result.json");
        let mut result = self.json(&name);
        change(&mut result);
        let mut result: GateResult = serde_json::from_value(result).expect("a result");
        result.seal = Some(seal(&result));
        fs::write(self.path(&name), serde_json::to_string(&result).expect("JSON")).expect("written");
    }

    /// The program, in the folder and outside of any CI system.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ended {
        self.run_in(arguments, &[])
    }

    pub(crate) fn run_in(&self, arguments: &[&str], environment: &[(&str, &str)]) -> Ended {
        let mut command = Command::new(env!("CARGO_BIN_EXE_precision-gate"));
        command.args(arguments).current_dir(self.0.path()).env_clear().env("TMPDIR", self.0.path());
        let ran = command.envs(environment.iter().copied()).output().expect("runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ended { code: ran.status.code().unwrap_or(-1), stdout: text(&ran.stdout), stderr: text(&ran.stderr) }
    }

    /// Signs off all three suites, with more arguments.
    pub(crate) fn sign_off(&self, more: &[&str]) -> Ended {
        let results = ["results/llama", "results/gpt/result.json", "cnn=results/cnn"];
        self.sign_off_of(&results, more)
    }

    pub(crate) fn sign_off_of(&self, results: &[&str], more: &[&str]) -> Ended {
        let given = ["--approved-by", "ann", "--today", TODAY];
        self.run(&[&["signoff"][..], results, &given, more].concat())
    }
}
