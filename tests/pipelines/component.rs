//! The component's script, run by a shell with variables that an earlier job's report may set: the program gets what the
//! component gave, and nothing of an artifact is a program.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use super::root;

/// A job of the component: a checkout, and a program beside it that writes down its variables.
struct Job {
    folder: TempDir,
    script: String,
}

/// The end of a job.
struct Ended {
    code: i32,
    stderr: String,
    /// Variables that the program got; `None` where it was not started.
    got: Option<BTreeMap<String, String>>,
}

impl Job {
    /// The job with these inputs, and the defaults of the others.
    fn new(inputs: &[(&str, &str)]) -> Self {
        let text = fs::read_to_string(root().join("templates/precision-gate/template.yml")).expect("the component");
        let (spec, job) = text.split_once("\n---\n").expect("two documents");
        let spec: Value = serde_yaml::from_str(spec).expect("YAML");
        let mut job = job.to_owned();
        for (name, described) in spec["spec"]["inputs"].as_object().expect("inputs") {
            let default = &described["default"];
            let default = default.as_str().map_or_else(|| default.to_string(), str::to_owned);
            let given = inputs.iter().find(|(input, _)| input == name).map(|(_, value)| (*value).to_owned());
            job = job.replace(&format!("$[[ inputs.{name} ]]"), &given.unwrap_or(default));
        }
        let job: Value = serde_yaml::from_str(&job).expect("YAML with its inputs");
        let lines = job["precision-gate"]["script"].as_array().expect("a script");
        let script = lines.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n");
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir_all(folder.path().join("project/runs/npu")).expect("made");
        program(&folder.path().join("bin/precision-gate"), "bin");
        Self { folder, script }
    }

    fn project(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    /// Runs the script in a shell, as GitLab's runner does: variables are exported by the shell itself.
    fn run(&self, shell: &str, variables: &[(&str, &str)]) -> Ended {
        let path = format!("{}:/usr/bin:/bin", self.path("bin"));
        let mut all = vec![("PATH", path.as_str())];
        all.extend(variables);
        let exported = |(name, value): &(&str, &str)| format!("export {name}='{}'\n", value.replace('\'', r"'\''"));
        let script = all.iter().map(exported).collect::<String>() + "set -e\n" + &self.script;
        let started = Command::new(shell).arg("-c").arg(script).current_dir(self.project()).env_clear().output();
        let ended = started.expect("a shell");
        let got = fs::read(self.folder.path().join("got")).ok();
        let _ = fs::remove_file(self.folder.path().join("got"));
        let pair = |text: &str| text.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
        Ended {
            code: ended.status.code().unwrap_or(-1),
            stderr: String::from_utf8_lossy(&ended.stderr).into_owned(),
            got: got.map(|bytes| String::from_utf8_lossy(&bytes).split('\0').filter_map(pair).collect()),
        }
    }
}

/// A program that writes down its variables, and its own name.
fn program(path: &Path, name: &str) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("made");
    let out = path.ancestors().find(|folder| folder.join("bin").is_dir()).expect("the job's folder").join("got");
    let text = format!("#!/bin/sh\nPROGRAM={name} ARGUMENTS=\"$*\" /usr/bin/env -0 >'{}'\n", out.display());
    fs::write(path, text).expect("written");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("a program");
}

const SHELLS: [&str; 2] = ["sh", "bash"];

/// The variables with which the gate is set, as the program gets them; an empty one counts as unset.
fn settings(got: &BTreeMap<String, String>) -> BTreeMap<&str, &str> {
    let all = got.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    all.filter(|(name, value)| !value.is_empty() && (name.starts_with("INPUT_") || name.starts_with("PRECISION_GATE_")))
        .collect()
}

