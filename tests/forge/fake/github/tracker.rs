//! Issues and releases.

use serde_json::{Value, json};

use super::{GitHub, Rights};
use crate::forge::fake::{Asked, Reply};

/// An issue.
#[derive(Clone, Debug)]
pub(crate) struct Issue {
    pub(crate) number: u64,
    pub(crate) login: String,
    pub(crate) title: String,
    pub(crate) body: String,
    pub(crate) open: bool,
    pub(crate) labels: Vec<String>,
}

impl GitHub {
    fn issue(&self, issue: &Issue) -> Value {
        let mut shown = self.contract.example("issue");
        shown["number"] = issue.number.into();
        shown["title"] = issue.title.as_str().into();
        shown["body"] = issue.body.as_str().into();
        shown["state"] = if issue.open { "open" } else { "closed" }.into();
        shown["user"]["login"] = issue.login.as_str().into();
        let label = |name: &String| json!({ "id": 1, "node_id": "x", "url": "https://api.github.com/l", "name": name, "description": null, "color": "f29513", "default": false });
        shown["labels"] = issue.labels.iter().map(label).collect();
        shown.as_object_mut().expect("an object").remove("pull_request");
        shown
    }

    fn list_issues(&self, asked: &Asked) -> Reply {
        let (state, label) = (asked.query("state").unwrap_or("open"), asked.query("labels"));
        let fits = |issue: &&Issue| {
            let in_state = state == "all" || issue.open == (state == "open");
            in_state && label.is_none_or(|label| issue.labels.iter().any(|known| known == label))
        };
        let mut shown: Vec<Value> = self.issues.iter().filter(fits).map(|issue| self.issue(issue)).collect();
        // A pull request with the label is in the list too.
        let mut pull = self.issue(&Issue {
            number: super::PULL,
            login: "dev".into(),
            title: "a pull request".into(),
            body:
                "<!-- precision-gate:v1 issue key=default -->\n<!-- verdict=fail culprit=none since=2026-11-01 -->\n\n"
                    .into(),
            open: true,
            labels: vec!["precision-gate".into()],
        });
        pull["pull_request"] =
            json!({ "url": "https://x", "html_url": "https://x", "diff_url": "https://x", "patch_url": "https://x" });
        shown.push(pull);
        let page: usize = asked.query("page").and_then(|page| page.parse().ok()).unwrap_or(1);
        let size: usize = asked.query("per_page").and_then(|size| size.parse().ok()).unwrap_or(30);
        let mut reply = Reply::json(200, &shown.iter().skip((page - 1) * size).take(size).cloned().collect());
        if shown.len() > page * size {
            reply.headers.push(("link", format!("<https://next.example/?page={}>; rel=\"next\"", page + 1)));
        }
        reply
    }

    /// Issues, but for their comments; `None` for anything else.
    pub(super) fn tracker(&mut self, asked: &Asked, rest: &[&str], rights: &Rights) -> Option<Reply> {
        let body = asked.json();
        let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
        let reply = match (asked.method.as_str(), rest) {
            ("GET", ["issues"]) => self.list_issues(asked),
            ("POST" | "PATCH", ["issues", ..]) if rest.len() < 3 && !rights.issues => {
                Reply::refusal(403, "Resource not accessible by integration")
            }
            ("POST", ["issues"]) => {
                self.next += 1;
                // Without push access GitHub drops the labels, and says nothing.
                let labels = if rights.labels { vec!["precision-gate".to_owned()] } else { vec![] };
                let (login, title) = (rights.login.to_owned(), text("title"));
                self.issues.push(Issue { number: self.next, login, title, body: text("body"), open: true, labels });
                Reply::json(201, &self.issue(self.issues.last().expect("just opened")))
            }
            ("PATCH", ["issues", number]) => {
                let number = number.parse().ok();
                let Some(issue) = self.issues.iter_mut().find(|issue| Some(issue.number) == number) else {
                    return Some(Reply::refusal(404, "Not Found"));
                };
                if body["body"].is_string() {
                    issue.body = text("body");
                }
                if body["state"].is_string() {
                    issue.open = body["state"] == "open";
                }
                let issue = issue.clone();
                Reply::json(200, &self.issue(&issue))
            }
            ("POST", ["issues", number, "labels"]) => {
                let number = number.parse().ok();
                let issue = self.issues.iter_mut().find(|issue| Some(issue.number) == number)?;
                issue.labels.push("precision-gate".into());
                Reply::json(200, &self.contract.example("label-items"))
            }
            _ => return None,
        };
        Some(reply)
    }

    /// Releases and their assets; `None` for anything else.
    pub(super) fn releases(&mut self, asked: &Asked, rest: &[&str], rights: &Rights) -> Option<Reply> {
        let missing = || Reply::refusal(404, "Not Found");
        let reply = match (asked.method.as_str(), rest) {
            ("GET", ["releases", "tags", tag]) if *tag == self.tag && !self.draft => Reply::json(200, &self.release()),
            ("GET", ["releases"]) => Reply::json(200, &json!([self.release()])),
            ("GET", ["releases", "1", "assets"]) => Reply::json(200, &self.shown_assets()),
            ("POST", ["releases", "1", "assets"]) if rights.contents => {
                let name = asked.query("name").unwrap_or_default().to_owned();
                if self.assets.iter().any(|(_, known, _)| *known == name) {
                    return Some(Reply::refusal(422, "already_exists"));
                }
                self.next += 1;
                self.assets.push((self.next, name, asked.body.clone()));
                Reply::json(201, &self.shown_assets()[self.assets.len() - 1])
            }
            ("DELETE", ["releases", "assets", id]) if rights.contents => {
                let id = id.parse().ok();
                self.assets.retain(|(known, _, _)| Some(*known) != id);
                Reply::empty(204)
            }
            ("GET", ["releases", ..]) => missing(),
            _ => return None,
        };
        Some(reply)
    }

    fn release(&self) -> Value {
        let mut release = self.contract.example("release");
        release["id"] = 1.into();
        release["tag_name"] = self.tag.as_str().into();
        release["draft"] = self.draft.into();
        release["upload_url"] = format!("{}/repos/org/model/releases/1/assets{{?name,label}}", self.uploads).into();
        release["assets"] = self.shown_assets();
        release
    }

    fn shown_assets(&self) -> Value {
        let shown = |(id, name, bytes): &(u64, String, Vec<u8>)| {
            let mut asset = self.contract.example("release-asset");
            asset["id"] = (*id).into();
            asset["name"] = name.as_str().into();
            asset["size"] = bytes.len().into();
            asset
        };
        self.assets.iter().map(shown).collect()
    }
}
