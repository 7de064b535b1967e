//! GitHub's dialect, REST version 2022-11-28; Gitea and Forgejo speak the same of comments and statuses.
//!
//! Comments of pull requests are those of issues. Routes are relative: octocrab sends the token with those only.
#![allow(clippy::indexing_slicing, reason = "a key that is not there reads as null in serde_json")]

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::answer::github as shown;
use super::answer::{Answer, Read, same, same_commit};
use super::call::{Call, Method, segment, segments};
use super::client::Failure;
use super::dialect::{Forge, each, text_of_contents, tree};
use super::forge::{Comment, ForgeKind, Issue, LABEL, Pull};
use super::proposal::ProposedFile;
use super::status::{Annotation, Conclusion, Report, State};
use super::tracker::{StateChange, Tracker};
use super::tree::{Entry, Folder};

/// Characters of a status's description; a longer one is refused.
const MOST_DESCRIPTION: usize = 140;
/// Characters of an annotation's title.
const MOST_TITLE: usize = 255;
/// Annotations that one request may carry.
pub const MOST_ANNOTATIONS: usize = 50;
/// GitHub refuses 65 536 characters.
const COMMENT_LIMIT: usize = 65_000;

/// One repository.
#[derive(Clone, Debug)]
pub struct GitHub {
    kind: ForgeKind,
    /// `/repos/owner/name`
    root: String,
}

impl GitHub {
    /// The repository `owner/name` of a GitHub or a Gitea.
    pub fn new(kind: ForgeKind, repository: &str) -> Self {
        Self { kind, root: format!("/repos/{}", segments(repository)) }
    }

    pub(super) fn root(&self) -> &str {
        &self.root
    }

    /// Writes a check run.
    pub fn create_check(&self, report: &Report) -> Call {
        let mut body = check_body(report);
        body["head_sha"] = report.commit.as_str().into();
        body["external_id"] = report.run.as_str().into();
        Call::json("create the check", Method::Post, format!("{}/check-runs", self.root), body)
    }

    /// Changes a check run.
    pub fn update_check(&self, id: u64, report: &Report) -> Call {
        let path = format!("{}/check-runs/{id}", self.root);
        Call::json("update the check", Method::Patch, path, check_body(report))
    }

    /// Adds further annotations to a check run; it keeps those that it has.
    pub fn add_annotations(&self, id: u64, report: &Report, more: &[Annotation]) -> Call {
        let output = json!({
            "title": report.short_title(MOST_TITLE),
            "summary": report.summary,
            "annotations": annotations(more),
        });
        let path = format!("{}/check-runs/{id}", self.root);
        Call::json("add annotations to the check", Method::Patch, path, json!({ "output": output }))
    }

    /// Asks for the check runs of a report's name and commit.
    pub fn checks(&self, report: &Report) -> Call {
        let (commit, name) = (segment(&report.commit), segment(&report.name));
        Call::page("list the checks", format!("{}/commits/{commit}/check-runs?check_name={name}&filter=all", self.root))
    }

    /// Reads one check run.
    pub fn read_check(answer: &Answer) -> Read<shown::Check> {
        answer.read::<shown::CheckRun>("a check").map(Into::into)
    }

    /// The check run of just this run, among those that [`GitHub::checks`] asks for.
    pub fn own_check(answer: &Answer, report: &Report) -> Read<Option<shown::Check>> {
        let checks: shown::Checks = answer.read("a list of checks")?;
        Ok(each(checks.check_runs).into_iter().find(|check: &shown::Check| check.run.as_deref() == Some(&report.run)))
    }

    /// Whether a check shows what `report` says; further annotations change none of it.
    pub fn is_shown(check: &shown::Check, report: &Report) -> Read<()> {
        let conclusion = report.conclusion().map(conclusion_word);
        same_commit(&report.commit, &check.commit)?;
        same("status", if conclusion.is_some() { "completed" } else { "in_progress" }, &check.status)?;
        same("conclusion", conclusion.unwrap_or_default(), check.conclusion.as_deref().unwrap_or_default())
    }

    /// Stores a file's content.
    pub fn create_blob(&self, bytes: &[u8]) -> Call {
        let body = json!({ "content": STANDARD.encode(bytes), "encoding": "base64" });
        Call::json("store a picture", Method::Post, format!("{}/git/blobs", self.root), body)
    }

