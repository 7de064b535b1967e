//! Forge, repository, pull request and commit of a job, from the variables of a CI system.
//!
//! Pure functions over the environment and the event file, which are arguments. Facts that these do not hold, such as the pull
//! request of a pushed commit, are left open in the place's target, and the forge is asked later.

mod environment;
mod github;
mod gitlab;
mod place;
mod said;

use serde_json::Value;

use environment::{is_gitea, is_true};

pub use environment::{JobVariables, variable};
pub use place::{CommentTarget, JobPlace, ReadOnly};
pub use said::{ANSWER, UserMessage};

/// Path of the event file that [`locate`] needs, if the CI system writes one.
pub fn event_file(environment: &JobVariables) -> Option<&str> {
    variable(environment, "GITHUB_EVENT_PATH")
}

/// Reads the place of the job. `event` is the content of the event file; text that is not JSON counts as no event.
pub fn locate(environment: &JobVariables, event: Option<&str>) -> JobPlace {
    let event: Value = event.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    if is_true(environment, "GITLAB_CI") {
        gitlab::locate(environment)
    } else if is_true(environment, "GITHUB_ACTIONS") || is_gitea(environment) {
        github::locate(environment, &event)
    } else {
        JobPlace::default()
    }
}

/// The text of a new comment at GitHub, or of a manual job's variable at GitLab; `None` without either.
pub fn user_message(environment: &JobVariables, event: Option<&str>) -> Option<UserMessage> {
    if is_true(environment, "GITLAB_CI") {
        return gitlab::user_message(environment);
    }
    let event: Value = event.and_then(|text| serde_json::from_str(text).ok())?;
    github::user_message(variable(environment, "GITHUB_EVENT_NAME")?, &event)
}

/// Whether the runner reads workflow commands, outputs and summaries, as GitHub's runner and compatible ones do.
pub fn has_workflow_commands(environment: &JobVariables) -> bool {
    is_true(environment, "GITHUB_ACTIONS")
}

#[cfg(test)]
mod tests;
