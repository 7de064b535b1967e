//! GitLab's dialect, REST version 4.
//!
//! A job's own token can read notes and write none: writing takes an access token with the scope `api`.
#![allow(clippy::indexing_slicing, reason = "a key that is not there reads as null in serde_json")]

use serde_json::{Value, json};

use super::call::{Body, Call, Method, segment};
use super::client::Failure;
use super::forge::{Comment, Forge, ForgeKind, Pull, same, text};
use super::issue::{Become, Issue, LABEL, Tracker};
use super::status::{Conclusion, Report};
use super::target::{Entry, Folder};

/// Characters of a status's description and address.
const MOST_TEXT: usize = 255;
/// GitLab refuses 1 000 000 characters; a comment of that length helps nobody.
const COMMENT_LIMIT: usize = 250_000;

/// Entries of a folder on one page.
const MOST_ENTRIES: usize = 100;

/// One project.
#[derive(Clone, Debug)]
pub struct GitLab {
    /// `/projects/group%2Fname`
    root: String,
}

impl GitLab {
    /// The project, by path or number.
    pub fn new(project: &str) -> Self {
        Self { root: format!("/projects/{}", segment(project)) }
    }

    /// Stores a picture in the project.
    pub fn upload(&self, name: &str, bytes: Vec<u8>) -> Call {
        Call {
            method: Method::Post,
            path: format!("{}/uploads", self.root),
            body: Body::File { name: name.to_owned(), bytes },
            purpose: "upload a picture",
        }
    }

    fn notes(&self, number: u64) -> String {
        format!("{}/merge_requests/{number}/notes", self.root)
    }
}

impl Forge for GitLab {
    fn kind(&self) -> ForgeKind {
        ForgeKind::Gitlab
    }

    fn comment_limit(&self) -> usize {
        COMMENT_LIMIT
    }

    fn me(&self) -> Call {
        Call::get("ask who the token belongs to", "/user")
    }

    fn read_me(&self, answer: &Value) -> Option<String> {
        answer["id"].as_u64().map(|id| id.to_string())
    }

    fn pull(&self, number: u64) -> Call {
        Call::get("read the merge request", format!("{}/merge_requests/{number}", self.root))
    }

    fn read_pull(&self, answer: &Value) -> Option<Pull> {
        Some(Pull {
            number: answer["iid"].as_u64()?,
            head: text(&answer["sha"]),
            base: text(&answer["diff_refs"]["base_sha"]),
            target: text(&answer["target_branch"]),
            open: answer["state"] == "opened",
            from_fork: !same(&answer["source_project_id"], &answer["target_project_id"]),
        })
    }

    fn pulls_of_commit(&self, commit: &str) -> Option<Call> {
        let path = format!("{}/repository/commits/{}/merge_requests?per_page=100", self.root, segment(commit));
        Some(Call::get("find the commit's merge requests", path))
    }

    fn pulls_of_branch(&self, _owner: &str, branch: &str) -> Option<Call> {
        let branch = segment(branch);
        let path = format!("{}/merge_requests?state=opened&source_branch={branch}&per_page=100", self.root);
        Some(Call::get("find the branch's merge requests", path))
    }

    fn comments(&self, number: u64, page: u32) -> Call {
        let path = format!("{}?per_page=100&page={page}&sort=asc&activity_filter=only_comments", self.notes(number));
        Call::get("list the comments", path)
    }

    fn read_comment(&self, item: &Value) -> Option<Comment> {
        if item["system"] == true {
            return None;
        }
        let author = item["author"]["id"].as_u64()?.to_string();
        Some(Comment { id: item["id"].as_u64()?, author, body: text(&item["body"]) })
    }

    fn create_comment(&self, number: u64, body: &str) -> Call {
        Call::json("write the comment", Method::Post, self.notes(number), json!({ "body": body }))
    }

    fn update_comment(&self, number: u64, id: u64, body: &str) -> Call {
        let path = format!("{}/{id}", self.notes(number));
        Call::json("update the comment", Method::Put, path, json!({ "body": body }))
    }

    fn delete_comment(&self, number: u64, id: u64) -> Call {
        Call::delete("remove a second comment", format!("{}/{id}", self.notes(number)))
    }

    fn status(&self, report: &Report) -> Option<Call> {
        let state = match report.conclusion() {
            None => "running",
            Some(Conclusion::Success | Conclusion::Neutral) => "success",
            Some(Conclusion::Failure) => "failed",
        };
        let mut body = json!({
            "state": state, "name": report.name, "description": report.short_title(MOST_TEXT),
        });
        if !report.url.is_empty() && report.url.len() <= MOST_TEXT {
            body["target_url"] = report.url.as_str().into();
        }
        if let Some(pipeline) = report.pipeline {
            // Without it a pipeline of its own appears.
            body["pipeline_id"] = pipeline.into();
        }
        let path = format!("{}/statuses/{}", self.root, segment(&report.commit));
        Some(Call::json("set the commit's status", Method::Post, path, body))
    }

