//! Folders of a repository at a commit, as forges list them.

/// An entry of a folder at a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeEntry {
    /// Its name.
    pub name: String,
    /// Digest of its content, a folder's too.
    pub id: String,
    /// Whether it is a folder; links and submodules are not folders.
    pub is_folder: bool,
}

/// A folder at a commit.
#[derive(Clone, Copy, Debug)]
pub struct TreeFolder<'a> {
    /// The commit.
    pub commit: &'a str,
    /// Its path; empty for the root.
    pub path: &'a str,
    /// Digest of its content; the commit for the root.
    pub id: &'a str,
}
