//! One row per event.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::*;
use crate::publish::forge::ForgeKind;
use crate::publish::trust::{CommitOrigin, EVENTS};

const HEAD: &str = "1111111111111111111111111111111111111111";
const MERGE: &str = "2222222222222222222222222222222222222222";
const BASE: &str = "3333333333333333333333333333333333333333";

fn environment(pairs: &[(&str, &str)]) -> JobVariables {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn on_github(event: &str, payload: &Value) -> JobPlace {
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
        "pull_request": { "number": 7, "head": { "sha": HEAD, "repo": head_repository }, "base": { "sha": BASE, "ref": "main" } },
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

/// Every event of [`EVENTS`] that GitHub has, with the payloads that tell the origin.
#[test]
fn github_events() {
    use CommitOrigin::{Fork, Own, Unknown};
    let own = json!({ "full_name": "org/model" });
    let fork = json!({ "full_name": "dev/model" });
    let branch = CommentTarget::OfBranch { owner: "dev".into(), branch: "topic".into() };
    let queue = "refs/heads/gh-readonly-queue/main/pr-12-0123abcd";
    let queued = json!({ "merge_group": { "head_sha": HEAD, "head_ref": queue, "base_ref": "refs/heads/main" } });
    let on_pull = json!({ "issue": { "number": 7, "pull_request": {} } });
    let read_only = Some(ReadOnly::Fork);
    let mut seen = BTreeSet::new();
    for (event, payload, target, commit, origin, read_only, asked) in [
        ("pull_request", pull(&own), CommentTarget::Pull(7), HEAD, Own, None, None),
        ("pull_request", pull(&fork), CommentTarget::Pull(7), HEAD, Fork, read_only, None),
        ("pull_request", pull(&Value::Null), CommentTarget::Pull(7), HEAD, Fork, read_only, None),
        ("pull_request", json!("damaged"), CommentTarget::None, MERGE, Unknown, None, None),
        ("pull_request_review", pull(&fork), CommentTarget::Pull(7), HEAD, Fork, read_only, None),
        ("pull_request_review_comment", pull(&fork), CommentTarget::Pull(7), HEAD, Fork, read_only, None),
        ("pull_request_target", pull(&fork), CommentTarget::Pull(7), HEAD, Fork, None, None),
        ("pull_request_target", pull(&own), CommentTarget::Pull(7), HEAD, Own, None, None),
        (
            "workflow_run",
            finished("pull_request", 1, &json!([{ "number": 7 }])),
            CommentTarget::Pull(7),
            HEAD,
            Own,
            None,
            None,
        ),
        ("workflow_run", finished("pull_request", 2, &json!([])), branch, HEAD, Fork, None, None),
        ("workflow_run", finished("schedule", 1, &json!([])), CommentTarget::None, HEAD, Own, None, None),
        ("push", json!({ "ref": "refs/heads/main" }), CommentTarget::OfCommit, MERGE, Own, None, None),
        ("push", json!({ "ref": "refs/tags/v1" }), CommentTarget::None, MERGE, Own, None, None),
        ("push", json!({ "ref": queue }), CommentTarget::None, MERGE, Unknown, None, Some(12)),
        ("merge_group", queued, CommentTarget::None, HEAD, Unknown, None, Some(12)),
        ("merge_group", json!({ "merge_group": { "head_sha": HEAD } }), CommentTarget::None, HEAD, Unknown, None, None),
        ("release", json!({ "release": { "tag_name": "v1" } }), CommentTarget::None, MERGE, Own, None, None),
        ("schedule", json!({}), CommentTarget::None, MERGE, Own, None, None),
        ("workflow_dispatch", json!({ "inputs": null }), CommentTarget::None, MERGE, Own, None, None),
        ("repository_dispatch", json!({ "action": "x" }), CommentTarget::None, MERGE, Own, None, None),
        ("issue_comment", on_pull, CommentTarget::Pull(7), "", Unknown, None, None),
        ("issue_comment", json!({ "issue": { "number": 7 } }), CommentTarget::None, "", Own, None, None),
        ("issue_comment", json!("damaged"), CommentTarget::None, "", Unknown, None, None),
        ("check_suite", json!({ "check_suite": {} }), CommentTarget::None, MERGE, Unknown, None, None),
    ] {
        seen.insert(if event == "check_suite" { "any other event" } else { event });
        let place = on_github(event, &payload);
        let found = (place.target, place.commit.as_str(), place.origin, place.read_only, place.asked_pull);
        assert_eq!(found, (target, commit, origin, read_only, asked), "{event} {payload}");
        assert_eq!((place.run.as_str(), place.api.as_str()), ("77.2", "https://ghe.example/api/v3"));
        assert_eq!(place.run_url, "https://ghe.example/org/model/actions/runs/77");
    }
    assert_eq!(on_github("pull_request", &pull(&own)).target_branch, "main");
    assert_eq!(on_github("push", &json!({ "ref": queue })).target_branch, "main");
    let rows = EVENTS.iter().filter(|row| row.forge == ForgeKind::Github).map(|row| row.event);
    assert_eq!(seen, rows.collect(), "a row without a case");
}

#[test]
fn an_event_of_another_repository_tells_no_origin() {
    let mut event = pull(&json!({ "full_name": "org/model" }));
    assert_eq!(on_github("pull_request", &event).origin, CommitOrigin::Own);
    event["repository"]["full_name"] = "ORG/model".into();
    assert_ne!(on_github("pull_request", &event).origin, CommitOrigin::Unknown);
    event["repository"]["full_name"] = "dev/model".into();
    event["pull_request"]["head"]["repo"]["full_name"] = "dev/model".into();
    assert_eq!(on_github("pull_request", &event).origin, CommitOrigin::Unknown);
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

/// Every kind of pipeline of [`EVENTS`] that GitLab has.
#[test]
fn gitlab_pipelines() {
    use CommitOrigin::{Fork, Own, Unknown};
    let merge_request: &[(&str, &str)] = &[
        ("CI_MERGE_REQUEST_IID", "5"),
        ("CI_MERGE_REQUEST_PROJECT_ID", "1"),
        ("CI_MERGE_REQUEST_SOURCE_PROJECT_ID", "1"),
        ("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "main"),
        ("CI_MERGE_REQUEST_DIFF_BASE_SHA", BASE),
    ];
    let with = |more: &[(&'static str, &'static str)]| [merge_request, more].concat();
    let merged =
        with(&[("CI_MERGE_REQUEST_EVENT_TYPE", "merged_result"), ("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA", HEAD)]);
    let train = with(&[("CI_MERGE_REQUEST_EVENT_TYPE", "merge_train"), ("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA", HEAD)]);
    let fork = with(&[("CI_MERGE_REQUEST_SOURCE_PROJECT_ID", "2"), ("CI_PROJECT_ID", "2")]);
    let in_parent = with(&[("CI_MERGE_REQUEST_SOURCE_PROJECT_ID", "2")]);
    let merged_fork = [merged.as_slice(), &[("CI_MERGE_REQUEST_SOURCE_PROJECT_ID", "2")]].concat();
    let train_fork = [train.as_slice(), &[("CI_MERGE_REQUEST_SOURCE_PROJECT_ID", "2")]].concat();
    let unclear = with(&[("CI_MERGE_REQUEST_SOURCE_PROJECT_ID", "")]);
    let branch: &[(&str, &str)] = &[("CI_COMMIT_BRANCH", "main"), ("CI_PIPELINE_SOURCE", "push")];
    let of_branch = |more: &[(&'static str, &'static str)]| [branch, more].concat();
    let open = [("CI_PROJECT_PATH", "group/model"), ("CI_OPEN_MERGE_REQUESTS", "group/model!12,group/model!13")];
    let open_elsewhere = [("CI_PROJECT_PATH", "dev/model"), ("CI_OPEN_MERGE_REQUESTS", "group/model!12")];
    let scheduled = of_branch(&[("CI_PIPELINE_SOURCE", "schedule")]);
    let external = [
        ("CI_EXTERNAL_PULL_REQUEST_SOURCE_REPOSITORY", "dev/model"),
        ("CI_EXTERNAL_PULL_REQUEST_TARGET_REPOSITORY", "org/model"),
        ("CI_EXTERNAL_PULL_REQUEST_TARGET_BRANCH_NAME", "main"),
    ];
    let read_only = Some(ReadOnly::Fork);
    let mut seen = BTreeSet::new();
    for (row, variables, project, target, commit, origin, read_only) in [
        ("merge request, detached", merge_request, "1", CommentTarget::Pull(5), MERGE, Own, None),
        ("merge request, detached", &fork, "1", CommentTarget::Pull(5), MERGE, Fork, read_only),
        ("merge request, detached", &in_parent, "1", CommentTarget::Pull(5), MERGE, Fork, None),
        ("merge request, detached", &unclear, "1", CommentTarget::Pull(5), MERGE, Unknown, None),
        ("merge request, merged results", &merged, "1", CommentTarget::Pull(5), HEAD, Own, None),
        ("merge request, merged results", &merged_fork, "1", CommentTarget::Pull(5), HEAD, Fork, None),
        ("merge request, merge train", &train, "1", CommentTarget::Pull(5), HEAD, Own, None),
        ("merge request, merge train", &train_fork, "1", CommentTarget::Pull(5), HEAD, Fork, None),
        ("external pull request", &external, "1", CommentTarget::None, MERGE, Fork, None),
        ("branch", branch, "1", CommentTarget::OfCommit, MERGE, Own, None),
        ("branch", &of_branch(&open), "group/model", CommentTarget::Pull(12), MERGE, Own, None),
        ("branch", &of_branch(&open_elsewhere), "group/model", CommentTarget::Pull(12), MERGE, Fork, read_only),
        ("schedule", &scheduled, "1", CommentTarget::None, MERGE, Own, None),
        ("tag", &[("CI_COMMIT_TAG", "v1")], "1", CommentTarget::None, MERGE, Own, None),
        (
            "any other pipeline",
            &[("CI_PIPELINE_SOURCE", "parent_pipeline")],
            "1",
            CommentTarget::None,
            MERGE,
            Unknown,
            None,
        ),
    ] {
        seen.insert(row);
        let common: &[(&str, &str)] = &[
            ("GITLAB_CI", "true"),
            ("CI_API_V4_URL", "https://gitlab.example/api/v4"),
            ("CI_PROJECT_ID", "1"),
            ("CI_COMMIT_SHA", MERGE),
            ("CI_PIPELINE_ID", "9"),
        ];
        let place = locate(&environment(&[common, variables].concat()), None);
        let found = (place.repository.as_str(), place.target, place.commit.as_str(), place.origin, place.read_only);
        assert_eq!(found, (project, target, commit, origin, read_only), "{row} {variables:?}");
        let pipeline = (commit == MERGE).then_some(9);
        assert_eq!((place.pipeline, place.api.as_str()), (pipeline, "https://gitlab.example/api/v4"));
    }
    let rows = EVENTS.iter().filter(|row| row.forge == ForgeKind::Gitlab).map(|row| row.event);
    assert_eq!(seen, rows.collect(), "a row without a case");
}

#[test]
fn outside_of_ci_nothing_is_known() {
    assert_eq!(locate(&JobVariables::new(), None), JobPlace::default());
}
