//! The program in a folder of its own.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// A run that agrees with its baseline, and ones that do not, each in a way of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Night {
    Green,
    Drift,
    Nan,
}

impl Night {
    fn folders(self) -> [PathBuf; 2] {
        let case = match self {
            Self::Green => "identical",
            Self::Drift => "diverging_trend",
            Self::Nan => "nan_from_step",
        };
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/loss").join(case);
        ["gpu", "npu"].map(|side| folder.join(side))
    }
}

/// The program, in an environment that holds nothing but what it needs.
pub(crate) fn program(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_precision-gate"));
    command
        .current_dir(folder)
        .env_clear()
        .env("HOME", folder)
        .env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// One run of a suite.
pub(crate) struct Run {
    pub(crate) night: Night,
    pub(crate) out: String,
    pub(crate) sha: String,
    pub(crate) at: String,
}

impl Run {
    /// The night of `day`, on a commit named after it.
    pub(crate) fn new(day: u32, night: Night) -> Self {
        Self { night, out: format!("out-{day}"), sha: commit(day), at: format!("2026-11-{day:02}T02:00:00Z") }
    }

    /// The command, in `folder`.
    pub(crate) fn within(&self, folder: &Path) -> Command {
        let [gpu, npu] = self.night.folders();
        let mut command = program(folder);
        command.arg("run").arg("--baseline").arg(gpu).arg("--candidate").arg(npu);
        command.args(["--quiet", "--today", "2026-11-21", "--out", &self.out, "--sha", &self.sha, "--at", &self.at]);
        command
    }
}

/// `run` in the night of `day`.
pub(crate) fn run(folder: &Path, day: u32, night: Night) -> Command {
    Run::new(day, night).within(folder)
}

/// The commit of a day.
pub(crate) fn commit(day: u32) -> String {
    format!("{day:02}").repeat(20)
}

pub(crate) fn ended(command: &mut Command) -> (i32, String, String) {
    told(&command.output().expect("runs"))
}

pub(crate) fn told(output: &Output) -> (i32, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
}

/// `history` in a day's result.
pub(crate) fn summary(folder: &Path, day: u32) -> Value {
    let text = std::fs::read_to_string(folder.join(format!("out-{day}/result.json"))).expect("a result");
    serde_json::from_str::<Value>(&text).expect("JSON")["history"].clone()
}

/// The records that `history list --json` prints, with what it complains of.
pub(crate) fn records(folder: &Path, location: &str) -> (Vec<Value>, String) {
    let (code, stdout, stderr) =
        ended(program(folder).args(["history", "list", "--json", "--last", "1000", "--history", location]));
    assert_eq!(code, 0, "{stderr}");
    (serde_json::from_str(&stdout).expect("an array"), stderr)
}

/// The commits of `records`, sorted.
pub(crate) fn commits(records: &[Value]) -> Vec<String> {
    let mut commits: Vec<String> =
        records.iter().filter_map(|record| Some(record["commit"].as_str()?.to_owned())).collect();
    commits.sort();
    commits
}

/// Runs that start at the same moment, all to their end.
pub(crate) fn together(runs: Vec<Command>) -> Vec<(i32, String, String)> {
    let started: Vec<_> = runs.into_iter().map(|mut run| run.spawn().expect("started")).collect();
    started.into_iter().map(|run| told(&run.wait_with_output().expect("ended"))).collect()
}
