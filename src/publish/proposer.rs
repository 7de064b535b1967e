//! The dialect of proposing a change: whose word counts, how a branch is pushed, and how a pull request is opened.

use super::answer::{Answer, Read};
use super::call::Call;
use super::objects::Objects;
use super::proposal::Proposal;

/// The dialect of proposing a change.
pub trait Proposer {
    /// Asks what a person may do in the repository: a login at GitHub, a number at GitLab.
    fn rights(&self, person: &str) -> Call;

    /// Whether such an answer lets the person write.
    fn read_may_write(&self, answer: &Answer) -> Read<bool>;

    /// The way to make a branch with one commit upon the tip of another.
    fn push<'a>(&'a self, proposal: &Proposal) -> Push<'a>;

    /// Opens a pull request for the branch of a proposal.
    fn open(&self, proposal: &Proposal) -> Call;

    /// Address below the repository's page where a person opens the pull request.
    fn page(&self, proposal: &Proposal) -> String;
}

/// The way to make a branch with one commit.
#[derive(Debug)]
pub enum Push<'a> {
    /// One request.
    Whole(Box<Call>),
    /// Tree, commit and branch one after the other.
    Objects(Objects<'a>),
}
