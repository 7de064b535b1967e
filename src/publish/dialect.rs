//! The dialect of a forge: it writes requests and reads answers, and sends nothing. One file per family beside this one.
//!
//! All forges have comments and files; features of only some forges are `Option`s of [`Forge`], each with its own type or trait.

use super::answer::{Answer, Branch, Read};
use super::call::{Body, Call};
use super::check_runs::CheckRuns;
use super::client::{Failure, Undone};
use super::forge::{Comment, Pull};
use super::labels::Labels;
use super::objects::Objects;
use super::proposer::Proposer;
use super::status::CommitReport;
use super::tracker::Tracker;
use super::tree::{TreeEntry, TreeFolder};
use crate::error::{Error, ErrorKind};
use crate::fetch::permission::{Need, Permission};

/// The dialect of a forge for one repository.
pub trait Forge: std::fmt::Debug + Send + Sync {
    /// Common start of the paths of the repository's requests.
    fn root(&self) -> &str;

    /// Largest length of a comment, in bytes and in UTF-16 units.
    fn comment_limit(&self) -> usize;

    /// Asks who the token belongs to.
    fn token_user(&self) -> Call {
        Call::get("ask for the owner of the token", Permission::Metadata.read(), "/user")
    }

    /// Reads the token's user, as [`Comment::author`] names it.
    fn read_token_user(&self, answer: &Answer) -> Read<String>;

    /// The author of comments by a token that may not ask for its own user.
    fn unnamed_author(&self) -> Option<&'static str> {
        None
    }

    /// Asks for a pull request.
    fn pull(&self, number: u64) -> Call;

    /// Reads one pull request.
    fn read_pull(&self, answer: &Answer) -> Read<Pull>;

    /// Reads a list of pull requests.
    fn read_pulls(&self, answer: &Answer) -> Read<Vec<Pull>>;

    /// Asks for the pull requests of a commit; `None` if the forge has no such request.
    fn pulls_of_commit(&self, commit: &str) -> Option<Call>;

    /// Asks for the open pull requests of a branch of `owner`'s repository.
    fn pulls_of_branch(&self, owner: &str, branch: &str) -> Option<Call>;

    /// Asks for a page of all open pull requests, from page 1 on.
    fn open_pulls(&self, page: u32) -> Call;

    /// Asks for a page of the comments, from page 1 on, the oldest first.
    fn comments(&self, number: u64, page: u32) -> Call;

    /// Whether an answer states that another page follows; otherwise a full page implies it.
    fn says_next(&self) -> bool {
        true
    }

    /// Reads a page of comments, without those that the system wrote.
    fn read_comments(&self, answer: &Answer) -> Read<Vec<Comment>>;

    /// Reads one comment.
    fn read_comment(&self, answer: &Answer) -> Read<Comment>;

    /// Whether an answer without a body proves that a comment was updated.
    fn is_silent_update(&self, _answer: &Answer) -> bool {
        false
    }

    /// Writes a comment.
    fn create_comment(&self, number: u64, body: &str) -> Call;

    /// Replaces a comment's text.
    fn update_comment(&self, number: u64, id: u64, body: &str) -> Call;

    /// Removes a comment.
    fn delete_comment(&self, number: u64, id: u64) -> Call;

    /// Sets the status of a commit, in one line; `None` if the forge has no statuses.
    fn status(&self, report: &CommitReport) -> Option<Call>;

    /// Checks that the answer to [`Forge::status`] shows the status that was sent.
    fn check_status(&self, answer: &Answer, report: &CommitReport) -> Read<()>;

    /// Whether a refusal of [`Forge::status`] means that the status is set already.
    fn is_same_status(&self, _failure: &Failure, _report: &CommitReport) -> bool {
        false
    }

    /// Asks for the repository itself.
    fn repository(&self) -> Call {
        Call::get("read the repository", Permission::Metadata.read(), self.root())
    }

    /// Asks for a branch.
    fn branch(&self, name: &str) -> Call;

    /// The newest commit of a branch.
    fn read_branch(&self, answer: &Answer) -> Read<String> {
        answer.read::<Branch>("a branch").map(|branch| branch.commit.sha)
    }

    /// Asks for a page of a folder's entries, from page 1 on.
    fn entries(&self, folder: &TreeFolder<'_>, page: u32) -> Call;

    /// Reads the entries of a folder, and whether another page may follow.
    fn read_entries(&self, answer: &Answer) -> Read<(Vec<TreeEntry>, bool)>;

    /// Asks for a file at a commit.
    fn file(&self, path: &str, commit: &str) -> Call;

    /// Reads a file's text, as [`Forge::file`] asked for it.
    fn read_file(&self, answer: &str) -> Option<String>;

    /// Advice for a token that lacks a permission.
    fn advice(&self, need: Need) -> String;

    /// The forge's check runs; `None` where it has none.
    fn check_runs(&self) -> Option<CheckRuns<'_>> {
        None
    }

    /// Labels that show the verdict; `None` if the forge has something better.
    fn labels(&self) -> Option<Labels<'_>> {
        None
    }

    /// The place of pictures; `None` if comments have no pictures.
    fn gallery(&self) -> Option<Gallery<'_>> {
        None
    }

    /// The releases; `None` where they are not supported.
    fn releases(&self) -> Option<Releases> {
        None
    }

    /// The issues; `None` where they are not supported.
    fn tracker(&self) -> Option<&dyn Tracker> {
        None
    }

    /// The dialect of proposals; `None` if they are not supported.
    fn proposer(&self) -> Option<&dyn Proposer> {
        None
    }
}

/// The place of a comment's pictures.
#[derive(Clone, Copy, Debug)]
pub enum Gallery<'a> {
    /// Uploads of the project at this path.
    Uploads(&'a str),
    /// Files of a branch.
    Branch(Objects<'a>),
}

impl Gallery<'_> {
    /// Stores a picture in the project at `root`.
    pub fn upload(root: &str, name: &str, bytes: Vec<u8>) -> Call {
        let call = Call::post("upload a picture", Permission::Contents.write(), format!("{root}/uploads"), ());
        Call { body: Body::File { name: name.to_owned(), bytes }, ..call }
    }
}

/// Form in which files are attached to a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Releases {
    /// Assets of the release itself.
    Assets,
    /// Files of a generic package, linked from the release.
    Packages,
}

impl Failure {
    /// The failure as an error, with the advice of the forge's dialect.
    pub(crate) fn into_error(self, forge: &dyn Forge) -> Error {
        let kind = match self.status {
            Some(401 | 403 | 404 | 410 | 422) => ErrorKind::Denied,
            _ => ErrorKind::Unavailable,
        };
        let help = match self.status {
            Some(401) => Some("the token is not valid or has expired: check the secret it comes from".into()),
            Some(403 | 404) => Some(forge.advice(self.need)),
            None if self.message.contains("certificate") => {
                Some("name the file of the authority that signed the server's certificate in SSL_CERT_FILE".into())
            }
            _ => None,
        };
        let error =
            Error::new(kind, format!("could not {}", self.purpose), format!("{} {}", self.request, self.message));
        match help {
            Some(help) => error.with_help(help),
            None => error,
        }
    }
}

impl Undone {
    /// The reason as an error.
    pub(super) fn into_error(self, forge: &dyn Forge) -> Error {
        match self {
            Self::GateError(error) => error,
            Self::RequestFailed(failure) => failure.into_error(forge),
        }
    }
}
