//! Open requests whose head is the judged commit.
//!
//! A commit has one check, and may be the head of several requests: a stranger can open a second one to a branch with a lax
//! policy. Whatever started the job, the commit is therefore judged for all of them.

use precision_gate::error::{Error, ErrorKind, Result};
use precision_gate::publish::Session;
use precision_gate::publish::event::{CommentTarget, JobPlace};

/// Branches that one commit is judged for: each takes as long as the first.
pub(crate) const MOST_BRANCHES: usize = 8;

/// Branches that a stranger's `commit` is judged for, at least one: those that open requests with this head go to, the one of
/// the request that the job is for first. A commit of no open request is judged for the default branch, whatever the event
/// says of a request that was closed or has moved on; that of a merge queue for the queue's.
///
/// # Errors
/// As the forge's answer says; `LimitExceeded` where there are too many.
pub(crate) fn branches(session: &mut Session, place: &JobPlace, commit: &str) -> Result<Vec<String>> {
    let requests = if commit.is_empty() { Vec::new() } else { session.pulls_of_head(commit)? };
    let mut branches: Vec<String> = Vec::new();
    let is_named = |number: u64| place.target == CommentTarget::Pull(number);
    let (named, others): (Vec<_>, Vec<_>) = requests.into_iter().partition(|pull| is_named(pull.number));
    for pull in named.into_iter().chain(others) {
        if !pull.target.is_empty() && !branches.contains(&pull.target) {
            branches.push(pull.target);
        }
    }
    if branches.len() > MOST_BRANCHES {
        let message =
            format!("is the head of requests to {} branches; at most {MOST_BRANCHES} are judged", branches.len());
        return Err(
            Error::new(ErrorKind::LimitExceeded, commit, message).with_help("close requests that are not needed")
        );
    }
    if branches.is_empty() {
        let of_queue =
            Some(place.target_branch.clone()).filter(|branch| place.asked_pull.is_some() && !branch.is_empty());
        let known = of_queue.or_else(|| Some(place.default_branch.clone()).filter(|branch| !branch.is_empty()));
        branches.push(known.map_or_else(|| session.default_branch(), Ok)?);
    }
    Ok(branches)
}
