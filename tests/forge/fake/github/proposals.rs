//! Branches and pull requests that a token makes, and what people may do.

use serde_json::{Value, json};

use super::{GitHub, Reply, Rights};
use crate::forge::fake::Asked;

/// A pull request that was opened here: its branch and the request's own words.
#[derive(Clone, Debug)]
pub(crate) struct Opened {
    pub(crate) branch: String,
    pub(crate) said: Value,
}

impl GitHub {
    pub(super) fn proposals(&mut self, asked: &Asked, rest: &[&str], rights: &Rights) -> Option<Reply> {
        let body = asked.json();
        Some(match (asked.method.as_str(), rest) {
            ("GET", ["collaborators", login, "permission"]) => {
                let Some(permission) = self.permissions.get(*login) else {
                    return Some(Reply::refusal(404, &format!("{login} is not a user")));
                };
                let name = "repository-collaborator-permission-response-if-user-has-admin-permissions";
                let mut found = self.contract.example(name);
                found["permission"] = (*permission).into();
                // The example is older than the description.
                found["user"] = Value::Null;
                Reply::json(200, &found)
            }
            ("GET", ["git", "commits", sha]) => {
                let mut commit = self.contract.example("git-commit");
                commit["sha"] = (*sha).into();
                commit["tree"]["sha"] = format!("{:0>40}", sha.chars().rev().collect::<String>()).into();
                Reply::json(200, &commit)
            }
            ("POST", ["git", "trees"]) if rights.contents && body["base_tree"].is_string() => {
                let files = body["tree"].as_array().expect("files").clone();
                self.proposed = files;
                let mut tree = self.contract.example("git-tree");
                tree["sha"] = format!("{:040x}", 0x7ee).into();
                Reply::json(201, &tree)
            }
            ("POST", ["git", "commits"]) if rights.contents && body["parents"] != json!([]) => {
                let mut commit = self.contract.example("git-commit");
                self.next += 1;
                commit["sha"] = format!("{:040x}", self.next).into();
                Reply::json(201, &commit)
            }
            ("POST", ["git", "refs"]) if rights.contents && is_proposal(&body) => {
                let branch = body["ref"].as_str().expect("a name").trim_start_matches("refs/heads/").to_owned();
                if self.tips.contains_key(&branch) {
                    return Some(Reply::refusal(422, "Reference already exists"));
                }
                let commit = body["sha"].as_str().expect("a commit").to_owned();
                let reply = Reply::json(201, &self.reference(&commit));
                for file in &self.proposed {
                    let text = |name: &str| file[name].as_str().expect("text").to_owned();
                    self.files.insert((commit.clone(), text("path")), text("content"));
                }
                self.tips.insert(branch, commit);
                reply
            }
            ("POST", ["pulls"]) if !rights.pulls => {
                Reply::refusal(403, "GitHub Actions is not permitted to create or approve pull requests.")
            }
            ("POST", ["pulls"]) => {
                let branch = body["head"].as_str().expect("a branch").to_owned();
                if self.opened.iter().any(|opened| opened.branch == branch) {
                    return Some(Reply::refusal(422, "A pull request already exists"));
                }
                let number = 20 + self.opened.len() as u64;
                self.pulls.insert(number, (self.tips[&branch].clone(), super::TIP.into(), format!("org:{branch}")));
                self.opened.push(Opened { branch, said: body });
                Reply::json(201, &self.pull(number).expect("just made"))
            }
            _ => return None,
        })
    }
}

fn is_proposal(body: &Value) -> bool {
    body["ref"].as_str().is_some_and(|name| name.starts_with("refs/heads/precision-gate/"))
}
