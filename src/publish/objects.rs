//! Git's objects and branches through GitHub's API.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use serde_json::json;

use super::answer::github::Object;
use super::answer::{Answer, Read};
use super::call::{Call, segment, segments};
use super::proposal::ProposedFile;
use crate::fetch::permission::Permission::Contents;

/// Git's objects in one repository.
#[derive(Clone, Copy, Debug)]
pub struct Objects<'a> {
    /// `/repos/owner/name`
    pub root: &'a str,
}

/// A file of a tree, given by the hash of its content or by the content itself.
#[derive(Serialize)]
struct File<'a> {
    path: &'a str,
    mode: &'static str,
    r#type: &'static str,
    #[serde(flatten)]
    content: Content<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Content<'a> {
    Sha(&'a str),
    Content(&'a str),
}

impl<'a> File<'a> {
    fn new(path: &'a str, content: Content<'a>) -> Self {
        Self { path, mode: "100644", r#type: "blob", content }
    }
}

impl Objects<'_> {
    /// Stores a file's content.
    pub fn create_blob(&self, bytes: &[u8]) -> Call {
        let body = json!({ "content": STANDARD.encode(bytes), "encoding": "base64" });
        self.create("store a picture", "blobs", body)
    }

    /// Stores a folder of files, given by path and blob.
    pub fn create_tree(&self, files: &[(String, String)]) -> Call {
        let files: Vec<File<'_>> = files.iter().map(|(path, sha)| File::new(path, Content::Sha(sha))).collect();
        self.create("store the pictures", "trees", json!({ "tree": files }))
    }

    /// Stores a commit without parents.
    pub fn create_commit(&self, tree: &str) -> Call {
        let body = json!({ "message": "Pictures of precision-gate", "tree": tree, "parents": [] });
        self.create("commit the pictures", "commits", body)
    }

    /// Asks for the commit of the branch of pictures.
    pub fn picture_branch(&self, branch: &str) -> Call {
        let path = format!("{}/git/ref/heads/{}", self.root, segments(branch));
        Call::get("find the branch of pictures", Contents.read(), path)
    }

    /// Asks for all files of a commit.
    pub fn pictures(&self, commit: &str) -> Call {
        Call::page("list the pictures", Contents.read(), format!("{}/git/trees/{commit}?recursive=1", self.root))
    }

    /// Asks for a commit and its tree.
    pub fn commit(&self, commit: &str) -> Call {
        let path = format!("{}/git/commits/{}", self.root, segment(commit));
        Call::get("read the target branch's commit", Contents.read(), path)
    }

    /// Stores a copy of a tree in which these files replace those at the same paths.
    pub fn add_files(&self, tree: &str, files: &[ProposedFile]) -> Call {
        let files: Vec<File<'_>> =
            files.iter().map(|file| File::new(&file.path, Content::Content(&file.text))).collect();
        self.create("push the proposed files", "trees", json!({ "base_tree": tree, "tree": files }))
    }

    /// Stores a commit on top of another one.
    pub fn commit_upon(&self, parent: &str, tree: &str, message: &str) -> Call {
        let body = json!({ "message": message, "tree": tree, "parents": [parent] });
        self.create("push the proposed commit", "commits", body)
    }

    /// Makes a branch.
    pub fn create_branch(&self, branch: &str, commit: &str) -> Call {
        let body = json!({ "ref": format!("refs/heads/{branch}"), "sha": commit });
        self.create("push a branch", "refs", body)
    }

    /// Moves a branch by force.
    pub fn move_branch(&self, branch: &str, commit: &str) -> Call {
        let path = format!("{}/git/refs/heads/{}", self.root, segments(branch));
        let body = json!({ "sha": commit, "force": true });
        Call::patch("update the branch of pictures", Contents.write(), path, body)
    }

    fn create(&self, purpose: &'static str, kind: &str, body: serde_json::Value) -> Call {
        Call::post(purpose, Contents.write(), format!("{}/git/{kind}", self.root), body)
    }
}

/// Reads the hash of an object that was stored.
pub(super) fn read_object(answer: &Answer) -> Read<Object> {
    answer.read("an object of git")
}
