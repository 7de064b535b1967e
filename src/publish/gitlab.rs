//! GitLab's dialect, REST version 4.
//!
//! A job's own token can read notes but not write them: writing needs an access token with the scope `api`.

use serde::Serialize;
use serde_json::json;

use super::answer::gitlab as shown;
use super::answer::{Answer, Read, check_same, check_same_commit, convert_each};
use super::call::{Call, segment};
use super::client::Failure;
use super::dialect::{Forge, Gallery, Releases};
use super::forge::{Comment, Issue, LABEL, Pull};
use super::proposal::{Proposal, ProposedFile};
use super::proposer::{Proposer, Push};
use super::status::{CommitReport, Conclusion};
use super::tracker::{StateChange, Tracker};
use super::tree::{TreeEntry, TreeFolder};
use crate::fetch::permission::Permission::{Contents, Issues, Metadata, PullRequests, Statuses};
use crate::fetch::permission::{Access, Need};

/// Characters of a status's description and address.
const MOST_TEXT: usize = 255;
/// GitLab refuses 1 000 000 characters; a comment of that length helps nobody.
const COMMENT_LIMIT: usize = 250_000;

/// Entries of a folder on one page.
const MOST_ENTRIES: usize = 100;
/// Query for the notes that people wrote, the oldest first.
const COMMENTS: &str = "per_page=100&sort=asc&activity_filter=only_comments";

/// Lowest level of access with which a member may push and start jobs: Developer.
const DEVELOPER: u64 = 30;

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

    fn issue(&self, number: u64) -> String {
        format!("{}/issues/{number}", self.root)
    }

    fn notes(&self, number: u64) -> String {
        format!("{}/merge_requests/{number}/notes", self.root)
    }
}

impl Forge for GitLab {
    fn root(&self) -> &str {
        &self.root
    }

    fn comment_limit(&self) -> usize {
        COMMENT_LIMIT
    }

    fn read_token_user(&self, answer: &Answer) -> Read<String> {
        answer.read::<shown::User>("a user").map(|user| user.id.to_string())
    }

    fn pull(&self, number: u64) -> Call {
        Call::get("read the merge request", PullRequests.read(), format!("{}/merge_requests/{number}", self.root))
    }

    fn read_pull(&self, answer: &Answer) -> Read<Pull> {
        answer.read::<shown::MergeRequest>("a merge request").map(Into::into)
    }

    fn read_pulls(&self, answer: &Answer) -> Read<Vec<Pull>> {
        answer.read::<Vec<shown::MergeRequest>>("a list of merge requests").map(convert_each)
    }

    fn pulls_of_commit(&self, commit: &str) -> Option<Call> {
        let path = format!("{}/repository/commits/{}/merge_requests?per_page=100", self.root, segment(commit));
        Some(Call::page("find the commit's merge requests", PullRequests.read(), path))
    }

    fn pulls_of_branch(&self, _owner: &str, branch: &str) -> Option<Call> {
        let branch = segment(branch);
        let path = format!("{}/merge_requests?state=opened&source_branch={branch}&per_page=100", self.root);
        Some(Call::page("find the branch's merge requests", PullRequests.read(), path))
    }

    fn open_pulls(&self, page: u32) -> Call {
        let path = format!("{}/merge_requests?state=opened&per_page=100&page={page}", self.root);
        Call::page("list the open merge requests", PullRequests.read(), path)
    }

    fn comments(&self, number: u64, page: u32) -> Call {
        Call::page("list the comments", PullRequests.read(), format!("{}?{COMMENTS}&page={page}", self.notes(number)))
    }

    fn read_comments(&self, answer: &Answer) -> Read<Vec<Comment>> {
        let notes: Vec<shown::Note> = answer.read("a list of notes")?;
        Ok(notes.into_iter().filter_map(shown::Note::into_comment).collect())
    }

    fn read_comment(&self, answer: &Answer) -> Read<Comment> {
        answer.read::<shown::Note>("a note").map(Into::into)
    }

