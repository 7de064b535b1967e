//! GitHub Actions, and the compatible actions of Gitea and Forgejo.
//!
//! The commit to report on is the head of the pull request: `GITHUB_SHA` is a throw-away merge commit there, where
//! nobody sees a check.
#![allow(clippy::indexing_slicing, reason = "a key that is not there reads as null in serde_json")]

use serde_json::Value;

use super::environment::{JobVariables, is_gitea, text, variable};
use super::place::{CommentTarget, JobPlace, ReadOnly};
use super::said::UserMessage;
use crate::publish::forge::ForgeKind;
use crate::publish::trust::{CommitOrigin, OriginSource, origin_source};

/// Prefix of a merge queue's branches: `gh-readonly-queue/main/pr-12-0123abcd`.
const QUEUE: &str = "refs/heads/gh-readonly-queue/";

/// Reads the place of the job.
pub(super) fn locate(environment: &JobVariables, event: &Value) -> JobPlace {
    let get = |name| variable(environment, name).unwrap_or_default().to_owned();
    let gitea = is_gitea(environment);
    let server = get("GITHUB_SERVER_URL");
    let repository = get("GITHUB_REPOSITORY");
    let id = get("GITHUB_RUN_ID");
    let name = get("GITHUB_EVENT_NAME");
    // An event of another repository says nothing about this one.
    let of_event = text(&event["repository"]["full_name"]);
    let is_foreign = !of_event.is_empty() && !of_event.eq_ignore_ascii_case(&repository);
    let origin = if is_foreign || queue(&name, event).is_some() { CommitOrigin::Unknown } else { origin(&name, event) };
    let mut place = JobPlace {
        forge: Some(if gitea { ForgeKind::Gitea } else { ForgeKind::Github }),
        api: get("GITHUB_API_URL"),
        run_url: if id.is_empty() { String::new() } else { format!("{server}/{repository}/actions/runs/{id}") },
        run: format!("{id}.{}", variable(environment, "GITHUB_RUN_ATTEMPT").unwrap_or("1")),
        repository,
        target: target(&name, event),
        commit: commit(&name, event).unwrap_or_else(|| get("GITHUB_SHA")),
        asked_pull: queue(&name, event).and_then(|entry| entry.split('-').next()?.parse().ok()),
        target_branch: target_branch(&name, event),
        default_branch: text(&event["repository"]["default_branch"]),
        read_only: read_only(&name, origin, environment),
        origin,
        commits: commits(&get("GITHUB_SHA"), event),
        workspace: get("GITHUB_WORKSPACE"),
        event: name,
        ..JobPlace::default()
    };
    if place.event == "issue_comment" {
        // The commit is the pull request's head, and only the forge knows it; `GITHUB_SHA` is the default branch.
        place.commit = String::new();
    }
    place
}

fn target(name: &str, event: &Value) -> CommentTarget {
    let number = |value: &Value| value.as_u64().map(CommentTarget::Pull);
    let found = match name {
        name if is_pull_request(name) => number(&event["number"]).or_else(|| number(&event["pull_request"]["number"])),
        "issue_comment" if is_on_pull_request(event) => number(&event["issue"]["number"]),
        "workflow_run" => workflow_run(&event["workflow_run"], &event["repository"]),
        "push" if text(&event["ref"]).starts_with(QUEUE) => None,
        "push" if text(&event["ref"]).starts_with("refs/heads/") => Some(CommentTarget::OfCommit),
        _ => None,
    };
    found.unwrap_or_default()
}

/// Whether an event is `pull_request` or a related one (`_target`, `_review`, `_review_comment`), with the same description of the
/// pull request.
fn is_pull_request(name: &str) -> bool {
    name.starts_with("pull_request")
}

fn is_on_pull_request(event: &Value) -> bool {
    event["issue"]["pull_request"].is_object()
}

/// The text of a new comment. Edits do not count, since another person than the author may make them.
pub(super) fn user_message(name: &str, event: &Value) -> Option<UserMessage> {
    let comment = &event["comment"];
    let is_new = name == "issue_comment" && event["action"] == "created" && is_on_pull_request(event);
    is_new.then(|| UserMessage {
        text: text(&comment["body"]),
        author: text(&comment["user"]["login"]),
        name: text(&comment["user"]["login"]),
        time: text(&comment["created_at"]),
    })
}

