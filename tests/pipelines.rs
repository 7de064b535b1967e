//! Pipelines that people copy, from `examples/pipelines`, the README and the docs, and those of the project itself: none of
//! them passes unjudged.
#![allow(
    clippy::indexing_slicing,
    reason = "a key that is not there reads as null in serde_json, and a test that indexes beyond what is there fails"
)]

mod component;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// A piece of YAML and where it stands.
struct Text {
    place: String,
    yaml: Value,
    text: String,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn files(folder: &str, ending: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join(folder)).expect("a folder");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|found| found == ending));
    paths.sort();
    assert!(!paths.is_empty(), "{folder}");
    paths
}

fn parse(place: String, text: String) -> Text {
    let yaml = serde_yaml::from_str(&text).unwrap_or_else(|error| panic!("{place}: {error}"));
    Text { place, yaml, text }
}

fn shipped(folder: &str) -> Vec<Text> {
    let read = |path: PathBuf| parse(path.display().to_string(), fs::read_to_string(&path).expect("a file"));
    files(folder, "yml").into_iter().map(read).collect()
}

/// The YAML blocks of the README in both languages and of every page.
fn blocks() -> Vec<Text> {
    let pages = files("docs", "md").into_iter().chain(["README.md", "README.zh.md"].map(|name| root().join(name)));
    let mut found = Vec::new();
    for page in pages {
        let text = fs::read_to_string(&page).expect("a page");
        for (number, block) in text.split("```yaml\n").skip(1).enumerate() {
            let (block, _) = block.split_once("```").expect("an end of the block");
            found.push(parse(format!("{} block {}", page.display(), number + 1), block.to_owned()));
        }
    }
    found
}

/// Jobs by name: of a workflow, of a pipeline, or of a piece of one.
fn jobs(yaml: &Value) -> Vec<(&String, &Value)> {
    let jobs = yaml.get("jobs").unwrap_or(yaml).as_object();
    let is_job = |job: &Value| job.get("steps").or(job.get("script")).is_some();
    jobs.into_iter().flatten().filter(|(_, job)| is_job(job)).collect()
}

/// The steps of a job, or a list of steps by itself.
fn steps(job: &Value) -> &[Value] {
    job.get("steps").unwrap_or(job).as_array().map_or(&[], Vec::as_slice)
}

fn uses(step: &Value) -> &str {
    step["uses"].as_str().unwrap_or_default()
}

/// The inputs of a step that runs the gate, or its environment where the step is a command.
fn gate(step: &Value) -> Option<&Value> {
    let action = uses(step).split('@').next().unwrap_or_default();
    let is_action = ["precision-gate/precision-gate", "precision-gate/precision-gate/binary"].contains(&action);
    let is_command = step["run"].as_str().is_some_and(|run| run.contains("precision-gate run"));
    let is_installed_only = step["with"]["run"] == "false";
    (is_action && !is_installed_only).then(|| &step["with"]).or(is_command.then_some(step))
}

/// All steps of GitHub, with the job they stand in; a list of steps by itself is a job of no name.
fn github_steps(texts: &[Text]) -> Vec<(&Text, &Value, &Value)> {
    let mut found = Vec::new();
    for text in texts {
        let listed = text.yaml.is_array().then_some(&text.yaml);
        for job in jobs(&text.yaml).into_iter().map(|(_, job)| job).chain(listed) {
            found.extend(steps(job).iter().map(|step| (text, job, step)));
        }
    }
    found
}

/// Whether an event changes what is judged or by what: an edited title does not.
const CHANGES: &str = "github.event.action != 'edited' || github.event.changes.base";

