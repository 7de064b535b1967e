//! The flow of a proposal: the check whether a person may request it, its branch, its pull request, and a reply.

use super::answer::Answer;
use super::answer::proposals::{CommitOfTree, Opened, Page};
use super::client::Failure;
use super::desk::Desk;
use super::objects::read_object;
use super::proposal::{Proposal, Proposed};
use super::proposer::{Proposer, Push};

impl Desk {
    fn proposer(&self) -> Result<&dyn Proposer, Failure> {
        let unknown = || {
            self.client
                .failure_of_answer(&self.forge.repository(), "is not supported on this forge: GitHub and GitLab are")
        };
        self.forge.proposer().ok_or_else(unknown)
    }

    /// Whether a person may write to the repository, according to the forge.
    pub(super) async fn may_write(&self, person: &str) -> Result<bool, Failure> {
        let proposer = self.proposer()?;
        match self.client.ask(&proposer.rights(person), |answer| proposer.read_may_write(answer)).await {
            Err(failure) if failure.status == Some(404) => Ok(false),
            asked => asked,
        }
    }

    /// Creates the branch and its pull request, as far as they do not exist yet.
    pub(super) async fn propose(&self, proposal: &Proposal) -> Result<Proposed, Failure> {
        let proposer = self.proposer()?;
        let branch =
            self.client.ask(&self.forge.branch(&proposal.branch), |answer| self.forge.read_branch(answer)).await;
        let is_there = match branch {
            Ok(_) => !self.client.is_dry(),
            Err(failure) if failure.status == Some(404) => false,
            Err(failure) => return Err(failure),
        };
        if !is_there {
            self.push(proposal, proposer).await?;
        }
        if let Some(opened) = self.opened(proposal).await? {
            return Ok(Proposed::new(Some(opened.number.get()), opened.html_url, is_there));
        }
        let created = |answer: &Answer| answer.read::<Opened>("a pull request").map(Some);
        match self.client.ask(&proposer.open(proposal), created).await {
            Ok(opened) => {
                let number = opened.as_ref().map(|opened| opened.number.get());
                Ok(Proposed::new(number, opened.map(|opened| opened.html_url).unwrap_or_default(), is_there))
            }
            // Many repositories do not let workflows open pull requests; a person does it with one click.
            Err(failure) if failure.status == Some(403) => {
                let read = |answer: &Answer| answer.read::<Page>("a repository's page");
                let page = self.client.ask(&self.forge.repository(), read).await?.html_url;
                Ok(Proposed::new(None, page + &proposer.page(proposal), is_there))
            }
            Err(failure) => Err(failure),
        }
    }

    /// The open pull request of the branch.
    async fn opened(&self, proposal: &Proposal) -> Result<Option<Opened>, Failure> {
        let owner = self.job.repository.split('/').next().unwrap_or_default();
        let Some(call) = self.forge.pulls_of_branch(owner, &proposal.branch) else { return Ok(None) };
        let listed = self.client.ask(&call, |answer| answer.read::<Vec<Opened>>("a list of pull requests")).await?;
        Ok(listed.into_iter().next())
    }

    /// Creates the branch with one commit on top of the tip.
    async fn push(&self, proposal: &Proposal, proposer: &dyn Proposer) -> Result<(), Failure> {
        let pushed = match proposer.push(proposal) {
            Push::Whole(call) => self.client.send(&call).await,
            Push::Objects(objects) => {
                let read = |answer: &Answer| answer.read::<CommitOfTree>("a commit");
                let tree = self.client.ask(&objects.commit(&proposal.tip), read).await?.tree.sha;
                let tree = self.client.ask(&objects.add_files(&tree, &proposal.files), read_object).await?.sha;
                let call = objects.commit_upon(&proposal.tip, &tree, &proposal.title);
                let commit = self.client.ask(&call, read_object).await?;
                self.client.send(&objects.create_branch(&proposal.branch, &commit.sha)).await
            }
        };
        match pushed {
            // Another job created the same branch in the meantime.
            Err(failure) if matches!(failure.status, Some(400 | 422)) && failure.message.contains("already exists") => {
                Ok(())
            }
            pushed => pushed.map(|_| ()),
        }
    }

    /// Writes a new comment.
    pub(super) async fn reply(&self, number: u64, body: &str) -> Result<(), Failure> {
        self.client.send(&self.forge.create_comment(number, body)).await.map(|_| ())
    }
}
