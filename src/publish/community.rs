//! Gitee and GitCode, REST version 5: a comment and a label. Experimental: written from their documentation, no server
//! was at hand.

use serde_json::json;

use super::answer::{Answer, Read, community, github};
use super::call::{Call, Method, segment, segments};
use super::client::Failure;
use super::dialect::{Forge, each, text_of_contents, tree};
use super::forge::{Comment, ForgeKind, Pull};
use super::status::Report;
use super::tree::{Entry, Folder};
use crate::verdict::Verdict;

/// Neither says what it takes.
const COMMENT_LIMIT: usize = 60_000;

/// One repository.
#[derive(Clone, Debug)]
pub struct Community {
    kind: ForgeKind,
    root: String,
}

impl Community {
    /// The repository `owner/name` of Gitee or GitCode.
    pub fn new(kind: ForgeKind, repository: &str) -> Self {
        Self { kind, root: format!("/repos/{}", segments(repository)) }
    }

    /// The label of a verdict.
    pub fn label(verdict: Verdict) -> String {
        format!("precision-gate-{}", verdict.as_str())
    }

    /// Sets a label.
    pub fn add_label(&self, number: u64, label: &str) -> Call {
        let path = format!("{}/pulls/{number}/labels", self.root);
        Call::json("set the label", Method::Post, path, json!([label]))
    }

    /// Takes a label off; the forge answers 404 where it is not set.
    pub fn remove_label(&self, number: u64, label: &str) -> Call {
        Call::delete("take a label off", format!("{}/pulls/{number}/labels/{}", self.root, segment(label)))
    }

    fn comment(&self, id: u64) -> String {
        format!("{}/pulls/comments/{id}", self.root)
    }
}

impl Forge for Community {
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
        answer.read::<github::Login>("a login").map(|user| user.login)
    }

    fn pull(&self, number: u64) -> Call {
        Call::get("read the pull request", format!("{}/pulls/{number}", self.root))
    }

    fn read_pull(&self, answer: &Answer) -> Read<Pull> {
        answer.read::<github::Pull>("a pull request").map(Into::into)
    }

    fn read_pulls(&self, answer: &Answer) -> Read<Vec<Pull>> {
        answer.read::<Vec<github::Pull>>("a list of pull requests").map(each)
    }

    fn pulls_of_commit(&self, _commit: &str) -> Option<Call> {
        None
    }

    fn pulls_of_branch(&self, _owner: &str, _branch: &str) -> Option<Call> {
        None
    }

    fn comments(&self, number: u64, page: u32) -> Call {
        Call::page("list the comments", format!("{}/pulls/{number}/comments?per_page=100&page={page}", self.root))
    }

    fn read_comments(&self, answer: &Answer) -> Read<Vec<Comment>> {
        answer.read::<Vec<community::Comment>>("a list of comments").map(each)
    }

    fn read_comment(&self, answer: &Answer) -> Read<Comment> {
        answer.read::<community::Comment>("a comment").map(Into::into)
    }

    fn is_silent_update(&self, answer: &Answer) -> bool {
        self.kind == ForgeKind::Gitcode && answer.status == 204
    }

    fn create_comment(&self, number: u64, body: &str) -> Call {
        let path = format!("{}/pulls/{number}/comments", self.root);
        Call::json("write the comment", Method::Post, path, json!({ "body": body }))
    }

    fn update_comment(&self, _number: u64, id: u64, body: &str) -> Call {
        Call::json("update the comment", Method::Patch, self.comment(id), json!({ "body": body }))
    }

    fn delete_comment(&self, _number: u64, id: u64) -> Call {
        Call::delete("remove a second comment", self.comment(id))
    }

    fn status(&self, _report: &Report) -> Option<Call> {
        None
    }

    fn repository(&self) -> Call {
        Call::get("read the repository", self.root.clone())
    }

    fn branch(&self, name: &str) -> Call {
        Call::get("read the target branch", format!("{}/branches/{}", self.root, segment(name)))
    }

    fn read_branch(&self, answer: &Answer) -> Read<String> {
        answer.read::<github::Branch>("a branch").map(|branch| branch.commit.sha)
    }

    fn entries(&self, folder: &Folder<'_>, _page: u32) -> Call {
        tree(&self.root, folder)
    }

    fn read_entries(&self, answer: &Answer) -> Read<(Vec<Entry>, bool)> {
        answer.read::<github::Tree>("a folder's entries")?.into_entries()
    }

    fn file(&self, path: &str, commit: &str) -> Call {
        let path = format!("{}/contents/{}?ref={}", self.root, segments(path), segment(commit));
        Call::get("read a file of the repository", path)
    }

    fn read_file(&self, answer: &str) -> Option<String> {
        text_of_contents(answer)
    }

    fn help(&self, status: u16, _failure: &Failure) -> Option<String> {
        let text = "the token needs the right to comment on pull requests";
        matches!(status, 401 | 403 | 404).then(|| text.to_owned())
    }
}
