//! The part of a session that talks to the forge: statuses, comments, and questions about the change.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::OnceLock;

use secrecy::SecretString;

use super::answer::Answer;
use super::client::{Client, Failure, Undone};
use super::comment::{self, Note};
use super::dialect::Forge;
use super::event::CommentTarget;
use super::forge::Pull;
use super::forges::forge_of;
use super::job::{Job, PublishSettings};
use super::status::{Annotation, CommitReport, Conclusion, RunState, conclusion};
use super::tree::{TreeEntry, TreeFolder};
use crate::error::{Error, ErrorKind, Result};
use crate::policy::publish::{CheckMode, CommentMode, ImageMode};
use crate::report::escape::TextTarget as Format;
use crate::report::templates::Templates;
use crate::report::writer::Writer;
use crate::report::{issue, summary};
use crate::result::{self, GateResult};
use crate::verdict::{Severity, Verdict};

/// Result of a finished run, and the texts around it.
#[derive(Clone, Copy, Debug)]
pub struct Story<'a> {
    /// The result.
    pub result: &'a GateResult,
    /// Templates.
    pub templates: &'a Templates,
    /// Remarks that stand above the report.
    pub notes: &'a [Note],
    /// Folder of the checked-out repository, whose lines findings point at.
    pub source_root: Option<&'a Path>,
    /// Tip of the branch whose policy decided about a stranger's change; `None` for one of the repository's own.
    pub target: Option<&'a result::Target>,
    /// Settings of that policy.
    pub settings: &'a PublishSettings,
}

impl Story<'_> {
    /// Branch whose pull requests this story is for; `None` for pull requests to any branch.
    fn branch(&self) -> Option<&str> {
        self.target.map(|target| target.branch.as_str())
    }

    /// Conclusion of a check that shows this story, and its verdict.
    fn weight(&self) -> (Option<Conclusion>, Verdict) {
        let verdict = self.result.verdict;
        (conclusion(RunState::Judged(verdict), self.settings.warn, self.result.report_only), verdict)
    }
}

/// The story that counts for the commit: the worst one, and of equally bad ones the first.
pub fn worst_story<'a, 'b>(stories: &'b [Story<'a>]) -> Option<&'b Story<'a>> {
    stories.iter().rev().max_by_key(|story| story.weight())
}

/// State that the asynchronous parts share.
#[derive(Debug)]
pub(super) struct Desk {
    pub(super) client: Client,
    pub(super) forge: Box<dyn Forge>,
    pub(super) job: Job,
    /// The check run of this run.
    pub(super) check: Option<u64>,
    /// The login of the app that wrote the check run.
    pub(super) app: OnceLock<String>,
    pub(super) warnings: Vec<Error>,
    pub(super) notices: Vec<String>,
}

impl Desk {
    /// A desk for `job`; without a token it sends nothing. Must be called inside a tokio runtime.
    pub(super) fn new(job: Job, token: Option<&SecretString>) -> Result<Self> {
        let client = match token {
            Some(token) => Client::new(job.kind, &job.api, token.clone(), job.seed)?,
            None => Client::dry(&job.api),
        };
        Ok(Self {
            client,
            forge: forge_of(job.kind, &job.repository),
            job,
            check: None,
            app: OnceLock::new(),
            warnings: Vec::new(),
            notices: Vec::new(),
        })
    }

    /// Whether other people can see that this run has begun.
    pub(super) fn is_visible(&self) -> bool {
        let settings = &self.job.settings;
        settings.check != CheckMode::None || settings.comment != CommentMode::Never
    }

    /// Reports the progress of the run on the commit, without a report.
    pub(super) async fn report_progress(&mut self, state: RunState, phrase: &str) {
        let title = Writer::new(self.job.settings.language, Format::Plain).word(phrase).unwrap_or_default();
        if let Err(failure) = self.find_commit().await {
            self.warn(failure);
        }
        let report = CommitReport { summary: title.clone(), title, state, ..self.blank_report() };
        self.report(&report).await;
    }

