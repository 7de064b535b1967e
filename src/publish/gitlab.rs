//! GitLab's dialect, REST version 4.
//!
//! A job's own token can read notes and write none: writing takes an access token with the scope `api`.

mod proposals;
mod tracker;

use serde::Serialize;
use serde_json::json;

use super::answer::gitlab as shown;
use super::answer::{Answer, Read, each, same, same_commit};
use super::call::{Call, segment};
use super::client::Failure;
use super::dialect::{Forge, Gallery, Releases};
use super::forge::{Comment, Pull};
use super::proposer::Proposer;
use super::status::{Conclusion, Report};
use super::tracker::Tracker;
use super::tree::{Entry, Folder};
use crate::fetch::permission::{Access, Need, Permission};

/// Characters of a status's description and address.
const MOST_TEXT: usize = 255;
/// GitLab refuses 1 000 000 characters; a comment of that length helps nobody.
const COMMENT_LIMIT: usize = 250_000;

/// Entries of a folder on one page.
const MOST_ENTRIES: usize = 100;
/// Asks for what people wrote, the oldest first.
const COMMENTS: &str = "per_page=100&sort=asc&activity_filter=only_comments";

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

    fn notes(&self, number: u64) -> String {
        format!("{}/merge_requests/{number}/notes", self.root)
    }
}

impl Forge for GitLab {
    fn comment_limit(&self) -> usize {
        COMMENT_LIMIT
    }

    fn me(&self) -> Call {
        Call::get("ask for the owner of the token", Permission::Metadata.read(), "/user")
    }

    fn read_me(&self, answer: &Answer) -> Read<String> {
        answer.read::<shown::User>("a user").map(|user| user.id.to_string())
    }

    fn pull(&self, number: u64) -> Call {
        let path = format!("{}/merge_requests/{number}", self.root);
        Call::get("read the merge request", Permission::PullRequests.read(), path)
    }

    fn read_pull(&self, answer: &Answer) -> Read<Pull> {
        answer.read::<shown::MergeRequest>("a merge request").map(Into::into)
    }

    fn read_pulls(&self, answer: &Answer) -> Read<Vec<Pull>> {
        answer.read::<Vec<shown::MergeRequest>>("a list of merge requests").map(each)
    }

    fn pulls_of_commit(&self, commit: &str) -> Option<Call> {
        let path = format!("{}/repository/commits/{}/merge_requests?per_page=100", self.root, segment(commit));
        Some(Call::page("find the commit's merge requests", Permission::PullRequests.read(), path))
    }

    fn pulls_of_branch(&self, _owner: &str, branch: &str) -> Option<Call> {
        let branch = segment(branch);
        let path = format!("{}/merge_requests?state=opened&source_branch={branch}&per_page=100", self.root);
        Some(Call::page("find the branch's merge requests", Permission::PullRequests.read(), path))
    }

    fn comments(&self, number: u64, page: u32) -> Call {
        let path = format!("{}?{COMMENTS}&page={page}", self.notes(number));
        Call::page("list the comments", Permission::PullRequests.read(), path)
    }

    fn read_comments(&self, answer: &Answer) -> Read<Vec<Comment>> {
        let notes: Vec<shown::Note> = answer.read("a list of notes")?;
        Ok(notes.into_iter().filter_map(shown::Note::into_comment).collect())
    }

    fn read_comment(&self, answer: &Answer) -> Read<Comment> {
        answer.read::<shown::Note>("a note").map(Into::into)
    }

    fn create_comment(&self, number: u64, body: &str) -> Call {
        let path = self.notes(number);
        Call::post("write the comment", Permission::PullRequests.write(), path, json!({ "body": body }))
    }

    fn update_comment(&self, number: u64, id: u64, body: &str) -> Call {
        let path = format!("{}/{id}", self.notes(number));
        Call::put("update the comment", Permission::PullRequests.write(), path, json!({ "body": body }))
    }

    fn delete_comment(&self, number: u64, id: u64) -> Call {
        let path = format!("{}/{id}", self.notes(number));
        Call::delete("remove a second comment", Permission::PullRequests.write(), path)
    }

    fn status(&self, report: &Report) -> Option<Call> {
        let status = Status {
            state: state_word(report),
            name: &report.name,
            description: report.short_title(MOST_TEXT),
            target_url: Some(report.url.as_str()).filter(|url| !url.is_empty() && url.len() <= MOST_TEXT),
            pipeline_id: report.pipeline,
        };
        let path = format!("{}/statuses/{}", self.root, segment(&report.commit));
        Some(Call::post("set the commit's status", Permission::Statuses.write(), path, status))
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
        Call::get("read the repository", Permission::Metadata.read(), self.root.clone())
    }

    fn branch(&self, name: &str) -> Call {
        let path = format!("{}/repository/branches/{}", self.root, segment(name));
        Call::get("read the target branch", Permission::Contents.read(), path)
    }

    fn read_branch(&self, answer: &Answer) -> Read<String> {
        answer.read::<shown::Branch>("a branch").map(|branch| branch.commit.id)
    }

    fn entries(&self, folder: &Folder<'_>, page: u32) -> Call {
        let (commit, path) = (segment(folder.commit), segment(folder.path));
        let query = format!("ref={commit}&path={path}&per_page={MOST_ENTRIES}&page={page}");
        let path = format!("{}/repository/tree?{query}", self.root);
        Call::page("list a folder of the repository", Permission::Contents.read(), path)
    }

    fn read_entries(&self, answer: &Answer) -> Read<(Vec<Entry>, bool)> {
        let entries: Vec<Entry> = each(answer.read::<Vec<shown::Entry>>("a folder's entries")?);
        let more = entries.len() == MOST_ENTRIES;
        Ok((entries, more))
    }

    fn file(&self, path: &str, commit: &str) -> Call {
        let path = format!("{}/repository/files/{}/raw?ref={}", self.root, segment(path), segment(commit));
        Call::get("read a file of the repository", Permission::Contents.read(), path)
    }

    fn read_file(&self, answer: &str) -> Option<String> {
        Some(answer.to_owned())
    }

    fn advice(&self, need: Need) -> String {
        if need.access == Access::Read {
            return "the token needs the scope `api` (`read_api` to read alone) and the role Reporter; what a token may not \
                    see is answered with 404 as well"
                .into();
        }
        let role = match need.permission {
            Permission::PullRequests | Permission::Issues => "Reporter",
            _ => "Developer",
        };
        format!("the token needs the scope `api` and the role {role}; CI_JOB_TOKEN cannot write")
    }

    fn gallery(&self) -> Option<Gallery<'_>> {
        Some(Gallery::Uploads(&self.root))
    }

    fn releases(&self) -> Option<Releases<'_>> {
        Some(Releases::Packages { root: &self.root })
    }

    fn tracker(&self) -> Option<&dyn Tracker> {
        Some(self)
    }

    fn proposer(&self) -> Option<&dyn Proposer> {
        Some(self)
    }
}

/// A commit's status, as it is sent.
#[derive(Serialize)]
struct Status<'a> {
    state: &'static str,
    name: &'a str,
    description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    target_url: Option<&'a str>,
    /// Without it a pipeline of its own appears.
    #[serde(skip_serializing_if = "Option::is_none")]
    pipeline_id: Option<u64>,
}

/// A status's state, as GitLab spells it.
fn state_word(report: &Report) -> &'static str {
    match report.conclusion() {
        None => "running",
        Some(Conclusion::Success | Conclusion::Neutral) => "success",
        Some(Conclusion::Failure) => "failed",
    }
}
