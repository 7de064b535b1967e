//! The dialect of GitHub, REST version 2022-11-28, and of the forges that follow it: Gitea and Forgejo, Gitee, GitCode.
//!
//! They share comments, pull requests, branches and files; `Quirks` holds what differs. All but GitHub are
//! experimental: written from their documentation, no server was at hand. Comments of pull requests are those of issues.
//! Routes are relative: octocrab sends the token with those only.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use serde_json::json;

use super::answer::github as shown;
use super::answer::proposals::Rights;
use super::answer::{Answer, Read, check_same, convert_each};
use super::call::{Call, segment, segments};
use super::check_runs::CheckRuns;
use super::dialect::{Forge, Gallery, Releases};
use super::forge::{Comment, ForgeKind, Issue, LABEL, Pull};
use super::labels::Labels;
use super::objects::Objects;
use super::proposal::Proposal;
use super::proposer::{Proposer, Push};
use super::status::{CommitReport, Conclusion, RunState};
use super::tracker::{StateChange, Tracker};
use super::tree::{TreeEntry, TreeFolder};
use crate::documentation;
use crate::fetch::permission::Permission::{Contents, Issues, Metadata, PullRequests, Statuses};
use crate::fetch::permission::{Access, Need};

/// Characters of a description; a longer one is refused.
const MOST_DESCRIPTION: usize = 140;

/// Differences between GitHub and a forge that follows it.
#[derive(Debug)]
struct Quirks {
    /// Whether it is GitHub; the others imitate at most its comments, files and statuses.
    is_github: bool,
    /// Whether jobs are workflows, whose token has the permissions that the workflow lists.
    has_workflows: bool,
    /// Whether it accepts statuses of commits; otherwise a label of the pull request shows the verdict.
    has_statuses: bool,
    /// Part of the path of comments on pull requests.
    comments: &'static str,
    /// Parameter with the number of items on a page.
    page_size: &'static str,
    /// Whether an answer states that another page follows; otherwise a full page implies it.
    says_next: bool,
    /// Encodes a branch in a path.
    branch: fn(&str) -> String,
    /// Largest length of a comment, in bytes and in UTF-16 units.
    comment_limit: usize,
    /// Whether status 204 without a body means that a comment was updated.
    updates_silently: bool,
}

/// GitHub refuses 65 536 characters.
const GITHUB: Quirks = Quirks {
    is_github: true,
    has_workflows: true,
    has_statuses: true,
    comments: "issues",
    page_size: "per_page",
    says_next: true,
    branch: segments,
    comment_limit: 65_000,
    updates_silently: false,
};
const GITEA: Quirks = Quirks { is_github: false, page_size: "limit", ..GITHUB };
/// Gitee does not document the largest length of a comment.
const GITEE: Quirks = Quirks {
    is_github: false,
    has_workflows: false,
    has_statuses: false,
    comments: "pulls",
    says_next: false,
    branch: segment,
    comment_limit: 60_000,
    ..GITHUB
};
const GITCODE: Quirks = Quirks { updates_silently: true, ..GITEE };

/// One repository.
#[derive(Clone, Debug)]
pub struct GitHub {
    quirks: &'static Quirks,
    /// `/repos/owner/name`
    root: String,
}

impl GitHub {
    /// The repository `owner/name` of GitHub or a forge that follows it.
    pub fn new(kind: ForgeKind, repository: &str) -> Self {
        let quirks = match kind {
            ForgeKind::Gitea => &GITEA,
            ForgeKind::Gitee => &GITEE,
            ForgeKind::Gitcode => &GITCODE,
            ForgeKind::Github | ForgeKind::Gitlab => &GITHUB,
        };
        Self { quirks, root: format!("/repos/{}", segments(repository)) }
    }

    fn comments_of(&self, number: u64) -> String {
        format!("{}/{}/{number}/comments", self.root, self.quirks.comments)
    }

    fn comment(&self, id: u64) -> String {
        format!("{}/{}/comments/{id}", self.root, self.quirks.comments)
    }

    fn issue(&self, number: u64) -> String {
        format!("{}/issues/{number}", self.root)
    }

    /// Whether it is GitHub.
    fn github(&self) -> Option<&Self> {
        self.quirks.is_github.then_some(self)
    }
}

impl Forge for GitHub {
    fn root(&self) -> &str {
        &self.root
    }

    fn comment_limit(&self) -> usize {
        self.quirks.comment_limit
    }

    fn read_token_user(&self, answer: &Answer) -> Read<String> {
        answer.read::<shown::Login>("a login").map(|user| user.login)
    }