    fn create_comment(&self, number: u64, body: &str) -> Call {
        Call::post("write the comment", PullRequests.write(), self.notes(number), json!({ "body": body }))
    }

    fn update_comment(&self, number: u64, id: u64, body: &str) -> Call {
        let path = format!("{}/{id}", self.notes(number));
        Call::put("update the comment", PullRequests.write(), path, json!({ "body": body }))
    }

    fn delete_comment(&self, number: u64, id: u64) -> Call {
        Call::delete("remove a second comment", PullRequests.write(), format!("{}/{id}", self.notes(number)))
    }

    fn status(&self, report: &CommitReport) -> Option<Call> {
        let status = Status {
            state: state_word(report),
            name: &report.name,
            description: report.short_title(MOST_TEXT),
            target_url: Some(report.url.as_str()).filter(|url| !url.is_empty() && url.len() <= MOST_TEXT),
            pipeline_id: report.pipeline,
        };
        let path = format!("{}/statuses/{}", self.root, segment(&report.commit));
        Some(Call::post("set the commit's status", Statuses.write(), path, status))
    }

    fn check_status(&self, answer: &Answer, report: &CommitReport) -> Read<()> {
        let status: shown::Status = answer.read("a status")?;
        check_same("state", state_word(report), &status.status)?;
        check_same("name", &report.name, &status.name)?;
        check_same_commit(&report.commit, &status.sha)
    }

    fn is_same_status(&self, failure: &Failure, report: &CommitReport) -> bool {
        // `Cannot transition status via :run from :running` means that the state is set already; a refusal that names another state is
        // a real one.
        let from = format!(" from :{} ", state_word(report));
        let said = format!("{} ", failure.message);
        failure.status == Some(400) && said.contains("Cannot transition status") && said.contains(&from)
    }

    fn branch(&self, name: &str) -> Call {
        let path = format!("{}/repository/branches/{}", self.root, segment(name));
        Call::get("read the target branch", Contents.read(), path)
    }

    fn entries(&self, folder: &TreeFolder<'_>, page: u32) -> Call {
        let (commit, path) = (segment(folder.commit), segment(folder.path));
        let query = format!("ref={commit}&path={path}&per_page={MOST_ENTRIES}&page={page}");
        Call::page("list a folder of the repository", Contents.read(), format!("{}/repository/tree?{query}", self.root))
    }

    fn read_entries(&self, answer: &Answer) -> Read<(Vec<TreeEntry>, bool)> {
        let entries: Vec<TreeEntry> = convert_each(answer.read::<Vec<shown::Entry>>("a folder's entries")?);
        let more = entries.len() == MOST_ENTRIES;
        Ok((entries, more))
    }

    fn file(&self, path: &str, commit: &str) -> Call {
        let path = format!("{}/repository/files/{}/raw?ref={}", self.root, segment(path), segment(commit));
        Call::get("read a file of the repository", Contents.read(), path)
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
            PullRequests | Issues => "Reporter",
            _ => "Developer",
        };
        format!("the token needs the scope `api` and the role {role}; CI_JOB_TOKEN cannot write")
    }

    fn gallery(&self) -> Option<Gallery<'_>> {
        Some(Gallery::Uploads(&self.root))
    }

    fn releases(&self) -> Option<Releases> {
        Some(Releases::Packages)
    }

    fn tracker(&self) -> Option<&dyn Tracker> {
        Some(self)
    }

    fn proposer(&self) -> Option<&dyn Proposer> {
        Some(self)
    }
}

impl Proposer for GitLab {
    fn rights(&self, person: &str) -> Call {
        let path = format!("{}/members/all/{}", self.root, segment(person));
        Call::get("ask what the person may do", Metadata.read(), path)
    }

    fn read_may_write(&self, answer: &Answer) -> Read<bool> {
        answer.read::<shown::Member>("a member").map(|member| member.access_level >= DEVELOPER)
    }

