//! Proposals at GitLab.

use serde::Serialize;
use serde_json::json;

use super::GitLab;
use crate::fetch::permission::Permission;
use crate::publish::answer::gitlab as shown;
use crate::publish::answer::{Answer, Read};
use crate::publish::call::{Call, segment};
use crate::publish::proposal::{Proposal, ProposedFile};
use crate::publish::proposer::{Proposer, Push};

/// Level of access from which on a member may push and start jobs: Developer.
const DEVELOPER: u64 = 30;

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

impl Proposer for GitLab {
    fn rights(&self, person: &str) -> Call {
        let path = format!("{}/members/all/{}", self.root, segment(person));
        Call::get("ask what the person may do", Permission::Metadata.read(), path)
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
        Push::Whole(Box::new(Call::post("push the proposed commit", Permission::Contents.write(), path, body)))
    }

    fn open(&self, proposal: &Proposal) -> Call {
        let body = json!({
            "source_branch": proposal.branch,
            "target_branch": proposal.target,
            "title": proposal.title,
            "description": proposal.body,
            "remove_source_branch": true,
        });
        // Whoever may push may open a merge request, and nobody else.
        let need = Permission::Contents.write();
        Call::post("open the merge request", need, format!("{}/merge_requests", self.root), body)
    }

    fn page(&self, proposal: &Proposal) -> String {
        let branch = segment(&proposal.branch);
        format!("/-/merge_requests/new?merge_request%5Bsource_branch%5D={branch}")
    }
}
