//! Permissions of a token at a forge, as the requests that need them name them.
//!
//! They are GitHub's, as its documentation of each endpoint names them; other forges have their own words for the same.

use std::fmt;

/// Part of a repository that a permission is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permission {
    /// Runs of workflows and their artifacts.
    Actions,
    /// Check runs.
    Checks,
    /// Files, branches, git's objects and releases.
    Contents,
    /// Issues.
    Issues,
    /// The repository itself and its people. A token that may see the repository has it, and no workflow can ask for it.
    Metadata,
    /// Pull requests and their comments.
    PullRequests,
    /// Statuses of commits.
    Statuses,
}

/// Extent of a permission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// To read.
    Read,
    /// To write, which includes reading.
    Write,
}

/// The permission that a request needs; shown as a workflow spells it: `pull-requests: write`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    /// The permission.
    pub permission: Permission,
    /// Its extent.
    pub access: Access,
}

impl Permission {
    /// The need to read.
    pub const fn read(self) -> Need {
        Need { permission: self, access: Access::Read }
    }

    /// The need to write.
    pub const fn write(self) -> Need {
        Need { permission: self, access: Access::Write }
    }

    fn key(self) -> &'static str {
        match self {
            Self::Actions => "actions",
            Self::Checks => "checks",
            Self::Contents => "contents",
            Self::Issues => "issues",
            Self::Metadata => "metadata",
            Self::PullRequests => "pull-requests",
            Self::Statuses => "statuses",
        }
    }
}

impl Need {
    /// The line that grants it in a workflow; `None` where no line does.
    pub fn line(self) -> Option<String> {
        (self.permission != Permission::Metadata).then(|| format!("permissions: {{ {self} }}"))
    }
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let access = if self.access == Access::Write { "write" } else { "read" };
        write!(f, "{}: {access}", self.permission.key())
    }
}

#[cfg(test)]
mod tests {
    use super::Permission;

    #[test]
    fn a_need_is_shown_as_the_line_of_a_workflow() {
        for (need, line) in [
            (Permission::PullRequests.write(), Some("permissions: { pull-requests: write }")),
            (Permission::Actions.read(), Some("permissions: { actions: read }")),
            (Permission::Metadata.read(), None),
        ] {
            assert_eq!(need.line().as_deref(), line);
        }
    }
}
