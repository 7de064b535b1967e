//! The dialect of proposing a change: whose word counts, and how a pull request is opened.

use serde_json::json;

use super::answer::proposals::{Opened, Permission};
use super::answer::{Answer, Read, gitlab as shown};
use super::call::{Call, Method, segment};
use super::github::GitHub;
use super::gitlab::GitLab;
use super::proposal::Proposal;

/// GitLab's level of access from which on a member may push and start jobs: Developer.
const DEVELOPER: u64 = 30;

/// The dialect of proposing a change.
pub(super) trait Proposer {
    /// Asks what a person may do in the repository: a login at GitHub, a number at GitLab.
    fn rights(&self, person: &str) -> Call;

    /// Whether such an answer lets the person write.
    fn read_may_write(&self, answer: &Answer) -> Read<bool>;

    /// Opens a pull request for the branch of a proposal.
    fn open(&self, proposal: &Proposal) -> Call;

    /// The pull requests in an answer, open ones of one branch.
    fn read_opened(&self, answer: &Answer) -> Read<Vec<Opened>> {
        answer.read("a list of pull requests")
    }

    /// Address below the repository's page where a person opens the pull request.
    fn page(&self, proposal: &Proposal) -> String;
}

impl Proposer for GitHub {
    fn rights(&self, person: &str) -> Call {
        let path = format!("{}/collaborators/{}/permission", self.root(), segment(person));
        Call::get("ask what the commenter may do", path)
    }

    fn read_may_write(&self, answer: &Answer) -> Read<bool> {
        // `maintain` and roles of one's own are told as the one of these that they build on.
        answer.read::<Permission>("a permission").map(|found| ["admin", "write"].contains(&found.permission.as_str()))
    }

    fn open(&self, proposal: &Proposal) -> Call {
        let body = json!({
            "title": proposal.title, "body": proposal.body, "head": proposal.branch, "base": proposal.target,
        });
        Call::json("open the pull request", Method::Post, format!("{}/pulls", self.root()), body)
    }

    fn page(&self, proposal: &Proposal) -> String {
        let [target, branch] = [&proposal.target, &proposal.branch].map(|branch| super::call::segments(branch));
        format!("/compare/{target}...{branch}?expand=1")
    }
}

impl Proposer for GitLab {
    fn rights(&self, person: &str) -> Call {
        Call::get("ask what the person may do", format!("{}/members/all/{}", self.root(), segment(person)))
    }

    fn read_may_write(&self, answer: &Answer) -> Read<bool> {
        answer.read::<shown::Member>("a member").map(|member| member.access_level >= DEVELOPER)
    }

    fn open(&self, proposal: &Proposal) -> Call {
        let body = json!({
            "source_branch": proposal.branch,
            "target_branch": proposal.target,
            "title": proposal.title,
            "description": proposal.body,
            "remove_source_branch": true,
        });
        Call::json("open the merge request", Method::Post, format!("{}/merge_requests", self.root()), body)
    }

    fn page(&self, proposal: &Proposal) -> String {
        let branch = segment(&proposal.branch);
        format!("/-/merge_requests/new?merge_request%5Bsource_branch%5D={branch}")
    }
}
