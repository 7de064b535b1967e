//! Issues of GitLab.

use serde::Serialize;
use serde_json::json;

use super::{COMMENTS, GitLab};
use crate::fetch::permission::Permission;
use crate::publish::answer::gitlab as shown;
use crate::publish::answer::{Answer, Read, each};
use crate::publish::call::Call;
use crate::publish::forge::{Issue, LABEL};
use crate::publish::tracker::{StateChange, Tracker};

#[derive(Serialize)]
struct Change<'a> {
    description: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    state_event: Option<&'static str>,
}

impl GitLab {
    fn issue(&self, number: u64) -> String {
        format!("{}/issues/{number}", self.root)
    }
}

impl Tracker for GitLab {
    fn issues(&self, page: u32) -> Call {
        let query = format!("labels={LABEL}&state=all&order_by=created_at&sort=asc&per_page=100&page={page}");
        Call::page("find the suite's issue", Permission::Issues.read(), format!("{}/issues?{query}", self.root))
    }

    fn read_issues(&self, answer: &Answer) -> Read<Vec<Issue>> {
        answer.read::<Vec<shown::Issue>>("a list of issues").map(each)
    }

    fn read_issue(&self, answer: &Answer) -> Read<Issue> {
        answer.read::<shown::Issue>("an issue").map(Into::into)
    }

    fn create_issue(&self, title: &str, body: &str) -> Call {
        let body = json!({ "title": title, "description": body, "labels": LABEL });
        Call::post("open the issue", Permission::Issues.write(), format!("{}/issues", self.root), body)
    }

    fn update_issue(&self, number: u64, body: &str, state: Option<StateChange>) -> Call {
        let state_event = state.map(|state| match state {
            StateChange::Open => "reopen",
            StateChange::Closed => "close",
        });
        let change = Change { description: body, state_event };
        Call::put("update the issue", Permission::Issues.write(), self.issue(number), change)
    }

    fn label_issue(&self, number: u64) -> Call {
        let body = json!({ "add_labels": LABEL });
        Call::put("label the issue", Permission::Issues.write(), self.issue(number), body)
    }

    fn remarks(&self, number: u64, page: u32) -> Call {
        let path = format!("{}/notes?{COMMENTS}&page={page}", self.issue(number));
        Call::page("read the issue's comments", Permission::Issues.read(), path)
    }

    fn remark(&self, number: u64, body: &str) -> Call {
        let path = format!("{}/notes", self.issue(number));
        Call::post("comment on the issue", Permission::Issues.write(), path, json!({ "body": body }))
    }
}
