//! GitLab's dialect, REST version 4.
//!
//! A job's own token can read notes and write none: writing takes an access token with the scope `api`.
#![allow(clippy::indexing_slicing, reason = "keys of a request are added to an object")]

use serde_json::json;

use super::answer::gitlab as shown;
use super::answer::{Answer, Read, same, same_commit};
use super::call::{Body, Call, Method, segment};
use super::client::Failure;
use super::dialect::{Forge, each};
use super::forge::{Comment, ForgeKind, Issue, LABEL, Pull};
use super::limit;
use super::proposal::{Proposal, ProposedFile};
use super::status::{Conclusion, Report};
use super::tracker::{StateChange, Tracker};
use super::tree::{Entry, Folder};

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
            most: limit::THING,
        }
    }

    pub(super) fn root(&self) -> &str {
        &self.root
    }

    /// Makes a branch with one commit upon the tip of another.
    pub fn commit_files(&self, proposal: &Proposal) -> Call {
        let action = |file: &ProposedFile| {
            let action = if file.is_there { "update" } else { "create" };
            json!({ "action": action, "file_path": file.path, "content": file.text })
        };
        let body = json!({
            "branch": proposal.branch,
            "start_sha": proposal.tip,
            "commit_message": proposal.title,
            "actions": proposal.files.iter().map(action).collect::<Vec<_>>(),
        });
        Call::json("push the proposed commit", Method::Post, format!("{}/repository/commits", self.root), body)
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
        Call::get("ask for the owner of the token", "/user")
    }

    fn read_me(&self, answer: &Answer) -> Read<String> {
        answer.read::<shown::User>("a user").map(|user| user.id.to_string())
    }

    fn pull(&self, number: u64) -> Call {
        Call::get("read the merge request", format!("{}/merge_requests/{number}", self.root))
    }

    fn read_pull(&self, answer: &Answer) -> Read<Pull> {
        answer.read::<shown::MergeRequest>("a merge request").map(Into::into)
    }

    fn read_pulls(&self, answer: &Answer) -> Read<Vec<Pull>> {
        answer.read::<Vec<shown::MergeRequest>>("a list of merge requests").map(each)
    }

    fn pulls_of_commit(&self, commit: &str) -> Option<Call> {
        let path = format!("{}/repository/commits/{}/merge_requests?per_page=100", self.root, segment(commit));
        Some(Call::page("find the commit's merge requests", path))
    }

    fn pulls_of_branch(&self, _owner: &str, branch: &str) -> Option<Call> {
        let branch = segment(branch);
        let path = format!("{}/merge_requests?state=opened&source_branch={branch}&per_page=100", self.root);
        Some(Call::page("find the branch's merge requests", path))
    }

    fn comments(&self, number: u64, page: u32) -> Call {
        let path = format!("{}?per_page=100&page={page}&sort=asc&activity_filter=only_comments", self.notes(number));
        Call::page("list the comments", path)
    }

    fn read_comments(&self, answer: &Answer) -> Read<Vec<Comment>> {
        let notes: Vec<shown::Note> = answer.read("a list of notes")?;
        Ok(notes.into_iter().filter_map(shown::Note::into_comment).collect())
    }

    fn read_comment(&self, answer: &Answer) -> Read<Comment> {
        answer.read::<shown::Note>("a note").map(Into::into)
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
        let mut body = json!({
            "state": state_word(report), "name": report.name, "description": report.short_title(MOST_TEXT),
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

    fn check_status(&self, answer: &Answer, report: &Report) -> Read<()> {
        let status: shown::Status = answer.read("a status")?;
        same("state", state_word(report), &status.status)?;
        same("name", &report.name, &status.name)?;
        same_commit(&report.commit, &status.sha)
    }

    fn is_same_status(&self, failure: &Failure, report: &Report) -> bool {
        // `Cannot transition status via :run from :running`: a refusal to leave another state is one.
        let from = format!(" from :{} ", state_word(report));
        let said = format!("{} ", failure.message);
        failure.status == Some(400) && said.contains("Cannot transition status") && said.contains(&from)
    }

    fn repository(&self) -> Call {
        Call::get("read the repository", self.root.clone())
    }

    fn branch(&self, name: &str) -> Call {
        Call::get("read the target branch", format!("{}/repository/branches/{}", self.root, segment(name)))
    }

    fn read_branch(&self, answer: &Answer) -> Read<String> {
        answer.read::<shown::Branch>("a branch").map(|branch| branch.commit.id)
    }

    fn entries(&self, folder: &Folder<'_>, page: u32) -> Call {
        let (commit, path) = (segment(folder.commit), segment(folder.path));
        let query = format!("ref={commit}&path={path}&per_page={MOST_ENTRIES}&page={page}");
        Call::page("list a folder of the repository", format!("{}/repository/tree?{query}", self.root))
    }

    fn read_entries(&self, answer: &Answer) -> Read<(Vec<Entry>, bool)> {
        let entries: Vec<Entry> = each(answer.read::<Vec<shown::Entry>>("a folder's entries")?);
        let more = entries.len() == MOST_ENTRIES;
        Ok((entries, more))
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
}

impl Tracker for GitLab {
    fn issues(&self, page: u32) -> Call {
        let path = format!(
            "{}/issues?labels={LABEL}&state=all&order_by=created_at&sort=asc&per_page=100&page={page}",
            self.root
        );
        Call::page("find the suite's issue", path)
    }

    fn read_issues(&self, answer: &Answer) -> Read<Vec<Issue>> {
        answer.read::<Vec<shown::Issue>>("a list of issues").map(each)
    }

    fn read_issue(&self, answer: &Answer) -> Read<Issue> {
        answer.read::<shown::Issue>("an issue").map(Into::into)
    }

    fn create_issue(&self, title: &str, body: &str) -> Call {
        let body = json!({ "title": title, "description": body, "labels": LABEL });
        Call::json("open the issue", Method::Post, format!("{}/issues", self.root), body)
    }

    fn update_issue(&self, number: u64, body: &str, state: Option<StateChange>) -> Call {
        let mut change = json!({ "description": body });
        match state {
            Some(StateChange::Open) => change["state_event"] = "reopen".into(),
            Some(StateChange::Closed) => change["state_event"] = "close".into(),
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
        Call::page("read the issue's comments", format!("{}/issues/{number}/notes?{query}", self.root))
    }

    fn remark(&self, number: u64, body: &str) -> Call {
        let path = format!("{}/issues/{number}/notes", self.root);
        Call::json("comment on the issue", Method::Post, path, json!({ "body": body }))
    }
}

/// A status's state, as GitLab spells it.
fn state_word(report: &Report) -> &'static str {
    match report.conclusion() {
        None => "running",
        Some(Conclusion::Success | Conclusion::Neutral) => "success",
        Some(Conclusion::Failure) => "failed",
    }
}