/// The pull request of a finished workflow, which the event names only if it comes from the same repository.
fn workflow_run(run: &Value, repository: &Value) -> Option<CommentTarget> {
    let head = &run["head_repository"];
    if !text(&run["event"]).starts_with("pull_request") {
        return None;
    }
    let same = origin_of(head, repository) == CommitOrigin::Own;
    let named = run["pull_requests"][0]["number"].as_u64().filter(|_| same).map(CommentTarget::Pull);
    let branch =
        || Some(CommentTarget::OfBranch { owner: text(&head["owner"]["login"]), branch: text(&run["head_branch"]) });
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

/// Commits that the event names: its own commit, and both ends of a pull request.
fn commits(own: &str, event: &Value) -> Vec<String> {
    let pull = &event["pull_request"];
    let named = [
        &event["workflow_run"]["head_sha"],
        &event["merge_group"]["head_sha"],
        &pull["head"]["sha"],
        &pull["base"]["sha"],
        &pull["merge_commit_sha"],
    ];
    let named = named.into_iter().filter_map(Value::as_str);
    named.chain([own]).filter(|commit| !commit.is_empty()).map(str::to_owned).collect()
}

/// The branch that the change goes to.
fn target_branch(name: &str, event: &Value) -> String {
    let branch = match name {
        name if is_pull_request(name) => text(&event["pull_request"]["base"]["ref"]),
        "merge_group" => text(&event["merge_group"]["base_ref"]),
        "push" => {
            let pushed = text(&event["ref"]);
            let of_queue = pushed.strip_prefix(QUEUE).and_then(|rest| rest.rsplit_once("/pr-"));
            of_queue.map_or_else(String::new, |(branch, _)| branch.to_owned())
        }
        _ => String::new(),
    };
    branch.strip_prefix("refs/heads/").map_or_else(|| branch.clone(), str::to_owned)
}

/// The entry of a merge queue that the job is for, with pull request and commit: `12-0123abcd`. The queue's branches also cause
/// `push` events.
fn queue(name: &str, event: &Value) -> Option<String> {
    let reference = match name {
        "merge_group" => text(&event["merge_group"]["head_ref"]),
        "push" => text(&event["ref"]),
        _ => return None,
    };
    let branch = reference.strip_prefix(QUEUE)?;
    Some(branch.rsplit_once("/pr-").map_or_else(String::new, |(_, entry)| entry.to_owned()))
}

/// Owner of the judged commit, as far as the event tells.
fn origin(name: &str, event: &Value) -> CommitOrigin {
    match origin_source(name) {
        OriginSource::Own => CommitOrigin::Own,
        OriginSource::ByEvent if name == "workflow_run" => {
            origin_of(&event["workflow_run"]["head_repository"], &event["repository"])
        }
        OriginSource::ByEvent if event["pull_request"]["head"].is_object() => {
            origin_of(&event["pull_request"]["head"]["repo"], &event["repository"])
        }
        // A comment on an issue is about no commit.
        OriginSource::ByForge
            if name == "issue_comment" && event["issue"].is_object() && !is_on_pull_request(event) =>
        {
            CommitOrigin::Own
        }
        OriginSource::ByEvent | OriginSource::ByForge => CommitOrigin::Unknown,
    }
}

/// Owner of `head` from the view of the repository `own`; the repository of a deleted fork is null.
fn origin_of(head: &Value, own: &Value) -> CommitOrigin {
    let (head_name, own_name) = (&head["full_name"], &own["full_name"]);
    match (own_name.as_str(), head_name.as_str()) {
        (None, _) => CommitOrigin::Unknown,
        (Some(own), Some(head)) if own == head => CommitOrigin::Own,
        _ => CommitOrigin::Fork,
    }
}

fn read_only(name: &str, origin: CommitOrigin, environment: &JobVariables) -> Option<ReadOnly> {
    let dependabot = variable(environment, "GITHUB_ACTOR") == Some("dependabot[bot]");
    match name {
        "pull_request_target" | "workflow_run" => None,
        _ if origin == CommitOrigin::Fork => Some(ReadOnly::Fork),
        _ if dependabot => Some(ReadOnly::Dependabot),
        _ => None,
    }
}
