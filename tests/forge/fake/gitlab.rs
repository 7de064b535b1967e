//! GitLab, as far as publishing needs it.

mod proposals;
mod tracker;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Asked, Brain, Fake, Reply};
use crate::forge::contract::Contract;
use tracker::Issue;

/// The state.
pub(crate) struct GitLab {
    /// Token to user.
    pub(crate) tokens: BTreeMap<String, u64>,
    pub(crate) head: String,
    /// Id, author, body; author 0 is the system.
    pub(crate) notes: Vec<(u64, u64, String)>,
    pub(crate) statuses: Vec<Value>,
    pub(crate) uploads: usize,
    pub(crate) files: BTreeMap<(String, String), String>,
    /// Branch to its newest commit.
    pub(crate) tips: BTreeMap<String, String>,
    pub(crate) issues: Vec<Issue>,
    /// The tag of the one release.
    pub(crate) tag: String,
    /// Name and address.
    pub(crate) links: Vec<(String, String)>,
    /// `package/version/file` to content.
    pub(crate) packages: BTreeMap<String, Vec<u8>>,
    /// Number of a member to the level of access.
    pub(crate) members: BTreeMap<u64, u64>,
    /// Token of a running job to the person who started it, and the project.
    pub(crate) jobs: BTreeMap<String, (u64, u64)>,
    /// Merge requests that the program opened, in its own words.
    pub(crate) opened: Vec<Value>,
    /// Further open merge requests of the same commit: number and branch they go to.
    pub(crate) others: Vec<(u64, String)>,
    next: u64,
}

pub(crate) const MERGE_REQUEST: u64 = 5;
pub(crate) const BOT: u64 = 42;
pub(crate) const HEAD: &str = "1111111111111111111111111111111111111111";
pub(crate) const BASE: &str = "3333333333333333333333333333333333333333";
/// The newest commit of the target branch; the merge base is one that the change chose.
pub(crate) const TIP: &str = "4444444444444444444444444444444444444444";
pub(crate) const JOB_TOKEN: &str = "glcbt-plantedTokenOfTheJob";
pub(crate) const TOKEN: &str = "glpat-plantedTokenNobodyMaySee";

impl GitLab {
    /// A project with one merge request.
    pub(crate) fn start() -> Fake<Self> {
        let state = Self {
            tokens: BTreeMap::from([(TOKEN.to_owned(), BOT)]),
            head: HEAD.to_owned(),
            notes: vec![(1, 0, "changed the description".to_owned())],
            statuses: Vec::new(),
            uploads: 0,
            files: BTreeMap::new(),
            tips: BTreeMap::from([("main".to_owned(), TIP.to_owned())]),
            issues: Vec::new(),
            tag: "v1.2.0".into(),
            links: Vec::new(),
            packages: BTreeMap::new(),
            members: BTreeMap::new(),
            jobs: BTreeMap::from([(JOB_TOKEN.to_owned(), (2, 1))]),
            opened: Vec::new(),
            others: Vec::new(),
            next: 100,
        };
        Fake::start(state, Some(Contract::gitlab()), "/api/v4")
    }

    pub(crate) fn say(&mut self, author: u64, body: &str) {
        self.next += 1;
        self.notes.push((self.next, author, body.to_owned()));
    }

    /// Notes by people and bots: author and text.
    pub(crate) fn said(&self) -> Vec<(u64, &str)> {
        self.notes.iter().filter(|note| note.1 != 0).map(|note| (note.1, note.2.as_str())).collect()
    }

    fn list(&self, asked: &Asked) -> Reply {
        let page: usize = asked.query("page").and_then(|page| page.parse().ok()).unwrap_or(1);
        // A page may be short though more follow: hidden notes count.
        let size = asked.query("per_page").and_then(|size| size.parse().ok()).unwrap_or(20_usize);
        let only_comments = asked.query("activity_filter") == Some("only_comments");
        let page_of = self.notes.iter().skip((page - 1) * size).take(size);
        let shown: Vec<Value> = page_of.filter(|note| !only_comments || note.1 != 0).map(note).collect();
        let next = if self.notes.len() > page * size { (page + 1).to_string() } else { String::new() };
        let mut reply = Reply::json(200, &shown.into());
        reply.headers.push(("x-next-page", next));
        reply
    }

