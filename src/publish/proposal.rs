//! Proposals: a change of files on a branch of its own, with a pull request for people to review.
//!
//! Nothing is merged or overwritten here: an existing branch is left unchanged. If the token may not open pull requests, the result
//! is the branch and the address at which a person can open one.

use crate::report::summary::is_link;

/// A change to be reviewed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// Its branch, named by a digest of the change, so that the same change has the same name.
    pub branch: String,
    /// The branch that it goes to.
    pub target: String,
    /// Newest commit of that branch, on which the change is based.
    pub tip: String,
    /// Files of the change.
    pub files: Vec<ProposedFile>,
    /// Title of commit and pull request.
    pub title: String,
    /// Text of the pull request, in Markdown.
    pub body: String,
}

/// A file of a [`Proposal`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProposedFile {
    /// Its path.
    pub path: String,
    /// Its whole text.
    pub text: String,
    /// Whether the target branch has a file of this path.
    pub is_there: bool,
}

/// Outcome of a proposal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposed {
    /// Number of the pull request; `None` where the token may not open one.
    pub pull: Option<u64>,
    /// Page of the pull request, or the page at which a person opens it; empty if the forge gives no valid address.
    pub url: String,
    /// Whether the same change was proposed before.
    pub is_known: bool,
}

impl Proposed {
    /// An invalid address is left out: it comes from the forge, and people follow it.
    pub(super) fn new(pull: Option<u64>, url: String, is_known: bool) -> Self {
        Self { pull, url: if is_link(&url) { url } else { String::new() }, is_known }
    }
}
