//! Publishing of one run, from the status "running" to the last comment, as the rest of the program uses it.

use secrecy::SecretString;
use tokio::runtime::Runtime;

use super::answer::{Answer, DefaultBranch};
use super::client::{Failure, Undone};
use super::desk::{Desk, Story};
use super::forge::Pull;
use super::job::Job;
use super::proposal::{Proposal, Proposed};
use super::starter::Starter;
use super::status::RunState;
use super::transport::runtime;
use super::tree::TreeEntry;
use super::unfinished::UnfinishedReason;
use super::watch::{EndProcess, Watch};
use crate::error::{Error, Result};

/// Publishing, as the rest of the program uses it: plain functions, with a runtime inside.
///
/// A session that is dropped between its start and its end reports that the run did not finish.
#[derive(Debug)]
pub struct Session {
    runtime: Runtime,
    desk: Desk,
    open: bool,
    /// Token for the watch, which opens its own session.
    token: Option<SecretString>,
    watch: Option<Watch>,
}

impl Session {
    /// Opens a session; without a token it sends nothing.
    pub fn new(job: Job, token: Option<SecretString>) -> Result<Self> {
        let runtime = runtime()?;
        let desk = runtime.block_on(async { Desk::new(job, token.as_ref()) })?;
        Ok(Self { runtime, desk, open: false, token, watch: None })
    }

    /// Reports that the run has begun, which replaces an older verdict of the same commit. If the process is asked to end before the
    /// run does, that is reported too, and `end` is called.
    pub fn begin(&mut self, end: EndProcess) {
        self.open = true;
        self.runtime.block_on(self.desk.report_progress(RunState::Running, "publish_running"));
        if let Some(token) = self.token.clone().filter(|_| self.desk.is_visible()) {
            self.watch = Some(Watch::start(self.desk.job.clone(), token, self.desk.check, end));
        }
    }

    fn end_watch(&mut self) {
        self.open = false;
        if let Some(watch) = self.watch.take() {
            watch.end();
        }
    }

    /// Publishes the results: one story for each target branch of the commit's pull requests.
    pub fn finish(&mut self, stories: &[Story<'_>]) -> Result<()> {
        self.end_watch();
        self.runtime.block_on(self.desk.finish(stories))
    }

    /// Reports that the run ended without a verdict, or that its result is refused, on the commit and in the comment.
    pub fn give_up(&mut self, why: &UnfinishedReason) {
        self.end_watch();
        self.runtime.block_on(self.desk.give_up(why));
    }

    fn ask<T>(&self, question: impl AsyncFnOnce(&Desk) -> Result<T, Failure>) -> Result<T> {
        self.runtime.block_on(question(&self.desk)).map_err(|failure| failure.into_error(&*self.desk.forge))
    }

    /// The pull request whose head commit a result must belong to; `None` without a pull request, when the job's commit counts.
    pub fn head_pull(&mut self) -> Result<Option<Pull>> {
        Ok(self.ask(Desk::pulls)?.into_iter().next())
    }

    /// The open pull requests whose head is `commit`, from and to any branch.
    ///
    /// # Errors
    /// As the forge's answer says; also where there are more open ones than are read.
    pub fn pulls_of_head(&mut self, commit: &str) -> Result<Vec<Pull>> {
        self.ask(async |desk| desk.pulls_of_head(commit).await)
    }

    /// A pull request by its number.
    ///
    /// # Errors
    /// As the forge's answer says; `Unavailable` where it gives none.
    pub fn pull(&mut self, number: u64) -> Result<Option<Pull>> {
        self.ask(async |desk| desk.pull(number).await).map(Some)
    }

    /// The repository's default branch.
    ///
    /// # Errors
    /// As the forge's answer says; `Unavailable` where it gives none.
    pub fn default_branch(&mut self) -> Result<String> {
        let read = |answer: &Answer| answer.read::<DefaultBranch>("a repository's default branch");
        let found = self.ask(async |desk| desk.client.ask(&desk.forge.repository(), read).await)?;
        Ok(found.default_branch)
    }

    /// The newest commit of a branch.
    ///
    /// # Errors
    /// As the forge's answer says; also where the answer names no commit.
    pub fn tip(&mut self, branch: &str) -> Result<String> {
        self.ask(async |desk| desk.tip(branch).await)
    }

    /// The entry `path` of a commit, a file or a folder; `None` if it does not exist.
    ///
    /// # Errors
    /// As the forge's answer says, also for an unknown commit; also where the answer is cut off.
    pub fn entry(&mut self, commit: &str, path: &str) -> Result<Option<TreeEntry>> {
        self.ask(async |desk| desk.entry(commit, path).await)
    }

    /// The `paths` that differ between two commits.
    pub fn changed_paths(&mut self, paths: &[String], base: &str, head: &str) -> Result<Vec<String>> {
        self.ask(async |desk| {
            let mut changed = Vec::new();
            for path in paths {
                if desk.file(path, base).await? != desk.file(path, head).await? {
                    changed.push(path.clone());
                }
            }
            Ok(changed)
        })
    }

    /// A file's text at a commit; `None` if the file does not exist.
    pub fn file(&mut self, path: &str, commit: &str) -> Result<Option<String>> {
        self.ask(async |desk| desk.file(path, commit).await)
    }

    /// Whether a person (a login at GitHub, a number at GitLab) may write to the repository, according to the forge.
    ///
    /// # Errors
    /// As the forge's answer says; also on forges without proposals.
    pub fn may_write(&mut self, person: &str) -> Result<bool> {
        self.ask(async |desk| desk.may_write(person).await)
    }

    /// The person who started the GitLab job with this token, according to GitLab.
    ///
    /// # Errors
    /// As the forge's answer says; `Usage` for a text that is no token.
    pub fn starter(&mut self, token: &SecretString) -> Result<Starter> {
        self.runtime.block_on(self.desk.starter(token)).map_err(|undone| match undone {
            Undone::GateError(error) => error,
            Undone::RequestFailed(failure) => failure.into_error(&*self.desk.forge),
        })
    }

    /// Commits that the gate's own comments on a pull request are about, each with the time of the comment's last change.
    ///
    /// # Errors
    /// As the forge's answer says.
    pub fn judged_commits(&mut self, pull: &Pull) -> Result<Vec<(String, String)>> {
        self.ask(async |desk| desk.judged_commits(pull).await)
    }

    /// Pushes a proposal and opens its pull request, as far as they do not exist yet.
    ///
    /// # Errors
    /// As the forge's answer says.
    pub fn propose(&mut self, proposal: &Proposal) -> Result<Proposed> {
        self.ask(async |desk| desk.propose(proposal).await)
    }

    /// Writes a new comment on a pull request.
    ///
    /// # Errors
    /// As the forge's answer says.
    pub fn reply(&mut self, number: u64, body: &str) -> Result<()> {
        self.ask(async |desk| desk.reply(number, body).await)
    }

    /// Failures of publishing, one warning each.
    pub fn warnings(&self) -> &[Error] {
        &self.desk.warnings
    }

    /// Things that were not done on purpose, one notice each.
    pub fn notices(&self) -> &[String] {
        &self.desk.notices
    }

    /// Requests that a session without a token would have sent; empty for other sessions.
    pub fn planned_requests(&self) -> String {
        self.desk.client.planned_requests()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if self.open {
            self.give_up(&UnfinishedReason::Broken);
        }
    }
}
