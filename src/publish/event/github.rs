//! GitHub Actions, and Gitea's and Forgejo's actions made after it.
//!
//! The commit to report on is the head of the pull request: `GITHUB_SHA` is a throw-away merge commit there, where
//! nobody sees a check.
#![allow(clippy::indexing_slicing, reason = "a key that is not there reads as null in serde_json")]

use serde_json::Value;

use super::{Environment, Place, ReadOnly, Target, is_gitea, text, variable};
use crate::publish::forge::ForgeKind;

/// Where the job runs.
pub(super) fn locate(environment: &Environment, event: &Value) -> Place {
    let get = |name| variable(environment, name).unwrap_or_default().to_owned();
    let gitea = is_gitea(environment);
    let server = get("GITHUB_SERVER_URL");
    let repository = get("GITHUB_REPOSITORY");
    let id = get("GITHUB_RUN_ID");
    let name = get("GITHUB_EVENT_NAME");
    let from_fork = is_fork(&name, event);
    let mut place = Place {
        forge: Some(if gitea { ForgeKind::Gitea } else { ForgeKind::Github }),
        api: get("GITHUB_API_URL"),
        run_url: if id.is_empty() { String::new() } else { format!("{server}/{repository}/actions/runs/{id}") },
        run: format!("{id}.{}", variable(environment, "GITHUB_RUN_ATTEMPT").unwrap_or("1")),
        repository,
        target: target(&name, event),
        commit: commit(&name, event).unwrap_or_else(|| get("GITHUB_SHA")),
        base_commit: text(&event["pull_request"]["base"]["sha"]),
        read_only: read_only(&name, from_fork, environment),
        from_fork,
        root: get("GITHUB_WORKSPACE"),
        event: name,
        ..Place::default()
    };
    if place.event == "issue_comment" {
        // The commit is the pull request's head, and only the forge knows it; `GITHUB_SHA` is the default branch.
        place.commit = String::new();
    }
    place
}

fn target(name: &str, event: &Value) -> Target {
    let number = |value: &Value| value.as_u64().map(Target::Pull);
    let found = match name {
        name if is_pull_request(name) => number(&event["number"]).or_else(|| number(&event["pull_request"]["number"])),
        "issue_comment" if event["issue"]["pull_request"].is_object() => number(&event["issue"]["number"]),
        "workflow_run" => workflow_run(&event["workflow_run"], &event["repository"]),
        "push" if text(&event["ref"]).starts_with("refs/heads/") => Some(Target::OfCommit),
        _ => None,
    };
    found.unwrap_or_default()
}

/// `pull_request` and its kin (`_target`, `_review`, `_review_comment`), which describe the pull request alike.
fn is_pull_request(name: &str) -> bool {
    name.starts_with("pull_request")
}

/// The pull request of a finished workflow: the event names it only where it comes from the same repository.
fn workflow_run(run: &Value, repository: &Value) -> Option<Target> {
    let head = &run["head_repository"];
    if !text(&run["event"]).starts_with("pull_request") {
        return None;
    }
    let same = head["id"] == repository["id"] && !head.is_null();
    let named = run["pull_requests"][0]["number"].as_u64().filter(|_| same).map(Target::Pull);
    let branch = || Some(Target::OfBranch { owner: text(&head["owner"]["login"]), branch: text(&run["head_branch"]) });
    named.or_else(branch)
}

fn commit(name: &str, event: &Value) -> Option<String> {
    let value = match name {
        name if is_pull_request(name) => &event["pull_request"]["head"]["sha"],
        "workflow_run" => &event["workflow_run"]["head_sha"],
        "merge_group" => &event["merge_group"]["head_sha"],
        _ => &Value::Null,
    };
    value.as_str().map(str::to_owned)
}

/// Whether the judged commit comes from another repository; the head's is null when the fork was deleted.
fn is_fork(name: &str, event: &Value) -> bool {
    let own = &event["repository"];
    match name {
        name if is_pull_request(name) => {
            let head = &event["pull_request"]["head"]["repo"];
            event["pull_request"].is_object() && (head.is_null() || head["full_name"] != own["full_name"])
        }
        "workflow_run" => event["workflow_run"]["head_repository"]["full_name"] != own["full_name"],
        _ => false,
    }
}

fn read_only(name: &str, from_fork: bool, environment: &Environment) -> Option<ReadOnly> {
    let dependabot = variable(environment, "GITHUB_ACTOR") == Some("dependabot[bot]");
    match name {
        "pull_request_target" | "workflow_run" => None,
        _ if from_fork => Some(ReadOnly::Fork),
        _ if dependabot => Some(ReadOnly::Dependabot),
        _ => None,
    }
}