    fn set_status(&mut self, commit: &str, body: &Value) -> Reply {
        if !body["pipeline_id"].is_null() && commit != self.head {
            return Reply::json(404, &json!({ "message": "404 Pipeline for pipeline_id, sha and ref Not Found" }));
        }
        let (name, state) = (body["name"].clone(), body["state"].clone());
        let last = self.statuses.iter().rev().find(|status| status["name"] == name && status["sha"] == commit);
        if last.is_some_and(|last| last["status"] == state) {
            let text = state.as_str().unwrap_or_default();
            let message =
                format!("Cannot transition status via :run from :{text} (Reason(s): Status cannot transition)");
            return Reply::json(400, &json!({ "message": message }));
        }
        let status = json!({
            "id": self.statuses.len(), "sha": commit, "ref": "topic", "status": state, "name": name,
            "target_url": body["target_url"], "description": body["description"], "created_at": "2026-11-21T18:00:00Z",
            "started_at": null, "finished_at": null, "allow_failure": false, "coverage": null,
            "pipeline_id": body["pipeline_id"].as_u64().unwrap_or(1), "author": user(BOT),
        });
        self.statuses.push(status.clone());
        Reply::json(201, &status)
    }

    fn merge_request(&self) -> Value {
        json!({
            "id": 900, "iid": MERGE_REQUEST, "project_id": 1, "title": "t", "state": "opened", "target_branch": "main",
            "source_branch": "topic", "author": user(2), "sha": self.head, "web_url": "https://gitlab.example/mr/5",
            "source_project_id": 2, "target_project_id": 1, "diff_refs": { "base_sha": BASE, "head_sha": self.head, "start_sha": BASE },
        })
    }
}

