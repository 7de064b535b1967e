//! Statuses of GitHub and Gitea: a verdict in one line.

use serde::Serialize;

use crate::fetch::permission::Permission;
use crate::publish::call::{Call, segment};
use crate::publish::status::{Conclusion, Report, State};

/// Characters of a description; a longer one is refused.
const MOST_DESCRIPTION: usize = 140;

#[derive(Serialize)]
struct Status<'a> {
    state: &'static str,
    context: &'a str,
    description: String,
    #[serde(skip_serializing_if = "str::is_empty")]
    target_url: &'a str,
}

/// Sets the status of a commit.
pub(super) fn set(root: &str, report: &Report) -> Call {
    let status = Status {
        state: word(report),
        context: &report.name,
        description: report.short_title(MOST_DESCRIPTION),
        target_url: &report.url,
    };
    let path = format!("{root}/statuses/{}", segment(&report.commit));
    Call::post("set the commit's status", Permission::Statuses.write(), path, status)
}

/// The state, as GitHub spells it.
pub(super) fn word(report: &Report) -> &'static str {
    match (report.state, report.conclusion()) {
        (_, None) => "pending",
        (State::Unfinished, _) => "error",
        (_, Some(Conclusion::Success | Conclusion::Neutral)) => "success",
        (_, Some(Conclusion::Failure)) => "failure",
    }
}
