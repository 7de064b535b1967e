//! The target branch of a change, read through the forge; its files decide about a stranger's change.
//!
//! Files are requested by commit and path through the forge's API, with the repository's own token. Git never runs in the checkout:
//! the change may contain whole repositories, whose configuration git would obey.

use std::fmt;

use super::session::Session;
use crate::error::Result;

/// The tip of the target branch.
pub struct TargetBranch {
    session: Session,
    /// The branch.
    pub branch: String,
    /// Its newest commit.
    pub commit: String,
    /// The commit that is judged.
    head: String,
}

/// Difference between the two ends of a change at one path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathChange {
    /// Neither end has the path: a step of the job created the file.
    MadeByJob,
    /// The path is the same at both ends.
    None,
    /// The path differs.
    Some,
}

impl TargetBranch {
    /// The tip of `branch`, for a change whose newest commit is `head`.
    ///
    /// # Errors
    /// As the forge's answer says; `Denied` where there is no such branch.
    pub fn open(mut session: Session, branch: &str, head: &str) -> Result<Self> {
        let commit = session.tip(branch)?;
        Ok(Self { session, branch: branch.to_owned(), commit, head: head.to_owned() })
    }

    /// The text of the file `path` at the tip; `None` if the file does not exist.
    ///
    /// # Errors
    /// As the forge's answer says.
    pub fn text(&mut self, path: &str) -> Result<Option<String>> {
        self.session.file(path, &self.commit)
    }

    /// The difference that the change makes at `path`, a file or a folder.
    ///
    /// # Errors
    /// As the forge's answer says.
    pub fn change_of(&mut self, path: &str) -> Result<PathChange> {
        if self.head.is_empty() {
            // Without the commit the path is not known to be unchanged, so it counts as changed.
            return Ok(PathChange::Some);
        }
        let ends = [self.session.entry(&self.head, path)?, self.session.entry(&self.commit, path)?];
        Ok(match ends {
            [None, None] => PathChange::MadeByJob,
            [Some(head), Some(tip)] if head == tip => PathChange::None,
            _ => PathChange::Some,
        })
    }
}

impl fmt::Debug for TargetBranch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Target").field("branch", &self.branch).field("commit", &self.commit).finish_non_exhaustive()
    }
}