    /// Stores a folder of files, given by path and blob.
    pub fn create_tree(&self, files: &[(String, String)]) -> Call {
        let entry =
            |(path, sha): &(String, String)| json!({"path": path, "mode": "100644", "type": "blob", "sha": sha});
        let tree: Vec<Value> = files.iter().map(entry).collect();
        Call::json("store the pictures", Method::Post, format!("{}/git/trees", self.root), json!({ "tree": tree }))
    }

    /// Stores a commit without parents.
    pub fn create_commit(&self, tree: &str) -> Call {
        let body = json!({ "message": "Pictures of precision-gate", "tree": tree, "parents": [] });
        Call::json("commit the pictures", Method::Post, format!("{}/git/commits", self.root), body)
    }

    /// Asks for the commit of the branch of pictures.
    pub fn picture_branch(&self, branch: &str) -> Call {
        Call::get("find the branch of pictures", format!("{}/git/ref/heads/{}", self.root, segments(branch)))
    }

    /// Asks for all files of a commit.
    pub fn pictures(&self, commit: &str) -> Call {
        Call::page("list the pictures", format!("{}/git/trees/{commit}?recursive=1", self.root))
    }

    /// Asks for a commit and its tree.
    pub fn commit(&self, commit: &str) -> Call {
        Call::get("read the target branch's commit", format!("{}/git/commits/{}", self.root, segment(commit)))
    }

    /// Stores a tree with these files in place of those of their paths.
    pub fn add_files(&self, tree: &str, files: &[ProposedFile]) -> Call {
        let entry =
            |file: &ProposedFile| json!({"path": file.path, "mode": "100644", "type": "blob", "content": file.text});
        let body = json!({ "base_tree": tree, "tree": files.iter().map(entry).collect::<Vec<_>>() });
        Call::json("push the proposed files", Method::Post, format!("{}/git/trees", self.root), body)
    }

    /// Stores a commit upon another one.
    pub fn commit_upon(&self, parent: &str, tree: &str, message: &str) -> Call {
        let body = json!({ "message": message, "tree": tree, "parents": [parent] });
        Call::json("push the proposed commit", Method::Post, format!("{}/git/commits", self.root), body)
    }

    /// Makes a branch.
    pub fn create_branch(&self, branch: &str, commit: &str) -> Call {
        let body = json!({ "ref": format!("refs/heads/{branch}"), "sha": commit });
        Call::json("push a branch", Method::Post, format!("{}/git/refs", self.root), body)
    }

    /// Moves a branch, whatever it held.
    pub fn move_branch(&self, branch: &str, commit: &str) -> Call {
        let path = format!("{}/git/refs/heads/{}", self.root, segments(branch));
        Call::json("update the branch of pictures", Method::Patch, path, json!({ "sha": commit, "force": true }))
    }

    fn comment(&self, id: u64) -> String {
        format!("{}/issues/comments/{id}", self.root)
    }
}

impl Forge for GitHub {
    fn kind(&self) -> ForgeKind {
        self.kind
    }

    fn comment_limit(&self) -> usize {
        COMMENT_LIMIT
    }

    fn me(&self) -> Call {
        Call::get("ask for the owner of the token", "/user")
    }

    fn read_me(&self, answer: &Answer) -> Read<String> {
        answer.read::<shown::Login>("a login").map(|user| user.login)
    }