/// A request that goes to another branch is judged by that branch's policy.
#[test]
fn an_edited_base_is_judged_again() {
    let texts: Vec<Text> = shipped("examples/pipelines/github").into_iter().chain(blocks()).collect();
    let mut listening = 0;
    for Text { place, yaml, text } in &texts {
        let judges = text.contains("precision-gate/precision-gate@") || text.contains("precision-gate/binary@");
        if let Some(trigger) = yaml["on"].get("pull_request").filter(|_| judges) {
            let types = trigger["types"].as_array().unwrap_or_else(|| panic!("{place}: no types"));
            assert!(types.contains(&"edited".into()) && types.contains(&"synchronize".into()), "{place}: {types:?}");
            for (name, job) in jobs(yaml) {
                assert!(job["if"].as_str().is_some_and(|condition| condition.contains(CHANGES)), "{place}: {name}");
            }
            listening += 1;
        }
        if let Some(finished) = yaml["on"].get("workflow_run") {
            // The pull request may change the triggers of the first half.
            assert_eq!(yaml["on"]["pull_request_target"]["types"], serde_json::json!(["edited"]), "{place}");
            assert_eq!(finished["types"], serde_json::json!(["completed"]), "{place}");
            assert!(!text.contains("ref: "), "{place}: nothing of the request is checked out");
            listening += 1;
        }
    }
    assert!(listening >= 3, "{listening}");
}

#[test]
fn a_gate_on_github_runs_when_training_failed_and_is_told() {
    let texts: Vec<Text> = shipped("examples/pipelines/github").into_iter().chain(blocks()).collect();
    let mut gates = 0;
    for (text, job, step) in github_steps(&texts) {
        let Some(inputs) = gate(step) else { continue };
        gates += 1;
        let place = &text.place;
        let told = inputs.to_string();
        let Some(needed) = job.get("needs").and_then(Value::as_str) else {
            assert_eq!(step["if"], "always()", "{place}: the step after a training step: {step}");
            assert!(told.contains("steps.train.outcome"), "{place}: {told}");
            assert!(job.is_array() || steps(job).iter().any(|step| step["id"] == "train"), "{place}");
            continue;
        };
        let condition = job["if"].as_str().unwrap_or_default();
        let is_always = ["always()".to_owned(), format!("always() && ({CHANGES})")].contains(&condition.to_owned());
        assert!(is_always, "{place}: a job that waits for another is skipped when that one fails: {condition}");
        assert!(step.get("if").is_none(), "{place}: without its checkout the gate has no policy, and must not run");
        assert!(told.contains(&format!("${{{{ needs.{needed}.result }}}}")), "{place}: {told}");
        for download in steps(job).iter().filter(|step| uses(step).starts_with("actions/download-artifact@")) {
            assert_eq!(download["continue-on-error"], true, "{place}: {download}");
        }
    }
    assert!(gates >= 6, "{gates}");
}

#[test]
fn what_training_left_is_uploaded_when_it_failed_too() {
    for text in shipped("examples/pipelines/github") {
        for (name, job) in jobs(&text.yaml) {
            for upload in steps(job).iter().filter(|step| uses(step).starts_with("actions/upload-artifact@")) {
                assert_eq!(upload["if"], "always()", "{}: {name}: {upload}", text.place);
                let is_candidate = upload["with"]["path"] == "runs/npu";
                assert!(!is_candidate || upload["with"]["if-no-files-found"] == "error", "{}: {upload}", text.place);
            }
        }
    }
}

#[test]
fn baselines_come_from_no_checkout_of_the_pull_request() {
    let is_safe = |baseline: &str| baseline.starts_with("baseline:") || baseline.contains("://");
    let shipped = shipped("examples/pipelines/github").into_iter().chain(shipped("examples/pipelines/gitlab"));
    let texts: Vec<Text> = shipped.chain(blocks()).collect();
    let mut checked = 0;
    for (text, _, step) in github_steps(&texts) {
        if let Some(baseline) = step["with"]["baseline"].as_str() {
            checked += 1;
            assert!(is_safe(baseline), "{}: {baseline}", text.place);
        }
    }
    for text in &texts {
        for include in text.yaml["include"].as_array().into_iter().flatten() {
            if let Some(baseline) = include["inputs"]["baseline"].as_str() {
                checked += 1;
                assert!(is_safe(baseline), "{}: {baseline}", text.place);
            }
        }
        let is_ours = text.text.contains("precision-gate run") || text.text.contains("precision-gate publish");
        for given in text.text.split("--baseline ").skip(1).filter(|_| is_ours) {
            checked += 1;
            assert!(is_safe(given.split_whitespace().next().unwrap_or_default()), "{}: {given}", text.place);
        }
    }
    assert!(checked >= 12, "{checked}");
}