    /// Writes the check, which shows the worst story, and the comment of each pull request, which shows the story of its branch.
    pub(super) async fn finish(&mut self, stories: &[Story<'_>]) -> Result<()> {
        if let Err(failure) = self.find_commit().await {
            self.warn(failure);
        }
        let Some(worst) = worst_story(stories) else { return Ok(()) };
        self.check_all(stories, worst).await?;
        let settings = &self.job.settings;
        if settings.comment == CommentMode::Never && !settings.issue && self.forge.labels().is_none() {
            return Ok(());
        }
        let Some((pulls, has_any)) = self.comment_pulls().await else { return Ok(()) };
        // A pull request whose head is another commit by now still counts as one.
        let has_none = matches!(self.job.target, CommentTarget::None | CommentTarget::OfCommit) && !has_any;
        if self.job.settings.issue && has_none {
            let followed = self.issue(worst).await;
            return self.settle(followed);
        }
        for pull in pulls {
            let decides = |story: &&Story<'_>| story.branch().is_none_or(|branch| branch == pull.target);
            let Some(story) = stories.iter().find(decides) else {
                self.notices
                    .push(format!("#{} goes to another branch by now: its comment is left to that run", pull.number));
                continue;
            };
            let kept = std::mem::replace(&mut self.job.settings, story.settings.clone());
            let commented = self.comment(&pull, story).await;
            let labelled = self.label(pull.number, story.result.verdict).await;
            self.job.settings = kept;
            self.settle(commented)?;
            if let Err(failure) = labelled {
                self.warn(failure);
            }
        }
        Ok(())
    }

    /// Shows `worst` in a check for each name that the policies of the commit's pull requests ask for.
    async fn check_all(&mut self, stories: &[Story<'_>], worst: &Story<'_>) -> Result<()> {
        let report = self.full_report(worst)?;
        self.report(&report).await;
        let names: BTreeSet<String> = stories.iter().map(|story| story.settings.name()).collect();
        for name in names.into_iter().filter(|name| *name != report.name) {
            // Each check run has a number of its own.
            let kept = self.check.take();
            self.report(&CommitReport { name, ..report.clone() }).await;
            self.check = kept;
        }
        Ok(())
    }

    fn full_report(&self, story: &Story<'_>) -> Result<CommitReport> {
        let settings = story.settings;
        let notes = comment::notes(story.notes, settings.language)?;
        let options = summary::SummaryOptions {
            language: settings.language,
            limit: summary::COMMENT_LIMIT.saturating_sub(notes.len() + 1),
            pictures: &[],
            diagram: settings.image != ImageMode::None,
            templates: story.templates,
        };
        let issues = issue::IssueOptions { language: settings.language, source_root: story.source_root };
        let issues = issue::all_issues(story.result, &issues)?;
        Ok(CommitReport {
            state: RunState::Judged(story.result.verdict),
            title: comment::title(
                summary::headline(story.result, settings.language)?,
                story.notes,
                story.result.report_only,
                settings.language,
            )?,
            summary: format!(
                "{notes}{}{}",
                if notes.is_empty() { "" } else { "\n" },
                summary::render(story.result, &options)?
            ),
            annotations: issues.iter().filter_map(annotation).collect(),
            warn: settings.warn,
            report_only: story.result.report_only,
            ..self.blank_report()
        })
    }

    pub(super) fn blank_report(&self) -> CommitReport {
        CommitReport {
            name: self.job.settings.name(),
            commit: self.job.commit.clone(),
            state: RunState::Running,
            warn: self.job.settings.warn,
            report_only: self.job.settings.report_only,
            title: String::new(),
            summary: String::new(),
            annotations: Vec::new(),
            url: self.job.run_url.clone(),
            run: format!("{}/{}", self.job.settings.key, self.job.run),
            pipeline: self.job.pipeline,
        }
    }

    /// Finds the commit if only the pull request is known.
    pub(super) async fn find_commit(&mut self) -> Result<(), Failure> {
        if self.job.commit.is_empty()
            && let Some(pull) = self.pulls().await?.first()
        {
            self.job.commit.clone_from(&pull.head);
        }
        Ok(())
    }

    /// The pull requests that get the comment: the one that the event names, whatever its head, or those of a list whose head is the
    /// commit.
    pub(super) async fn pulls(&self) -> Result<Vec<Pull>, Failure> {
        let mut pulls = self.listed_pulls().await?;
        if !matches!(self.job.target, CommentTarget::Pull(_)) {
            pulls.retain(|pull| pull.head == self.job.commit);
        }
        Ok(pulls)
    }

    pub(super) async fn pull(&self, number: u64) -> Result<Pull, Failure> {
        self.client.ask(&self.forge.pull(number), |answer| self.forge.read_pull(answer)).await
    }

    /// The open pull requests whose head is `commit`, from and to any branch.
    pub(super) async fn pulls_of_head(&self, commit: &str) -> Result<Vec<Pull>, Failure> {
        let read = |answer: &Answer| self.forge.read_pulls(answer);
        self.pages(|page| self.forge.open_pulls(page), read, |pull| pull.open && pull.head == commit).await
    }

    async fn listed_pulls(&self) -> Result<Vec<Pull>, Failure> {
        let commit = self.job.commit.as_str();
        let question = match &self.job.target {
            CommentTarget::None => None,
            CommentTarget::Pull(number) if self.client.is_dry() => {
                return Ok(vec![Pull { number: *number, head: commit.to_owned(), open: true, ..Pull::default() }]);
            }
            CommentTarget::Pull(number) => return Ok(vec![self.pull(*number).await?]),
            CommentTarget::OfCommit => self.forge.pulls_of_commit(commit),
            CommentTarget::OfBranch { owner, branch } => self.forge.pulls_of_branch(owner, branch),
        };
        let Some(question) = question else { return Ok(Vec::new()) };
        let mut pulls = self.client.ask(&question, |answer| self.forge.read_pulls(answer)).await?;
        pulls.retain(|pull| pull.open);
        Ok(pulls)
    }

    /// The pull requests whose comment this run writes, and whether there is any pull request for this run. `None` with a warning if
    /// that could not be determined.
    pub(super) async fn comment_pulls(&mut self) -> Option<(Vec<Pull>, bool)> {
        let mut pulls = match self.listed_pulls().await {
            Ok(pulls) => pulls,
            Err(failure) => {
                self.warn(failure);
                return None;
            }
        };
        match &self.job.target {
            // The commit may also be in other pull requests, below their heads.
            CommentTarget::OfCommit => pulls.retain(|pull| pull.head == self.job.commit),
            CommentTarget::OfBranch { branch, .. } if pulls.is_empty() && !self.client.is_dry() => {
                let branch: String = branch.chars().filter(|character| !character.is_control()).take(100).collect();
                let message = format!("the branch {branch} has no open pull request");
                let error = Error::new(ErrorKind::NotFound, "no comment is written", message);
                self.warnings.push(error.with_help("it may be closed by now; else name it with --number"));
            }
            _ => {}
        }
        let has_any = !pulls.is_empty();
        for moved in pulls.extract_if(.., |pull| pull.head != self.job.commit) {
            let (number, head) = (moved.number, moved.head.get(..12).unwrap_or(&moved.head));
            self.notices.push(format!("#{number} has a newer commit {head}: its comment is left to that run"));
        }
        Some((pulls, has_any))
    }

    pub(super) async fn tip(&self, branch: &str) -> Result<String, Failure> {
        self.client.ask(&self.forge.branch(branch), |answer| self.forge.read_branch(answer)).await
    }

    /// Finds an entry by walking from the root, folder by folder; the walk ends at a link or a submodule.
    pub(super) async fn entry(&self, commit: &str, path: &str) -> Result<Option<TreeEntry>, Failure> {
        let (mut id, mut parent) = (commit.to_owned(), String::new());
        let mut parts = path.split('/').filter(|part| !part.is_empty()).peekable();
        while let Some(part) = parts.next() {
            let folder = TreeFolder { commit, path: &parent, id: &id };
            let Some(found) = self.entries(&folder).await?.into_iter().find(|entry| entry.name == part) else {
                return Ok(None);
            };
            if parts.peek().is_none() || !found.is_folder {
                return Ok(Some(found));
            }
            parent = if parent.is_empty() { part.to_owned() } else { format!("{parent}/{part}") };
            id = found.id;
        }
        // The root itself, which differs whenever the commits differ.
        Ok(Some(TreeEntry { name: String::new(), id, is_folder: true }))
    }

    async fn entries(&self, folder: &TreeFolder<'_>) -> Result<Vec<TreeEntry>, Failure> {
        /// Enough for a hundred thousand entries of one folder.
        const MOST_PAGES: u32 = 1_000;
        let mut all = Vec::new();
        for page in 1..=MOST_PAGES {
            let call = self.forge.entries(folder, page);
            let (entries, more) = self.client.ask(&call, |answer| self.forge.read_entries(answer)).await?;
            all.extend(entries);
            if !more {
                break;
            }
        }
        Ok(all)
    }

    pub(super) async fn file(&self, path: &str, commit: &str) -> Result<Option<String>, Failure> {
        let call = self.forge.file(path, commit);
        let answer = match self.client.send(&call).await {
            Err(failure) if failure.status == Some(404) => return Ok(None),
            answer => answer?,
        };
        // Gitee's way to say that there is no such file.
        if answer.body.trim() == "[]" {
            return Ok(None);
        }
        // A folder, or a file too large for the answer, is not the same as no file.
        let unread = || self.client.failure_of_answer(&call, "answered without the file's text");
        self.forge.read_file(&answer.body).map(Some).ok_or_else(unread)
    }

    /// Shows the verdict as a label, if the forge has nothing better.
    pub(super) async fn label(&self, number: u64, verdict: Verdict) -> Result<(), Failure> {
        let Some(labels) = self.forge.labels().filter(|_| self.job.settings.check != CheckMode::None) else {
            return Ok(());
        };
        for other in [Verdict::Pass, Verdict::Warn, Verdict::Incomplete, Verdict::Fail] {
            if other != verdict {
                // 404: the label was not set, which is the wanted state.
                let removed = self.client.send(&labels.remove(number, other)).await;
                removed
                    .map(|_| ())
                    .or_else(|failure| if failure.status == Some(404) { Ok(()) } else { Err(failure) })?;
            }
        }
        self.client.send(&labels.add(number, verdict)).await.map(|_| ())
    }

    /// Turns a failed request into a warning; other errors are returned.
    fn settle(&mut self, done: Result<(), Undone>) -> Result<()> {
        match done {
            Err(Undone::GateError(error)) => return Err(error),
            Err(Undone::RequestFailed(failure)) => self.warn(failure),
            Ok(()) => {}
        }
        Ok(())
    }

    pub(super) fn warn(&mut self, failure: Failure) {
        let error = failure.into_error(&*self.forge);
        if !self.warnings.iter().any(|known| known.to_string() == error.to_string()) {
            self.warnings.push(error);
        }
    }
}

/// The annotation of a finding on a line of the repository; `None` for other findings, which are in the report.
fn annotation(issue: &issue::FindingIssue<'_>) -> Option<Annotation> {
    /// Largest number of characters of a message; GitHub accepts 64 KB, which nobody reads.
    const MOST: usize = 2_000;
    let line = issue.line.as_ref().filter(|_| issue.waived.is_none())?;
    Some(Annotation {
        path: line.path.clone(),
        line: line.line,
        level: match issue.finding.severity {
            Severity::Fail | Severity::Incomplete => "failure",
            Severity::Warn => "warning",
            Severity::Info => "notice",
        },
        title: issue.finding.code.clone(),
        message: issue.message.chars().take(MOST).collect(),
    })
}