    fn unnamed_author(&self) -> Option<&'static str> {
        // A workflow's own token may not ask who it is.
        Some("github-actions[bot]")
    }

    fn pull(&self, number: u64) -> Call {
        Call::get("read the pull request", format!("{}/pulls/{number}", self.root))
    }

    fn read_pull(&self, answer: &Answer) -> Read<Pull> {
        answer.read::<shown::Pull>("a pull request").map(Into::into)
    }

    fn read_pulls(&self, answer: &Answer) -> Read<Vec<Pull>> {
        answer.read::<Vec<shown::Pull>>("a list of pull requests").map(each)
    }

    fn pulls_of_commit(&self, commit: &str) -> Option<Call> {
        let path = format!("{}/commits/{}/pulls?per_page=100", self.root, segment(commit));
        (self.kind == ForgeKind::Github).then(|| Call::page("find the commit's pull requests", path))
    }

    fn pulls_of_branch(&self, owner: &str, branch: &str) -> Option<Call> {
        let head = segment(&format!("{owner}:{branch}"));
        let path = format!("{}/pulls?state=open&head={head}&per_page=100", self.root);
        (self.kind == ForgeKind::Github).then(|| Call::page("find the branch's pull requests", path))
    }

    fn comments(&self, number: u64, page: u32) -> Call {
        let limit = if self.kind == ForgeKind::Gitea { "limit" } else { "per_page" };
        let path = format!("{}/issues/{number}/comments?{limit}=100&page={page}", self.root);
        Call::page("list the comments", path)
    }

    fn read_comments(&self, answer: &Answer) -> Read<Vec<Comment>> {
        answer.read::<Vec<shown::Comment>>("a list of comments").map(each)
    }

    fn read_comment(&self, answer: &Answer) -> Read<Comment> {
        answer.read::<shown::Comment>("a comment").map(Into::into)
    }

    fn create_comment(&self, number: u64, body: &str) -> Call {
        let path = format!("{}/issues/{number}/comments", self.root);
        Call::json("write the comment", Method::Post, path, json!({ "body": body }))
    }

    fn update_comment(&self, _number: u64, id: u64, body: &str) -> Call {
        Call::json("update the comment", Method::Patch, self.comment(id), json!({ "body": body }))
    }

    fn delete_comment(&self, _number: u64, id: u64) -> Call {
        Call::delete("remove a second comment", self.comment(id))
    }

    fn status(&self, report: &Report) -> Option<Call> {
        let mut body = json!({
            "state": state_word(report), "context": report.name, "description": report.short_title(MOST_DESCRIPTION),
        });
        if !report.url.is_empty() {
            body["target_url"] = report.url.as_str().into();
        }
        let path = format!("{}/statuses/{}", self.root, segment(&report.commit));
        Some(Call::json("set the commit's status", Method::Post, path, body))
    }

    fn check_status(&self, answer: &Answer, report: &Report) -> Read<()> {
        let status: shown::Status = answer.read("a status")?;
        same("state", state_word(report), &status.state)?;
        same("name", &report.name, &status.context)
    }

    fn repository(&self) -> Call {
        Call::get("read the repository", self.root.clone())
    }

    fn branch(&self, name: &str) -> Call {
        Call::get("read the target branch", format!("{}/branches/{}", self.root, segments(name)))
    }

    fn read_branch(&self, answer: &Answer) -> Read<String> {
        answer.read::<shown::Branch>("a branch").map(|branch| branch.commit.sha)
    }

    fn entries(&self, folder: &Folder<'_>, _page: u32) -> Call {
        tree(&self.root, folder)
    }

    fn read_entries(&self, answer: &Answer) -> Read<(Vec<Entry>, bool)> {
        answer.read::<shown::Tree>("a folder's entries")?.into_entries()
    }

    fn file(&self, path: &str, commit: &str) -> Call {
        let path = format!("{}/contents/{}?ref={}", self.root, segments(path), segment(commit));
        Call::get("read a file of the repository", path)
    }

    fn read_file(&self, answer: &str) -> Option<String> {
        text_of_contents(answer)
    }

    fn help(&self, status: u16, failure: &Failure) -> Option<String> {
        let purpose = failure.purpose;
        let needs = if purpose.contains("issue") {
            "issues: write"
        } else if purpose.contains("release") {
            "contents: write"
        } else if purpose.contains("check") {
            "checks: write"
        } else if purpose.contains("status") {
            "statuses: write"
        } else if purpose.contains("picture") || purpose.contains("push") {
            "contents: write"
        } else if purpose.contains("file") || purpose.contains("branch") || purpose.contains("folder") {
            "contents: read"
        } else {
            "pull-requests: write"
        };
        match status {
            401 => Some("the token is not valid: check the secret it comes from".into()),
            403 | 404 => Some(format!(
                "the job needs `permissions: {{ {needs} }}`; pull requests from forks and Dependabot never get it \
                 (docs/publish.md shows the second workflow)"
            )),
            _ => None,
        }
    }

    fn as_tracker(&self) -> Option<&dyn Tracker> {
        (self.kind == ForgeKind::Github).then_some(self)
    }
}