    fn unnamed_author(&self) -> Option<&'static str> {
        // A workflow's own token may not ask for its user.
        self.quirks.has_workflows.then_some("github-actions[bot]")
    }

    fn pull(&self, number: u64) -> Call {
        Call::get("read the pull request", PullRequests.read(), format!("{}/pulls/{number}", self.root))
    }

    fn read_pull(&self, answer: &Answer) -> Read<Pull> {
        answer.read::<shown::Pull>("a pull request").map(Into::into)
    }

    fn read_pulls(&self, answer: &Answer) -> Read<Vec<Pull>> {
        answer.read::<Vec<shown::Pull>>("a list of pull requests").map(convert_each)
    }

    fn pulls_of_commit(&self, commit: &str) -> Option<Call> {
        let path = format!("{}/commits/{}/pulls?per_page=100", self.github()?.root, segment(commit));
        Some(Call::page("find the commit's pull requests", PullRequests.read(), path))
    }

    fn pulls_of_branch(&self, owner: &str, branch: &str) -> Option<Call> {
        let head = segment(&format!("{owner}:{branch}"));
        let path = format!("{}/pulls?state=open&head={head}&per_page=100", self.github()?.root);
        Some(Call::page("find the branch's pull requests", PullRequests.read(), path))
    }

    fn open_pulls(&self, page: u32) -> Call {
        let path = format!("{}/pulls?state=open&{}=100&page={page}", self.root, self.quirks.page_size);
        Call::page("list the open pull requests", PullRequests.read(), path)
    }

    fn comments(&self, number: u64, page: u32) -> Call {
        let path = format!("{}?{}=100&page={page}", self.comments_of(number), self.quirks.page_size);
        Call::page("list the comments", PullRequests.read(), path)
    }

    fn says_next(&self) -> bool {
        self.quirks.says_next
    }

    fn read_comments(&self, answer: &Answer) -> Read<Vec<Comment>> {
        answer.read::<Vec<shown::Comment>>("a list of comments").map(convert_each)
    }

    fn read_comment(&self, answer: &Answer) -> Read<Comment> {
        answer.read::<shown::Comment>("a comment").map(Into::into)
    }

    fn is_silent_update(&self, answer: &Answer) -> bool {
        self.quirks.updates_silently && answer.status == 204
    }

    fn create_comment(&self, number: u64, body: &str) -> Call {
        Call::post("write the comment", PullRequests.write(), self.comments_of(number), json!({ "body": body }))
    }

    fn update_comment(&self, _number: u64, id: u64, body: &str) -> Call {
        Call::patch("update the comment", PullRequests.write(), self.comment(id), json!({ "body": body }))
    }

    fn delete_comment(&self, _number: u64, id: u64) -> Call {
        Call::delete("remove a second comment", PullRequests.write(), self.comment(id))
    }

    fn status(&self, report: &CommitReport) -> Option<Call> {
        let status = Status {
            state: state_word(report),
            context: &report.name,
            description: report.short_title(MOST_DESCRIPTION),
            target_url: &report.url,
        };
        let path = format!("{}/statuses/{}", self.root, segment(&report.commit));
        let call = Call::post("set the commit's status", Statuses.write(), path, status);
        self.quirks.has_statuses.then_some(call)
    }

    fn check_status(&self, answer: &Answer, report: &CommitReport) -> Read<()> {
        let shown: shown::Status = answer.read("a status")?;
        check_same("state", state_word(report), &shown.state)?;
        check_same("name", &report.name, &shown.context)
    }

    fn branch(&self, name: &str) -> Call {
        let path = format!("{}/branches/{}", self.root, (self.quirks.branch)(name));
        Call::get("read the target branch", Contents.read(), path)
    }

    fn entries(&self, folder: &TreeFolder<'_>, _page: u32) -> Call {
        // GitHub identifies a folder by the digest of its content.
        let path = format!("{}/git/trees/{}", self.root, segment(folder.id));
        Call::page("list a folder of the repository", Contents.read(), path)
    }

    fn read_entries(&self, answer: &Answer) -> Read<(Vec<TreeEntry>, bool)> {
        answer.read::<shown::Tree>("a folder's entries")?.into_entries()
    }

    fn file(&self, path: &str, commit: &str) -> Call {
        let path = format!("{}/contents/{}?ref={}", self.root, segments(path), segment(commit));
        Call::get("read a file of the repository", Contents.read(), path)
    }

    fn read_file(&self, answer: &str) -> Option<String> {
        let file: shown::File = serde_json::from_str(answer).ok()?;
        let encoded: String = file.content.split_whitespace().collect();
        let bytes = (file.encoding == "base64").then(|| STANDARD.decode(encoded).ok())??;
        String::from_utf8(bytes).ok()
    }

    fn advice(&self, need: Need) -> String {
        match need.line().filter(|_| self.quirks.has_workflows) {
            Some(line) if need.access == Access::Write => format!(
                "the job needs `{line}`; pull requests from forks and Dependabot never get it (the second workflow: {})",
                documentation!("publish.md#pull-requests-from-forks")
            ),
            Some(line) => format!("the job needs `{line}`; what a token may not see is answered with 404 as well"),
            None => format!("check the repository's name, and that the token may do this (`{need}`)"),
        }
    }

    fn check_runs(&self) -> Option<CheckRuns<'_>> {
        self.github().map(|github| CheckRuns { root: &github.root })
    }

    fn labels(&self) -> Option<Labels<'_>> {
        (!self.quirks.has_statuses).then_some(Labels { root: &self.root })
    }

    fn gallery(&self) -> Option<Gallery<'_>> {
        self.github().map(|github| Gallery::Branch(Objects { root: &github.root }))
    }

    fn releases(&self) -> Option<Releases> {
        self.github().map(|_| Releases::Assets)
    }

    fn tracker(&self) -> Option<&dyn Tracker> {
        self.github().map(|github| github as &dyn Tracker)
    }

    fn proposer(&self) -> Option<&dyn Proposer> {
        self.github().map(|github| github as &dyn Proposer)
    }
}

