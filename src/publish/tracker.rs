//! The dialect of a forge's issues: requests that read and write them.

use super::answer::{Answer, Read};
use super::call::Call;
use super::forge::Issue;

/// Change of an issue's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateChange {
    /// Opened again.
    Open,
    /// Closed.
    Closed,
}

/// The dialect of a forge's issues.
pub trait Tracker {
    /// Asks for a page of the issues with the gate's label, open and closed, the oldest first.
    fn issues(&self, page: u32) -> Call;

    /// Reads a page of issues, without pull requests.
    fn read_issues(&self, answer: &Answer) -> Read<Vec<Issue>>;

    /// Reads one issue.
    fn read_issue(&self, answer: &Answer) -> Read<Issue>;

    /// Opens an issue with the gate's label.
    fn create_issue(&self, title: &str, body: &str) -> Call;

    /// Replaces an issue's text, and opens or closes it in the same request.
    fn update_issue(&self, number: u64, body: &str, state: Option<StateChange>) -> Call;

    /// Sets the gate's label on an issue that was created without it.
    fn label_issue(&self, number: u64) -> Call;

    /// Asks for a page of an issue's comments.
    fn issue_comments(&self, number: u64, page: u32) -> Call;

    /// Comments on an issue.
    fn comment_on_issue(&self, number: u64, body: &str) -> Call;
}