#[test]
fn no_variable_of_a_report_reaches_the_program() {
    let job = Job::new(&[("baseline", "baseline:glm"), ("candidate", "runs/npu"), ("key", "nightly")]);
    let hostile = [
        ("INPUT_REPORT_ONLY", "true"),
        ("INPUT_BASELINE", "runs/npu"),
        ("INPUT_CANDIDATE", "runs/other"),
        ("INPUT_CONFIG", "runs/npu/precision-gate.yml"),
        ("INPUT_TRAINING", "success"),
        ("INPUT_TRAINING_FILE", "runs/npu/well.txt"),
        ("PRECISION_GATE_TRAINING", "success"),
        ("INPUT_PUBLISH", "false"),
        ("INPUT_KEY", "other"),
        ("INPUT_URL", "https://evil.example/api/v4"),
        ("INPUT_TOKEN", "theirs"),
        ("INPUT_FORGE", "gitea"),
        ("INPUT_POST_COMMAND", "sh runs/npu/evil"),
        ("INPUT_TEMPLATES", "runs/npu/templates"),
        ("INPUT_NOISE", "first\nINPUT_HEALTH=true\nexport INPUT_HEALTH='true'"),
        ("INPUT_LANG", "zh'; touch pwned; echo '\"$(touch pwned)`touch pwned`\\"),
        ("PRECISION_GATE_SHA256", "0"),
        ("PRECISION_GATE_VERSION", "9.9.9"),
        ("input_config", "lower"),
        ("IFS", "=/_"),
        ("CDPATH", "/"),
        ("LD_PRELOAD", ""),
        ("BASH_ENV", "runs/npu/evil"),
        ("GIT_SSH_COMMAND", "sh runs/npu/evil"),
        ("CI_PROJECT_DIR", "/nowhere"),
    ];
    for shell in SHELLS {
        let quiet = job.run(shell, &[]);
        assert_eq!((quiet.code, quiet.stderr.as_str()), (0, ""), "{shell}");
        let wanted = quiet.got.expect("started");
        let given = settings(&wanted);
        assert_eq!(given.get("INPUT_BASELINE"), Some(&"baseline:glm"), "{given:?}");
        assert_eq!(given.get("INPUT_TRAINING"), Some(&"unknown"));
        assert_eq!(given.get("INPUT_TRAINING_FILE"), Some(&"precision-gate-training.txt"));
        assert_eq!(given.get("INPUT_PUBLISH"), Some(&"true"));
        assert_eq!((wanted["PROGRAM"].as_str(), wanted["ARGUMENTS"].as_str()), ("bin", "run"));

        let ended = job.run(shell, &hostile);
        assert_eq!(ended.code, 0, "{shell}: {}", ended.stderr);
        let got = ended.got.expect("started");
        assert_eq!(settings(&got), given, "{shell}");
        assert!(!job.project().join("pwned").exists(), "{shell}");
        for name in ["LD_PRELOAD", "BASH_ENV", "GIT_SSH_COMMAND"] {
            assert_eq!(got.get(name), None, "{shell}: {name}");
        }
        for (name, _) in hostile.iter().filter(|(name, _)| name.starts_with("INPUT_")) {
            assert!(
                ended.stderr.contains(&format!("the variable {name} is cleared")),
                "{shell}: {name}: {}",
                ended.stderr
            );
        }
        assert!(!ended.stderr.contains("evil"), "values may be secrets: {}", ended.stderr);
    }
}

#[test]
fn secrets_and_places_of_the_project_stay() {
    let job = Job::new(&[]);
    let kept = [
        ("PRECISION_GATE_TOKEN", "glpat-x"),
        ("PRECISION_GATE_WEBHOOK", "https://chat.example/$x"),
        ("PRECISION_GATE_WEBHOOK_SECRET", "a'b\nc"),
        ("PRECISION_GATE_CACHE", "/cache"),
        ("LD_LIBRARY_PATH", "/usr/local/Ascend/lib64:/usr/lib"),
    ];
    for shell in SHELLS {
        let got = job.run(shell, &kept).got.expect("started");
        for (name, value) in kept {
            assert_eq!(got.get(name).map(String::as_str), Some(value), "{shell}: {name}");
        }
        let beside = job.run(shell, &[("LD_LIBRARY_PATH", "/usr/lib:runs/npu")]);
        assert_eq!(beside.got.expect("started").get("LD_LIBRARY_PATH"), None, "{shell}: {}", beside.stderr);
    }
}

#[test]
fn inputs_may_name_variables() {
    let job = Job::new(&[
        ("history", "$NIGHTLY_HISTORY"),
        ("baseline", "s3://${BUCKET}/golden-$$/$MISSING"),
        ("candidate", "$name/npu"),
        ("suite", "a$"),
    ]);
    let variables = [("NIGHTLY_HISTORY", "s3://nights/$(id)'\""), ("BUCKET", "gold"), ("name", "runs")];
    for shell in SHELLS {
        let got = job.run(shell, &[&variables[..], &[("INPUT_HISTORY", "runs/npu")]].concat()).got.expect("started");
        assert_eq!(got["INPUT_HISTORY"], "s3://nights/$(id)'\"", "{shell}");
        assert_eq!(got["INPUT_BASELINE"], "s3://gold/golden-$/", "{shell}");
        assert_eq!(got["INPUT_CANDIDATE"], "runs/npu", "{shell}");
        assert_eq!(got["INPUT_SUITE"], "a$", "{shell}");
    }
}