impl Proposer for GitHub {
    fn rights(&self, person: &str) -> Call {
        let path = format!("{}/collaborators/{}/permission", self.root, segment(person));
        Call::get("ask what the commenter may do", Metadata.read(), path)
    }

    fn read_may_write(&self, answer: &Answer) -> Read<bool> {
        // `maintain` and custom roles are reported as the basic role that they extend.
        answer.read::<Rights>("a permission").map(|found| ["admin", "write"].contains(&found.permission.as_str()))
    }

    fn push<'a>(&'a self, _proposal: &Proposal) -> Push<'a> {
        Push::Objects(Objects { root: &self.root })
    }

    fn open(&self, proposal: &Proposal) -> Call {
        let body = json!({
            "title": proposal.title, "body": proposal.body, "head": proposal.branch, "base": proposal.target,
        });
        Call::post("open the pull request", PullRequests.write(), format!("{}/pulls", self.root), body)
    }

    fn page(&self, proposal: &Proposal) -> String {
        let [target, branch] = [&proposal.target, &proposal.branch].map(|branch| segments(branch));
        format!("/compare/{target}...{branch}?expand=1")
    }
}

impl Tracker for GitHub {
    fn issues(&self, page: u32) -> Call {
        let query = format!("labels={LABEL}&state=all&sort=created&direction=asc&per_page=100&page={page}");
        Call::page("find the suite's issue", Issues.read(), format!("{}/issues?{query}", self.root))
    }

    fn read_issues(&self, answer: &Answer) -> Read<Vec<Issue>> {
        let listed: Vec<shown::Issue> = answer.read("a list of issues")?;
        Ok(listed.into_iter().filter_map(shown::Issue::into_issue).collect())
    }

    fn read_issue(&self, answer: &Answer) -> Read<Issue> {
        let issue: shown::Issue = answer.read("an issue")?;
        issue.into_issue().ok_or_else(|| "without an issue: it is a pull request".to_owned())
    }

    fn create_issue(&self, title: &str, body: &str) -> Call {
        let body = json!({ "title": title, "body": body, "labels": [LABEL] });
        Call::post("open the issue", Issues.write(), format!("{}/issues", self.root), body)
    }

    fn update_issue(&self, number: u64, body: &str, state: Option<StateChange>) -> Call {
        let (state, state_reason) = match state {
            Some(StateChange::Open) => (Some("open"), None),
            Some(StateChange::Closed) => (Some("closed"), Some("completed")),
            None => (None, None),
        };
        let change = Change { body, state, state_reason };
        Call::patch("update the issue", Issues.write(), self.issue(number), change)
    }

    fn label_issue(&self, number: u64) -> Call {
        let path = format!("{}/labels", self.issue(number));
        Call::post("label the issue", Issues.write(), path, json!({ "labels": [LABEL] }))
    }

    fn issue_comments(&self, number: u64, page: u32) -> Call {
        let path = format!("{}/comments?per_page=100&page={page}", self.issue(number));
        Call::page("read the issue's comments", Issues.read(), path)
    }

    fn comment_on_issue(&self, number: u64, body: &str) -> Call {
        let path = format!("{}/comments", self.issue(number));
        Call::post("comment on the issue", Issues.write(), path, json!({ "body": body }))
    }
}

/// Change of an issue.
#[derive(Serialize)]
struct Change<'a> {
    body: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    state_reason: Option<&'static str>,
}

/// A commit's status, as it is sent.
#[derive(Serialize)]
struct Status<'a> {
    state: &'static str,
    context: &'a str,
    description: String,
    #[serde(skip_serializing_if = "str::is_empty")]
    target_url: &'a str,
}

/// The state, as GitHub spells it.
fn state_word(report: &CommitReport) -> &'static str {
    match (report.state, report.conclusion()) {
        (_, None) => "pending",
        (RunState::Unfinished, _) => "error",
        (_, Some(Conclusion::Success | Conclusion::Neutral)) => "success",
        (_, Some(Conclusion::Failure)) => "failure",
    }
}
