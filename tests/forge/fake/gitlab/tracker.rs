//! Issues, generic packages and links of releases.

use serde_json::{Value, json};

use super::{BOT, GitLab, user};
use crate::forge::fake::{Asked, Reply};

/// An issue.
#[derive(Clone, Debug)]
pub(crate) struct Issue {
    pub(crate) iid: u64,
    pub(crate) author: u64,
    pub(crate) title: String,
    pub(crate) description: String,
    pub(crate) open: bool,
    /// Author and text.
    pub(crate) notes: Vec<(u64, String)>,
}

impl GitLab {
    /// `None` for anything else.
    pub(super) fn tracker(&mut self, asked: &Asked, author: u64, rest: &[&str]) -> Option<Reply> {
        let body = asked.json();
        let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
        let missing = || Reply::json(404, &json!({ "message": "404 Not found" }));
        let at = |issues: &[Issue], iid: &str| issues.iter().position(|issue| Some(issue.iid) == iid.parse().ok());
        let reply = match (asked.method.as_str(), rest) {
            ("GET", ["issues"]) => Reply::json(200, &self.issues.iter().map(shown).collect()),
            ("POST", ["issues"]) => {
                assert_eq!(text("labels"), "precision-gate");
                let iid = self.issues.len() as u64 + 1;
                let (title, description) = (text("title"), text("description"));
                self.issues.push(Issue { iid, author, title, description, open: true, notes: vec![] });
                Reply::json(201, &shown(self.issues.last().expect("just opened")))
            }
            ("PUT", ["issues", iid]) => {
                let Some(index) = at(&self.issues, iid) else { return Some(missing()) };
                let issue = &mut self.issues[index];
                if body["description"].is_string() {
                    issue.description = text("description");
                }
                match body["state_event"].as_str() {
                    Some("close") => issue.open = false,
                    Some("reopen") => issue.open = true,
                    _ => {}
                }
                Reply::json(200, &shown(issue))
            }
            (method, ["issues", iid, "notes"]) => {
                let Some(index) = at(&self.issues, iid) else { return Some(missing()) };
                if method == "POST" {
                    let said = text("body");
                    assert!(!said.lines().any(|line| line.starts_with('/')), "a quick action:\n{said}");
                    self.issues[index].notes.push((author, said));
                }
                let notes: Vec<Value> = self.issues[index].notes.iter().zip(1..).map(note).collect();
                if method == "POST" {
                    Reply::json(201, &notes[notes.len() - 1])
                } else {
                    Reply::json(200, &notes.into())
                }
            }
            ("GET", ["releases", tag, "assets", "links"]) if *tag == self.tag => Reply::json(200, &self.shown_links()),
            ("POST", ["releases", tag, "assets", "links"]) if *tag == self.tag => {
                self.links.push((text("name"), text("url")));
                Reply::json(201, &self.shown_links()[self.links.len() - 1])
            }
            ("PUT", ["packages", "generic", package, version, file]) => {
                self.packages.insert(format!("{package}/{version}/{file}"), asked.body.clone());
                Reply::json(201, &json!({ "message": "201 Created" }))
            }
            _ => return None,
        };
        Some(reply)
    }

    fn shown_links(&self) -> Value {
        let link = |((name, url), id): (&(String, String), u64)| json!({ "id": id, "name": name, "url": url, "direct_asset_url": url, "link_type": "other" });
        self.links.iter().zip(1..).map(link).collect()
    }
}

fn shown(issue: &Issue) -> Value {
    json!({
        "id": 500 + issue.iid, "iid": issue.iid, "project_id": 1, "title": issue.title, "description": issue.description,
        "state": if issue.open { "opened" } else { "closed" }, "labels": ["precision-gate"], "author": user(issue.author),
        "created_at": "2026-11-21T18:00:00Z", "updated_at": "2026-11-21T18:00:00Z", "closed_at": null,
        "web_url": "https://gitlab.example/issues/1", "issue_type": "issue",
    })
}

fn note(((author, body), id): (&(u64, String), u64)) -> Value {
    json!({
        "id": id, "type": null, "body": body, "author": user(*author), "created_at": "2026-11-21T18:00:00Z",
        "updated_at": "2026-11-21T18:00:00Z", "system": *author != BOT, "noteable_id": 3, "noteable_type": "Issue",
        "resolvable": false, "noteable_iid": 1,
    })
}