#[test]
fn workflows_start_without_permissions_and_with_pinned_actions() {
    let own = concat!("@v", env!("CARGO_PKG_VERSION"));
    let whole = shipped("examples/pipelines/github").into_iter().chain(shipped(".github/workflows"));
    let texts: Vec<Text> = whole
        .inspect(|text| assert_eq!(text.yaml["permissions"], serde_json::json!({}), "{}", text.place))
        .chain(blocks())
        .collect();
    for (text, _, step) in github_steps(&texts) {
        let (action, version) = uses(step).split_once('@').unwrap_or((uses(step), ""));
        let is_own = action.starts_with("precision-gate/precision-gate");
        let is_hash = version.len() == 40 && version.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_pinned = action.is_empty() || action.starts_with("./") || is_hash || (is_own && own.ends_with(version));
        assert!(is_pinned, "{}: {}", text.place, uses(step));
        let run = step["run"].as_str().unwrap_or_default();
        assert!(!run.contains("${{"), "{}: values come by the environment: {run}", text.place);
    }
    for action in ["action.yml", "binary/action.yml", "publish/action.yml"] {
        let text = parse(action.into(), fs::read_to_string(root().join(action)).expect("an action"));
        for step in steps(&text.yaml["runs"]) {
            assert!(!step["run"].as_str().unwrap_or_default().contains("${{"), "{action}: {step}");
        }
    }
}

#[test]
fn no_job_has_the_name_of_a_posted_check() {
    for text in shipped("examples/pipelines/github").into_iter().chain(shipped(".github/workflows")) {
        for (name, job) in jobs(&text.yaml) {
            let shown = job["name"].as_str().unwrap_or(name);
            assert!(
                !shown.starts_with("precision-gate") && !name.starts_with("precision-gate"),
                "{}: {shown}",
                text.place
            );
        }
    }
}

#[test]
fn the_first_half_reports_to_merge_queues() {
    let [gate] = &shipped("examples/pipelines/github")
        .into_iter()
        .filter(|text| text.place.ends_with("pr-gate.yml"))
        .collect::<Vec<_>>()[..]
    else {
        panic!("one file")
    };
    let events = gate.yaml["on"].as_object().expect("events");
    assert!(events.contains_key("pull_request") && events.contains_key("merge_group"), "{events:?}");
    assert_eq!(events["merge_group"], Value::Null, "every queue");
}

