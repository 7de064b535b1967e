//! The one error type of the crate.
//!
//! A message says which object, which place, what was expected and what was found; `help` says the way
//! out. Per-item failures of a run (one damaged tensor, one unreadable member) are not errors: they are
//! findings, and the rest of the run goes on.

use std::fmt;

/// Coarse kind of an error, enough to choose an exit code and a remedy.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The command line or the environment asks for something impossible.
    Usage,
    /// The policy file is wrong.
    Policy,
    /// A path or an object is not there.
    NotFound,
    /// A path or object that may not be read or written.
    Denied,
    /// The outside world failed; another try may help.
    Unavailable,
    /// An artifact is damaged or does not follow its format.
    Corrupt,
    /// An artifact is sound but of a kind this reader does not know.
    Unsupported,
    /// An artifact exceeds a safety limit.
    LimitExceeded,
    /// A defect of the gate itself.
    Internal,
}

/// A failure with its place and its way out.
#[derive(Debug, Clone)]
pub struct Error(Box<Inner>);

#[derive(Debug, Clone)]
struct Inner {
    kind: ErrorKind,
    subject: String,
    message: String,
    help: Option<String>,
}

/// Result with the crate's own error.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An error about `subject` (a file, a member, a key, a flag).
    pub fn new(kind: ErrorKind, subject: impl Into<String>, message: impl fmt::Display) -> Self {
        Self(Box::new(Inner { kind, subject: subject.into(), message: message.to_string(), help: None }))
    }

    /// The artifact `subject` is damaged.
    pub fn corrupt(subject: impl Into<String>, message: impl fmt::Display) -> Self {
        Self::new(ErrorKind::Corrupt, subject, message)
    }

    /// The artifact `subject` is of a kind that is not read.
    pub fn unsupported(subject: impl Into<String>, message: impl fmt::Display) -> Self {
        Self::new(ErrorKind::Unsupported, subject, message)
    }

    /// Classifies an operating-system error about `subject`.
    pub fn io(subject: impl Into<String>, error: &std::io::Error) -> Self {
        use std::io::ErrorKind as Io;
        let kind = match error.kind() {
            Io::NotFound => ErrorKind::NotFound,
            Io::PermissionDenied => ErrorKind::Denied,
            Io::UnexpectedEof | Io::InvalidData => ErrorKind::Corrupt,
            _ => ErrorKind::Unavailable,
        };
        Self::new(kind, subject, error)
    }

    /// Adds the next step for the user.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.0.help = Some(help.into());
        self
    }

    /// The coarse kind, which decides the exit code.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The file, member, key or flag the error is about; empty where there is none.
    pub fn subject(&self) -> &str {
        &self.0.subject
    }

    /// The message without its subject.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The next step, where one is known.
    pub fn help(&self) -> Option<&str> {
        self.0.help.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.subject.is_empty() {
            f.write_str(&self.0.message)
        } else {
            write!(f, "{}: {}", self.0.subject, self.0.message)
        }
    }
}

impl std::error::Error for Error {}
