//! The dialect of proposing a change: rights of people, pushing a branch, and opening a pull request.

use super::answer::{Answer, Read};
use super::call::Call;
use super::objects::Objects;
use super::proposal::Proposal;

/// The dialect of proposing a change.
pub trait Proposer {
    /// Asks for the rights of a person in the repository: a login at GitHub, a number at GitLab.
    fn rights(&self, person: &str) -> Call;

    /// Reads from such an answer whether the person may write.
    fn read_may_write(&self, answer: &Answer) -> Read<bool>;

    /// The requests that create a branch with one commit on top of another branch's tip.
    fn push<'a>(&'a self, proposal: &Proposal) -> Push<'a>;

    /// Opens a pull request for the branch of a proposal.
    fn open(&self, proposal: &Proposal) -> Call;

    /// Address below the repository's page where a person opens the pull request.
    fn page(&self, proposal: &Proposal) -> String;
}

/// The requests that create a branch with one commit.
#[derive(Debug)]
pub enum Push<'a> {
    /// One request.
    Whole(Box<Call>),
    /// Tree, commit and branch one after the other.
    Objects(Objects<'a>),
}
