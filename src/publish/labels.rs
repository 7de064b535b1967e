//! Labels of pull requests at Gitee and GitCode, where one shows the verdict.

use serde_json::json;

use super::call::{Call, segment};
use crate::fetch::permission::Permission::PullRequests;
use crate::verdict::Verdict;

/// Labels of the pull requests of one repository.
#[derive(Clone, Copy, Debug)]
pub struct Labels<'a> {
    /// `/repos/owner/name`
    pub root: &'a str,
}

impl Labels<'_> {
    /// Sets the label of a verdict.
    pub fn add(&self, number: u64, verdict: Verdict) -> Call {
        let path = format!("{}/pulls/{number}/labels", self.root);
        Call::post("set the label", PullRequests.write(), path, json!([name(verdict)]))
    }

    /// Takes the label of a verdict off; the forge answers 404 where it is not set.
    pub fn remove(&self, number: u64, verdict: Verdict) -> Call {
        let path = format!("{}/pulls/{number}/labels/{}", self.root, segment(&name(verdict)));
        Call::delete("take a label off", PullRequests.write(), path)
    }
}

fn name(verdict: Verdict) -> String {
    format!("precision-gate-{}", verdict.as_str())
}
