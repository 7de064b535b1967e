//! The dialect of a forge: it writes requests and reads answers, and sends nothing. One file per family beside this one.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::answer::{Answer, Read, github};
use super::call::{Call, segment};
use super::client::Failure;
use super::forge::{Comment, ForgeKind, Pull};
use super::status::Report;
use super::tracker::Tracker;
use super::tree::{Entry, Folder};
use crate::error::{Error, ErrorKind};

/// The dialect of a forge for one repository.
pub trait Forge: std::fmt::Debug + Send + Sync {
    /// The forge.
    fn kind(&self) -> ForgeKind;

    /// Bytes, and UTF-16 units, that a comment may have.
    fn comment_limit(&self) -> usize;

    /// Asks who the token belongs to.
    fn me(&self) -> Call;

    /// Reads the token's user, as [`Comment::author`] names it.
    fn read_me(&self, answer: &Answer) -> Read<String>;

    /// Whose comments a token writes that may not ask who it is.
    fn unnamed_author(&self) -> Option<&'static str> {
        None
    }

    /// Asks for a pull request.
    fn pull(&self, number: u64) -> Call;

    /// Reads one pull request.
    fn read_pull(&self, answer: &Answer) -> Read<Pull>;

    /// Reads a list of pull requests.
    fn read_pulls(&self, answer: &Answer) -> Read<Vec<Pull>>;

    /// Asks for the pull requests of a commit; `None` where the forge has no such question.
    fn pulls_of_commit(&self, commit: &str) -> Option<Call>;

    /// Asks for the open pull requests of a branch of `owner`'s repository.
    fn pulls_of_branch(&self, owner: &str, branch: &str) -> Option<Call>;

    /// Asks for a page of the comments, from page 1 on, the oldest first.
    fn comments(&self, number: u64, page: u32) -> Call;

    /// Reads a page of comments, without those that the system wrote.
    fn read_comments(&self, answer: &Answer) -> Read<Vec<Comment>>;

    /// Reads one comment.
    fn read_comment(&self, answer: &Answer) -> Read<Comment>;

    /// Whether an answer without a body says for sure that a comment was updated.
    fn is_silent_update(&self, _answer: &Answer) -> bool {
        false
    }

    /// Writes a comment.
    fn create_comment(&self, number: u64, body: &str) -> Call;

    /// Replaces a comment's text.
    fn update_comment(&self, number: u64, id: u64, body: &str) -> Call;

    /// Removes a comment.
    fn delete_comment(&self, number: u64, id: u64) -> Call;

    /// Sets the verdict beside a commit, in one line; `None` where the forge has no such thing.
    fn status(&self, report: &Report) -> Option<Call>;

    /// Whether the answer to [`Forge::status`] shows what was sent.
    fn check_status(&self, _answer: &Answer, _report: &Report) -> Read<()> {
        Ok(())
    }

    /// Whether a refusal of [`Forge::status`] says that it is so already.
    fn is_same_status(&self, _failure: &Failure, _report: &Report) -> bool {
        false
    }

    /// Asks for the repository itself.
    fn repository(&self) -> Call;

    /// Asks for a branch.
    fn branch(&self, name: &str) -> Call;

    /// The newest commit of a branch.
    fn read_branch(&self, answer: &Answer) -> Read<String>;

    /// Asks for a page of a folder's entries, from page 1 on.
    fn entries(&self, folder: &Folder<'_>, page: u32) -> Call;

    /// The entries in such an answer, and whether another page may follow.
    fn read_entries(&self, answer: &Answer) -> Read<(Vec<Entry>, bool)>;

    /// Asks for a file at a commit.
    fn file(&self, path: &str, commit: &str) -> Call;

    /// Reads a file's text, as [`Forge::file`] asked for it.
    fn read_file(&self, answer: &str) -> Option<String>;

    /// The way out of a refusal, where one is known.
    fn help(&self, status: u16, failure: &Failure) -> Option<String>;

    /// The forge's issues, where they are supported.
    fn as_tracker(&self) -> Option<&dyn Tracker> {
        None
    }
}

/// The path that asks for a folder's entries where a folder has a digest of its own: GitHub and the forges that follow it.
pub(super) fn tree(root: &str, folder: &Folder<'_>) -> Call {
    Call::page("list a folder of the repository", format!("{root}/git/trees/{}", segment(folder.id)))
}

/// The file in an answer of the contents API; `None` where it is not one file of UTF-8 text.
pub(super) fn text_of_contents(answer: &str) -> Option<String> {
    let file: github::File = serde_json::from_str(answer).ok()?;
    let encoded: String = file.content.split_whitespace().collect();
    let bytes = (file.encoding == "base64").then(|| STANDARD.decode(encoded).ok())??;
    String::from_utf8(bytes).ok()
}

/// Everything of a list as the forge's own type.
pub(super) fn each<T: Into<U>, U>(list: Vec<T>) -> Vec<U> {
    list.into_iter().map(Into::into).collect()
}

impl Failure {
    /// The failure as an error, with the way out that the forge's dialect knows.
    pub fn into_error(self, forge: &dyn Forge) -> Error {
        let kind = match self.status {
            Some(401 | 403 | 404 | 410 | 422) => ErrorKind::Denied,
            _ => ErrorKind::Unavailable,
        };
        let help = match self.status {
            Some(status) => forge.help(status, &self),
            None if self.message.contains("certificate") => {
                Some("name the file of the authority that signed the server's certificate in SSL_CERT_FILE".into())
            }
            None => None,
        };
        let error =
            Error::new(kind, format!("could not {}", self.purpose), format!("{} {}", self.request, self.message));
        match help {
            Some(help) => error.with_help(help),
            None => error,
        }
    }
}