    fn is_same_status(&self, failure: &Failure) -> bool {
        failure.status == Some(400) && failure.message.contains("Cannot transition status")
    }

    fn repository(&self) -> Call {
        Call::get("read the repository", self.root.clone())
    }

    fn branch(&self, name: &str) -> Call {
        Call::get("read the target branch", format!("{}/repository/branches/{}", self.root, segment(name)))
    }

    fn read_branch(&self, answer: &Value) -> Option<String> {
        answer["commit"]["id"].as_str().map(str::to_owned)
    }

    fn entries(&self, folder: &Folder<'_>, page: u32) -> Call {
        let (commit, path) = (segment(folder.commit), segment(folder.path));
        let query = format!("ref={commit}&path={path}&per_page={MOST_ENTRIES}&page={page}");
        Call::get("list a folder of the repository", format!("{}/repository/tree?{query}", self.root))
    }

    fn read_entries(&self, answer: &Value) -> Option<(Vec<Entry>, bool)> {
        let entry = |item: &Value| {
            Some(Entry {
                name: item["name"].as_str()?.to_owned(),
                id: item["id"].as_str()?.to_owned(),
                is_folder: item["type"] == "tree",
            })
        };
        let entries: Vec<Entry> = answer.as_array()?.iter().map(entry).collect::<Option<_>>()?;
        let more = entries.len() == MOST_ENTRIES;
        Some((entries, more))
    }

    fn file(&self, path: &str, commit: &str) -> Call {
        let path = format!("{}/repository/files/{}/raw?ref={}", self.root, segment(path), segment(commit));
        Call::get("read a file of the repository", path)
    }

    fn read_file(&self, answer: &str) -> Option<String> {
        Some(answer.to_owned())
    }

    fn help(&self, status: u16, _failure: &Failure) -> Option<String> {
        match status {
            401 => Some("the token is not valid or has expired".into()),
            403 | 404 => Some(
                "the token needs the scope `api` and the role Developer (Reporter for the comment alone); \
                 CI_JOB_TOKEN cannot write"
                    .into(),
            ),
            _ => None,
        }
    }

    fn as_tracker(&self) -> Option<&dyn Tracker> {
        Some(self)
    }

    fn as_gitlab(&self) -> Option<&GitLab> {
        Some(self)
    }
}

impl Tracker for GitLab {
    fn issues(&self, page: u32) -> Call {
        let path = format!(
            "{}/issues?labels={LABEL}&state=all&order_by=created_at&sort=asc&per_page=100&page={page}",
            self.root
        );
        Call::get("find the suite's issue", path)
    }

    fn read_issue(&self, item: &Value) -> Option<Issue> {
        Some(Issue {
            number: item["iid"].as_u64()?,
            author: item["author"]["id"].as_u64()?.to_string(),
            body: text(&item["description"]),
            open: item["state"] == "opened",
            labelled: item["labels"].as_array().is_some_and(|list| list.iter().any(|label| label == LABEL)),
        })
    }

    fn create_issue(&self, title: &str, body: &str) -> Call {
        let body = json!({ "title": title, "description": body, "labels": LABEL });
        Call::json("open the issue", Method::Post, format!("{}/issues", self.root), body)
    }

    fn update_issue(&self, number: u64, body: &str, state: Option<Become>) -> Call {
        let mut change = json!({ "description": body });
        match state {
            Some(Become::Open) => change["state_event"] = "reopen".into(),
            Some(Become::Closed) => change["state_event"] = "close".into(),
            None => {}
        }
        Call::json("update the issue", Method::Put, format!("{}/issues/{number}", self.root), change)
    }

    fn label_issue(&self, number: u64) -> Option<Call> {
        let path = format!("{}/issues/{number}", self.root);
        Some(Call::json("label the issue", Method::Put, path, json!({ "add_labels": LABEL })))
    }

    fn remarks(&self, number: u64, page: u32) -> Call {
        let query = format!("per_page=100&page={page}&sort=asc&activity_filter=only_comments");
        Call::get("read the issue's comments", format!("{}/issues/{number}/notes?{query}", self.root))
    }

    fn remark(&self, number: u64, body: &str) -> Call {
        let path = format!("{}/issues/{number}/notes", self.root);
        Call::json("comment on the issue", Method::Post, path, json!({ "body": body }))
    }
}
