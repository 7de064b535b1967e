//! Proposals at GitHub.

use serde_json::json;

use super::GitHub;
use crate::fetch::permission::Permission;
use crate::publish::answer::proposals::Rights;
use crate::publish::answer::{Answer, Read};
use crate::publish::call::{Call, segment, segments};
use crate::publish::objects::Objects;
use crate::publish::proposal::Proposal;
use crate::publish::proposer::{Proposer, Push};

impl Proposer for GitHub {
    fn rights(&self, person: &str) -> Call {
        let path = format!("{}/collaborators/{}/permission", self.root, segment(person));
        Call::get("ask what the commenter may do", Permission::Metadata.read(), path)
    }

    fn read_may_write(&self, answer: &Answer) -> Read<bool> {
        // `maintain` and roles of one's own are told as the one of these that they build on.
        answer.read::<Rights>("a permission").map(|found| ["admin", "write"].contains(&found.permission.as_str()))
    }

    fn push<'a>(&'a self, _proposal: &Proposal) -> Push<'a> {
        Push::Objects(Objects { root: &self.root })
    }

    fn open(&self, proposal: &Proposal) -> Call {
        let body = json!({
            "title": proposal.title, "body": proposal.body, "head": proposal.branch, "base": proposal.target,
        });
        Call::post("open the pull request", Permission::PullRequests.write(), format!("{}/pulls", self.root), body)
    }

    fn page(&self, proposal: &Proposal) -> String {
        let [target, branch] = [&proposal.target, &proposal.branch].map(|branch| segments(branch));
        format!("/compare/{target}...{branch}?expand=1")
    }
}