impl Brain for GitLab {
    fn answer(&mut self, asked: &Asked) -> Reply {
        if asked.target == "/job" {
            let found = self.jobs.get(&asked.token);
            return found.map_or_else(
                || Reply::json(401, &json!({ "message": "401 Unauthorized" })),
                |job| Reply::json(200, &running(*job)),
            );
        }
        let Some(author) = self.tokens.get(&asked.token).copied() else {
            return Reply::json(401, &json!({ "message": "401 Unauthorized" }));
        };
        let missing = || Reply::json(404, &json!({ "message": "404 Not found" }));
        let path = asked.path().to_owned();
        let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
        let body = asked.json();
        if parts == ["user"] {
            return Reply::json(200, &user(author));
        }
        let Some((["projects", "1" | "org%2Fmodel"], rest)) = parts.split_at_checked(2) else { return missing() };
        if let Some(reply) = self.tracker(asked, author, rest) {
            return reply;
        }
        if let Some(reply) = self.proposals(asked, rest) {
            return reply;
        }
        match (asked.method.as_str(), rest) {
            ("GET", []) => Reply::json(200, &project()),
            ("GET", ["merge_requests", "5"]) => Reply::json(200, &self.merge_request()),
            ("GET", ["repository", "commits", sha, "merge_requests"]) => {
                let found: Vec<Value> = (*sha == self.head).then(|| self.merge_request()).into_iter().collect();
                Reply::json(200, &found.into())
            }
            ("GET", ["repository", "branches", name]) => match self.tips.get(*name) {
                None => missing(),
                Some(tip) => Reply::json(
                    200,
                    &json!({ "name": name, "commit": { "id": tip }, "protected": true, "default": *name == "main" }),
                ),
            },
            ("GET", ["repository", "tree"]) => {
                let (commit, path) = (asked.query("ref").unwrap_or_default(), asked.query("path").unwrap_or_default());
                let path = path.replace("%2F", "/");
                let found = super::listing::entries(&self.files, commit, &path);
                if found.is_empty() {
                    return Reply::json(404, &json!({ "message": "404 Tree Not Found" }));
                }
                let entry = |entry: super::listing::Entry| {
                    let path = format!("{path}/{}", entry.name).trim_start_matches('/').to_owned();
                    json!({ "id": entry.id, "name": entry.name, "type": entry.kind, "path": path, "mode": entry.mode })
                };
                Reply::json(200, &found.into_iter().map(entry).collect::<Vec<_>>().into())
            }
            ("GET", ["repository", "files", path, "raw"]) => {
                let key = (asked.query("ref").unwrap_or_default().to_owned(), path.replace("%2F", "/"));
                let found = self.files.get(&key);
                found.map_or_else(missing, |text| Reply {
                    status: 200,
                    body: text.clone().into_bytes(),
                    ..Reply::default()
                })
            }
            ("GET", ["merge_requests", "5", "notes"]) => self.list(asked),
            ("POST", ["merge_requests", "5", "notes"]) => {
                let text = body["body"].as_str().expect("text");
                assert!(!text.lines().any(|line| line.starts_with('/')), "a quick action:\n{text}");
                self.say(author, text);
                Reply::json(201, &note(self.notes.last().expect("just said")))
            }
            ("PUT" | "DELETE", ["merge_requests", "5", "notes", id]) => {
                let id: u64 = id.parse().expect("a number");
                let Some(index) = self.notes.iter().position(|note| note.0 == id) else { return missing() };
                if asked.method == "DELETE" {
                    self.notes.remove(index);
                    return Reply::empty(204);
                }
                self.notes[index].2 = body["body"].as_str().expect("text").to_owned();
                Reply::json(200, &note(&self.notes[index]))
            }
            ("POST", ["statuses", sha]) => self.set_status(sha, &body),
            ("POST", ["uploads"]) => {
                let text = String::from_utf8_lossy(&asked.body);
                assert!(text.contains("name=\"file\"") && text.contains("PNG"), "not an upload of a picture");
                self.uploads += 1;
                let url = format!("/uploads/{:032x}/loss.png", self.uploads);
                let answer = json!({
                    "id": self.uploads, "alt": "loss", "url": url, "full_path": format!("/-/project/1{url}"),
                    "markdown": format!("![loss]({url})"),
                });
                Reply::json(201, &answer)
            }
            _ => missing(),
        }
    }
}

/// A running job of a person, in a project.
fn running((person, project): (u64, u64)) -> Value {
    json!({
        "id": 3, "status": "running", "stage": "test", "name": "precision-gate-answer", "ref": "topic", "tag": false,
        "web_url": "https://gitlab.example/job/3", "user": user(person), "pipeline": {
            "id": 9, "project_id": project, "sha": HEAD, "ref": "topic", "status": "running",
            "web_url": "https://gitlab.example/pipeline/9",
        },
    })
}

fn project() -> Value {
    json!({
        "id": 1, "name": "model", "path_with_namespace": "org/model", "default_branch": "main", "visibility": "private",
        "web_url": "https://gitlab.example/org/model",
    })
}

fn user(id: u64) -> Value {
    json!({
        "id": id, "username": format!("user{id}"), "name": "U", "state": "active", "avatar_url": null,
        "web_url": "https://gitlab.example/u", "bot": id == BOT,
    })
}

fn note((id, author, body): &(u64, u64, String)) -> Value {
    json!({
        "id": id, "type": null, "body": body, "author": user(*author), "created_at": "2026-11-21T18:00:00Z",
        "updated_at": "2026-11-21T18:00:00Z", "system": *author == 0, "noteable_id": 3, "noteable_type": "MergeRequest",
        "resolvable": false, "noteable_iid": MERGE_REQUEST,
    })
}
