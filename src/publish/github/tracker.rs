//! Issues of GitHub.

use serde::Serialize;
use serde_json::json;

use super::GitHub;
use crate::fetch::permission::Permission;
use crate::publish::answer::github as shown;
use crate::publish::answer::{Answer, Read};
use crate::publish::call::Call;
use crate::publish::forge::{Issue, LABEL};
use crate::publish::tracker::{StateChange, Tracker};

#[derive(Serialize)]
struct Change<'a> {
    body: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    state_reason: Option<&'static str>,
}

impl GitHub {
    fn issue(&self, number: u64) -> String {
        format!("{}/issues/{number}", self.root)
    }
}

impl Tracker for GitHub {
    fn issues(&self, page: u32) -> Call {
        let query = format!("labels={LABEL}&state=all&sort=created&direction=asc&per_page=100&page={page}");
        Call::page("find the suite's issue", Permission::Issues.read(), format!("{}/issues?{query}", self.root))
    }

    fn read_issues(&self, answer: &Answer) -> Read<Vec<Issue>> {
        let listed: Vec<shown::Issue> = answer.read("a list of issues")?;
        Ok(listed.into_iter().filter_map(shown::Issue::into_issue).collect())
    }

    fn read_issue(&self, answer: &Answer) -> Read<Issue> {
        let issue: shown::Issue = answer.read("an issue")?;
        issue.into_issue().ok_or_else(|| "without an issue: it is a pull request".to_owned())
    }

    fn create_issue(&self, title: &str, body: &str) -> Call {
        let body = json!({ "title": title, "body": body, "labels": [LABEL] });
        Call::post("open the issue", Permission::Issues.write(), format!("{}/issues", self.root), body)
    }

    fn update_issue(&self, number: u64, body: &str, state: Option<StateChange>) -> Call {
        let (state, state_reason) = match state {
            Some(StateChange::Open) => (Some("open"), None),
            Some(StateChange::Closed) => (Some("closed"), Some("completed")),
            None => (None, None),
        };
        let change = Change { body, state, state_reason };
        Call::patch("update the issue", Permission::Issues.write(), self.issue(number), change)
    }

    fn label_issue(&self, number: u64) -> Call {
        let path = format!("{}/labels", self.issue(number));
        Call::post("label the issue", Permission::Issues.write(), path, json!({ "labels": [LABEL] }))
    }

    fn remarks(&self, number: u64, page: u32) -> Call {
        let path = format!("{}/comments?per_page=100&page={page}", self.issue(number));
        Call::page("read the issue's comments", Permission::Issues.read(), path)
    }

    fn remark(&self, number: u64, body: &str) -> Call {
        let path = format!("{}/comments", self.issue(number));
        Call::post("comment on the issue", Permission::Issues.write(), path, json!({ "body": body }))
    }
}
