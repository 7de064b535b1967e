//! Gitee and GitCode, as their documentation has them; nobody publishes a contract.

use serde_json::{Value, json};

use super::{Asked, Brain, Fake, Reply};

/// The state.
pub(crate) struct Community {
    gitcode: bool,
    /// Id and body.
    pub(crate) comments: Vec<(u64, String)>,
    pub(crate) labels: Vec<String>,
}

impl Community {
    pub(crate) fn start(gitcode: bool) -> Fake<Self> {
        Fake::start(Self { gitcode, comments: Vec::new(), labels: vec!["precision-gate-pass".into()] }, None, "/api/v5")
    }

    fn comment(&self, (id, body): &(u64, String)) -> Value {
        let user = json!({ "login": "gate-bot" });
        if self.gitcode {
            // A text of its own, and the number that later calls want.
            json!({ "id": format!("{id:x}abc"), "note_id": id, "body": body, "user": user })
        } else {
            json!({ "id": id, "body": body, "user": user })
        }
    }
}

impl Brain for Community {
    fn answer(&mut self, asked: &Asked) -> Reply {
        let path = asked.path().to_owned();
        let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
        let body = asked.json();
        match (asked.method.as_str(), parts.as_slice()) {
            _ if asked.token.is_empty() => Reply::refusal(401, "401 Unauthorized"),
            ("GET", ["user"]) => Reply::json(200, &json!({ "login": "gate-bot" })),
            ("GET", ["repos", "org", "model", "pulls", "7"]) => {
                let (head, base) = (super::github::HEAD, super::github::BASE);
                Reply::json(
                    200,
                    &json!({
                        "number": 7, "state": "open", "head": { "sha": head, "repo": { "id": 1 } },
                        "base": { "sha": base, "ref": "main", "repo": { "id": 1 } },
                    }),
                )
            }
            ("GET", ["repos", "org", "model", "pulls", "7", "comments"]) => {
                let all: Vec<Value> = self.comments.iter().map(|comment| self.comment(comment)).collect();
                Reply::json(200, &all.into())
            }
            ("POST", ["repos", "org", "model", "pulls", "7", "comments"]) => {
                let id = 500 + self.comments.len() as u64;
                self.comments.push((id, body["body"].as_str().expect("text").to_owned()));
                Reply::json(201, &self.comment(self.comments.last().expect("just said")))
            }
            ("PATCH", ["repos", "org", "model", "pulls", "comments", id]) => {
                let id: u64 = id.parse().expect("the number");
                let comment = self.comments.iter_mut().find(|comment| comment.0 == id).expect("there");
                comment.1 = body["body"].as_str().expect("text").to_owned();
                let comment = comment.clone();
                if self.gitcode { Reply::empty(204) } else { Reply::json(200, &self.comment(&comment)) }
            }
            ("POST", ["repos", "org", "model", "pulls", "7", "labels"]) => {
                self.labels.extend(
                    body.as_array().expect("a list").iter().map(|label| label.as_str().expect("text").to_owned()),
                );
                Reply::json(201, &json!([]))
            }
            ("DELETE", ["repos", "org", "model", "pulls", "7", "labels", label]) => {
                let before = self.labels.len();
                self.labels.retain(|known| known != label);
                if self.labels.len() < before { Reply::empty(204) } else { Reply::refusal(404, "Label not found") }
            }
            _ => Reply::refusal(404, "Not Found"),
        }
    }
}