impl Tracker for GitHub {
    fn issues(&self, page: u32) -> Call {
        let path = format!(
            "{}/issues?labels={LABEL}&state=all&sort=created&direction=asc&per_page=100&page={page}",
            self.root
        );
        Call::page("find the suite's issue", path)
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
        Call::json("open the issue", Method::Post, format!("{}/issues", self.root), body)
    }

    fn update_issue(&self, number: u64, body: &str, state: Option<StateChange>) -> Call {
        let mut change = json!({ "body": body });
        match state {
            Some(StateChange::Open) => change["state"] = "open".into(),
            Some(StateChange::Closed) => {
                change["state"] = "closed".into();
                change["state_reason"] = "completed".into();
            }
            None => {}
        }
        Call::json("update the issue", Method::Patch, format!("{}/issues/{number}", self.root), change)
    }

    fn label_issue(&self, number: u64) -> Option<Call> {
        let path = format!("{}/issues/{number}/labels", self.root);
        Some(Call::json("label the issue", Method::Post, path, json!({ "labels": [LABEL] })))
    }

    fn remarks(&self, number: u64, page: u32) -> Call {
        let path = format!("{}/issues/{number}/comments?per_page=100&page={page}", self.root);
        Call::page("read the issue's comments", path)
    }

    fn remark(&self, number: u64, body: &str) -> Call {
        let path = format!("{}/issues/{number}/comments", self.root);
        Call::json("comment on the issue", Method::Post, path, json!({ "body": body }))
    }
}

/// A check's conclusion, as GitHub spells it.
fn conclusion_word(conclusion: Conclusion) -> &'static str {
    match conclusion {
        Conclusion::Success => "success",
        Conclusion::Neutral => "neutral",
        Conclusion::Failure => "failure",
    }
}

/// A status's state, as GitHub spells it.
fn state_word(report: &Report) -> &'static str {
    match (report.state, report.conclusion()) {
        (_, None) => "pending",
        (State::Unfinished, _) => "error",
        (_, Some(Conclusion::Success | Conclusion::Neutral)) => "success",
        (_, Some(Conclusion::Failure)) => "failure",
    }
}

fn check_body(report: &Report) -> Value {
    let mut body = json!({ "name": report.name, "status": "in_progress" });
    if !report.url.is_empty() {
        body["details_url"] = report.url.as_str().into();
    }
    let Some(conclusion) = report.conclusion() else { return body };
    body["status"] = "completed".into();
    body["conclusion"] = conclusion_word(conclusion).into();
    let first = report.annotations.get(..MOST_ANNOTATIONS).unwrap_or(&report.annotations);
    body["output"] = json!({ "title": report.short_title(MOST_TITLE), "summary": report.summary });
    if !first.is_empty() {
        body["output"]["annotations"] = annotations(first);
    }
    body
}

fn annotations(list: &[Annotation]) -> Value {
    let one = |annotation: &Annotation| {
        json!({
            "path": annotation.path,
            "start_line": annotation.line,
            "end_line": annotation.line,
            "annotation_level": annotation.level,
            "title": annotation.title,
            "message": annotation.message,
        })
    };
    list.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::publish::WarnAs;
    use crate::verdict::Verdict;

    #[test]
    fn a_request_carries_fifty_annotations_and_the_next_ones_the_rest() {
        let one = |line| Annotation {
            path: "a.py".into(),
            line,
            level: "failure",
            title: "output-diverges".into(),
            message: "m".into(),
        };
        let report = Report {
            name: "precision-gate".into(),
            commit: "0123".into(),
            state: State::Judged(Verdict::Fail),
            warn: WarnAs::Neutral,
            report_only: false,
            title: "fail".into(),
            summary: "s".into(),
            annotations: (1..=120).map(one).collect(),
            url: String::new(),
            run: "default/1.1".into(),
            pipeline: None,
        };
        let github = GitHub::new(ForgeKind::Github, "o/r");
        let count = |call: Call| match call.body {
            super::super::call::Body::Json(body) => body["output"]["annotations"].as_array().map_or(0, Vec::len),
            _ => 0,
        };
        assert_eq!(count(github.create_check(&report)), 50);
        let rest: Vec<usize> = report
            .annotations
            .chunks(MOST_ANNOTATIONS)
            .skip(1)
            .map(|more| count(github.add_annotations(1, &report, more)))
            .collect();
        assert_eq!(rest, [50, 20]);
    }
}
