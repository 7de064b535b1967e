//! Branches and merge requests that a token makes, and what members may do.

use serde_json::{Value, json};

use super::{GitLab, Reply};
use crate::forge::fake::Asked;

impl GitLab {
    pub(super) fn proposals(&mut self, asked: &Asked, rest: &[&str]) -> Option<Reply> {
        let body = asked.json();
        Some(match (asked.method.as_str(), rest) {
            ("GET", ["members", "all", id]) => match self.members.get(&id.parse().expect("a number")) {
                None => Reply::json(404, &json!({ "message": "404 Not found" })),
                Some(level) => {
                    let mut member = super::user(id.parse().expect("a number"));
                    member["access_level"] = (*level).into();
                    Reply::json(200, &member)
                }
            },
            ("POST", ["repository", "commits"]) => {
                let branch = body["branch"].as_str().expect("a branch").to_owned();
                if self.tips.contains_key(&branch) {
                    let message = format!(
                        "A branch called '{branch}' already exists. Switch to that branch in order to make changes"
                    );
                    return Some(Reply::json(400, &json!({ "message": message })));
                }
                self.next += 1;
                let commit = format!("{:040x}", self.next);
                for action in body["actions"].as_array().expect("actions") {
                    let text = |name: &str| action[name].as_str().expect("text").to_owned();
                    let start = body["start_sha"].as_str().expect("a commit").to_owned();
                    let is_there = self.files.contains_key(&(start, text("file_path")));
                    assert_eq!(text("action") == "update", is_there, "{action}");
                    self.files.insert((commit.clone(), text("file_path")), text("content"));
                }
                self.tips.insert(branch, commit.clone());
                Reply::json(201, &json!({ "id": commit, "message": body["commit_message"] }))
            }
            ("GET", ["merge_requests"]) if asked.query("source_branch").is_none() => {
                assert_eq!(asked.query("state"), Some("opened"));
                let mut others = self.others.iter().map(|(number, target)| {
                    let mut request = self.merge_request();
                    request["iid"] = (*number).into();
                    request["target_branch"] = target.as_str().into();
                    request
                });
                let all: Vec<Value> = std::iter::once(self.merge_request()).chain(others.by_ref()).collect();
                Reply::json(200, &all.into())
            }
            ("GET", ["merge_requests"]) => {
                let branch = asked.query("source_branch").unwrap_or_default().replace("%2F", "/");
                let found = self.opened.iter().filter(|opened| opened["source_branch"] == branch.as_str());
                Reply::json(200, &found.map(|opened| self.opened_request(opened)).collect::<Vec<_>>().into())
            }
            ("POST", ["merge_requests"]) => {
                self.opened.push(body.clone());
                Reply::json(201, &self.opened_request(&body))
            }
            _ => return None,
        })
    }

    fn opened_request(&self, said: &Value) -> Value {
        let mut request = self.merge_request();
        let branch = said["source_branch"].as_str().expect("a branch");
        request["iid"] = 20.into();
        request["web_url"] = "https://gitlab.example/mr/20".into();
        request["source_branch"] = branch.into();
        request["sha"] = self.tips[branch].as_str().into();
        request
    }
}
