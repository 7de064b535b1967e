//! GitLab CI: merge request, branch, tag and scheduled pipelines.

use super::environment::{JobVariables, variable};
use super::place::{CommentTarget, JobPlace, ReadOnly};
use super::said::{ANSWER, UserMessage};
use crate::publish::forge::ForgeKind;
use crate::publish::instruction::COMMAND;
use crate::publish::trust::CommitOrigin;

/// Reads the place of the job.
pub(super) fn locate(environment: &JobVariables) -> JobPlace {
    let get = |name| variable(environment, name).unwrap_or_default().to_owned();
    let own = get("CI_PROJECT_ID");
    let (project, target) = merge_request(environment, &own);
    let origin = origin(environment, &own, &target);
    // Filled in merged-results pipelines, where `CI_COMMIT_SHA` is a throw-away merge commit.
    let head = variable(environment, "CI_MERGE_REQUEST_SOURCE_BRANCH_SHA").map(str::to_owned);
    // A status of another commit than the pipeline's own is refused where it names the pipeline.
    let pipeline = variable(environment, "CI_PIPELINE_ID").filter(|_| head.is_none());
    JobPlace {
        forge: Some(ForgeKind::Gitlab),
        api: get("CI_API_V4_URL"),
        // The merge request of a fork belongs to the target project, and the fork's job has no token for it.
        read_only: (origin == CommitOrigin::Fork && own != project).then_some(ReadOnly::Fork),
        repository: project,
        event: get("CI_PIPELINE_SOURCE"),
        target,
        pipeline: pipeline.and_then(|id| id.parse().ok()),
        commit: head.unwrap_or_else(|| get("CI_COMMIT_SHA")),
        origin,
        commits: ["CI_COMMIT_SHA", "CI_MERGE_REQUEST_SOURCE_BRANCH_SHA"].map(get).into_iter().collect(),
        other_checkout: None,
        asked_pull: None,
        // `CI_MERGE_REQUEST_DIFF_BASE_SHA` cannot be trusted as a base: the author of the change chooses where it branches off.
        target_branch: ["CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "CI_EXTERNAL_PULL_REQUEST_TARGET_BRANCH_NAME"]
            .into_iter()
            .find_map(|name| variable(environment, name))
            .unwrap_or_default()
            .to_owned(),
        default_branch: get("CI_DEFAULT_BRANCH"),
        run_url: get("CI_JOB_URL"),
        run: get("CI_JOB_ID"),
        workspace: get("CI_PROJECT_DIR"),
    }
}

/// The answer of the person who started the job; the word that begins every instruction may be left out. Variables cannot identify
/// the person, since whoever starts a job by hand may set `GITLAB_USER_ID` as well.
pub(super) fn user_message(environment: &JobVariables) -> Option<UserMessage> {
    let text = variable(environment, ANSWER)?.trim_start();
    let text = if text.starts_with(COMMAND) { text.to_owned() } else { format!("{COMMAND} {text}") };
    Some(UserMessage { text, ..UserMessage::default() })
}

/// Owner of the judged commit.
fn origin(environment: &JobVariables, own: &str, target: &CommentTarget) -> CommitOrigin {
    let get = |name| variable(environment, name);
    let of = |head: Option<&str>, own: Option<&str>| match (head, own) {
        (Some(head), Some(own)) if head == own => CommitOrigin::Own,
        (Some(_), Some(_)) => CommitOrigin::Fork,
        _ => CommitOrigin::Unknown,
    };
    if get("CI_MERGE_REQUEST_IID").is_some() {
        let project = get("CI_MERGE_REQUEST_PROJECT_ID").unwrap_or(own);
        return of(get("CI_MERGE_REQUEST_SOURCE_PROJECT_ID"), Some(project));
    }
    if let Some(source) = get("CI_EXTERNAL_PULL_REQUEST_SOURCE_REPOSITORY") {
        return of(Some(source), get("CI_EXTERNAL_PULL_REQUEST_TARGET_REPOSITORY"));
    }
    // The merge request of a branch of this project may go to another project: then this project is the fork.
    let open = get("CI_OPEN_MERGE_REQUESTS").and_then(|list| list.split(',').next()?.rsplit_once('!'));
    match (target, open, get("CI_PROJECT_PATH")) {
        (CommentTarget::Pull(_), Some((project, _)), Some(path)) if project != path => CommitOrigin::Fork,
        _ if get("CI_COMMIT_BRANCH").is_some() || get("CI_COMMIT_TAG").is_some() => CommitOrigin::Own,
        _ => CommitOrigin::Unknown,
    }
}

/// The project that a comment goes to, and the merge request in it.
fn merge_request(environment: &JobVariables, own: &str) -> (String, CommentTarget) {
    let number = |text: &str| text.parse().ok().map(CommentTarget::Pull);
    if let Some(target) = variable(environment, "CI_MERGE_REQUEST_IID").and_then(number) {
        let project = variable(environment, "CI_MERGE_REQUEST_PROJECT_ID").unwrap_or(own);
        return (project.to_owned(), target);
    }
    // `group/project!12,group/project!13`
    let first = variable(environment, "CI_OPEN_MERGE_REQUESTS").and_then(|list| list.split(',').next());
    if let Some((project, iid)) = first.and_then(|reference| reference.rsplit_once('!'))
        && let Some(target) = number(iid)
    {
        return (project.to_owned(), target);
    }
    let scheduled = variable(environment, "CI_PIPELINE_SOURCE") == Some("schedule");
    let on_branch = variable(environment, "CI_COMMIT_BRANCH").is_some() && !scheduled;
    (own.to_owned(), if on_branch { CommentTarget::OfCommit } else { CommentTarget::None })
}
