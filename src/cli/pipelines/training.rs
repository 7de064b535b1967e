//! The training job of a repository, looked for in the pipelines that it has already.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::forge::PipelineForge;

/// The command of the shipped pipelines, in whose place the repository's own is put.
const SHIPPED: &str = "bash train.sh --output runs/npu";
/// Runners of the shipped pipelines, likewise.
const SHIPPED_RUNNER: &str = "[self-hosted, linux, arm64]";
const SHIPPED_TAGS: &str = "tags: [npu]";

/// Largest pipeline file that is looked into.
const MOST_BYTES: u64 = 1 << 20;

/// A job that trains.
struct Training {
    /// File and name of the job.
    place: String,
    /// One line of shell.
    command: String,
    /// `runs-on` of GitHub, `tags` of GitLab; null where there is none.
    runner: Value,
}

/// Puts the command and the runner of the repository's training job into the pipeline `text`; and the next step for people,
/// which says where they came from, or that a place is left for them.
pub(super) fn put_into(text: &str, forge: PipelineForge, root: &Path) -> (String, Option<String>) {
    let Some(found) = files(forge, root).iter().find_map(|path| training(path, forge, root)) else {
        let next = "put your training command in the place of `bash train.sh`, and its runner above it: it leaves its artifacts in runs/npu";
        return (text.to_owned(), Some(next.to_owned()));
    };
    let command = Value::from(found.command.as_str()).to_string();
    let mut text = text.replacen(SHIPPED, &command, 1);
    if !found.runner.is_null() {
        text = match forge {
            PipelineForge::Github => text.replacen(SHIPPED_RUNNER, &found.runner.to_string(), 1),
            PipelineForge::Gitlab => text.replacen(SHIPPED_TAGS, &format!("tags: {}", found.runner), 1),
        };
    }
    let next = format!(
        "the training command was taken from {}: give it what it needs (checkout, environment), and let it leave its artifacts in runs/npu",
        found.place
    );
    (text, Some(next))
}

/// Files in which the forge reads jobs, in the order of their names.
fn files(forge: PipelineForge, root: &Path) -> Vec<PathBuf> {
    match forge {
        PipelineForge::Gitlab => vec![root.join(".gitlab-ci.yml")],
        PipelineForge::Github => {
            let entries = fs::read_dir(root.join(".github/workflows")).into_iter().flatten().flatten();
            let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
            paths.retain(|path| path.extension().is_some_and(|ending| ending == "yml" || ending == "yaml"));
            paths.sort();
            paths
        }
    }
}

/// The first job of a file that trains. A file that is no YAML has none: its forge says so itself.
fn training(path: &Path, forge: PipelineForge, root: &Path) -> Option<Training> {
    if !fs::metadata(path).is_ok_and(|found| found.len() <= MOST_BYTES) {
        return None;
    }
    let yaml: Value = serde_yaml::from_str(&fs::read_to_string(path).ok()?).ok()?;
    let jobs = match forge {
        PipelineForge::Github => yaml.get("jobs")?,
        PipelineForge::Gitlab => &yaml,
    };
    let name = path.strip_prefix(root).unwrap_or(path).display();
    jobs.as_object()?.iter().find_map(|(job, text)| {
        let runner = match forge {
            PipelineForge::Github => text.get("runs-on"),
            PipelineForge::Gitlab => text.get("tags"),
        };
        Some(Training {
            place: format!("{name} (job {job})"),
            command: commands(text, forge).into_iter().find(|command| trains(command))?,
            runner: runner.filter(|runner| !runner.to_string().contains("${{")).cloned().unwrap_or_default(),
        })
    })
}

/// The lines of shell of a job.
fn commands(job: &Value, forge: PipelineForge) -> Vec<String> {
    let texts: Vec<&Value> = match forge {
        PipelineForge::Github => job["steps"].as_array().into_iter().flatten().map(|step| &step["run"]).collect(),
        PipelineForge::Gitlab if job["script"].is_array() => job["script"].as_array().into_iter().flatten().collect(),
        PipelineForge::Gitlab => vec![&job["script"]],
    };
    texts.into_iter().filter_map(Value::as_str).flat_map(str::lines).map(|line| line.trim().to_owned()).collect()
}