#[test]
fn the_second_half_runs_nothing_of_the_pull_request_and_is_not_stopped_half_way() {
    let path = root().join("examples/pipelines/github/publish.yml");
    let text = parse("publish.yml".into(), fs::read_to_string(path).expect("a file"));
    assert_eq!(text.yaml["concurrency"]["cancel-in-progress"], false);
    assert!(text.yaml["concurrency"]["group"].as_str().expect("a group").contains("workflow_run.head_sha"));
    let job = &text.yaml["jobs"]["publish"];
    let condition = job["if"].as_str().expect("a condition");
    assert!(condition.contains("head_repository.full_name != github.repository"), "{condition}");
    assert!(condition.contains("dependabot[bot]"), "{condition}");
    let conclusion = condition.matches("conclusion").count();
    assert_eq!(conclusion, 1, "a run that failed is judged too: {condition}");
    assert!(condition.contains("conclusion != 'skipped'"), "an edited title is no run: {condition}");
    let mut folders = Vec::new();
    for step in steps(job) {
        if uses(step).starts_with("actions/checkout@") {
            assert_eq!(step["with"], serde_json::json!({ "persist-credentials": false }), "the default branch");
        }
        if uses(step).starts_with("actions/download-artifact@") {
            assert_eq!(step["continue-on-error"], true, "a missing artifact is told by the last step");
            folders.push(step["with"]["path"].clone());
        }
    }
    let last = steps(job).last().expect("a step");
    assert!(uses(last).starts_with("precision-gate/precision-gate/publish@") && last.get("if").is_none(), "{last}");
    assert_eq!(folders, [last["with"]["judge"].clone()]);
    assert_eq!(last["with"]["training"], "${{ steps.train.outputs.result }}");
    // The job it asks about is one of the first half's.
    let first = fs::read_to_string(root().join("examples/pipelines/github/pr-gate.yml")).expect("a file");
    assert_eq!(parse("pr-gate.yml".into(), first).yaml["jobs"]["train"]["name"], "train");
    assert!(text.text.contains(r#"select(.name == "train")"#));
}

#[test]
fn a_gate_on_gitlab_runs_when_training_failed_and_is_told() {
    let template = fs::read_to_string(root().join("templates/precision-gate/template.yml")).expect("the component");
    let (_, job) = template.split_once("\n---\n").expect("two documents");
    let job = parse("the component".into(), job.to_owned());
    assert_eq!(job.yaml["$[[ inputs.job ]]"]["when"], "always");
    assert!(template.contains("    training:\n      default: unknown\n"), "{template}");
    assert!(template.contains("    training-file: { default: precision-gate-training.txt, "), "{template}");
    let texts: Vec<Text> = shipped("examples/pipelines/gitlab").into_iter().chain(blocks()).collect();
    let mut trained = 0;
    for text in &texts {
        for (name, job) in jobs(&text.yaml) {
            let script = job["script"].to_string();
            if script.contains("precision-gate run") || script.contains("publish --judge") {
                assert_eq!(job["when"], "always", "{}: {name}", text.place);
                assert!(script.contains("--training"), "{}: {name}", text.place);
            }
            if script.contains("train.sh") {
                trained += 1;
                assert_eq!(
                    job["after_script"][0], "echo \"$CI_JOB_STATUS\" >precision-gate-training.txt",
                    "{}",
                    text.place
                );
                assert_eq!(job["artifacts"]["when"], "always", "{}", text.place);
                assert_eq!(job["artifacts"]["paths"][1], "precision-gate-training.txt", "{}", text.place);
            }
            assert!(job["artifacts"]["reports"].get("dotenv").is_none(), "{}: sets variables: {name}", text.place);
            for rule in job["rules"].as_array().into_iter().flatten().filter(|_| job["when"] == "always") {
                assert_eq!(rule["when"], "always", "{}: a rule without it says on_success: {name}", text.place);
            }
        }
    }
    assert!(trained >= 4, "{trained}");
}

/// Inputs that an action or the component declares, each with its description.
fn inputs(file: &str) -> serde_json::Map<String, Value> {
    let text = fs::read_to_string(root().join(file)).expect("an action");
    let (first, _) = text.split_once("\n---\n").unwrap_or((&text, ""));
    let yaml = parse(file.into(), first.to_owned()).yaml;
    yaml.get("spec").unwrap_or(&yaml)["inputs"].as_object().expect("inputs").clone()
}

/// A name that is no input is a warning of the runner that nobody reads; the setting is not made.
#[test]
fn every_input_that_a_pipeline_gives_is_one_of_the_action() {
    let mut given = 0;
    let texts = ["examples/pipelines/github", ".github/workflows"].into_iter().flat_map(shipped).chain(blocks());
    for (text, _, step) in github_steps(&texts.collect::<Vec<_>>()) {
        let action = uses(step).split('@').next().unwrap_or_default();
        let Some(below) = action.strip_prefix("precision-gate/precision-gate").or(action.strip_prefix('.')) else {
            continue;
        };
        let known = inputs(&format!(
            "{}action.yml",
            below.trim_start_matches('/').to_owned() + if below.len() > 1 { "/" } else { "" }
        ));
        for name in step["with"].as_object().into_iter().flatten().map(|(name, _)| name) {
            given += 1;
            assert!(known.contains_key(name), "{}: {action} has no input `{name}`", text.place);
        }
    }
    let component = inputs("templates/precision-gate/template.yml");
    for text in shipped("examples/pipelines/gitlab").into_iter().chain(blocks()) {
        for include in text.yaml["include"].as_array().into_iter().flatten() {
            for name in include["inputs"].as_object().into_iter().flatten().map(|(name, _)| name) {
                given += 1;
                assert!(component.contains_key(name), "{}: the component has no input `{name}`", text.place);
            }
        }
    }
    assert!(given > 50, "{given}");
}

/// Keys of GitHub's workflows by where they stand: <https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-syntax>.
const GITHUB: [(&str, &[&str]); 3] = [
    ("workflow", &["name", "run-name", "on", "permissions", "env", "defaults", "concurrency", "jobs"]),
    (
        "job",
        &[
            "name",
            "permissions",
            "needs",
            "if",
            "runs-on",
            "environment",
            "concurrency",
            "outputs",
            "env",
            "defaults",
            "steps",
            "timeout-minutes",
            "strategy",
            "continue-on-error",
            "container",
            "services",
            "uses",
            "with",
            "secrets",
        ],
    ),
    (
        "step",
        &[
            "id",
            "if",
            "name",
            "uses",
            "run",
            "working-directory",
            "shell",
            "with",
            "env",
            "continue-on-error",
            "timeout-minutes",
        ],
    ),
];

/// Keys of GitLab's jobs: <https://docs.gitlab.com/ci/yaml/>.
const GITLAB: &[&str] = &[
    "after_script",
    "allow_failure",
    "artifacts",
    "before_script",
    "cache",
    "dependencies",
    "environment",
    "extends",
    "id_tokens",
    "image",
    "inherit",
    "interruptible",
    "needs",
    "parallel",
    "release",
    "resource_group",
    "retry",
    "rules",
    "script",
    "secrets",
    "services",
    "stage",
    "tags",
    "timeout",
    "trigger",
    "variables",
    "when",
];

#[test]
fn every_key_of_a_pipeline_is_one_of_its_forge() {
    let known = |place: &str| GITHUB.iter().find(|(name, _)| *name == place).expect("a place").1;
    let mut wrong = Vec::new();
    let mut check = |text: &Text, yaml: &Value, known: &[&str]| {
        let keys = yaml.as_object().into_iter().flatten().map(|(key, _)| key);
        wrong.extend(keys.filter(|key| !known.contains(&key.as_str())).map(|key| format!("{}: `{key}`", text.place)));
    };
    let github = ["examples/pipelines/github", ".github/workflows"].into_iter().flat_map(shipped);
    let texts: Vec<Text> = github.chain(shipped("examples/pipelines/gitlab")).chain(blocks()).collect();
    for text in &texts {
        if text.yaml.get("jobs").is_some() {
            check(text, &text.yaml, known("workflow"));
        }
        for (_, job) in jobs(&text.yaml) {
            check(text, job, if job.get("script").is_some() { GITLAB } else { known("job") });
        }
    }
    for (text, _, step) in github_steps(&texts) {
        if step.get("uses").is_some() || step.get("run").is_some() {
            check(text, step, known("step"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn pages_name_the_check_that_a_branch_requires() {
    for (page, words) in [
        (
            "docs/pipelines.md",
            &[
                "**`precision-gate`**",
                "**`precision-gate (KEY)`**",
                "Require status checks to pass",
                "Pipelines must succeed",
            ][..],
        ),
        ("README.md", &["check `precision-gate`", "docs/pipelines.md"]),
        ("README.zh.md", &["`precision-gate`", "docs/pipelines.md"]),
        ("examples/pipelines/github/pr-gate.yml", &["Require the check `precision-gate`"]),
        (
            "examples/pipelines/gitlab/merge-request.yml",
            &["The job `precision-gate` fails", "\"Pipelines must succeed\""],
        ),
    ] {
        let text = fs::read_to_string(root().join(page)).expect("a page");
        for word in words {
            assert!(text.contains(word), "{page} does not say {word}");
        }
    }
}
