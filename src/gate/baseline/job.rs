//! Whether a job may promote a baseline: never the one that judges.
//!
//! A gate that writes its own baseline cannot fail. A job that has judged leaves a mark in its temporary folder. The job of
//! a pull request always counts as one that judges, with or without a mark.

use std::path::PathBuf;

use crate::error::{Error, ErrorKind, Result};
use crate::fetch::Environment;

/// Variables that together name one job of one run, by forge.
const JOBS: [&[&str]; 2] = [&["GITHUB_RUN_ID", "GITHUB_RUN_ATTEMPT", "GITHUB_JOB"], &["CI_JOB_ID"]];
/// Events whose jobs judge a change that is not merged yet.
const JUDGING_EVENTS: [&str; 5] =
    ["pull_request", "pull_request_target", "merge_group", "merge_request_event", "external_pull_request_event"];

/// Path of the file that marks this job as one that has judged; `None` outside of CI.
pub fn judged_mark(environment: &Environment) -> Option<PathBuf> {
    let name = JOBS.iter().find_map(|parts| {
        let values: Option<Vec<&str>> = parts.iter().map(|part| environment.get(part)).collect();
        values.map(|values| values.join("-"))
    })?;
    let safe: String = name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect();
    let folder = environment.first(&["RUNNER_TEMP", "TMPDIR"]).unwrap_or("/tmp");
    Some(PathBuf::from(folder).join(format!("precision-gate-judged-{safe}")))
}

/// Refuses to promote where this job judges.
///
/// # Errors
/// `Usage` in a job that has judged, or that runs for a change which is not merged.
pub(crate) fn may_promote(environment: &Environment) -> Result<()> {
    let event = environment.first(&["GITHUB_EVENT_NAME", "CI_PIPELINE_SOURCE"]).unwrap_or_default();
    // Any entry of that name counts: a dangling link there could have kept the mark from being written.
    let has_judged = judged_mark(environment).is_some_and(|mark| mark.symlink_metadata().is_ok());
    let reason = if has_judged {
        "this job has judged a run: a gate that writes its own baseline cannot fail"
    } else if JUDGING_EVENTS.contains(&event) {
        "this job runs for a change that is not merged: it judges, and may not write what it is judged by"
    } else {
        return Ok(());
    };
    Err(Error::new(ErrorKind::Usage, "baseline promote", reason)
        .with_help("promote on a workstation or in a separate, manually started job, and have the change reviewed"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_that_judges_may_not_promote() {
        let folder = tempfile::tempdir().expect("folder");
        let temporary = folder.path().to_str().expect("UTF-8");
        let github = |event: &'static str| -> Environment {
            [
                ("GITHUB_RUN_ID", "7"),
                ("GITHUB_RUN_ATTEMPT", "1"),
                ("GITHUB_JOB", "gate"),
                ("GITHUB_EVENT_NAME", event),
                ("RUNNER_TEMP", temporary),
            ]
            .into_iter()
            .collect()
        };
        assert!(may_promote(&Environment::default()).is_ok(), "at a desk");
        assert!(may_promote(&github("pull_request")).is_err());
        assert!(may_promote(&github("workflow_dispatch")).is_ok());
        std::fs::write(judged_mark(&github("workflow_dispatch")).expect("in CI"), "").expect("written");
        assert!(may_promote(&github("workflow_dispatch")).is_err(), "it has judged meanwhile");
        let gitlab: Environment =
            [("CI_JOB_ID", "9"), ("CI_PIPELINE_SOURCE", "merge_request_event")].into_iter().collect();
        assert!(may_promote(&gitlab).is_err());
    }
}