/// Whether a line starts a training; one that goes on in the next, or that takes values from an expression, is left to people.
fn trains(line: &str) -> bool {
    const LAUNCHERS: [&str; 5] = ["torchrun", "msrun", "deepspeed", "accelerate", "torch.distributed.run"];
    let words = || line.split_whitespace();
    let is_whole = !line.ends_with('\\') && !line.contains("${{") && !line.starts_with('#');
    let launches = words().any(|word| LAUNCHERS.contains(&word));
    let is_script = |word: &str| {
        let name = word.rsplit('/').next().unwrap_or(word);
        let program = name.strip_suffix(".py").or_else(|| name.strip_suffix(".sh"));
        program.is_some_and(|program| ["train", "pretrain", "finetune"].iter().any(|part| program.contains(part)))
    };
    is_whole && (launches || words().any(is_script))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(name: &str, text: &str, forge: PipelineForge) -> (Value, String) {
        let root = tempfile::tempdir().expect("a folder");
        let path = root.path().join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("made");
        fs::write(path, text).expect("written");
        let shipped = match forge {
            PipelineForge::Github => include_str!("../../../examples/pipelines/github/pull-request.yml"),
            PipelineForge::Gitlab => include_str!("../../../examples/pipelines/gitlab/first-merge-request.yml"),
        };
        let (text, next) = put_into(shipped, forge, root.path());
        (serde_yaml::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}")), next.expect("a step"))
    }

    #[test]
    fn a_training_job_of_github_is_found() {
        let workflow = "on: push\njobs:\n  lint:\n    runs-on: ubuntu-24.04\n    steps: [{ run: ruff check }]\n  npu:\n    \
                        runs-on: [self-hosted, npu]\n    steps:\n      - uses: actions/checkout@v5\n      - run: |\n          \
                        source env.sh\n          torchrun --nproc 8 \"pretrain gpt.py\" # 'quoted'\n";
        let (pipeline, next) = put(".github/workflows/ci.yml", workflow, PipelineForge::Github);
        let job = &pipeline["jobs"]["train"];
        assert_eq!(job["runs-on"], serde_json::json!(["self-hosted", "npu"]));
        let runs: Vec<&str> =
            job["steps"].as_array().expect("steps").iter().filter_map(|step| step["run"].as_str()).collect();
        assert_eq!(runs, ["torchrun --nproc 8 \"pretrain gpt.py\" # 'quoted'"]);
        assert!(next.contains(".github/workflows/ci.yml (job npu)"), "{next}");
    }

    #[test]
    fn a_training_job_of_gitlab_is_found() {
        let text = "stages: [test]\ntrain:\n  tags: [ascend]\n  script: [cd models, bash scripts/pretrain_llama.sh]\n";
        let (pipeline, next) = put(".gitlab-ci.yml", text, PipelineForge::Gitlab);
        assert_eq!(pipeline["train"]["tags"], serde_json::json!(["ascend"]));
        assert_eq!(pipeline["train"]["script"], "bash scripts/pretrain_llama.sh");
        assert!(next.contains(".gitlab-ci.yml (job train)"), "{next}");
    }

    #[test]
    fn without_a_clear_training_command_its_place_is_marked() {
        for text in [
            "jobs: { lint: { steps: [{ run: ruff check }] } }",
            "jobs: { train: { steps: [{ run: 'bash train.sh ${{ inputs.args }}' }] } }",
            "jobs: { train: { steps: [{ run: 'bash train.sh \\' }] } }",
            "jobs: 3",
            "{",
        ] {
            let (pipeline, next) = put(".github/workflows/ci.yml", text, PipelineForge::Github);
            assert!(pipeline.to_string().contains("bash train.sh --output runs/npu"), "{text}: {pipeline}");
            assert!(next.contains("in the place of `bash train.sh`"), "{text}: {next}");
        }
    }
}
