//! One row per event.

use serde_json::{Value, json};

use super::*;

const HEAD: &str = "1111111111111111111111111111111111111111";
const MERGE: &str = "2222222222222222222222222222222222222222";
const BASE: &str = "3333333333333333333333333333333333333333";

fn environment(pairs: &[(&str, &str)]) -> Environment {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn on_github(event: &str, payload: &Value) -> Place {
    let environment = environment(&[
        ("GITHUB_ACTIONS", "true"),
        ("GITHUB_API_URL", "https://ghe.example/api/v3"),
        ("GITHUB_SERVER_URL", "https://ghe.example"),
        ("GITHUB_REPOSITORY", "org/model"),
        ("GITHUB_EVENT_NAME", event),
        ("GITHUB_SHA", MERGE),
        ("GITHUB_RUN_ID", "77"),
        ("GITHUB_RUN_ATTEMPT", "2"),
    ]);
    locate(&environment, Some(&payload.to_string()))
}

fn pull(head_repository: &Value) -> Value {
    json!({
        "number": 7,
        "repository": { "id": 1, "full_name": "org/model" },
        "pull_request": { "number": 7, "head": { "sha": HEAD, "repo": head_repository }, "base": { "sha": BASE } },
    })
}

fn finished(event: &str, head: u64, pulls: &Value) -> Value {
    json!({
        "repository": { "id": 1, "full_name": "org/model" },
        "workflow_run": {
            "event": event, "head_sha": HEAD, "head_branch": "topic", "pull_requests": pulls,
            "head_repository": { "id": head, "full_name": if head == 1 { "org/model" } else { "dev/model" }, "owner": { "login": "dev" } },
        },
    })
}

#[test]
fn github_events() {
    let own = json!({ "full_name": "org/model" });
    let fork = json!({ "full_name": "dev/model" });
    let branch = Target::OfBranch { owner: "dev".into(), branch: "topic".into() };
    for (event, payload, target, commit, from_fork, read_only) in [
        ("pull_request", pull(&own), Target::Pull(7), HEAD, false, None),
        ("pull_request", pull(&fork), Target::Pull(7), HEAD, true, Some(ReadOnly::Fork)),
        ("pull_request", pull(&Value::Null), Target::Pull(7), HEAD, true, Some(ReadOnly::Fork)),
        ("pull_request_review", pull(&fork), Target::Pull(7), HEAD, true, Some(ReadOnly::Fork)),
        ("pull_request_target", pull(&fork), Target::Pull(7), HEAD, true, None),
        ("workflow_run", finished("pull_request", 1, &json!([{ "number": 7 }])), Target::Pull(7), HEAD, false, None),
        ("workflow_run", finished("pull_request", 2, &json!([])), branch, HEAD, true, None),
        ("workflow_run", finished("schedule", 1, &json!([])), Target::None, HEAD, false, None),
        ("push", json!({ "ref": "refs/heads/main" }), Target::OfCommit, MERGE, false, None),
        ("push", json!({ "ref": "refs/tags/v1" }), Target::None, MERGE, false, None),
        ("merge_group", json!({ "merge_group": { "head_sha": HEAD } }), Target::None, HEAD, false, None),
        ("release", json!({ "release": { "tag_name": "v1" } }), Target::None, MERGE, false, None),
        ("schedule", json!({}), Target::None, MERGE, false, None),
        ("workflow_dispatch", json!({ "inputs": null }), Target::None, MERGE, false, None),
        ("issue_comment", json!({ "issue": { "number": 7, "pull_request": {} } }), Target::Pull(7), "", false, None),
        ("issue_comment", json!({ "issue": { "number": 7 } }), Target::None, "", false, None),
        ("pull_request", json!("damaged"), Target::None, MERGE, false, None),
    ] {
        let place = on_github(event, &payload);
        let found = (place.target, place.commit.as_str(), place.from_fork, place.read_only);
        assert_eq!(found, (target, commit, from_fork, read_only), "{event} {payload}");
        assert_eq!((place.run.as_str(), place.api.as_str()), ("77.2", "https://ghe.example/api/v3"));
        assert_eq!(place.run_url, "https://ghe.example/org/model/actions/runs/77");
    }
    assert_eq!(on_github("pull_request", &pull(&own)).base_commit, BASE);
}

#[test]
fn dependabot_cannot_write() {
    let environment = environment(&[
        ("GITHUB_ACTIONS", "true"),
        ("GITHUB_EVENT_NAME", "pull_request"),
        ("GITHUB_ACTOR", "dependabot[bot]"),
    ]);
    let event = pull(&json!({ "full_name": "org/model" })).to_string();
    assert_eq!(locate(&environment, Some(&event)).read_only, Some(ReadOnly::Dependabot));
}

#[test]
fn gitlab_pipelines() {
    let merge_request: &[(&str, &str)] = &[
        ("CI_MERGE_REQUEST_IID", "5"),
        ("CI_MERGE_REQUEST_PROJECT_ID", "1"),
        ("CI_MERGE_REQUEST_SOURCE_PROJECT_ID", "1"),
        ("CI_MERGE_REQUEST_DIFF_BASE_SHA", BASE),
    ];
    let merged_results = [merge_request, &[("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA", HEAD)]].concat();
    let fork = [merge_request, &[("CI_MERGE_REQUEST_SOURCE_PROJECT_ID", "2"), ("CI_PROJECT_ID", "2")]].concat();
    let fork_in_parent = [merge_request, &[("CI_MERGE_REQUEST_SOURCE_PROJECT_ID", "2")]].concat();
    let branch: &[(&str, &str)] = &[("CI_COMMIT_BRANCH", "main"), ("CI_PIPELINE_SOURCE", "push")];
    let open = [branch, &[("CI_OPEN_MERGE_REQUESTS", "group/model!12,group/model!13")]].concat();
    let scheduled = [branch, &[("CI_PIPELINE_SOURCE", "schedule")]].concat();
    for (variables, project, target, commit, from_fork, read_only) in [
        (merge_request, "1", Target::Pull(5), MERGE, false, None),
        (&merged_results, "1", Target::Pull(5), HEAD, false, None),
        (&fork, "1", Target::Pull(5), MERGE, true, Some(ReadOnly::Fork)),
        (&fork_in_parent, "1", Target::Pull(5), MERGE, true, None),
        (branch, "1", Target::OfCommit, MERGE, false, None),
        (&open, "group/model", Target::Pull(12), MERGE, false, None),
        (&scheduled, "1", Target::None, MERGE, false, None),
        (&[("CI_COMMIT_TAG", "v1")], "1", Target::None, MERGE, false, None),
    ] {
        let common: &[(&str, &str)] = &[
            ("GITLAB_CI", "true"),
            ("CI_API_V4_URL", "https://gitlab.example/api/v4"),
            ("CI_PROJECT_ID", "1"),
            ("CI_COMMIT_SHA", MERGE),
            ("CI_PIPELINE_ID", "9"),
        ];
        let place = locate(&environment(&[common, variables].concat()), None);
        let found = (place.repository.as_str(), place.target, place.commit.as_str(), place.from_fork, place.read_only);
        assert_eq!(found, (project, target, commit, from_fork, read_only), "{variables:?}");
        let pipeline = (commit == MERGE).then_some(9);
        assert_eq!((place.pipeline, place.api.as_str()), (pipeline, "https://gitlab.example/api/v4"));
    }
}

#[test]
fn outside_of_ci_nothing_is_known() {
    assert_eq!(locate(&Environment::new(), None), Place::default());
}
