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

pub use environment::{Environment, variable};
pub use place::{Place, ReadOnly, Target};
pub use said::{ANSWER, Said};

/// Path of the event file that [`locate`] needs, if the CI system writes one.
pub fn event_file(environment: &Environment) -> Option<&str> {
    variable(environment, "GITHUB_EVENT_PATH")
}

/// Reads the place of the job. `event` is the content of the event file; text that is not JSON counts as no event.
pub fn locate(environment: &Environment, event: Option<&str>) -> Place {
    let event: Value = event.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    if is_true(environment, "GITLAB_CI") {
        gitlab::locate(environment)
    } else if is_true(environment, "GITHUB_ACTIONS") || is_gitea(environment) {
        github::locate(environment, &event)
    } else {
        Place::default()
    }
}

/// The text of a new comment at GitHub, or of a manual job's variable at GitLab; `None` without either.
pub fn said(environment: &Environment, event: Option<&str>) -> Option<Said> {
    if is_true(environment, "GITLAB_CI") {
        return gitlab::said(environment);
    }
    let event: Value = event.and_then(|text| serde_json::from_str(text).ok())?;
    github::said(variable(environment, "GITHUB_EVENT_NAME")?, &event)
}

/// Whether the runner reads workflow commands, outputs and summaries, as GitHub's runner and compatible ones do.
pub fn has_workflow_commands(environment: &Environment) -> bool {
    is_true(environment, "GITHUB_ACTIONS")
}

#[cfg(test)]
mod tests;