    fn push<'a>(&'a self, proposal: &Proposal) -> Push<'a> {
        let actions: Vec<Action<'_>> = proposal.files.iter().map(Action::of).collect();
        let body = json!({
            "branch": proposal.branch, "start_sha": proposal.tip, "commit_message": proposal.title, "actions": actions,
        });
        let path = format!("{}/repository/commits", self.root);
        Push::Whole(Box::new(Call::post("push the proposed commit", Contents.write(), path, body)))
    }

    fn open(&self, proposal: &Proposal) -> Call {
        let body = json!({
            "source_branch": proposal.branch,
            "target_branch": proposal.target,
            "title": proposal.title,
            "description": proposal.body,
            "remove_source_branch": true,
        });
        // Exactly those who may push may open a merge request.
        let need = Contents.write();
        Call::post("open the merge request", need, format!("{}/merge_requests", self.root), body)
    }

    fn page(&self, proposal: &Proposal) -> String {
        let branch = segment(&proposal.branch);
        format!("/-/merge_requests/new?merge_request%5Bsource_branch%5D={branch}")
    }
}

impl Tracker for GitLab {
    fn issues(&self, page: u32) -> Call {
        let query = format!("labels={LABEL}&state=all&order_by=created_at&sort=asc&per_page=100&page={page}");
        Call::page("find the suite's issue", Issues.read(), format!("{}/issues?{query}", self.root))
    }

    fn read_issues(&self, answer: &Answer) -> Read<Vec<Issue>> {
        answer.read::<Vec<shown::Issue>>("a list of issues").map(convert_each)
    }

    fn read_issue(&self, answer: &Answer) -> Read<Issue> {
        answer.read::<shown::Issue>("an issue").map(Into::into)
    }

    fn create_issue(&self, title: &str, body: &str) -> Call {
        let body = json!({ "title": title, "description": body, "labels": LABEL });
        Call::post("open the issue", Issues.write(), format!("{}/issues", self.root), body)
    }

    fn update_issue(&self, number: u64, body: &str, state: Option<StateChange>) -> Call {
        let state_event = state.map(|state| match state {
            StateChange::Open => "reopen",
            StateChange::Closed => "close",
        });
        let change = Change { description: body, state_event };
        Call::put("update the issue", Issues.write(), self.issue(number), change)
    }

    fn label_issue(&self, number: u64) -> Call {
        let body = json!({ "add_labels": LABEL });
        Call::put("label the issue", Issues.write(), self.issue(number), body)
    }

    fn issue_comments(&self, number: u64, page: u32) -> Call {
        let path = format!("{}/notes?{COMMENTS}&page={page}", self.issue(number));
        Call::page("read the issue's comments", Issues.read(), path)
    }

    fn comment_on_issue(&self, number: u64, body: &str) -> Call {
        let path = format!("{}/notes", self.issue(number));
        Call::post("comment on the issue", Issues.write(), path, json!({ "body": body }))
    }
}

/// Change of one file in a commit.
#[derive(Serialize)]
struct Action<'a> {
    action: &'static str,
    file_path: &'a str,
    content: &'a str,
}

impl<'a> Action<'a> {
    fn of(file: &'a ProposedFile) -> Self {
        let action = if file.is_there { "update" } else { "create" };
        Self { action, file_path: &file.path, content: &file.text }
    }
}

/// Change of an issue.
#[derive(Serialize)]
struct Change<'a> {
    description: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    state_event: Option<&'static str>,
}

/// A commit's status, as it is sent.
#[derive(Serialize)]
struct Status<'a> {
    state: &'static str,
    name: &'a str,
    description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    target_url: Option<&'a str>,
    /// Pipeline of the status; without it GitLab shows a separate pipeline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pipeline_id: Option<u64>,
}

/// A status's state, as GitLab spells it.
fn state_word(report: &CommitReport) -> &'static str {
    match report.conclusion() {
        None => "running",
        Some(Conclusion::Success | Conclusion::Neutral) => "success",
        Some(Conclusion::Failure) => "failed",
    }
}