#[test]
fn nothing_of_an_artifact_is_a_program() {
    let job = Job::new(&[]);
    program(&job.project().join("runs/npu/precision-gate"), "evil");
    program(&job.project().join("runs/npu/evil"), "evil");
    program(&job.project().join("run"), "evil");
    let inside = job.path("project/runs/npu");
    let roundabout = format!("{}/../project/runs/npu", job.path("bin"));
    symlink(job.project(), job.folder.path().join("link")).expect("linked");
    let links = job.path("link/runs/npu");
    for shell in SHELLS {
        for bin in [
            "./runs/npu/evil".to_owned(),
            "./runs/npu/precision-gate".to_owned(),
            "runs/npu/precision-gate".to_owned(),
            format!("{inside}/precision-gate"),
            format!("{roundabout}/precision-gate"),
            format!("{links}/precision-gate"),
            "/proc/self/cwd/runs/npu/precision-gate".to_owned(),
            // A shell would run the checkout's file `run`.
            "/bin/sh".to_owned(),
            "sh".to_owned(),
        ] {
            let ended = job.run(shell, &[("PRECISION_GATE_BIN", &bin), ("CI_PROJECT_DIR", "/nowhere")]);
            assert_eq!((ended.code, ended.got), (3, None), "{shell}: {bin}: {}", ended.stderr);
            assert!(ended.stderr.contains("PRECISION_GATE_BIN is '"), "{shell}: {bin}: {}", ended.stderr);
        }
        for path in [&inside, &roundabout, &links, ".", "", "runs/npu", "~/bin"] {
            for whole in [format!("{path}:/usr/bin:/bin"), format!("/usr/bin:/bin:{path}")] {
                let ended = job.run(shell, &[("PATH", &whole)]);
                assert_eq!((ended.code, ended.got), (3, None), "{shell}: {whole}: {}", ended.stderr);
                assert!(ended.stderr.contains("PATH names the folder"), "{shell}: {whole}: {}", ended.stderr);
            }
        }
        let named = job.path("bin/precision-gate");
        let outside = job.run(shell, &[("PATH", "/usr/bin:/bin"), ("PRECISION_GATE_BIN", &named)]);
        assert_eq!((outside.code, outside.got.is_some()), (0, true), "{shell}: {}", outside.stderr);
        let none = job.run(shell, &[("PATH", "/usr/bin:/bin")]);
        assert_eq!((none.code, none.got), (3, None), "{shell}");
        assert!(none.stderr.contains("give the input sha256"), "{shell}: {}", none.stderr);
    }
}

#[test]
fn the_fork_of_a_merge_request_is_told_by_files_that_are_checked() {
    let text = fs::read_to_string(root().join("examples/pipelines/gitlab/fork.yml")).expect("the example");
    let yaml: Value = serde_yaml::from_str(&text).expect("YAML");
    let lines = yaml["judge-fork"]["script"].as_array().expect("a script");
    let script = lines.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n");
    let job = Job { script, ..Job::new(&[]) };
    let head = "0123456789abcdef0123456789abcdef01234567";
    let judged = |sha: Option<&str>| {
        let path = job.project().join("fork/sha");
        fs::create_dir_all(job.project().join("fork")).expect("made");
        let _ = fs::remove_file(&path);
        sha.into_iter().for_each(|sha| fs::write(&path, sha).expect("written"));
        job.run("sh", &[("FORK_MR", "5"), ("FORK_SHA", "f00"), ("FORK_TRAINING", "success"), ("sha", head)])
    };
    let got = judged(Some(&format!("{head}\n"))).got.expect("started");
    let arguments = &got["ARGUMENTS"];
    assert!(arguments.ends_with(&format!("--training-file fork/training --number 5 --sha {head} --check status")));
    for wrong in [None, Some(""), Some("0abc"), Some("--forge"), Some(&head[1..]), Some(&head.replace('0', "G"))] {
        let ended = judged(wrong);
        assert_eq!((ended.code, ended.got), (3, None), "{wrong:?}");
        assert!(ended.stderr.contains("fork/sha holds no commit"), "{wrong:?}: {}", ended.stderr);
    }
}
